// Text of users and executors stays text: none of it runs, on any screen.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT, inConsole } from "./browser.mjs";
import { startExecutor } from "./executor.mjs";
import { withSystem } from "./system.mjs";

const EVIL = [
  `<img src=x onerror="window.hit=1;alert(1)">`,
  `"><script>window.hit=1;alert(2)</script>`,
  `<svg/onload=alert(3)>`,
  `'" onfocus="alert(4)" autofocus x="`,
  `javascript:alert(5)`,
  "{{constructor.constructor('alert(6)')()}}",
  "`${alert(7)}`",
];

test("markup in every text field is shown as it was written and never runs", LIMIT, () =>
  withSystem(async (system) => {
    const executor = await startExecutor({
      status: "FAILED",
      error: EVIL[0],
      external_run_id: EVIL[1],
      result: { said: EVIL[2] },
    });
    try {
      await inConsole(system, ({ page, go }) => everywhere(system, executor, page, go));
    } finally {
      executor.stop();
    }
  }),
);

async function everywhere(system, executor, page, go) {
  const everything = EVIL.join(" ");
  // Typed by a user of the console.
  await go("#/new");
  await page.getByLabel("Name", { exact: true }).fill(EVIL[0]);
  await page.getByLabel("Id", { exact: true }).fill(EVIL[0]);
  await page.getByLabel("Description").fill(everything);
  await page.getByRole("button", { name: "Add a tag" }).click();
  await page.getByLabel("Key of the tag").fill(EVIL[2]);
  await page.getByLabel("Value of the tag").fill(EVIL[0]);
  await page.locator("#f-payload").fill(JSON.stringify({ [EVIL[0]]: EVIL[1] }));
  await page.getByRole("combobox", { name: "Time zone" }).fill(EVIL[0]);
  for (const field of ["Version", "Workflow"]) await page.getByLabel(field).fill(EVIL[0]);
  for (const text of EVIL) {
    await page.getByLabel("Expression").fill(text);
    await page.getByLabel("Preview").getByText("This is not an expression yet.").waitFor();
  }
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.locator("#f-schedule_id-wrong").getByText(/\w/).waitFor();
  await page.getByLabel("Id", { exact: true }).fill("evil");
  await page.getByRole("button", { name: "Review and save" }).click();
  for (const field of ["version", "workflow_id", "timezone", "cron_expr"])
    await page.locator(`#f-${field}-wrong`).getByText(/\w/).waitFor();
  await page.getByRole("combobox", { name: "Time zone" }).fill("UTC");
  await page.getByLabel("Version").fill("");
  await page.getByLabel("Workflow").fill("demo");
  await page.getByLabel("Expression").fill("*/2 * * * * *");
  await page.getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("button", { name: "Create" }).click();

  // Shown wherever it is shown.
  await page.getByRole("heading", { name: EVIL[0], level: 1 }).waitFor();
  await page.getByRole("paragraph").getByText(everything).waitFor();
  await page.getByText(`${EVIL[2]}: ${EVIL[0]}`).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByLabel("Note: why it is paused").fill(EVIL[1]);
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await page.getByText(`Paused: ${EVIL[1]}`).waitFor();
  await page
    .getByRole("region", { name: "Change log" })
    .getByText("created", { exact: true })
    .click();

  // Said by an executor.
  await system.call("PUT", "/workflows/evil/versions/1", {
    target: { kind: "http", url: executor.url },
  });
  await system.call("PATCH", "/schedules/evil", { workflow_id: "evil", version: 1 });
  const { run_id } = await system.call("POST", "/schedules/evil/trigger", {});
  await go(`#/runs/${encodeURIComponent(run_id)}`);
  await page.getByRole("region", { name: "Reason" }).getByText(EVIL[0]).waitFor();
  await page.getByRole("region", { name: "Record" }).getByText(EVIL[1]).waitFor();
  await page.getByRole("region", { name: "Result" }).getByText("onload=alert(3)").waitFor();
  await go(`#/runs/${encodeURIComponent(EVIL[0])}`);
  await go(`#/schedules/${encodeURIComponent(EVIL[0])}`);
  await go("#/schedules");
  await page.getByRole("link", { name: EVIL[0] }).waitFor();
  await page.getByLabel("Search schedules").fill(EVIL[0]);
  await page.getByLabel("Tag", { exact: true }).fill(EVIL[2]);
  await page.locator('[data-schedule="evil"]').waitFor();
  await page.getByRole("button", { name: "Pause all" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await go("#/overview");
  await page.getByRole("region", { name: "Failures" }).getByText(EVIL[0]).waitFor();
  await go("#/schedules/evil/edit");
  assert.equal(await page.getByLabel("Description").inputValue(), everything);

  assert.equal(await page.evaluate(() => window.hit), undefined);
  assert.equal(await page.locator("img[src='x'], [onerror], [onload], [onfocus]").count(), 0);
}

test("the browser refuses markup from text, inline scripts and other origins", LIMIT, () =>
  withSystem(async (system) => {
    await inConsole(system, async ({ page, seen }) => {
      const refused = await page.evaluate(async () => {
        const tried = {
          markup: () => {
            document.body.innerHTML = "<b>x</b>";
          },
          evaluation: () => {
            setTimeout("window.hit = 1");
          },
          elsewhere: () => fetch("https://example.org/"),
        };
        const caught = [];
        for (const [name, act] of Object.entries(tried))
          await Promise.resolve()
            .then(act)
            .catch(() => caught.push(name));
        const script = document.createElement("script");
        try {
          script.textContent = "window.hit = 1";
          document.head.append(script);
        } catch {
          caught.push("script");
        }
        return { caught, hit: window.hit };
      });
      assert.deepEqual(refused, {
        caught: ["markup", "evaluation", "elsewhere", "script"],
        hit: undefined,
      });
      // The browser logs each refusal, which is what this test is about.
      seen.bad.length = 0;
    });
  }),
);
