// A real Chromium, and pages that notice what no page of the console may do.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];

/** No test takes longer, or something hangs. */
export const LIMIT = { timeout: 300_000 };

/**
 * Tells a story in a browser of its own, with an empty profile, and closes it whatever happens.
 * @param {object} system as `startSystem` gives it
 * @param {(told: {page: import("playwright-core").Page, go: Function, seen: object}) => Promise<void>} story
 * @param {object} [options] of the browser's context
 */
export async function inConsole(system, story, options = {}) {
  const profile = await mkdtemp(join(tmpdir(), "belfry-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    headless: true,
    args: FLAGS,
    viewport: { width: 1280, height: 860 },
    timezoneId: "America/New_York",
    locale: "en-GB",
    ...options,
  });
  context.setDefaultTimeout(15_000);
  try {
    const page = context.pages()[0] ?? (await context.newPage());
    const seen = watch(page, system.origin);
    const go = async (hash) => {
      await page.goto(`${system.origin}/console${hash}`);
      await page.locator("main h1, main .empty h2").first().waitFor();
    };
    await page.goto(system.console);
    await story({ page, go, seen });
    assert.deepEqual(seen.bad, []);
  } finally {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  }
}

/** Calls of the console that may be refused, as it shows what the API says: 4xx are no faults of the page. */
const REFUSED = /^Failed to load resource: the server responded with a status of 4\d\d/;

function watch(page, origin) {
  const bad = [];
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith("data:")) bad.push(`a request to ${url}`);
  });
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !REFUSED.test(text)) bad.push(`an error in the log: ${text}`);
  });
  page.on("pageerror", (error) => bad.push(`an error nobody caught: ${error.stack}`));
  page.on("dialog", (dialog) => {
    bad.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  return { bad };
}
