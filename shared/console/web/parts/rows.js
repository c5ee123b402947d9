// The rows of the list: a schedule each, with what one does most.

import { spark } from "../charts/spark.js";
import { h } from "../dom.js";
import { percent } from "../numbers.js";
import { to } from "../router.js";
import { fromNow, moment, offset } from "../time.js";
import { askPause, askResume, runNow, title } from "./actions.js";
import { badge } from "./badge.js";
import { icon } from "./icons.js";
import { failed } from "./toast.js";

/** How many runs of each are shown. */
export const RECENT = 30;
const ENDS = ["SUCCESS", "FAILED", "ABANDONED", "SKIPPED"];

/**
 * @param {object[]} items the schedules
 * @param {Set<string>} chosen ids of those that are ticked
 * @param {() => void} draw something was ticked
 * @param {() => Promise<void>} look something was done
 */
export function table(items, chosen, draw, look) {
  const all = items.every(({ schedule_id }) => chosen.has(schedule_id));
  const pickAll = h("input", {
    type: "checkbox",
    "aria-label": "Choose all",
    "data-key": "all",
    checked: all,
    indeterminate: !all && chosen.size > 0,
    onchange: (event) => {
      items.forEach(({ schedule_id }) =>
        event.target.checked ? chosen.add(schedule_id) : chosen.delete(schedule_id),
      );
      draw();
    },
  });
  return h(
    "table",
    { class: "list" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { class: "pick" }, pickAll),
        h("th", null, "Schedule"),
        h("th", null, "Status"),
        h("th", null, "Next run"),
        h("th", null, "Last result"),
        h("th", { class: "num" }, "Success"),
        h("th", null, `Last ${RECENT} runs`),
        h("th", null, h("span", { class: "visually-hidden" }, "Actions")),
      ),
    ),
    h(
      "tbody",
      null,
      items.map((item) => row(item, chosen, draw, look)),
    ),
  );
}

function row(item, chosen, draw, look) {
  const id = item.schedule_id;
  const recent = item.recent ?? [];
  const ended = recent.filter((status) => ["SUCCESS", "FAILED", "ABANDONED"].includes(status));
  const good = ended.filter((status) => status === "SUCCESS").length;
  const last = recent.find((status) => ENDS.includes(status)) ?? item.last_status;
  const cell = (label, ...content) => [h("span", { class: "cell-label" }, label), ...content];
  return h(
    "tr",
    { "data-schedule": id },
    h(
      "td",
      { class: "pick" },
      h("input", {
        type: "checkbox",
        "aria-label": `Choose ${title(item)}`,
        "data-key": `pick ${id}`,
        checked: chosen.has(id),
        onchange: (event) => {
          if (event.target.checked) chosen.add(id);
          else chosen.delete(id);
          draw();
        },
      }),
    ),
    h(
      "td",
      { class: "name" },
      h("a", { href: to.schedule(id), "data-key": `open ${id}` }, title(item)),
      h("span", { class: "small soft" }, item.cron_description ?? item.cron_expr),
    ),
    h("td", null, badge(item.status)),
    h(
      "td",
      { class: "when" },
      cell(
        "Next run",
        item.next_run_at
          ? [
              h("span", null, fromNow(item.next_run_at)),
              h(
                "span",
                {
                  class: "small soft",
                  title: `${moment(item.next_run_at, item.timezone)} ${item.timezone}`,
                },
                `${moment(item.next_run_at, item.timezone)} ${offset(item.next_run_at, item.timezone)}`,
              ),
            ]
          : h("span", { class: "soft" }, "none"),
      ),
    ),
    h(
      "td",
      null,
      cell("Last result", last ? badge(last) : h("span", { class: "soft" }, "none yet")),
    ),
    h(
      "td",
      { class: "num" },
      cell(
        "Success",
        ended.length ? percent(good / ended.length) : h("span", { class: "soft" }, "–"),
      ),
    ),
    h("td", null, cell("Last runs", spark(recent))),
    h("td", { class: "acts" }, actions(item, look)),
  );
}

function actions(item, look) {
  const act = (what) => async (event) => {
    event.currentTarget.disabled = true;
    try {
      await what(item);
    } catch (problem) {
      failed(problem);
    }
    await look();
  };
  const id = item.schedule_id;
  const turn = item.paused
    ? h(
        "button",
        {
          class: "button quiet slim",
          type: "button",
          "data-key": `turn ${id}`,
          "aria-label": `Resume ${title(item)}`,
          title: "Resume",
          onclick: act(askResume),
        },
        icon("play"),
        "Resume",
      )
    : h(
        "button",
        {
          class: "button quiet slim",
          type: "button",
          "data-key": `turn ${id}`,
          "aria-label": `Pause ${title(item)}`,
          title: "Pause",
          onclick: act(askPause),
        },
        icon("pause"),
        "Pause",
      );
  return [
    turn,
    h(
      "button",
      {
        class: "button quiet slim",
        type: "button",
        "data-key": `run ${id}`,
        "aria-label": `Run now: ${title(item)}`,
        title: "Run now",
        onclick: act(runNow),
      },
      icon("bolt"),
      "Run now",
    ),
  ];
}
