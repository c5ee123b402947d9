// The code of the console: no function is so long that it has to be read twice.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { parsers } from "prettier/plugins/babel";

const WEB = new URL("../../shared/console/web/", import.meta.url);
const LONGEST = 60;

/** Every function of a syntax tree, however deep. */
function* functions(node) {
  if (Array.isArray(node)) for (const part of node) yield* functions(part);
  else if (node && typeof node.type === "string") {
    if (/Function|Method$/.test(node.type) && node.body) yield node;
    for (const part of Object.values(node)) yield* functions(part);
  }
}

test("no function of the console is longer than 60 lines", async () => {
  const files = (await readdir(WEB, { recursive: true })).filter((path) => path.endsWith(".js"));
  const long = [];
  let count = 0;
  for (const path of files) {
    const tree = parsers.babel.parse(await readFile(new URL(path, WEB), "utf8"), {});
    for (const { loc, id } of functions(tree.program)) {
      count += 1;
      const lines = loc.end.line - loc.start.line + 1;
      if (lines > LONGEST) long.push(`${path}:${loc.start.line} ${id?.name ?? ""} ${lines} lines`);
    }
  }
  assert.deepEqual(long, []);
  assert.ok(count > 300, `only ${count} functions were found`);
});
