// The overview: the fires of the next day, how late runs start, what failed and what was recovered.

import { api } from "../api.js";
import { bars } from "../charts/bars.js";
import { heat } from "../charts/heat.js";
import { h, put, update } from "../dom.js";
import { percent } from "../numbers.js";
import { badge } from "../parts/badge.js";
import { polled } from "../parts/polled.js";
import { fact, sheet } from "../parts/sheet.js";
import { empty, notes, waiting } from "../parts/states.js";
import { table } from "../parts/table.js";
import { to } from "../router.js";
import { MINE, moment, span } from "../time.js";
import { status, why } from "../words.js";

const EVERY_MS = 10_000;
/** A run that starts later than this is not on time. */
const ON_TIME_MS = 1000;
/** Figures that are older than this say how old they are. */
const FRESH_MS = 60_000;

export function overview(main, { signal }) {
  put(main, waiting());
  const body = h("div", { class: "sections" });
  polled({
    place: main,
    ask: () => Promise.all([api.overview(signal), api.stats(signal)]),
    show: ([found, stats], isFirst) => {
      if (isFirst) put(main, h("div", { class: "head" }, h("h1", null, "Overview")), body);
      update(body, screen(found, stats));
    },
    every: EVERY_MS,
    signal,
  });
}

function screen(found, stats) {
  return [
    found.truncated &&
      notes("mind", ["There are too many fires to count them all: the figures cover some only."]),
    Date.now() - Date.parse(found.as_of) > FRESH_MS &&
      notes("mind", [
        `There are many schedules: most figures are as of ${moment(found.as_of)}. Their number, what is failing and the failures are of now.`,
      ]),
    facts(found, stats),
    day(found),
    h("div", { class: "two" }, drift(found.drift.buckets), failures(found.failures)),
  ];
}

function facts({ due_now, due_next_24h, recovery }, { schedules, runs }) {
  const statuses = Object.entries(schedules.by_status ?? {})
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${status(name).word.toLowerCase()}`);
  return h(
    "dl",
    { class: "sheet facts" },
    fact("Schedules", schedules.total.toLocaleString("en"), statuses.join(", ")),
    fact("Failing", schedules.failing, "their newest run failed"),
    fact("Due now", due_now, "past their time, not launched"),
    fact("Next 24 hours", sum(due_next_24h).toLocaleString("en"), "fires"),
    fact(
      "Success rate",
      runs.success_rate === null ? "–" : percent(runs.success_rate),
      `${runs.succeeded + runs.failed} runs that ended`,
    ),
    fact("Recovered", recovery.recovered, "lost, then launched"),
    fact(
      "Missed, abandoned",
      `${recovery.missed}, ${recovery.abandoned}`,
      "not launched, given up",
    ),
  );
}

function day({ from, due_next_24h: counts }) {
  const most = Math.max(...counts);
  const beside = `the next 24 hours, ${MINE}; one row per hour, one cell per minute, at most ${most} in a minute`;
  return sheet({ name: "Fires per minute", beside }, heat(from, counts));
}

function drift(buckets) {
  const total = sum(buckets.map(({ count }) => count));
  const late = ({ up_to_ms }) => up_to_ms === null || up_to_ms > ON_TIME_MS;
  const onTime = sum(buckets.filter((bucket) => !late(bucket)).map(({ count }) => count));
  const named = buckets.map((bucket, at) => ({
    label:
      bucket.up_to_ms === null ? `> ${short(buckets[at - 1].up_to_ms)}` : short(bucket.up_to_ms),
    count: bucket.count,
    tone: late(bucket) ? "mind" : "accent",
  }));
  return sheet(
    {
      name: "Drift",
      beside: total
        ? `${percent(onTime / total)} within a second of their time`
        : "how late runs start",
    },
    total
      ? bars(named, `Drift of ${total} runs, ${onTime} within a second`)
      : h("p", { class: "soft" }, "No run has started yet."),
  );
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

function short(ms) {
  return span(ms).replace(" ", "");
}

const FAILURES = [
  {
    head: "Schedule",
    kind: "break",
    cell: ({ schedule_id }) => h("a", { href: to.schedule(schedule_id) }, schedule_id),
  },
  {
    head: "Planned for",
    kind: "nowrap",
    cell: ({ run_id, run_at }) => h("a", { href: to.run(run_id) }, moment(run_at)),
  },
  { head: "Status", cell: (run) => badge(run.status) },
  { head: "Why", kind: "whyc", cell: (run) => run.error ?? why(run) },
];

function failures(runs) {
  const key = ({ run_id }) => run_id;
  return sheet(
    { name: "Failures", beside: "the newest first", kind: null },
    runs.length
      ? h(
          "div",
          { class: "scroll" },
          table({ kind: "history", columns: FAILURES, items: runs, key }),
        )
      : empty("None", "No run of these schedules has failed lately."),
  );
}
