// The change log of a schedule: who changed what, newest first.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { moment } from "../time.js";
import { broken, scrolling, waiting } from "./states.js";

const PAGE = 20;

export function changeLog(id, signal) {
  let seen = null;
  const body = h("div", null, waiting());
  const element = h(
    "section",
    { class: "sheet", "aria-label": "Change log" },
    h("header", null, h("h2", null, "Change log")),
    body,
  );

  async function look() {
    try {
      const { items } = await api.changes(id, { limit: PAGE }, signal);
      put(body, scrolling("Changes", table(items)));
    } catch (problem) {
      if (problem.name !== "AbortError") put(body, broken(problem, look));
    }
  }
  return {
    element,
    /** Looks again when the schedule has changed. */
    sawRevision(revision) {
      if (revision === seen) return;
      seen = revision;
      look();
    },
  };
}

function table(items) {
  return h(
    "table",
    { class: "diff" },
    h(
      "thead",
      null,
      h("tr", null, h("th", null, "When"), h("th", null, "Who"), h("th", null, "What")),
    ),
    h(
      "tbody",
      null,
      items.map((change) =>
        h(
          "tr",
          null,
          h("td", { class: "nowrap" }, moment(change.at)),
          h("td", null, change.by),
          h("td", null, what(change)),
        ),
      ),
    ),
  );
}

/** A schedule that was made has all its fields to tell; they are there for whoever asks. */
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

/** One field: what it was and what it is. */
export function line({ field, old, new: now }) {
  const text = (value) =>
    value === null || value === undefined
      ? "nothing"
      : typeof value === "string"
        ? value
        : JSON.stringify(value);
  const before = old !== null && old !== undefined && [h("del", null, text(old)), " → "];
  return h(
    "li",
    { class: "small" },
    h("span", { class: "soft" }, `${field}: `),
    before,
    h("ins", null, text(now)),
  );
}
