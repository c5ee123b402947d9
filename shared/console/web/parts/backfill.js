// Backfills: the fires of a time gone by, asked for after a look at what that would do, and watched.

import { api } from "../api.js";
import { h, refresh } from "../dom.js";
import { fromField, moment, toField } from "../time.js";
import { title } from "./actions.js";
import { ask } from "./dialog.js";
import { field, select } from "./form.js";
import { scrolling } from "./states.js";
import { failed, told } from "./toast.js";

const DAY = 86_400_000;
const ORDERS = [
  ["oldest_first", "Oldest first"],
  ["newest_first", "Newest first"],
];
const STATES = { running: "Running", done: "Done", cancelled: "Cancelled" };

export function askBackfill(schedule) {
  const id = schedule.schedule_id;
  const would = h("p", { class: "soft", role: "status" });
  let latest = 0;
  const look = async () => {
    const mine = ++latest;
    const said = await api.backfill(id, { ...asked(), dry_run: true }).then(
      ({ fires, already_ran, launches }) =>
        `${count(fires, "fire")}, ${already_ran} of them ran already; this launches ${launches}.`,
      (problem) => problem.sentence,
    );
    // An answer to what was asked before is of no use.
    if (mine === latest) would.textContent = said;
  };
  const changed = () => look().catch(failed);
  const time = (at) =>
    h("input", { type: "datetime-local", step: 1, value: toField(at), onchange: changed });
  const from = time(Date.now() - DAY);
  const to = time(Date.now());
  const atOnce = h("input", { type: "number", min: 1, max: 100, value: 1, onchange: changed });
  const rerun = h("input", { type: "checkbox", onchange: changed });
  let order = ORDERS[0][0];
  const chooser = select(ORDERS, order, (value) => {
    order = value;
  });
  const asked = () => ({
    from: fromField(from.value),
    to: fromField(to.value),
    order,
    max_concurrent: Number(atOnce.value),
    rerun: rerun.checked,
  });
  changed();
  return ask({
    title: `Backfill ${title(schedule)}`,
    body: [
      field({ id: "backfill-from", label: "From", hint: "In your time.", control: from }).element,
      field({ id: "backfill-to", label: "To", control: to }).element,
      field({ id: "backfill-order", label: "Order", control: chooser }).element,
      field({ id: "backfill-at-once", label: "Runs at once", control: atOnce }).element,
      h(
        "div",
        { class: "filters" },
        h("label", { class: "inline" }, rerun, "Also those that ran already"),
      ),
      would,
    ],
    agree: "Run them",
    act: async () => {
      const { fires } = await api.backfill(id, asked());
      told(`${count(fires, "fire")} of ${title(schedule)} on the way.`);
    },
  });
}

/** The sheet of a schedule's backfills; hidden while there are none. */
export function backfills(id, signal) {
  const body = h("div", null);
  const element = h(
    "section",
    { class: "sheet", "aria-label": "Backfills", hidden: true },
    h("header", null, h("h2", null, "Backfills")),
    body,
  );
  async function look() {
    const { items } = await api.backfills(id, signal);
    element.hidden = items.length === 0;
    refresh(body, scrolling("Backfills", table(items, cancel)));
  }
  async function cancel(backfill) {
    try {
      await api.cancelBackfill(id, backfill.backfill_id);
      await look();
    } catch (problem) {
      failed(problem);
    }
  }
  return { element, look };
}

function table(items, cancel) {
  const heads = ["Fires from", "To", "State", "Succeeded", "Failed", "Left", ""];
  const row = (backfill) => [
    moment(backfill.from),
    moment(backfill.to),
    STATES[backfill.state] ?? backfill.state,
    backfill.succeeded,
    backfill.failed,
    backfill.remaining + backfill.active.length,
    backfill.state === "running" &&
      h(
        "button",
        {
          class: "button slim",
          type: "button",
          "data-key": `cancel ${backfill.backfill_id}`,
          onclick: () => cancel(backfill),
        },
        "Cancel",
      ),
  ];
  return h(
    "table",
    null,
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        heads.map((name) => (name ? h("th", null, name) : h("td", null))),
      ),
    ),
    h(
      "tbody",
      null,
      items.map((backfill) =>
        h(
          "tr",
          null,
          row(backfill).map((cell) => h("td", null, cell)),
        ),
      ),
    ),
  );
}

function count(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
