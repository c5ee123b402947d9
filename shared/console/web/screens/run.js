// A run: the record of one fire, why it ended as it did, and how it was recovered if it was lost.

import { api } from "../api.js";
import { h, put, update } from "../dom.js";
import { badge } from "../parts/badge.js";
import { polled } from "../parts/polled.js";
import { json, line, sheet } from "../parts/sheet.js";
import { notes, waiting } from "../parts/states.js";
import { to } from "../router.js";
import { moment, span } from "../time.js";
import { cause, spaced, status, wordAndWhy } from "../words.js";

const EVERY_MS = 2000;

export function run(main, { id, signal }) {
  put(main, waiting());
  const head = h("div", { class: "head" });
  const body = h("div", { class: "two stretch" });
  polled({
    place: main,
    ask: () => api.run(id, signal),
    show: (found, isFirst) => {
      if (isFirst) put(main, head, body);
      update(head, heading(found));
      update(body, record(found), right(found));
    },
    every: EVERY_MS,
    signal,
  });
}

function right(run) {
  return h(
    "div",
    { class: "two" },
    story(run),
    run.recovery && recovery(run.recovery),
    result(run),
  );
}

function heading(run) {
  return h(
    "div",
    { class: "title" },
    h(
      "p",
      { class: "crumb" },
      h("a", { href: to.list() }, "Schedules"),
      " / ",
      h("a", { href: to.schedule(run.schedule_id) }, run.schedule_id),
      " / run",
    ),
    h("div", null, h("h1", null, moment(run.run_at)), badge(run.status)),
    h("p", { class: "soft break" }, h("code", null, run.run_id)),
  );
}

/** The times of a run, each with a remark. */
function steps({ enqueued_at, launch_at, run_at, started_at, finished_at, drift_ms }) {
  const drifted = drift_ms !== null && drift_ms !== undefined;
  return [
    ["Recorded", enqueued_at, "before its message was sent"],
    ["Meant to start", launch_at, launch_at !== run_at && "moved by jitter or spread"],
    [
      "Claimed",
      started_at,
      drifted && `${span(drift_ms)} ${drift_ms < 0 ? "before" : "after"} its time`,
    ],
    [
      "Ended",
      finished_at,
      started_at && finished_at && `took ${span(Date.parse(finished_at) - Date.parse(started_at))}`,
    ],
  ].filter(([, at]) => at);
}

function story(run) {
  const { ended, tone } = status(run.status);
  const { blocked_by: blocker, missed } = run;
  return sheet(
    { name: "Reason", title: ended ? "Why it ended so" : "Where it is", kind: "body notes" },
    notes(ended ? tone : "idle", [wordAndWhy(run)]),
    run.error && notes("bad", [run.error]),
    blocker && h("p", null, "Held up by ", h("a", { href: to.run(blocker) }, blocker)),
    missed &&
      h(
        "p",
        null,
        `Stands for ${missed.count} fires from ${moment(missed.first)} to ${moment(missed.last)}.`,
      ),
    h("dl", { class: "rows" }, steps(run).map(step)),
  );
}

function step([name, at, remark]) {
  const more = h("span", { class: "soft small" }, remark && ` · ${remark}`);
  return line(name, [moment(at), more]);
}

function record(run) {
  return sheet(
    { name: "Record" },
    h(
      "dl",
      { class: "rows" },
      line("Schedule", h("a", { href: to.schedule(run.schedule_id) }, run.schedule_id)),
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
  );
}

function recovery(found) {
  const value = (name) => (/_time$/.test(name) ? moment(found[name]) : String(found[name]));
  return sheet(
    { name: "Recovery" },
    h("p", { class: "soft" }, "The run was lost before its launch, and sent again."),
    h(
      "dl",
      { class: "rows" },
      Object.keys(found).map((name) => line(spaced(name), value(name))),
    ),
  );
}

function result(run) {
  if (run.result === null || run.result === undefined) return null;
  return sheet({ name: "Result" }, json("Result", run.result));
}
