// Backfills: past fires, run after a preview of what that would do, and watched while they run.

import { api } from "../api.js";
import { h, update } from "../dom.js";
import { fromField, moment, toField } from "../time.js";
import { ORDERS, backfillState } from "../words.js";
import { title } from "./actions.js";
import { ask } from "./dialog.js";
import { field, select } from "./form.js";
import { sheet } from "./sheet.js";
import { scrolling } from "./states.js";
import { table } from "./table.js";
import { failed, told } from "./toast.js";

const DAY = 86_400_000;

export function askBackfill(schedule) {
  const id = schedule.schedule_id;
  const would = h("p", { class: "soft", role: "status" });
  let latest = 0;
  const look = async () => {
    const mine = ++latest;
    const said = await api.backfill(id, { ...form.asked(), dry_run: true }).then(
      ({ fires, already_ran, launches }) =>
        `${count(fires, "fire")}, ${already_ran} of them ran already; this launches ${launches}.`,
      (problem) => problem.sentence,
    );
    // The answer to an earlier question may come later.
    if (mine === latest) would.textContent = said;
  };
  const form = backfillForm(() => look().catch(failed));
  look().catch(failed);
  return ask({
    title: `Backfill ${title(schedule)}`,
    body: [form.fields, would],
    agree: "Run them",
    act: async () => {
      const { fires } = await api.backfill(id, form.asked());
      told(`${count(fires, "fire")} of ${title(schedule)} will run.`);
    },
  });
}

function backfillForm(changed) {
  const time = (at) =>
    h("input", { type: "datetime-local", step: 1, value: toField(at), onchange: changed });
  const from = time(Date.now() - DAY);
  const to = time(Date.now());
  const atOnce = h("input", { type: "number", min: 1, max: 100, value: 1, onchange: changed });
  const rerun = h("input", { type: "checkbox", onchange: changed });
  const order = select(ORDERS, ORDERS[0][0], () => {});
  const line = (name, label, control, hint) =>
    field({ id: `backfill-${name}`, label, hint, control }).element;
  return {
    fields: [
      line("from", "From", from, "In your time zone."),
      line("to", "To", to),
      line("order", "Order", order),
      line("at-once", "Runs at once", atOnce),
      h(
        "div",
        { class: "filters" },
        h("label", { class: "inline" }, rerun, "Also those that ran already"),
      ),
    ],
    asked: () => ({
      from: fromField(from.value),
      to: fromField(to.value),
      order: order.value,
      max_concurrent: Number(atOnce.value),
      rerun: rerun.checked,
    }),
  };
}

/**
 * The sheet of a schedule's backfills, hidden while there are none.
 * @param {() => Promise<void>} look called when one was cancelled
 */
export function backfillSheet(id, look) {
  const body = h("div", null);
  const element = sheet({ name: "Backfills", kind: null }, body);
  element.hidden = true;
  const cancel = (backfill) =>
    api.cancelBackfill(id, backfill.backfill_id).then(look).catch(failed);
  return {
    element,
    show(items) {
      element.hidden = items.length === 0;
      update(body, scrolling("Backfills", progress(items, cancel)));
    },
  };
}

function progress(items, cancel) {
  return table({
    columns: [
      { head: "Fires from", cell: ({ from }) => moment(from) },
      { head: "To", cell: ({ to }) => moment(to) },
      { head: "State", cell: ({ state }) => backfillState(state) },
      { head: "Succeeded", cell: ({ succeeded }) => succeeded },
      { head: "Failed", cell: ({ failed }) => failed },
      { head: "Left", cell: ({ remaining, active }) => remaining + active.length },
      { cell: (backfill) => backfill.state === "running" && cancelButton(backfill, cancel) },
    ],
    items,
    key: ({ backfill_id }) => backfill_id,
  });
}

function cancelButton(backfill, cancel) {
  const onclick = () => cancel(backfill);
  return h("button", { class: "button slim", type: "button", onclick }, "Cancel");
}

function count(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
