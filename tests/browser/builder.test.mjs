// The visual builder reads and writes expressions, and means the same by them as the API does.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT, inConsole } from "./browser.mjs";
import { withSystem } from "./system.mjs";

const DRAWN = [
  "* * * * *",
  "*/5 * * * *",
  "0 * * * *",
  "0 0 * * *",
  "0 9 * * *",
  "0 9 * * MON",
  "0 0 1 * *",
  "0 8 * * 1-5",
  "*/15 9-17 * * MON-FRI",
  "*/10 * * * * *",
  "* * * * * *",
  "*/20 * 8-9 * * SAT",
  "0 0 L * *",
  "15 6 LW * *",
  "0 18 * * FRIL",
  "0 0 * * 5#2",
  "20 */2 * * *",
  "0 9-17/2 * * *",
  "0 9,17 1,15,L 3,6,9 *",
  "0 0 * * 6,0",
  "0 0 * * 7",
  "@daily",
  "@weekly",
  "@yearly",
  "0 0 9 * * *",
  "0 9-10 * * *",
  "5 0-6 1-7 JAN ?",
  "59 23 31 12 *",
];
const BEYOND = [
  "0 0 13 * FRI",
  "H * * * *",
  "0,30 * * * *",
  "5/15 * * * *",
  "rate(5 minutes)",
  "61 * * * *",
  "0 0 15W * *",
  "0 0 0 1 1 * 2028",
  "",
  "@every 5m",
  "0 0 * * FRI-MON",
];

test("the builder writes an expression with the fires of the one it read", LIMIT, () =>
  withSystem(async (system) => {
    await inConsole(system, async ({ page }) => {
      const written = await page.evaluate(
        async (all) => {
          const { read, write } = await import("/console/cron/plan.js");
          return all.map((expression) => {
            const plan = read(expression);
            return plan && write(plan);
          });
        },
        [...DRAWN, ...BEYOND],
      );
      const fires = async (cron_expr) =>
        (
          await system.call("POST", "/schedules/validate", {
            cron_expr,
            timezone: "Europe/Zurich",
            after: "2026-02-27T22:00:00Z",
            count: 100,
          })
        ).next_executions;
      for (const [at, expression] of DRAWN.entries()) {
        assert.notEqual(written[at], null, expression);
        assert.deepEqual(
          await fires(written[at]),
          await fires(expression),
          `${expression} became ${written[at]}`,
        );
      }
      assert.deepEqual(
        written.slice(DRAWN.length),
        BEYOND.map(() => null),
      );
    });
  }),
);

test("the builder follows what is typed, and the expression follows the builder", LIMIT, () =>
  withSystem(async (system) => {
    await inConsole(system, async ({ page, go }) => {
      await go("#/new");
      const expression = page.getByLabel("Expression");
      const builder = page.getByRole("group", { name: "Builder" });
      await expression.fill("*/15 9-17 * * MON-FRI");
      assert.equal(await builder.getByLabel("How often").inputValue(), "minutes");
      assert.equal(await builder.getByLabel("Number of minutes").inputValue(), "15");
      assert.equal(await builder.getByLabel("First hour").inputValue(), "9");
      assert.equal(
        await builder.getByRole("button", { name: "Friday" }).getAttribute("aria-pressed"),
        "true",
      );

      await builder.getByRole("button", { name: "Friday" }).click();
      assert.equal(await expression.inputValue(), "*/15 9-17 * * MON-THU");
      await builder.getByLabel("How often").selectOption("times");
      await builder.getByRole("button", { name: "18 hours" }).click();
      await builder.getByLabel("Minute").selectOption("30");
      await builder.getByLabel("Days").selectOption("nth");
      await builder.getByLabel("Which").selectOption("L");
      await builder.getByLabel("Weekday").selectOption("5");
      await builder.getByRole("button", { name: "Mar" }).click();
      assert.equal(await expression.inputValue(), "30 9,18 * MAR FRIL");
      await page
        .getByLabel("Preview")
        .getByText("the last Friday of the month, in March")
        .waitFor();

      // Menus that a user has touched follow what is typed, too.
      await expression.fill("5 6 * * *");
      assert.equal(await builder.getByLabel("Minute").inputValue(), "5");
      assert.equal(await builder.getByLabel("Days").inputValue(), "every");
      const six = builder.getByRole("button", { name: "06 hours" });
      assert.equal(await six.getAttribute("aria-pressed"), "true");
      await builder.getByRole("button", { name: "07 hours" }).click();
      await six.click();
      assert.equal(await expression.inputValue(), "5 7 * * *");

      await expression.fill("0 0 13 * FRI");
      await builder.getByText("The builder cannot draw this expression").waitFor();
      assert.equal(await expression.inputValue(), "0 0 13 * FRI");
    });
  }),
);
