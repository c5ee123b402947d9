// A run: the record of one fire, why it ended as it did, and how it was recovered if it was.

import { api } from "../api.js";
import { h, put, refresh } from "../dom.js";
import { live } from "../live.js";
import { badge } from "../parts/badge.js";
import { broken, notes, waiting } from "../parts/states.js";
import { failed } from "../parts/toast.js";
import { to } from "../router.js";
import { moment, span } from "../time.js";
import { cause, why } from "../words.js";

const EVERY_MS = 2000;
const TERMINAL = ["SUCCESS", "FAILED", "SKIPPED", "ABANDONED"];

export function run(main, { id, signal }) {
  put(main, waiting());
  let shown = false;
  const head = h("div", { class: "head" });
  const body = h("div", { class: "two stretch" });
  const look = live(
    async () => {
      try {
        const found = await api.run(id, signal);
        if (!shown) put(main, head, body);
        shown = true;
        refresh(head, heading(found));
        refresh(
          body,
          record(found),
          h(
            "div",
            { class: "two" },
            story(found),
            found.recovery && recovery(found.recovery),
            result(found),
          ),
        );
      } catch (problem) {
        if (problem.name === "AbortError") throw problem;
        if (!shown)
          put(
            main,
            broken(problem, () => look()),
          );
        else failed(problem);
      }
    },
    EVERY_MS,
    signal,
  );
}

function heading(run) {
  return h(
    "div",
    { class: "title" },
    h(
      "p",
      { class: "crumb" },
      h("a", { href: to.list(), "data-key": "all" }, "Schedules"),
      " / ",
      h("a", { href: to.schedule(run.schedule_id), "data-key": "one" }, run.schedule_id),
      " / run",
    ),
    h("div", null, h("h1", null, moment(run.run_at)), badge(run.status)),
    h("p", { class: "soft break" }, h("code", null, run.run_id)),
  );
}

const kind = { SUCCESS: "good", FAILED: "bad", ABANDONED: "bad", SKIPPED: "mind" };

function story(run) {
  const steps = [
    ["Recorded", run.enqueued_at, "before anybody was told"],
    [
      "Meant to start",
      run.launch_at,
      run.launch_at !== run.run_at ? "moved by jitter or spread" : "",
    ],
    [
      "Claimed",
      run.started_at,
      run.drift_ms !== null && run.drift_ms !== undefined
        ? `${span(run.drift_ms)} ${run.drift_ms < 0 ? "early" : "after its second"}`
        : "",
    ],
    [
      "Ended",
      run.finished_at,
      run.started_at && run.finished_at
        ? `took ${span(Date.parse(run.finished_at) - Date.parse(run.started_at))}`
        : "",
    ],
  ].filter(([, at]) => at);
  return h(
    "section",
    { class: "sheet", "aria-label": "Reason" },
    h(
      "header",
      null,
      h("h2", null, TERMINAL.includes(run.status) ? "Why it ended so" : "Where it is"),
    ),
    h(
      "div",
      { class: "body notes" },
      notes(kind[run.status] ?? "idle", [run.reason ? `${run.reason}: ${why(run)}` : why(run)]),
      run.error && notes("bad", [run.error]),
      run.blocked_by &&
        h(
          "p",
          null,
          "In its way was ",
          h("a", { href: to.run(run.blocked_by), "data-key": "blocked" }, run.blocked_by),
        ),
      run.missed &&
        h(
          "p",
          null,
          `Stands for ${run.missed.count} fires from ${moment(run.missed.first)} to ${moment(run.missed.last)}.`,
        ),
      h(
        "dl",
        { class: "rows" },
        steps.map(([name, at, more]) => [
          h("dt", null, name),
          h("dd", null, moment(at), h("span", { class: "soft small" }, more && ` · ${more}`)),
        ]),
      ),
    ),
  );
}

function record(run) {
  const line = (name, value) =>
    value !== null &&
    value !== undefined &&
    value !== "" && [h("dt", null, name), h("dd", null, value)];
  return h(
    "section",
    { class: "sheet", "aria-label": "Record" },
    h("header", null, h("h2", null, "Record")),
    h(
      "div",
      { class: "body" },
      h(
        "dl",
        { class: "rows" },
        line(
          "Schedule",
          h("a", { href: to.schedule(run.schedule_id), "data-key": "schedule" }, run.schedule_id),
        ),
        line("Planned for", `${moment(run.run_at)} (${run.run_at})`),
        line("Cause", cause(run)),
        line("Trigger", h("code", null, run.trigger)),
        line("Status", run.status),
        line("Reason", run.reason),
        line("Attempts", run.attempt),
        line("Executor's id", run.external_run_id),
        line("Idempotency key", h("code", null, run.idempotency_key)),
        line("Zone data", run.tzdb),
      ),
    ),
  );
}

function recovery(found) {
  return h(
    "section",
    { class: "sheet", "aria-label": "Recovery" },
    h("header", null, h("h2", null, "Recovery")),
    h(
      "div",
      { class: "body" },
      h("p", { class: "soft" }, "It was lost on its way and sent again."),
      h(
        "dl",
        { class: "rows" },
        Object.entries(found).map(([name, value]) => [
          h("dt", null, name.replaceAll("_", " ")),
          h("dd", null, /_time$/.test(name) ? moment(value) : String(value)),
        ]),
      ),
    ),
  );
}

function result(run) {
  if (run.result === null || run.result === undefined) return null;
  return h(
    "section",
    { class: "sheet", "aria-label": "Result" },
    h("header", null, h("h2", null, "Result")),
    h(
      "div",
      { class: "body" },
      h(
        "pre",
        {
          class: "json",
          tabindex: "0",
          "data-key": "result",
          role: "region",
          "aria-label": "Result",
        },
        JSON.stringify(run.result, null, 2),
      ),
    ),
  );
}
