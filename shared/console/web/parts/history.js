// The history of a schedule: its runs, newest first, filtered, with their reasons.

import { api } from "../api.js";
import { h } from "../dom.js";
import { to } from "../router.js";
import { fromField, moment, span } from "../time.js";
import { RUN, cause, statusChoices, why } from "../words.js";
import { badge } from "./badge.js";
import { select } from "./form.js";
import { sheet } from "./sheet.js";
import { empty } from "./states.js";
import { pagedTable, table } from "./table.js";

const EVERY_MS = 2500;
const PAGE = 25;

export function historyTable(id, signal) {
  const asked = { status: "", from: "", to: "", planned: false };
  const runs = pagedTable({
    ask: (cursor) => api.runs(id, query(asked, cursor), signal),
    show: (items) => (items.length ? history(items) : nothing(asked)),
    every: EVERY_MS,
    signal,
  });
  const change = (name) => (value) => {
    asked[name] = value;
    runs.restart();
  };
  return sheet({ name: "Runs", beside: filters(change), kind: null }, runs.element);
}

function query(asked, cursor) {
  return {
    status: asked.status,
    from: fromField(asked.from),
    to: fromField(asked.to) ?? (asked.planned ? null : new Date().toISOString()),
    cursor,
    limit: PAGE,
  };
}

function nothing(asked) {
  return Object.values(asked).some(Boolean)
    ? empty("Nothing fits", "No run matches the filters.")
    : empty("No runs yet", "The first run appears when its time has come.");
}

function filters(change) {
  const when = (name, label) =>
    h(
      "label",
      { class: "inline" },
      label,
      h("input", {
        type: "datetime-local",
        step: 1,
        onchange: (event) => change(name)(event.target.value),
      }),
    );
  const planned = h("input", {
    type: "checkbox",
    onchange: (event) => change("planned")(event.target.checked),
  });
  return h(
    "div",
    { class: "filters" },
    select(statusChoices(RUN), "", change("status"), { "aria-label": "Status of the run" }),
    when("from", "From"),
    when("to", "To"),
    h("label", { class: "inline" }, planned, "Planned too"),
  );
}

const COLUMNS = [
  {
    head: "Planned for",
    kind: "nowrap",
    cell: (run) => h("a", { href: to.run(run.run_id) }, moment(run.run_at)),
  },
  { head: "Status", cell: (run) => badge(run.status) },
  { head: "Cause", kind: "nowrap", cell: cause },
  {
    head: "Why",
    kind: "whyc",
    cell: (run) => run.error ?? (run.status === "SUCCESS" && !run.reason ? "" : why(run)),
  },
  { head: "Drift", align: "num", kind: "nowrap", cell: drift },
  { head: "Took", align: "num", kind: "nowrap", cell: took },
  { head: "Attempts", align: "num", cell: (run) => run.attempt || "" },
];

function history(runs) {
  return table({
    kind: "history",
    columns: COLUMNS,
    items: runs,
    key: (run) => run.run_id,
    attributes: (run) => ({ "data-run": run.run_id }),
  });
}

function drift({ drift_ms, status }) {
  return drift_ms === null || status === "SKIPPED" ? "" : span(drift_ms);
}

function took({ started_at, finished_at, status }) {
  if (!started_at || !finished_at || status === "SKIPPED") return "";
  return span(Date.parse(finished_at) - Date.parse(started_at));
}
