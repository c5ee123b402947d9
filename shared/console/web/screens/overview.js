// The overview: what is coming in a day, how late runs start, what went wrong and what was saved.

import { api } from "../api.js";
import { bars } from "../charts/bars.js";
import { heat } from "../charts/heat.js";
import { h, put, refresh } from "../dom.js";
import { live } from "../live.js";
import { percent } from "../numbers.js";
import { badge } from "../parts/badge.js";
import { broken, empty, notes, waiting } from "../parts/states.js";
import { failed } from "../parts/toast.js";
import { to } from "../router.js";
import { MINE, moment, span } from "../time.js";
import { why } from "../words.js";

const EVERY_MS = 10_000;
/** A run that starts later than this is not on time. */
const ON_TIME_MS = 1000;

export function overview(main, { signal }) {
  put(main, waiting());
  let shown = false;
  const body = h("div", { class: "sections" });
  const look = live(
    async () => {
      try {
        const [found, stats] = await Promise.all([api.overview(signal), api.stats(signal)]);
        if (!shown) put(main, h("div", { class: "head" }, h("h1", null, "Overview")), body);
        shown = true;
        refresh(body, screen(found, stats));
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

function screen(found, { schedules, runs }) {
  const { due_next_24h: counts, recovery } = found;
  const fact = (name, value, small) =>
    h("div", null, h("dt", null, name), h("dd", null, value, small && h("small", null, small)));
  const statuses = Object.entries(schedules.by_status ?? {})
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`);
  const coming = counts.reduce((sum, count) => sum + count, 0);
  return [
    found.truncated &&
      notes("mind", [
        "There is more than this page looks at: the figures are of some schedules only.",
      ]),
    h(
      "dl",
      { class: "sheet facts" },
      fact("Schedules", schedules.total, statuses.join(", ")),
      fact("Due now", found.due_now, "past their second, not launched"),
      fact("Next 24 hours", coming.toLocaleString("en"), "fires"),
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
    ),
    h(
      "section",
      { class: "sheet", "aria-label": "Fires per minute" },
      h(
        "header",
        null,
        h("h2", null, "Fires per minute"),
        h(
          "span",
          { class: "soft small" },
          `the next 24 hours, ${MINE}; a row an hour, a place a minute, up to ${Math.max(...counts)} in one`,
        ),
      ),
      h("div", { class: "body" }, heat(found.from, counts)),
    ),
    h("div", { class: "two" }, drift(found.drift.buckets), failures(found.failures)),
  ];
}

function drift(buckets) {
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  const late = ({ up_to_ms }) => up_to_ms === null || up_to_ms > ON_TIME_MS;
  const onTime = buckets
    .filter((bucket) => !late(bucket))
    .reduce((sum, { count }) => sum + count, 0);
  const named = buckets.map((bucket, at) => ({
    label:
      bucket.up_to_ms === null ? `> ${short(buckets[at - 1].up_to_ms)}` : short(bucket.up_to_ms),
    count: bucket.count,
    tone: late(bucket) ? "mind" : "accent",
  }));
  return h(
    "section",
    { class: "sheet", "aria-label": "Drift" },
    h(
      "header",
      null,
      h("h2", null, "Drift"),
      h(
        "span",
        { class: "soft small" },
        total ? `${percent(onTime / total)} within a second of their time` : "how late runs start",
      ),
    ),
    h(
      "div",
      { class: "body" },
      total
        ? bars(named, `Drift of ${total} runs, ${onTime} within a second`)
        : h("p", { class: "soft" }, "No run has started yet."),
    ),
  );
}

function short(ms) {
  return span(ms).replace(" ", "");
}

function failures(runs) {
  return h(
    "section",
    { class: "sheet", "aria-label": "Failures" },
    h(
      "header",
      null,
      h("h2", null, "Failures"),
      h("span", { class: "soft small" }, "the newest first"),
    ),
    runs.length
      ? h(
          "div",
          { class: "scroll" },
          h(
            "table",
            { class: "history" },
            h(
              "thead",
              null,
              h(
                "tr",
                null,
                h("th", null, "Schedule"),
                h("th", null, "Planned for"),
                h("th", null, "Status"),
                h("th", null, "Why"),
              ),
            ),
            h(
              "tbody",
              null,
              runs.map((run) =>
                h(
                  "tr",
                  null,
                  h(
                    "td",
                    { class: "break" },
                    h(
                      "a",
                      { href: to.schedule(run.schedule_id), "data-key": `s ${run.run_id}` },
                      run.schedule_id,
                    ),
                  ),
                  h(
                    "td",
                    { class: "nowrap" },
                    h(
                      "a",
                      { href: to.run(run.run_id), "data-key": `r ${run.run_id}` },
                      moment(run.run_at),
                    ),
                  ),
                  h("td", null, badge(run.status)),
                  h("td", { class: "whyc" }, run.error ?? why(run)),
                ),
              ),
            ),
          ),
        )
      : empty("None", "No run of these schedules has failed lately."),
  );
}
