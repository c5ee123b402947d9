// The change log of a schedule: who changed what, newest first.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { moment } from "../time.js";
import { broken, waiting } from "./states.js";

const PAGE = 20;

export function changeLog(id, signal) {
  let seen = null;
  const body = h("div", { class: "scroll" }, waiting());
  const element = h("section", { class: "sheet", "aria-label": "Change log" }, h("header", null, h("h2", null, "Change log")), body);

  async function look() {
    try {
      const { items } = await api.changes(id, { limit: PAGE }, signal);
      put(body, table(items));
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
  return h("table", { class: "diff" },
    h("thead", null, h("tr", null, h("th", null, "When"), h("th", null, "Who"), h("th", null, "What"))),
    h("tbody", null, items.map((change) => h("tr", null,
      h("td", { class: "nowrap" }, moment(change.at)),
      h("td", null, change.by),
      h("td", null, h("strong", null, change.verb), h("ul", null, (change.changes ?? []).map(line)))))));
}

/** One field: what it was and what it is. */
export function line({ field, old, new: now }) {
  const text = (value) => (value === null || value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value));
  return h("li", { class: "small" }, h("span", { class: "soft" }, `${field}: `), h("del", null, text(old)), " → ", h("ins", null, text(now)));
}
