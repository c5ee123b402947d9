// A schedule: what it does, when it fires next, and what became of its fires.

import { api } from "../api.js";
import { dots } from "../charts/dots.js";
import { timeline } from "../charts/timeline.js";
import { h, put, refresh } from "../dom.js";
import { live } from "../live.js";
import { percent } from "../numbers.js";
import { askDelete, askPause, askResume, runNow, title } from "../parts/actions.js";
import { askBackfill, backfills } from "../parts/backfill.js";
import { badge } from "../parts/badge.js";
import { changeLog } from "../parts/changes.js";
import { historyTable } from "../parts/history.js";
import { icon } from "../parts/icons.js";
import { ledgerSheet } from "../parts/ledger.js";
import { broken, notes, scrolling, waiting } from "../parts/states.js";
import { failed } from "../parts/toast.js";
import { go, to } from "../router.js";
import { MINE, day, fromNow, moment, offset, shortClock, span } from "../time.js";

const EVERY_MS = 3000;
const PLOTTED = 100;
const AHEAD = 40;

export function schedule(main, { id, signal }) {
  put(main, waiting());
  let parts = null;
  let fires = { of: null, list: [] };

  /** Asked for again only when the definition or the next fire is another. */
  async function ahead(schedule) {
    const { schedule_id, revision, next_runs, cron_expr, timezone } = schedule;
    const { start_at, end_at, created_at, dst_gap, dst_fold } = schedule;
    const of = `${revision} ${next_runs[0]}`;
    if (fires.of === of) return fires.list;
    // `rate(...)` counts from the start, or from when the schedule was made.
    const timing = { cron_expr, timezone, start_at: start_at ?? created_at, end_at };
    const asked = { ...timing, dst_gap, dst_fold, schedule_id, count: AHEAD };
    const list = next_runs.length ? (await api.validate(asked, signal)).next_executions : [];
    fires = { of, list };
    return list;
  }
  const look = live(
    async () => {
      try {
        const [found, recent] = await Promise.all([
          api.schedule(id, signal),
          api.runs(id, { limit: PLOTTED, to: new Date().toISOString() }, signal),
        ]);
        const next = await ahead(found);
        if (!parts) {
          parts = frame(found, signal);
          put(main, parts.sections);
        }
        document.title = `${title(found)} · Belfry`;
        refresh(parts.head, head(found, look));
        refresh(parts.facts, facts(found, recent.items));
        refresh(parts.next, upcoming(found, next));
        refresh(parts.plots, plots(recent.items));
        refresh(parts.definition, definition(found));
        parts.sawRevision(found.revision);
        await parts.backfills();
      } catch (problem) {
        if (problem.name === "AbortError") throw problem;
        if (parts && problem.status !== 404) return failed(problem);
        parts = null;
        put(
          main,
          broken(problem, () => look()),
        );
      }
    },
    EVERY_MS,
    signal,
  );
}

function frame(found, signal) {
  const parts = {
    head: h("div", { class: "head" }),
    facts: h("dl", { class: "sheet facts" }),
    next: h("section", { class: "sheet", "aria-label": "Next fires" }),
    plots: h("div", { class: "two" }),
    definition: h("section", { class: "sheet", "aria-label": "Definition" }),
  };
  const history = historyTable(found.schedule_id, signal);
  const filled = backfills(found.schedule_id, signal);
  parts.backfills = filled.look;
  const ledger = ledgerSheet(found.schedule_id, signal);
  const log = changeLog(found.schedule_id, signal);
  parts.sawRevision = log.sawRevision;
  parts.sections = [
    parts.head,
    parts.facts,
    parts.next,
    history,
    filled.element,
    parts.plots,
    ledger,
    h("div", { class: "two" }, parts.definition, log.element),
  ];
  return parts;
}

function head(found, look) {
  const act = (what, after) => async (event) => {
    event.currentTarget.disabled = true;
    try {
      const done = await what(found);
      if (done && after) return after(done);
    } catch (problem) {
      failed(problem);
    }
    await look();
  };
  const button = (key, text, symbol, listener, kind = "") =>
    h(
      "button",
      { class: `button ${kind}`, type: "button", "data-key": key, onclick: listener },
      symbol && icon(symbol),
      text,
    );
  return [
    h(
      "div",
      { class: "title" },
      h(
        "p",
        { class: "crumb" },
        h("a", { href: to.list(), "data-key": "back" }, "Schedules"),
        " / ",
        h("span", { class: "break" }, found.schedule_id),
      ),
      h("div", null, h("h1", null, title(found)), badge(found.status)),
      found.description && h("p", { class: "soft break" }, found.description),
      Object.keys(found.tags).length > 0 &&
        h(
          "div",
          null,
          Object.entries(found.tags).map(([key, value]) =>
            h("span", { class: "tag" }, `${key}: ${value}`),
          ),
        ),
    ),
    h(
      "div",
      { class: "actions" },
      found.paused
        ? button("turn", "Resume", "play", act(askResume))
        : button("turn", "Pause", "pause", act(askPause)),
      button("run", "Run now", "bolt", act(runNow)),
      found.cron_expr && button("backfill", "Backfill", null, act(askBackfill)),
      h("a", { class: "button", href: to.edit(found.schedule_id), "data-key": "edit" }, "Edit"),
      button(
        "delete",
        "Delete",
        null,
        act(askDelete, () => go(to.list())),
        "quiet danger",
      ),
    ),
  ];
}

function facts(found, runs) {
  const { stats, durations, timezone } = found;
  const last = runs.find(({ finished_at }) => finished_at)?.status ?? found.last_status;
  const fact = (name, value, small) =>
    h("div", null, h("dt", null, name), h("dd", null, value, small && h("small", null, small)));
  return [
    fact(
      "Next run",
      found.next_run_at ? fromNow(found.next_run_at) : "none",
      found.next_run_at && moment(found.next_run_at, timezone),
    ),
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
    fact("Skipped", stats.skipped, `${stats.missed} missed`),
    fact("Recovered", stats.recovered, "lost, then launched"),
    fact(
      "Duration",
      durations?.p50_ms === null || !durations ? "–" : span(durations.p50_ms),
      durations?.p95_ms && `95 % within ${span(durations.p95_ms)}`,
    ),
  ];
}

function upcoming(found, fires) {
  const { timezone } = found;
  const soon = fires.filter((at) => Date.parse(at) >= Date.now());
  const shown = soon.slice(0, 5);
  return [
    h(
      "header",
      null,
      h("h2", null, "Next fires"),
      h("span", { class: "soft small" }, found.cron_description ?? ""),
    ),
    h(
      "div",
      { class: "body" },
      found.pause_note && notes("mind", [`Paused: ${found.pause_note}`]),
      found.pause_until && notes("mind", [`Paused until ${moment(found.pause_until)}.`]),
      found.warnings.length > 0 &&
        notes(
          "mind",
          found.warnings.map(({ message }) => message),
        ),
      soon.length > 0
        ? [
            timeline(soon, timezone),
            scrolling(
              "Next fires",
              h(
                "table",
                { class: "fires" },
                h(
                  "thead",
                  null,
                  h(
                    "tr",
                    null,
                    h("th", null, timezone),
                    h("th", null, MINE === timezone ? "UTC" : `Here (${MINE})`),
                    h("th", { class: "num" }, "From now"),
                  ),
                ),
                h(
                  "tbody",
                  null,
                  shown.map((at) =>
                    h(
                      "tr",
                      null,
                      h("td", null, `${moment(at, timezone)} ${offset(at, timezone)}`),
                      h(
                        "td",
                        { class: "soft" },
                        MINE === timezone
                          ? `${day(at, "UTC")} ${shortClock(at, "UTC")}`
                          : moment(at),
                      ),
                      h("td", { class: "num soft" }, fromNow(at)),
                    ),
                  ),
                ),
              ),
            ),
          ]
        : h("p", { class: "soft" }, found.paused ? "None while it is paused." : "None."),
    ),
  ];
}

function plots(runs) {
  const started = runs
    .filter(({ drift_ms, status }) => drift_ms !== null && status !== "SKIPPED")
    .reverse();
  const ended = started.filter(({ started_at, finished_at }) => started_at && finished_at);
  const sheet = (name, hint, points) =>
    h(
      "section",
      { class: "sheet", "aria-label": name },
      h("header", null, h("h2", null, name), h("span", { class: "soft small" }, hint)),
      h(
        "div",
        { class: "body" },
        points.length ? dots(points, name) : h("p", { class: "soft" }, "No run to measure yet."),
      ),
    );
  return [
    sheet(
      "Drift",
      "from the planned second to the start",
      started.map((run) => ({ at: run.run_at, value: run.drift_ms, status: run.status })),
    ),
    sheet(
      "Duration",
      "from the start to the end",
      ended.map((run) => ({
        at: run.run_at,
        value: Date.parse(run.finished_at) - Date.parse(run.started_at),
        status: run.status,
      })),
    ),
  ];
}

function definition(found) {
  const line = (name, value) =>
    value !== null && value !== undefined && [h("dt", null, name), h("dd", null, value)];
  return [
    h(
      "header",
      null,
      h("h2", null, "Definition"),
      h("span", { class: "soft small" }, `revision ${found.revision}`),
    ),
    h(
      "div",
      { class: "body" },
      h(
        "dl",
        { class: "rows" },
        line("Expression", found.cron_expr && h("code", null, found.cron_expr)),
        line("Follows", found.after_schedule_id),
        line("Time zone", found.timezone),
        line("Workflow", `${found.workflow_id}, version ${found.version}`),
        line("Start", found.start_at && moment(found.start_at, found.timezone)),
        line("End", found.end_at && moment(found.end_at, found.timezone)),
        line("Overlap", `${found.overlap_policy}, at most ${found.max_concurrent} at once`),
        line("Catch-up", found.catchup_policy),
        line("Jitter", found.jitter_ms ? `± ${span(found.jitter_ms)}` : null),
        line("Longest runtime", found.max_runtime_s && span(found.max_runtime_s * 1000)),
        line("Pause after failures", found.pause_after_failures),
        line("Owner", found.user_id),
        line(
          "Payload",
          h(
            "pre",
            {
              class: "json",
              tabindex: "0",
              "data-key": "payload",
              role: "region",
              "aria-label": "Payload",
            },
            JSON.stringify(found.payload, null, 2),
          ),
        ),
      ),
    ),
  ];
}
