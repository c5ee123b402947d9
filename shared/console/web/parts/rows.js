// The rows of the list: one schedule each, with the most frequent actions.

import { spark } from "../charts/spark.js";
import { h } from "../dom.js";
import { percent } from "../numbers.js";
import { to } from "../router.js";
import { fromNow, moment, offset } from "../time.js";
import { RUN } from "../words.js";
import { askPause, askResume, runNow, title, whileDisabled } from "./actions.js";
import { badge } from "./badge.js";
import { icon } from "./icons.js";
import { table } from "./table.js";

/** How many runs of each schedule are shown. */
export const RECENT = 30;

/**
 * @param {object[]} items the schedules
 * @param {Set<string>} chosen ids of the ticked schedules
 * @param {() => void} draw called when a box was ticked
 * @param {() => Promise<void>} look called when an action is over
 */
export function scheduleTable(items, chosen, draw, look) {
  return table({
    kind: "list",
    columns: [
      {
        head: pickAll(items, chosen, draw),
        align: "pick",
        cell: (item) => pick(item, chosen, draw),
      },
      { head: "Schedule", kind: "name", cell: name },
      { head: "Status", cell: (item) => badge(item.status) },
      { head: "Next run", kind: "when", cell: nextRun },
      { head: "Last result", cell: lastResult },
      { head: "Success", align: "num", cell: success },
      { head: `Last ${RECENT} runs`, cell: lastRuns },
      {
        head: h("span", { class: "visually-hidden" }, "Actions"),
        kind: "acts",
        cell: (item) => actions(item, look),
      },
    ],
    items,
    key: ({ schedule_id }) => schedule_id,
    attributes: ({ schedule_id }) => ({ "data-schedule": schedule_id }),
  });
}

function pickAll(items, chosen, draw) {
  const all = items.every(({ schedule_id }) => chosen.has(schedule_id));
  return h("input", {
    type: "checkbox",
    "aria-label": "Choose all",
    checked: all,
    indeterminate: !all && chosen.size > 0,
    onchange: (event) => {
      items.forEach(({ schedule_id }) =>
        event.target.checked ? chosen.add(schedule_id) : chosen.delete(schedule_id),
      );
      draw();
    },
  });
}

function pick(item, chosen, draw) {
  const id = item.schedule_id;
  return h("input", {
    type: "checkbox",
    "aria-label": `Choose ${title(item)}`,
    checked: chosen.has(id),
    onchange: (event) => {
      if (event.target.checked) chosen.add(id);
      else chosen.delete(id);
      draw();
    },
  });
}

/** On a phone, where the table has no head, each cell brings its own label. */
function labelled(label, ...content) {
  return [h("span", { class: "cell-label" }, label), ...content];
}

function name(item) {
  return [
    h("a", { href: to.schedule(item.schedule_id) }, title(item)),
    h("span", { class: "small soft" }, item.cron_description ?? item.cron_expr),
  ];
}

function nextRun({ next_run_at: at, timezone }) {
  if (!at) return labelled("Next run", h("span", { class: "soft" }, "none"));
  const then = moment(at, timezone);
  return labelled(
    "Next run",
    h("span", null, fromNow(at)),
    h(
      "span",
      { class: "small soft", title: `${then} ${timezone}` },
      `${then} ${offset(at, timezone)}`,
    ),
  );
}

function lastResult(item) {
  const last = (item.recent ?? []).find((status) => RUN[status]?.ended) ?? item.last_status;
  return labelled("Last result", last ? badge(last) : h("span", { class: "soft" }, "none yet"));
}

/** Of the runs that were to be launched: a skipped run is neither a success nor a failure. */
function success({ recent = [] }) {
  const ended = recent.filter((status) => RUN[status]?.ended && status !== "SKIPPED");
  const good = ended.filter((status) => status === "SUCCESS").length;
  const rate = ended.length ? percent(good / ended.length) : h("span", { class: "soft" }, "–");
  return labelled("Success", rate);
}

function lastRuns({ recent = [] }) {
  return labelled("Last runs", spark(recent));
}

function actions(item, look) {
  const button = (word, label, symbol, act) =>
    h(
      "button",
      {
        class: "button quiet slim",
        type: "button",
        "aria-label": label,
        title: word,
        onclick: whileDisabled(() => act(item), look),
      },
      icon(symbol),
      word,
    );
  return [
    item.paused
      ? button("Resume", `Resume ${title(item)}`, "play", askResume)
      : button("Pause", `Pause ${title(item)}`, "pause", askPause),
    button("Run now", `Run now: ${title(item)}`, "bolt", runNow),
  ];
}
