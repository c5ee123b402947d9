// Every screen, light and dark, wide and narrow: nothing serious that axe-core finds, and no need of a mouse.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { LIMIT, inConsole } from "./browser.mjs";
import { withSystem } from "./system.mjs";

const AXE = await readFile(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const WIDE = { width: 1280, height: 860 };
const PHONE = { width: 360, height: 740 };

/** A system with something on every screen. */
const furnished = (story) =>
  withSystem(async (system) => {
    await system.call("PUT", "/workflows/broken/versions/1", {
      target: { kind: "http", url: `${system.origin}/nowhere` },
    });
    const tags = { team: "data", env: "prod" };
    await system.call("PUT", "/schedules/beat", {
      name: "Beat",
      description: "What it is for.",
      workflow_id: "demo",
      cron_expr: "*/2 * * * * *",
      tags,
      payload: { a: [1, 2] },
    });
    await system.call("PUT", "/schedules/bad", {
      workflow_id: "broken",
      cron_expr: "*/2 * * * * *",
    });
    await system.call("PUT", "/schedules/quiet", {
      workflow_id: "demo",
      cron_expr: "0 9 * * *",
      start_at: "2099-01-01T00:00:00Z",
    });
    await system.call("POST", "/schedules/quiet/pause", { note: "for a while" });
    const failed = async () =>
      (await system.call("GET", "/schedules/bad/runs?status=FAILED&limit=1")).items[0];
    let run;
    while (!(run = await failed())) await new Promise((resolve) => setTimeout(resolve, 200));
    await story(system, [
      "#/schedules",
      "#/overview",
      "#/new",
      "#/schedules/beat",
      "#/schedules/quiet",
      "#/schedules/beat/edit",
      `#/runs/${encodeURIComponent(run.run_id)}`,
      "#/schedules/none",
    ]);
  });

async function findings(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() =>
    window.axe.run(document, { resultTypes: ["violations"] }),
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
}

test("axe-core finds nothing serious on any screen, theme, width or dialog", LIMIT, () =>
  furnished(async (system, screens) => {
    for (const colorScheme of ["light", "dark"]) {
      // Only here: the page's policy would keep axe-core out too.
      await inConsole(system, ({ page, go }) => looked(page, go, screens, colorScheme), {
        colorScheme,
        bypassCSP: true,
      });
    }
  }),
);

async function looked(page, go, screens, theme) {
  const judge = async (where) => assert.deepEqual(await findings(page), [], `${where}, ${theme}`);
  for (const viewport of [WIDE, PHONE]) {
    await page.setViewportSize(viewport);
    for (const screen of screens) {
      await go(screen);
      await judge(`${screen} at ${viewport.width}`);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= viewport.width, `${screen} is ${width} wide at ${viewport.width}`);
    }
  }
  await go("#/schedules");
  await page.getByRole("button", { name: "Pause Beat" }).click();
  await judge("a dialog");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Beat", exact: true }).click();
  await page.getByRole("button", { name: "Backfill" }).click();
  await page.getByRole("dialog").getByText(/fires/).waitFor();
  await judge("a backfill");
  await page.keyboard.press("Escape");
  await page.evaluate(() => sessionStorage.setItem("belfry.token", "x.y.z"));
  await page.reload();
  await page.getByRole("button", { name: /^Sign (out|in)$/ }).click();
  await page.getByRole("heading", { name: "Sign in to Belfry" }).waitFor();
  await judge("signing in");
}

test("the keyboard reaches everything, and polling does not move the focus", LIMIT, () =>
  furnished(async (system) => {
    await inConsole(system, async ({ page, go }) => {
      await go("#/schedules");
      await page.locator('[data-schedule="beat"]').waitFor();
      const reached = new Set();
      for (let press = 0; press < 60; press += 1) {
        await page.keyboard.press("Tab");
        const { name, visible } = await page.evaluate(() => {
          const held = document.activeElement;
          const style = getComputedStyle(held);
          return {
            name: held.getAttribute("aria-label") || held.textContent,
            visible: held === document.body || style.outlineStyle !== "none",
          };
        });
        assert.ok(visible, `${name} does not show that it has the focus`);
        reached.add(name);
      }
      for (const name of [
        "Skip to the content",
        "Schedules",
        "Overview",
        "Search schedules",
        "Status",
        "Choose all",
        "Beat",
        "Pause Beat",
        "Run now: Beat",
        "Resume quiet",
      ]) {
        assert.ok(reached.has(name), `${name} cannot be reached: ${[...reached].join(", ")}`);
      }
      const pause = page.getByRole("button", { name: "Pause Beat" });
      await pause.focus();
      // The list is drawn again every few seconds.
      await page.waitForResponse((response) => response.url().includes("/api/v1/schedules?"));
      await page.waitForResponse((response) => response.url().includes("/api/v1/schedules?"));
      assert.equal(
        await page.evaluate(() => document.activeElement.getAttribute("aria-label")),
        "Pause Beat",
      );
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    });
  }),
);

test("the theme switch goes from system to light to dark and is remembered", LIMIT, () =>
  withSystem(async (system) => {
    await inConsole(
      system,
      async ({ page }) => {
        const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const light = await paper();
        await page.getByRole("button", { name: "Theme: system" }).click();
        assert.equal(await paper(), light);
        await page.getByRole("button", { name: "Theme: light" }).click();
        const dark = await paper();
        assert.notEqual(dark, light);
        await page.reload();
        await page.getByRole("button", { name: "Theme: dark" }).waitFor();
        assert.equal(await paper(), dark);
      },
      { colorScheme: "light" },
    );
  }),
);
