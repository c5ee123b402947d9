// What a user is doing in a table survives when the table is drawn again after a poll.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT, inConsole } from "./browser.mjs";
import { withSystem } from "./system.mjs";

const OFTEN = { workflow_id: "demo", cron_expr: "*/2 * * * * *" };

/** Remembers the focused element, and whether it ever lost the focus. */
const watchFocus = (page) =>
  page.evaluate(() => {
    window.watched = { element: document.activeElement, losses: 0 };
    document.activeElement.addEventListener("blur", () => (window.watched.losses += 1));
  });

const keptFocus = (page) =>
  page.evaluate(() => ({
    same: document.activeElement === window.watched.element,
    losses: window.watched.losses,
  }));

test("a polled redraw of the list keeps focus, selection and a held key", LIMIT, () =>
  withSystem(async (system) => {
    await system.call("PUT", "/schedules/mike", { ...OFTEN, name: "Mike" });
    await inConsole(system, async ({ page, go }) => {
      await go("#/schedules");
      const row = (id) => page.locator(`[data-schedule="${id}"]`);
      await page.getByRole("button", { name: "Pause Mike" }).focus();
      await watchFocus(page);
      await row("mike")
        .getByText("Every 2 seconds, UTC")
        .evaluate((text) => getSelection().selectAllChildren(text));

      // Rows come above and below the row with the focus.
      await system.call("PUT", "/schedules/alpha", OFTEN);
      await system.call("PUT", "/schedules/zulu", OFTEN);
      await row("alpha").waitFor();
      await row("zulu").waitFor();
      assert.deepEqual(await keptFocus(page), { same: true, losses: 0 });
      assert.equal(await page.evaluate(() => String(getSelection())), "Every 2 seconds, UTC");

      // A key that is pressed before a redraw and released after it still presses the button.
      await page.keyboard.down("Space");
      await system.call("DELETE", "/schedules/alpha");
      await row("alpha").waitFor({ state: "detached" });
      await page.keyboard.up("Space");
      await page.getByRole("dialog", { name: "Pause Mike?" }).waitFor();

      // The button has the focus again when its dialog is closed.
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => document.activeElement === window.watched.element);
    });
  }),
);

test("a polled redraw of the history keeps the focus in it", LIMIT, () =>
  withSystem(async (system) => {
    await system.call("PUT", "/schedules/beat", OFTEN);
    await inConsole(system, async ({ page, go }) => {
      await go("#/schedules/beat");
      const rows = page.getByRole("region", { name: "Runs" }).locator("tbody tr");
      await rows.getByRole("link").first().focus();
      const count = await rows.count();
      await watchFocus(page);
      await rows.nth(count + 1).waitFor();
      assert.deepEqual(await keptFocus(page), { same: true, losses: 0 });
    });
  }),
);
