// A schedule: its definition, its next fires, and what became of the past ones.

import { api } from "../api.js";
import { dots } from "../charts/dots.js";
import { timeline } from "../charts/timeline.js";
import { h, put, update } from "../dom.js";
import { percent } from "../numbers.js";
import { askDelete, askPause, askResume, runNow, title, whileDisabled } from "../parts/actions.js";
import { askBackfill, backfillSheet } from "../parts/backfill.js";
import { badge } from "../parts/badge.js";
import { changeLog } from "../parts/changes.js";
import { historyTable } from "../parts/history.js";
import { icon } from "../parts/icons.js";
import { ledgerSheet } from "../parts/ledger.js";
import { polled } from "../parts/polled.js";
import { fact, json, line, sheet } from "../parts/sheet.js";
import { notes, scrolling, waiting } from "../parts/states.js";
import { table } from "../parts/table.js";
import { go, to } from "../router.js";
import { MINE, day, fromNow, moment, offset, shortClock, span } from "../time.js";
import { fieldName, status } from "../words.js";

const EVERY_MS = 3000;
const PLOTTED = 100;
const AHEAD = 40;
const LISTED = 5;

export function schedule(main, { id, signal }) {
  put(main, waiting());
  const ahead = firesAhead(signal);
  let parts = null;

  async function ask() {
    const [found, recent, backfills] = await Promise.all([
      api.schedule(id, signal),
      api.runs(id, { limit: PLOTTED, to: new Date().toISOString() }, signal),
      api.backfills(id, signal),
    ]);
    return { found, runs: recent.items, backfills: backfills.items, fires: await ahead(found) };
  }
  function show({ found, runs, backfills, fires }, isFirst) {
    if (isFirst) {
      parts = frame(found.schedule_id, look, signal);
      put(main, parts.sections);
    }
    document.title = `${title(found)} · Belfry`;
    update(parts.head, heading(found), actions(found, look));
    update(parts.facts, facts(found, runs));
    update(parts.next, upcoming(found, fires));
    update(parts.plots, plots(runs));
    update(parts.definition, definition(found));
    parts.backfills.show(backfills);
    parts.log.sawRevision(found.revision);
  }
  const look = polled({ place: main, ask, show, every: EVERY_MS, signal });
}

/** The next fires, asked for again only when the definition or the first of them has changed. */
function firesAhead(signal) {
  let known = { of: null, fires: [] };
  return async (schedule) => {
    const { schedule_id, revision, next_runs, cron_expr, timezone } = schedule;
    const { start_at, end_at, created_at, dst_gap, dst_fold } = schedule;
    const of = `${revision} ${next_runs[0]}`;
    if (known.of === of) return known.fires;
    // `rate(...)` counts from the start, or from when the schedule was made.
    const timing = { cron_expr, timezone, start_at: start_at ?? created_at, end_at };
    const asked = { ...timing, dst_gap, dst_fold, schedule_id, count: AHEAD };
    const fires = next_runs.length ? (await api.validate(asked, signal)).next_executions : [];
    known = { of, fires };
    return fires;
  };
}

/** The parts of the screen that stay while their content is updated. */
function frame(id, look, signal) {
  const parts = {
    head: h("div", { class: "head" }),
    facts: h("dl", { class: "sheet facts" }),
    next: h("div", { class: "sections" }),
    plots: h("div", { class: "two" }),
    definition: h("div", { class: "sections" }),
    backfills: backfillSheet(id, look),
    log: changeLog(id, signal),
  };
  parts.sections = [
    parts.head,
    parts.facts,
    parts.next,
    historyTable(id, signal),
    parts.backfills.element,
    parts.plots,
    ledgerSheet(id, signal),
    h("div", { class: "two" }, parts.definition, parts.log.element),
  ];
  return parts;
}

function heading(found) {
  const tags = Object.entries(found.tags);
  return h(
    "div",
    { class: "title", key: "title" },
    h(
      "p",
      { class: "crumb" },
      h("a", { href: to.list() }, "Schedules"),
      " / ",
      h("span", { class: "break" }, found.schedule_id),
    ),
    h("div", null, h("h1", null, title(found)), badge(found.status)),
    found.description && h("p", { class: "soft break" }, found.description),
    tags.length > 0 &&
      h(
        "div",
        null,
        tags.map(([key, value]) => h("span", { class: "tag" }, `${key}: ${value}`)),
      ),
  );
}

function actions(found, look) {
  const button = (key, text, symbol, act, { kind = "", done } = {}) =>
    h(
      "button",
      {
        class: `button ${kind}`,
        type: "button",
        key,
        onclick: whileDisabled(() => act(found), look, done),
      },
      symbol && icon(symbol),
      text,
    );
  const leave = { kind: "quiet danger", done: () => go(to.list()) };
  return h(
    "div",
    { class: "actions", key: "actions" },
    found.paused
      ? button("turn", "Resume", "play", askResume)
      : button("turn", "Pause", "pause", askPause),
    button("run", "Run now", "bolt", runNow),
    found.cron_expr && button("backfill", "Backfill", null, askBackfill),
    h("a", { class: "button", href: to.edit(found.schedule_id) }, "Edit"),
    button("delete", "Delete", null, askDelete, leave),
  );
}

function facts(found, runs) {
  const { stats, durations, timezone, next_run_at: next } = found;
  const last = runs.find(({ finished_at }) => finished_at)?.status ?? found.last_status;
  return [
    fact("Next run", next ? fromNow(next) : "none", next && moment(next, timezone)),
    fact(
      "Success rate",
      stats.success_rate === null ? "–" : percent(stats.success_rate),
      `${stats.succeeded} of ${stats.succeeded + stats.failed} that ended`,
    ),
    fact(
      "Last result",
      last ? badge(last) : "none yet",
      stats.consecutive_failures > 1 && `${stats.consecutive_failures} failures in a row`,
    ),
    fact(status("SKIPPED").word, stats.skipped, `${stats.missed} missed`),
    fact("Recovered", stats.recovered, "lost, then launched"),
    fact(
      "Duration",
      durations?.p50_ms === null || !durations ? "–" : span(durations.p50_ms),
      durations?.p95_ms && `95 % within ${span(durations.p95_ms)}`,
    ),
  ];
}

function upcoming(found, fires) {
  const { timezone, pause_note, pause_until, warnings, paused } = found;
  const soon = fires.filter((at) => Date.parse(at) >= Date.now());
  const note = (message) => notes("mind", [message]);
  return sheet(
    { name: "Next fires", beside: found.cron_description ?? "" },
    pause_note && note(`Paused: ${pause_note}`),
    pause_until && note(`Paused until ${moment(pause_until)}.`),
    warnings.length > 0 &&
      notes(
        "mind",
        warnings.map(({ message }) => message),
      ),
    soon.length > 0
      ? [timeline(soon, timezone), scrolling("Next fires", firesTable(soon, timezone))]
      : h("p", { class: "soft" }, paused ? "None while it is paused." : "None."),
  );
}

function firesTable(fires, timezone) {
  const isMine = MINE === timezone;
  return table({
    kind: "fires",
    columns: [
      { head: timezone, cell: (at) => `${moment(at, timezone)} ${offset(at, timezone)}` },
      {
        head: isMine ? "UTC" : `Here (${MINE})`,
        kind: "soft",
        cell: (at) => (isMine ? `${day(at, "UTC")} ${shortClock(at, "UTC")}` : moment(at)),
      },
      { head: "From now", align: "num", kind: "soft", cell: (at) => fromNow(at) },
    ],
    items: fires.slice(0, LISTED),
    key: (at) => at,
  });
}

function plots(runs) {
  const started = runs.filter((run) => run.drift_ms !== null && run.status !== "SKIPPED").reverse();
  const ended = started.filter(({ started_at, finished_at }) => started_at && finished_at);
  const took = (run) => Date.parse(run.finished_at) - Date.parse(run.started_at);
  const plot = (name, beside, of, value) => {
    const points = of.map((run) => ({ at: run.run_at, value: value(run), status: run.status }));
    const none = h("p", { class: "soft" }, "No run to measure yet.");
    return sheet({ name, beside }, points.length ? dots(points, name) : none);
  };
  return [
    plot("Drift", "from the planned time to the start", started, ({ drift_ms }) => drift_ms),
    plot("Duration", "from the start to the end", ended, took),
  ];
}

function definition(found) {
  const at = (time) => time && moment(time, found.timezone);
  const named = (field, value) => line(fieldName(field), value);
  return sheet(
    { name: "Definition", beside: `revision ${found.revision}` },
    h(
      "dl",
      { class: "rows" },
      named("cron_expr", found.cron_expr && h("code", null, found.cron_expr)),
      named("after_schedule_id", found.after_schedule_id),
      named("timezone", found.timezone),
      named("workflow_id", `${found.workflow_id}, version ${found.version}`),
      named("start_at", at(found.start_at)),
      named("end_at", at(found.end_at)),
      named("overlap_policy", `${found.overlap_policy}, at most ${found.max_concurrent} at once`),
      named("catchup_policy", found.catchup_policy),
      named("jitter_ms", found.jitter_ms ? `± ${span(found.jitter_ms)}` : null),
      named("max_runtime_s", found.max_runtime_s && span(found.max_runtime_s * 1000)),
      named("pause_after_failures", found.pause_after_failures),
      named("user_id", found.user_id),
      named("payload", json(fieldName("payload"), found.payload)),
    ),
  );
}
