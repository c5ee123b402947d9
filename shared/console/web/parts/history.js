// The history of a schedule: its runs, newest first, filtered, with their reasons.

import { api } from "../api.js";
import { h, put, refresh } from "../dom.js";
import { live } from "../live.js";
import { to } from "../router.js";
import { fromField, moment, span } from "../time.js";
import { RUN, cause, why } from "../words.js";
import { badge } from "./badge.js";
import { select } from "./form.js";
import { broken, empty, waiting } from "./states.js";
import { failed } from "./toast.js";

const EVERY_MS = 2500;
const PAGE = 25;

export function historyTable(id, signal) {
  const asked = { status: "", from: "", to: "", planned: false };
  let pages = 1;
  let runs = null;
  const body = h("div", { class: "scroll" }, waiting());

  const look = live(
    async () => {
      try {
        const found = [];
        let cursor;
        for (let page = 0; page < pages; page += 1) {
          const query = {
            status: asked.status,
            from: fromField(asked.from),
            to: fromField(asked.to) ?? (asked.planned ? null : new Date().toISOString()),
            cursor,
            limit: PAGE,
          };
          const answer = await api.runs(id, query, signal);
          found.push(...answer.items);
          cursor = answer.next_cursor;
          if (!cursor || !answer.items.length) break;
        }
        runs = found;
        draw(Boolean(cursor) && runs.length === pages * PAGE);
      } catch (problem) {
        if (problem.name === "AbortError") throw problem;
        if (runs === null)
          put(
            body,
            broken(problem, () => look()),
          );
        else failed(problem);
      }
    },
    EVERY_MS,
    signal,
  );

  function draw(more) {
    const filtered = Object.values(asked).some(Boolean);
    if (!runs.length)
      return put(
        body,
        filtered
          ? empty("Nothing fits", "No run fits what is asked for.")
          : empty("No runs yet", "The first one appears when its second has come."),
      );
    refresh(
      body,
      table(runs),
      more &&
        h(
          "div",
          { class: "more" },
          h(
            "button",
            {
              class: "button",
              type: "button",
              "data-key": "more",
              onclick: () => {
                pages += 1;
                look();
              },
            },
            "Show more",
          ),
        ),
    );
  }
  const change = (name) => (value) => {
    asked[name] = value;
    pages = 1;
    look();
  };
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
  return h(
    "section",
    { class: "sheet", "aria-label": "Runs" },
    h(
      "header",
      null,
      h("h2", null, "Runs"),
      h(
        "div",
        { class: "filters" },
        select(
          [["", "Any status"], ...Object.entries(RUN).map(([value, [text]]) => [value, text])],
          "",
          change("status"),
          { "aria-label": "Status of the run" },
        ),
        when("from", "From"),
        when("to", "To"),
        h(
          "label",
          { class: "inline" },
          h("input", {
            type: "checkbox",
            onchange: (event) => change("planned")(event.target.checked),
          }),
          "Planned too",
        ),
      ),
    ),
    body,
  );
}

function table(runs) {
  return h(
    "table",
    { class: "history" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", null, "Planned for"),
        h("th", null, "Status"),
        h("th", null, "Cause"),
        h("th", null, "Why"),
        h("th", { class: "num" }, "Drift"),
        h("th", { class: "num" }, "Took"),
        h("th", { class: "num" }, "Attempts"),
      ),
    ),
    h("tbody", null, runs.map(row)),
  );
}

function row(run) {
  const took =
    run.started_at && run.finished_at && run.status !== "SKIPPED"
      ? span(Date.parse(run.finished_at) - Date.parse(run.started_at))
      : "";
  return h(
    "tr",
    { "data-run": run.run_id },
    h(
      "td",
      { class: "nowrap" },
      h("a", { href: to.run(run.run_id), "data-key": `run ${run.run_id}` }, moment(run.run_at)),
    ),
    h("td", null, badge(run.status)),
    h("td", { class: "nowrap" }, cause(run)),
    h(
      "td",
      { class: "whyc" },
      run.error ?? (run.reason ? why(run) : run.status === "SUCCESS" ? "" : why(run)),
    ),
    h(
      "td",
      { class: "num nowrap" },
      run.drift_ms === null || run.status === "SKIPPED" ? "" : span(run.drift_ms),
    ),
    h("td", { class: "num nowrap" }, took),
    h("td", { class: "num" }, run.attempt || ""),
  );
}
