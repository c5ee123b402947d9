// The list: all schedules at a glance, with what one does most.

import { api } from "../api.js";
import { spark } from "../charts/spark.js";
import { h, put, refresh } from "../dom.js";
import { live, settled } from "../live.js";
import { askPause, askResume, runNow, title } from "../parts/actions.js";
import { badge } from "../parts/badge.js";
import { bulkBar } from "../parts/bulk.js";
import { select } from "../parts/form.js";
import { icon } from "../parts/icons.js";
import { broken, empty, waiting } from "../parts/states.js";
import { failed } from "../parts/toast.js";
import { to } from "../router.js";
import { fromNow, moment, offset } from "../time.js";
import { STATUS } from "../words.js";

const EVERY_MS = 4000;
const RECENT = 30;
const PAGE = 100;
const ENDS = ["SUCCESS", "FAILED", "ABANDONED", "SKIPPED"];

/** What was asked for, kept when one comes back from a schedule. */
const asked = { text: "", status: "", workflow_id: "", tag: "" };

export function list(main, { signal }) {
  let items = null;
  let pages = 1;
  let more = false;
  const chosen = new Set();
  const head = h("span", { class: "soft small", role: "status" });
  const body = h("div", null, waiting());
  const bar = h("div");
  const filters = filterBar(() => look(), () => draw());

  async function fetchAll() {
    const found = [];
    let cursor;
    for (let page = 0; page < pages; page += 1) {
      const { status, workflow_id, tag } = asked;
      const answer = await api.schedules({ status, workflow_id, tag, cursor, recent: RECENT, limit: PAGE }, signal);
      found.push(...answer.items);
      cursor = answer.next_cursor;
      if (!cursor) break;
    }
    items = found;
    more = Boolean(cursor);
    filters.offer(items);
  }
  const look = live(async () => {
    try {
      await fetchAll();
      draw();
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      if (items === null) put(body, broken(problem, () => look()));
      else failed(problem);
    }
  }, EVERY_MS, signal);

  function draw() {
    if (items === null) return;
    const shown = items.filter(matches);
    for (const id of [...chosen]) if (!shown.some(({ schedule_id }) => schedule_id === id)) chosen.delete(id);
    put(head, `${shown.length}${more ? "+" : ""} ${shown.length === 1 ? "schedule" : "schedules"}`);
    refresh(bar, bulkBar(shown.filter(({ schedule_id }) => chosen.has(schedule_id)), asked, done));
    if (shown.length) refresh(body, table(shown, chosen, draw, look), more && h("div", { class: "more" }, h("button", { class: "button", type: "button", "data-key": "more", onclick: () => { pages += 1; look(); } }, "Show more")));
    else put(body, nothing(Object.values(asked).some(Boolean)));
  }
  function done() {
    chosen.clear();
    return look();
  }

  put(main,
    h("div", { class: "head" }, h("div", { class: "title" }, h("h1", null, "Schedules"))),
    h("section", { class: "sheet", "aria-label": "Schedules" }, h("header", null, filters.element, head), bar, h("div", { class: "scroll" }, body)));
}

function matches({ schedule_id, name, description, cron_expr, workflow_id, tags }) {
  const words = [schedule_id, name, description, cron_expr, workflow_id, ...Object.entries(tags ?? {}).flat()];
  return words.join(" ").toLowerCase().includes(asked.text.toLowerCase());
}

function filterBar(look, draw) {
  const soon = settled(look, 250);
  const workflows = h("datalist", { id: "workflows" });
  const tags = h("datalist", { id: "tags" });
  const element = h("div", { class: "filters", role: "search" },
    h("input", {
      class: "search", type: "search", placeholder: "Search", "aria-label": "Search schedules", value: asked.text,
      oninput: (event) => { asked.text = event.target.value; draw(); },
    }),
    select([["", "Any status"], ...Object.entries(STATUS).map(([value, [text]]) => [value, text])], asked.status,
      (value) => { asked.status = value; look(); }, { "aria-label": "Status" }),
    h("input", { class: "narrow", type: "text", list: "workflows", placeholder: "Workflow", "aria-label": "Workflow", value: asked.workflow_id, oninput: (event) => { asked.workflow_id = event.target.value.trim(); soon(); } }),
    h("input", { class: "narrow", type: "text", list: "tags", placeholder: "Tag or tag:value", "aria-label": "Tag", value: asked.tag, oninput: (event) => { asked.tag = event.target.value.trim(); soon(); } }),
    workflows, tags);
  const options = (texts) => [...new Set(texts)].sort().map((value) => h("option", { value }));
  const offer = (items) => {
    if (!asked.workflow_id) put(workflows, options(items.map(({ workflow_id }) => workflow_id)));
    if (!asked.tag) put(tags, options(items.flatMap((item) => Object.entries(item.tags ?? {}).flatMap(([key, value]) => [key, `${key}:${value}`]))));
  };
  return { element, offer };
}

function nothing(filtered) {
  return filtered
    ? empty("Nothing fits", "No schedule fits what is asked for.")
    : empty("No schedules yet", "A schedule says when a workflow runs, and what happens when things go wrong.",
      h("a", { class: "button main", href: to.make() }, icon("plus"), "Make the first one"));
}

function table(items, chosen, draw, look) {
  const all = items.every(({ schedule_id }) => chosen.has(schedule_id));
  const pickAll = h("input", {
    type: "checkbox", "aria-label": "Choose all", "data-key": "all", checked: all, indeterminate: !all && chosen.size > 0,
    onchange: (event) => {
      items.forEach(({ schedule_id }) => (event.target.checked ? chosen.add(schedule_id) : chosen.delete(schedule_id)));
      draw();
    },
  });
  return h("table", { class: "list" },
    h("thead", null, h("tr", null,
      h("th", { class: "pick" }, pickAll), h("th", null, "Schedule"), h("th", null, "Status"), h("th", null, "Next run"),
      h("th", null, "Last result"), h("th", { class: "num" }, "Success"), h("th", null, `Last ${RECENT} runs`), h("th", null, h("span", { class: "visually-hidden" }, "Actions")))),
    h("tbody", null, items.map((item) => row(item, chosen, draw, look))));
}

function row(item, chosen, draw, look) {
  const id = item.schedule_id;
  const recent = item.recent ?? [];
  const ended = recent.filter((status) => ["SUCCESS", "FAILED", "ABANDONED"].includes(status));
  const good = ended.filter((status) => status === "SUCCESS").length;
  const last = recent.find((status) => ENDS.includes(status)) ?? item.last_status;
  const cell = (label, ...content) => [h("span", { class: "cell-label" }, label), ...content];
  return h("tr", { "data-schedule": id },
    h("td", { class: "pick" }, h("input", {
      type: "checkbox", "aria-label": `Choose ${title(item)}`, "data-key": `pick ${id}`, checked: chosen.has(id),
      onchange: (event) => {
        if (event.target.checked) chosen.add(id);
        else chosen.delete(id);
        draw();
      },
    })),
    h("td", { class: "name" },
      h("a", { href: to.schedule(id), "data-key": `open ${id}` }, title(item)),
      h("span", { class: "small soft" }, item.cron_description ?? item.cron_expr)),
    h("td", null, badge(item.status)),
    h("td", { class: "when" }, cell("Next run", item.next_run_at
      ? [h("span", null, fromNow(item.next_run_at)), h("span", { class: "small soft", title: `${moment(item.next_run_at, item.timezone)} ${item.timezone}` }, `${moment(item.next_run_at, item.timezone)} ${offset(item.next_run_at, item.timezone)}`)]
      : h("span", { class: "soft" }, "none"))),
    h("td", null, cell("Last result", last ? badge(last) : h("span", { class: "soft" }, "none yet"))),
    h("td", { class: "num" }, cell("Success", ended.length ? percent(good / ended.length) : h("span", { class: "soft" }, "–"))),
    h("td", null, cell("Last runs", spark(recent))),
    h("td", { class: "acts" }, actions(item, look)));
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
    ? h("button", { class: "button quiet slim", type: "button", "data-key": `turn ${id}`, "aria-label": `Resume ${title(item)}`, title: "Resume", onclick: act(askResume) }, icon("play"), "Resume")
    : h("button", { class: "button quiet slim", type: "button", "data-key": `turn ${id}`, "aria-label": `Pause ${title(item)}`, title: "Pause", onclick: act(askPause) }, icon("pause"), "Pause");
  return [turn, h("button", { class: "button quiet slim", type: "button", "data-key": `run ${id}`, "aria-label": `Run now: ${title(item)}`, title: "Run now", onclick: act(runNow) }, icon("bolt"), "Run now")];
}

/** `98.2 %`, and 100 only if it is. */
export function percent(rate) {
  const text = (Math.floor(rate * 1000) / 10).toFixed(1).replace(/\.0$/, "");
  return `${text} %`;
}
