// The list: all schedules at a glance, with the most frequent actions.

import { api } from "../api.js";
import { h, put, update } from "../dom.js";
import { settled } from "../live.js";
import { bulkBar } from "../parts/bulk.js";
import { select } from "../parts/form.js";
import { icon } from "../parts/icons.js";
import { RECENT, scheduleTable } from "../parts/rows.js";
import { empty } from "../parts/states.js";
import { pagedTable } from "../parts/table.js";
import { to } from "../router.js";
import { STATUS, statusChoices } from "../words.js";

const EVERY_MS = 4000;
const PAGE = 100;

/** The filters, kept while the user is on another screen. */
const asked = { text: "", status: "", workflow_id: "", tag: "" };

export function list(main, { signal }) {
  const chosen = new Set();
  const head = h("span", { class: "soft small", role: "status" });
  const bar = h("div");
  const schedules = pagedTable({ ask, show, every: EVERY_MS, signal });
  const filters = filterBar(schedules);

  function ask(cursor) {
    const { status, workflow_id, tag } = asked;
    const query = { status, workflow_id, tag, cursor, recent: RECENT, limit: PAGE };
    return api.schedules(query, signal);
  }
  function show(items, hasMore) {
    filters.offer(items);
    const shown = items.filter(matches);
    const ids = new Set(shown.map(({ schedule_id }) => schedule_id));
    for (const id of [...chosen]) if (!ids.has(id)) chosen.delete(id);
    update(
      head,
      `${shown.length}${hasMore ? "+" : ""} ${shown.length === 1 ? "schedule" : "schedules"}`,
    );
    const ticked = shown.filter(({ schedule_id }) => chosen.has(schedule_id));
    update(bar, bulkBar(ticked, asked, done));
    if (!shown.length) return nothing(Object.values(asked).some(Boolean));
    return scheduleTable(shown, chosen, schedules.draw, schedules.look);
  }
  function done() {
    chosen.clear();
    return schedules.look();
  }
  put(
    main,
    h("div", { class: "head" }, h("div", { class: "title" }, h("h1", null, "Schedules"))),
    h(
      "section",
      { class: "sheet", "aria-label": "Schedules" },
      h("header", null, filters.element, head),
      bar,
      schedules.element,
    ),
  );
}

function matches({ schedule_id, name, description, cron_expr, workflow_id, tags }) {
  const words = [
    schedule_id,
    name,
    description,
    cron_expr,
    workflow_id,
    ...Object.entries(tags ?? {}).flat(),
  ];
  return words.join(" ").toLowerCase().includes(asked.text.toLowerCase());
}

/** The text is searched in the loaded schedules; the other filters are the API's. */
function filterBar(schedules) {
  const soon = settled(schedules.look, 250);
  const workflows = h("datalist", { id: "workflows" });
  const tags = h("datalist", { id: "tags" });
  const search = h("input", {
    class: "search",
    type: "search",
    placeholder: "Search",
    "aria-label": "Search schedules",
    value: asked.text,
    oninput: (event) => {
      asked.text = event.target.value;
      schedules.draw();
    },
  });
  const chooseStatus = (value) => {
    asked.status = value;
    schedules.look();
  };
  const element = h(
    "div",
    { class: "filters", role: "search" },
    search,
    select(statusChoices(STATUS), asked.status, chooseStatus, { "aria-label": "Status" }),
    filterInput("workflow_id", "Workflow", { list: "workflows" }, soon),
    filterInput("tag", "Tag", { list: "tags", title: "A tag, or tag:value" }, soon),
    workflows,
    tags,
  );
  const offer = (items) => {
    if (!asked.workflow_id) update(workflows, options(items.map(({ workflow_id }) => workflow_id)));
    if (!asked.tag) update(tags, options(items.flatMap(tagTexts)));
  };
  return { element, offer };
}

function filterInput(name, label, more, changed) {
  return h("input", {
    class: "narrow",
    type: "text",
    placeholder: label,
    "aria-label": label,
    value: asked[name],
    oninput: (event) => {
      asked[name] = event.target.value.trim();
      changed();
    },
    ...more,
  });
}

function tagTexts({ tags }) {
  return Object.entries(tags ?? {}).flatMap(([key, value]) => [key, `${key}:${value}`]);
}

function options(texts) {
  return [...new Set(texts)].sort().map((value) => h("option", { value, key: value }));
}

function nothing(isFiltered) {
  return isFiltered
    ? empty("Nothing fits", "No schedule matches the filters.")
    : empty(
        "No schedules yet",
        "A schedule says when a workflow runs, and what happens when things go wrong.",
        h("a", { class: "button main", href: to.make() }, icon("plus"), "Create the first one"),
      );
}
