// The editor shows mistakes at their fields, and what a save would do before it is saved.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT, inConsole } from "./browser.mjs";
import { withSystem } from "./system.mjs";

test("a mistake is shown at its field, while typing and on saving", LIMIT, () =>
  withSystem(async (system) => {
    await inConsole(system, async ({ page, go }) => {
      await go("#/new");
      await page.getByLabel("Expression").fill("0 9 * * FOO");
      await page.locator("#f-cron_expr-wrong").getByText(/FOO/).waitFor();
      assert.equal(await page.locator(".pointer").textContent(), "        ^");
      await page.getByLabel("Expression").fill("0 9 * * MON");
      await page.getByLabel("Preview").getByText("At 09:00, Monday").waitFor();
      assert.equal(await page.locator("#f-cron_expr-wrong").textContent(), "");

      await page.getByLabel("Payload", { exact: true }).nth(1).fill('{\n  "a": 1,\n  b\n}');
      await page
        .locator("#f-payload-wrong")
        .getByText(/^line 3, column 3/)
        .waitFor();
      await page.getByLabel("Workflow").fill("nothing");
      await page.getByRole("button", { name: "Review and save" }).click();
      assert.equal(await page.evaluate(() => document.activeElement.id), "f-payload");
      await page.locator("#f-payload").fill('{"a": 1}');
      await page.getByRole("button", { name: "Review and save" }).click();
      await page.locator("#f-workflow_id-wrong").getByText(/\w/).waitFor();
      assert.equal(await page.evaluate(() => document.activeElement.id), "f-workflow_id");
    });
  }),
);

test("a zone is found by the keyboard, and fires are shown in it and here", LIMIT, () =>
  withSystem(async (system) => {
    await inConsole(system, async ({ page, go }) => {
      await go("#/new");
      const zone = page.getByRole("combobox", { name: "Time zone" });
      assert.equal(await zone.inputValue(), "America/New_York");
      await zone.fill("zurich");
      await page.getByRole("option", { name: /Europe\/Zurich/ }).waitFor();
      await zone.press("ArrowDown");
      await zone.press("Enter");
      assert.equal(await zone.inputValue(), "Europe/Zurich");
      await page.getByText(/^Now \d\d:\d\d:\d\d there, UTC\+[12]$/).waitFor();
      await page.getByLabel("Expression").fill("0 12 * * *");
      const row = page.getByLabel("Preview").locator("tbody tr").first();
      await row.getByText("12:00 +01:00").waitFor();
      assert.match(await row.innerText(), /0[67]:00/);
    });
  }),
);

test("an edit shows its diff before it is saved, and loses to a newer one", LIMIT, () =>
  withSystem(async (system) => {
    await system.call("PUT", "/schedules/report", {
      workflow_id: "demo",
      cron_expr: "0 9 * * *",
      payload: { month: 11 },
      pause_after_failures: 7,
      tags: { team: "data" },
    });
    await inConsole(system, async ({ page, go }) => {
      await go("#/schedules/report/edit");
      await page.getByLabel("Expression").fill("0 9 * * MON-FRI");
      await page.getByLabel("Name", { exact: true }).fill("Weekdays");
      await page.getByRole("button", { name: "Review and save" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("Fires of the next 90 days").waitFor();
      assert.match(
        await dialog.locator("tr", { hasText: "removed" }).innerText(),
        /removed\s+2[4-6]/,
      );
      assert.match(await dialog.innerText(), /cron_expr: 0 9 \* \* \* → 0 9 \* \* MON-FRI/);
      assert.equal(
        (await system.call("GET", "/schedules/report")).revision,
        1,
        "nothing is saved yet",
      );
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByRole("heading", { name: "Weekdays", level: 1 }).waitFor();
      const saved = await system.call("GET", "/schedules/report");
      assert.deepEqual(
        [saved.cron_expr, saved.pause_after_failures, saved.payload, saved.tags],
        ["0 9 * * MON-FRI", 7, { month: 11 }, { team: "data" }],
      );

      await page.getByRole("link", { name: "Edit" }).click();
      await page.getByLabel("Name", { exact: true }).fill("Mine");
      await system.call("PATCH", "/schedules/report", { name: "Theirs" });
      await page.getByRole("button", { name: "Review and save" }).click();
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByText(/the schedule was changed since you opened it/).waitFor();
      assert.equal((await system.call("GET", "/schedules/report")).name, "Theirs");
    });
  }),
);

test("whole numbers of any size in a payload survive an edit", LIMIT, () =>
  withSystem(async (system) => {
    await system.call("PUT", "/schedules/big", { workflow_id: "demo", cron_expr: "0 9 * * *" });
    const big = "123456789012345678901234567890";
    await inConsole(system, async ({ page, go }) => {
      const save = async (name) => {
        await page.getByLabel("Name", { exact: true }).fill(name);
        await page.getByRole("button", { name: "Review and save" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
        await page.getByRole("heading", { name, level: 1 }).waitFor();
      };
      await go("#/schedules/big/edit");
      await page.locator("#f-payload").fill(`{"big": ${big}}`);
      await save("Once");
      await go("#/schedules/big/edit");
      await save("Twice");
      await go("#/schedules/big/edit");
      assert.ok((await page.locator("#f-payload").inputValue()).includes(`"big": ${big}`));
    });
  }),
);

test("a schedule that only follows another can be opened, edited and saved", LIMIT, () =>
  withSystem(async (system) => {
    await system.call("PUT", "/schedules/first", { workflow_id: "demo", cron_expr: "0 9 * * *" });
    const follows = { workflow_id: "demo", after_schedule_id: "first" };
    await system.call("PUT", "/schedules/second", follows);
    await inConsole(system, async ({ page, go }) => {
      await go("#/schedules/second");
      await page.getByRole("region", { name: "Definition" }).getByText("first").waitFor();
      await go("#/schedules/second/edit");
      assert.equal(await page.getByLabel("Expression").inputValue(), "");
      await page.getByLabel("Name", { exact: true }).fill("Second");
      await page.getByRole("button", { name: "Review and save" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByRole("heading", { name: "Second", level: 1 }).waitFor();
      const { cron_expr, after_schedule_id } = await system.call("GET", "/schedules/second");
      assert.deepEqual([cron_expr, after_schedule_id], [null, "first"]);
    });
  }),
);
