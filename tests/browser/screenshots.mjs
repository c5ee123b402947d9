// The pictures of docs/img: every screen, light and dark, of a system that has something to show.
// `make screenshots` takes them.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { inConsole } from "./browser.mjs";
import { startExecutor } from "./executor.mjs";
import { withSystem } from "./system.mjs";

const folder = process.argv[2] ?? "docs/img";
/** Long enough for a row of runs. */
const HISTORY_MS = 75_000;
const WIDE = { width: 1280, height: 860 };
const PHONE = { width: 390, height: 780 };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let asked = 0;
/** An executor as they are: quick, slow now and then, and sometimes it fails. */
async function work() {
  asked += 1;
  await pause(40 + (asked % 5) * 60 + (asked % 9 === 0 ? 400 : 0));
  return asked % 8 === 0
    ? { status: "FAILED", error: "the warehouse did not answer within 30 s" }
    : { status: "SUCCESS", result: { rows: 1200 + asked * 7 } };
}

const SCHEDULES = {
  "orders-sync": {
    name: "Orders sync",
    description: "Brings the shop's orders into the warehouse.",
    workflow_id: "sync",
    cron_expr: "*/3 * * * * *",
    tags: { team: "data", env: "prod" },
    payload: { source: "shop", since: "last" },
  },
  "nightly-report": {
    name: "Nightly report",
    description: "Totals of the day for finance, before they come in.",
    workflow_id: "demo",
    cron_expr: "30 2 * * MON-FRI",
    timezone: "Europe/Zurich",
    tags: { team: "finance", env: "prod" },
    payload: { currency: "CHF", month: 11 },
    catchup_policy: "once",
  },
  "invoice-run": {
    name: "Invoice run",
    workflow_id: "demo",
    cron_expr: "0 18 L * *",
    timezone: "Europe/Zurich",
    tags: { team: "finance" },
  },
  "warehouse-sync": {
    name: "Stock levels",
    workflow_id: "demo",
    cron_expr: "*/15 9-17 * * MON-FRI",
    timezone: "America/New_York",
    tags: { team: "data" },
    overlap_policy: "queue",
  },
  "search-index": {
    name: "Search index",
    workflow_id: "demo",
    cron_expr: "*/20 * * * *",
    tags: { team: "search" },
  },
  metrics: {
    name: "Metrics rollup",
    workflow_id: "demo",
    cron_expr: "*/5 * * * * *",
    tags: { team: "platform" },
  },
  "cache-warm": {
    name: "Cache warm-up",
    workflow_id: "demo",
    cron_expr: "0 6 * * MON-FRI",
    timezone: "Asia/Tokyo",
    tags: { team: "search" },
  },
  "new-year": {
    name: "New year's greetings",
    workflow_id: "demo",
    cron_expr: "0 0 1 1 *",
    timezone: "Pacific/Auckland",
    start_at: "2030-01-01T00:00:00Z",
  },
};

await mkdir(folder, { recursive: true });
const executor = await startExecutor(work);
await withSystem(async (system) => {
  await system.call("PUT", "/workflows/sync/versions/1", {
    definition: { steps: ["extract", "load"] },
    target: { kind: "http", url: executor.url },
  });
  for (const [id, body] of Object.entries(SCHEDULES))
    await system.call("PUT", `/schedules/${id}`, body);
  await system.call("PATCH", "/schedules/nightly-report", {
    payload: { currency: "CHF", month: 11, draft: false },
  });
  await system.call("POST", "/schedules/cache-warm/pause", {
    note: "moved to the new cluster, back on Thursday",
  });
  for (const id of ["nightly-report", "invoice-run", "search-index"])
    await system.call("POST", `/schedules/${id}/trigger`, {});
  await pause(HISTORY_MS);
  const [failed] = (await system.call("GET", "/schedules/orders-sync/runs?status=FAILED&limit=1"))
    .items;
  const screens = {
    list: "#/schedules",
    schedule: "#/schedules/orders-sync",
    editor: "#/schedules/nightly-report/edit",
    run: `#/runs/${encodeURIComponent(failed.run_id)}`,
    overview: "#/overview",
  };
  for (const colorScheme of ["light", "dark"]) {
    await inConsole(system, ({ page, go }) => take(page, go, screens, colorScheme), {
      colorScheme,
      viewport: WIDE,
      timezoneId: "Europe/London",
    });
  }
});
executor.stop();

async function take(page, go, screens, theme) {
  const shoot = async (name) => {
    await pause(900);
    await page.screenshot({ path: join(folder, `${name}-${theme}.png`) });
  };
  for (const [name, hash] of Object.entries(screens)) {
    await go(hash);
    if (name === "schedule") await page.setViewportSize({ ...WIDE, height: 960 });
    if (name === "overview") await page.setViewportSize({ ...WIDE, height: 1020 });
    if (name === "editor") await page.getByLabel("Expression").fill("30 2 * * MON-THU");
    await shoot(name);
    await page.setViewportSize(WIDE);
    if (name === "editor") {
      await page.getByRole("button", { name: "Review and save" }).click();
      await page.getByRole("dialog").waitFor();
      await shoot("diff");
      await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    }
  }
  await page.setViewportSize(PHONE);
  await go(screens.list);
  await shoot("phone");
}
