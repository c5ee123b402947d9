// Signing in: the token comes from a link or is pasted, and stays in the tab.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT, inConsole } from "./browser.mjs";
import { withSystem } from "./system.mjs";

test("a token in the address is removed, sent with calls, then forgotten", LIMIT, () =>
  withSystem(async (system) => {
    await inConsole(system, async ({ page }) => {
      const token = system.token ?? "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.x";
      const sent = page.waitForRequest(
        (request) =>
          request.url().includes("/api/v1/schedules") &&
          request.headers().authorization === `Bearer ${token}`,
      );
      await page.goto("about:blank");
      await page.goto(`${system.origin}/console#token=${token}`);
      await sent;
      assert.equal(new URL(page.url()).hash, "");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in to Belfry" }).waitFor();
      assert.equal(await page.evaluate(() => sessionStorage.length), 0);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("paste a token").waitFor();
      await page.getByLabel("Token").fill(`Bearer ${token}`);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Schedules", level: 1 }).waitFor();
      assert.equal(await page.evaluate(() => sessionStorage.getItem("belfry.token")), token);
    });
  }),
);

test("a user whose token the gateway refuses is asked to sign in", LIMIT, (context) =>
  withSystem(async (system) => {
    await inConsole(system, async ({ page }) => {
      if (!system.token) return context.skip("this gateway lets everybody in");
      await page.evaluate(() => sessionStorage.setItem("belfry.token", "not.a.token"));
      await page.reload();
      await page.getByText("The API did not accept the token.").waitFor();
      await page.getByLabel("Token").fill(system.token);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("No schedules yet").waitFor();
    });
  }),
);
