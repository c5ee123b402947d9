// The change log of a schedule: who changed what, newest first.

import { api } from "../api.js";
import { h, update } from "../dom.js";
import { moment } from "../time.js";
import { sheet } from "./sheet.js";
import { load, scrolling, waiting } from "./states.js";
import { table } from "./table.js";

const PAGE = 20;

export function changeLog(id, signal) {
  let seen = null;
  const body = h("div", null, waiting());
  const element = sheet({ name: "Change log", kind: null }, body);
  const ask = () => api.changes(id, { limit: PAGE }, signal);
  const show = ({ items }) => update(body, scrolling("Changes", log(items)));
  return {
    element,
    /** Reads the log again when the schedule has changed. */
    sawRevision(revision) {
      if (revision === seen) return;
      seen = revision;
      load(body, ask, show);
    },
  };
}

function log(items) {
  return table({
    kind: "diff",
    columns: [
      { head: "When", kind: "nowrap", cell: ({ at }) => moment(at) },
      { head: "Who", cell: ({ by }) => by },
      { head: "What", cell: what },
    ],
    items,
    key: ({ at, verb }) => `${at} ${verb}`,
  });
}

/** A created schedule lists all its fields, so they are folded away. */
function what({ verb, changes = [] }) {
  const fields = h("ul", null, changes.map(line));
  if (verb !== "created") return [h("strong", null, verb), fields];
  return h(
    "details",
    null,
    h(
      "summary",
      null,
      h("strong", null, verb),
      h("span", { class: "soft" }, ` with ${changes.length} fields`),
    ),
    fields,
  );
}

/** One field: its value before and after. */
export function line({ field, old, new: now }) {
  const before = old !== null && old !== undefined && [h("del", null, text(old)), " → "];
  return h(
    "li",
    { class: "small" },
    h("span", { class: "soft" }, `${field}: `),
    before,
    h("ins", null, text(now)),
  );
}

function text(value) {
  if (value === null || value === undefined) return "nothing";
  return typeof value === "string" ? value : JSON.stringify(value);
}
