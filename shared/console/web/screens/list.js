// The list: all schedules at a glance, with what one does most.

import { api } from "../api.js";
import { h, put, refresh } from "../dom.js";
import { live, settled } from "../live.js";
import { bulkBar } from "../parts/bulk.js";
import { select } from "../parts/form.js";
import { icon } from "../parts/icons.js";
import { RECENT, table } from "../parts/rows.js";
import { broken, empty, waiting } from "../parts/states.js";
import { failed } from "../parts/toast.js";
import { to } from "../router.js";
import { STATUS } from "../words.js";

const EVERY_MS = 4000;
const PAGE = 100;

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
  const filters = filterBar(
    () => look(),
    () => draw(),
  );

  async function fetchAll() {
    const found = [];
    let cursor;
    for (let page = 0; page < pages; page += 1) {
      const { status, workflow_id, tag } = asked;
      const answer = await api.schedules(
        { status, workflow_id, tag, cursor, recent: RECENT, limit: PAGE },
        signal,
      );
      found.push(...answer.items);
      cursor = answer.next_cursor;
      if (!cursor) break;
    }
    items = found;
    more = Boolean(cursor);
    filters.offer(items);
  }
  const look = live(
    async () => {
      try {
        await fetchAll();
        draw();
      } catch (problem) {
        if (problem.name === "AbortError") throw problem;
        if (items === null)
          put(
            body,
            broken(problem, () => look()),
          );
        else failed(problem);
      }
    },
    EVERY_MS,
    signal,
  );

  function draw() {
    if (items === null) return;
    const shown = items.filter(matches);
    for (const id of [...chosen])
      if (!shown.some(({ schedule_id }) => schedule_id === id)) chosen.delete(id);
    put(head, `${shown.length}${more ? "+" : ""} ${shown.length === 1 ? "schedule" : "schedules"}`);
    refresh(
      bar,
      bulkBar(
        shown.filter(({ schedule_id }) => chosen.has(schedule_id)),
        asked,
        done,
      ),
    );
    if (shown.length)
      refresh(
        body,
        table(shown, chosen, draw, look),
        more &&
          h(
            "div",
            { class: "more" },
            h(
              "button",
              {
                class: "button",
                type: "button",
                "data-key": "more",
                onclick: () => {
                  pages += 1;
                  look();
                },
              },
              "Show more",
            ),
          ),
      );
    else put(body, nothing(Object.values(asked).some(Boolean)));
  }
  function done() {
    chosen.clear();
    return look();
  }

  put(
    main,
    h("div", { class: "head" }, h("div", { class: "title" }, h("h1", null, "Schedules"))),
    h(
      "section",
      { class: "sheet", "aria-label": "Schedules" },
      h("header", null, filters.element, head),
      bar,
      h("div", { class: "scroll" }, body),
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

function filterBar(look, draw) {
  const soon = settled(look, 250);
  const workflows = h("datalist", { id: "workflows" });
  const tags = h("datalist", { id: "tags" });
  const element = h(
    "div",
    { class: "filters", role: "search" },
    h("input", {
      class: "search",
      type: "search",
      placeholder: "Search",
      "aria-label": "Search schedules",
      value: asked.text,
      oninput: (event) => {
        asked.text = event.target.value;
        draw();
      },
    }),
    select(
      [["", "Any status"], ...Object.entries(STATUS).map(([value, [text]]) => [value, text])],
      asked.status,
      (value) => {
        asked.status = value;
        look();
      },
      { "aria-label": "Status" },
    ),
    h("input", {
      class: "narrow",
      type: "text",
      list: "workflows",
      placeholder: "Workflow",
      "aria-label": "Workflow",
      value: asked.workflow_id,
      oninput: (event) => {
        asked.workflow_id = event.target.value.trim();
        soon();
      },
    }),
    h("input", {
      class: "narrow",
      type: "text",
      list: "tags",
      placeholder: "Tag",
      title: "A tag, or tag:value",
      "aria-label": "Tag",
      value: asked.tag,
      oninput: (event) => {
        asked.tag = event.target.value.trim();
        soon();
      },
    }),
    workflows,
    tags,
  );
  const options = (texts) => [...new Set(texts)].sort().map((value) => h("option", { value }));
  const offer = (items) => {
    if (!asked.workflow_id) put(workflows, options(items.map(({ workflow_id }) => workflow_id)));
    if (!asked.tag)
      put(
        tags,
        options(
          items.flatMap((item) =>
            Object.entries(item.tags ?? {}).flatMap(([key, value]) => [key, `${key}:${value}`]),
          ),
        ),
      );
  };
  return { element, offer };
}

function nothing(filtered) {
  return filtered
    ? empty("Nothing fits", "No schedule fits what is asked for.")
    : empty(
        "No schedules yet",
        "A schedule says when a workflow runs, and what happens when things go wrong.",
        h("a", { class: "button main", href: to.make() }, icon("plus"), "Make the first one"),
      );
}
