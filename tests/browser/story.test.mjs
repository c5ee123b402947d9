// A user's story: make a schedule, watch it fire, pause it, run it by hand, find out why.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT, inConsole } from "./browser.mjs";
import { withSystem } from "./system.mjs";

test("a user makes a schedule, sees it fire, pauses it and finds its runs", LIMIT, () =>
  withSystem(async (system) => {
    await inConsole(system, async ({ page }) => {
      await page.getByText("No schedules yet").waitFor();
      await page.getByRole("link", { name: "Create the first one" }).click();

      await page.getByLabel("Name", { exact: true }).fill("Hello");
      await page.getByLabel("Id", { exact: true }).fill("hello");
      await page.getByLabel("Workflow").fill("demo");
      const says = page.getByLabel("Preview").getByRole("status");
      await page.getByRole("button", { name: "Weekdays at 8:00" }).click();
      await says.getByText("At 08:00, Monday to Friday").waitFor();
      assert.equal(await page.getByLabel("Expression").inputValue(), "0 8 * * MON-FRI");
      const fires = page.getByLabel("Preview").locator("tbody tr");
      assert.equal(await fires.count(), 8);
      assert.match(await fires.first().innerText(), /08:00/);

      // The preview follows the keyboard.
      await page.getByLabel("Expression").fill("");
      await page.getByLabel("Expression").pressSequentially("*/2 * * * * *");
      await says.getByText("Every 2 seconds").waitFor();
      await page.getByText("fires 30 times in a minute").waitFor();

      await page.getByRole("button", { name: "Review and save" }).click();
      await page.getByRole("dialog").getByText("Fires until").waitFor();
      await page
        .getByRole("dialog")
        .getByText(/runs a month/)
        .waitFor();
      await page.getByRole("button", { name: "Create" }).click();

      await page.getByRole("heading", { name: "Hello", level: 1 }).waitFor();
      const runs = page.getByRole("region", { name: "Runs" });
      await runs.locator("tr", { hasText: "Success" }).nth(1).waitFor();
      await page
        .getByRole("region", { name: "Drift" })
        .getByRole("img", { name: /^Drift of \d+ runs/ })
        .waitFor();

      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByLabel("Note: why it is paused").fill("lunch");
      await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
      await page.getByText("Paused: lunch").waitFor();
      await page
        .getByRole("region", { name: "Change log" })
        .getByText("paused", { exact: true })
        .waitFor();
      const { items: before } = await system.call(
        "GET",
        "/schedules/hello/runs?status=SUCCESS&limit=200",
      );

      // What was on its way was taken back, and says so.
      await runs.getByLabel("Planned too").check();
      await runs.getByLabel("Status of the run").selectOption("SKIPPED");
      await runs.getByText("The schedule was paused before the run launched.").first().waitFor();
      await runs.getByRole("link").first().click();
      await page.getByText("paused: The schedule was paused before the run launched.").waitFor();
      await page.goBack();

      await page.getByRole("button", { name: "Run now" }).click();
      await page.getByRole("link", { name: "See the run" }).click();
      await page.getByRole("region", { name: "Record" }).getByText("By hand").waitFor();
      await page.locator("h1 + .badge", { hasText: "Success" }).waitFor();
      await page.getByRole("region", { name: "Reason" }).getByText("Done.").waitFor();

      const { items: after } = await system.call(
        "GET",
        "/schedules/hello/runs?status=SUCCESS&limit=200",
      );
      assert.equal(
        after.length,
        before.length + 1,
        "nothing but the run by hand launched after the pause",
      );

      await page.getByRole("link", { name: "Belfry, schedules" }).click();
      const row = page.locator('[data-schedule="hello"]');
      await row.getByText("Paused").waitFor();
      await row.getByRole("img", { name: /^Last \d+ runs: .*success/ }).waitFor();
      await row.getByRole("button", { name: "Resume Hello" }).click();
      await page
        .getByRole("dialog")
        .getByText(/missed[;.]/)
        .waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
      await row.getByText("Active").waitFor();

      await page.getByRole("link", { name: "Overview" }).click();
      await page
        .getByRole("region", { name: "Fires per minute" })
        .getByRole("img")
        .first()
        .waitFor();
      await page
        .getByRole("region", { name: "Drift" })
        .getByText("within a second of their time")
        .waitFor();
    });
  }),
);

test("many schedules are paused and resumed at once, by tick or by tag", LIMIT, () =>
  withSystem(async (system) => {
    for (const id of ["a", "b", "c"]) {
      await system.call("PUT", `/schedules/${id}`, {
        workflow_id: "demo",
        cron_expr: "0 9 * * *",
        tags: { team: id === "c" ? "other" : "data" },
      });
    }
    await inConsole(system, async ({ page }) => {
      const status = async (id) => (await system.call("GET", `/schedules/${id}`)).status;
      await page.getByLabel("Choose a", { exact: true }).check();
      await page.getByLabel("Choose c", { exact: true }).check();
      await page.getByText("2 chosen").waitFor();
      await page
        .getByRole("group", { name: "Chosen schedules" })
        .getByRole("button", { name: "Pause" })
        .click();
      await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
      await page.locator('[data-schedule="c"]').getByText("Paused").waitFor();
      assert.deepEqual(
        [await status("a"), await status("b"), await status("c")],
        ["paused", "active", "paused"],
      );

      await page.getByLabel("Tag", { exact: true }).fill("team:data");
      await page.locator('[data-schedule="c"]').waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Resume all" }).click();
      await page.getByRole("dialog").getByText("1 schedule would change").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Resume all" }).click();
      await page.locator('[data-schedule="a"]').getByText("Active").waitFor();
      assert.deepEqual([await status("a"), await status("c")], ["active", "paused"]);

      await page.getByLabel("Search schedules").fill("nothing like it");
      await page.getByText("Nothing fits").waitFor();
    });
  }),
);

test("a backfill counts its fires, runs them and shows its progress", LIMIT, () =>
  withSystem(async (system) => {
    await system.call("PUT", "/schedules/nightly", {
      name: "Nightly",
      workflow_id: "demo",
      cron_expr: "0 3 * * *",
      timezone: "UTC",
    });
    await inConsole(system, async ({ page }) => {
      await page.getByRole("link", { name: "Nightly" }).click();
      await page.getByRole("button", { name: "Backfill" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("1 fire, 0 of them ran already; this launches 1.").waitFor();
      await dialog.getByLabel("From").fill("2026-01-01T00:00:00");
      await dialog.getByLabel("To", { exact: true }).fill("2026-01-05T00:00:00");
      await dialog.getByText("4 fires, 0 of them ran already; this launches 4.").waitFor();
      await dialog.getByLabel("To", { exact: true }).fill("2099-01-01T00:00:00");
      await dialog.getByRole("status").getByText("to: ").waitFor();
      await dialog.getByRole("button", { name: "Run them" }).click();
      await dialog.getByRole("alert").getByText("to: ").waitFor();
      await dialog.getByLabel("To", { exact: true }).fill("2026-01-05T00:00:00");
      await dialog.getByLabel("Runs at once").fill("2");
      await dialog.getByRole("button", { name: "Run them" }).click();

      const row = page.getByRole("region", { name: "Backfills" }).first().locator("tbody tr");
      await row.getByText("Done").waitFor();
      assert.deepEqual((await row.locator("td").allInnerTexts()).slice(3, 6), ["4", "0", "0"]);
      const { items } = await system.call("GET", "/schedules/nightly/backfills");
      assert.deepEqual([items.length, items[0].fires, items[0].max_concurrent], [1, 4, 2]);
    });
  }),
);
