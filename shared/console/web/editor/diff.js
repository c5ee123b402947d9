// The diff before a save: the fires that are added and removed, and the cost. Only then it is saved.

import { h } from "../dom.js";
import { line } from "../parts/changes.js";
import { ask } from "../parts/dialog.js";
import { notes } from "../parts/states.js";
import { moment } from "../time.js";

const NAMED = 4;

/**
 * @param {object} diff the API's answer to a dry run of the save
 * @param {() => Promise<any>} save
 */
export function askSave(diff, zone, isNew, save) {
  return ask({
    title: isNew ? "Create this schedule?" : "Save these changes?",
    body: [!isNew && changes(diff), fires(diff.fires, zone), clocks(diff), cost(diff)],
    agree: isNew ? "Create" : "Save",
    act: save,
  });
}

function changes({ changes }) {
  if (!changes.length) return notes("idle", ["Nothing changes."]);
  return h("ul", { class: "diff notes" }, changes.map(line));
}

function fires(
  { added_count, removed_count, kept_count, added, removed, from, to, truncated },
  zone,
) {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);
  const some = (times, count) => {
    const named = times.slice(0, NAMED).map((at) => moment(at, zone));
    return `${named.join(", ")}${count > NAMED ? " …" : ""}`;
  };
  const row = (tag, name, count, times) =>
    h(
      "tr",
      null,
      h("td", { class: "short" }, h(tag, null, name)),
      h("td", { class: "num short" }, count),
      h("td", { class: "small soft" }, times && some(times, count)),
    );
  return h(
    "div",
    null,
    h("h3", null, truncated ? `Fires until ${moment(to, zone)}` : `Fires of the next ${days} days`),
    h(
      "table",
      { class: "diff" },
      h(
        "tbody",
        null,
        row("ins", "added", added_count, added),
        row("del", "removed", removed_count, removed),
        row("span", "kept", kept_count, null),
      ),
    ),
  );
}

function clocks({ dst }) {
  return (
    dst?.length > 0 &&
    notes(
      "mind",
      dst.map(({ message }) => message),
    )
  );
}

function cost({ runs_per_month, cost_per_month_usd }) {
  if (!cost_per_month_usd) return null;
  const usd = (number) => (number < 0.01 ? "less than $0.01" : `$${number.toFixed(2)}`);
  // The parts of a sum below a cent are not worth showing.
  const parts = Object.entries(cost_per_month_usd).filter(
    ([name, value]) =>
      name !== "total" && cost_per_month_usd.total >= 0.01 && typeof value === "number",
  );
  return h(
    "p",
    { class: "soft small" },
    `About ${Math.round(runs_per_month).toLocaleString("en")} runs a month, ${usd(cost_per_month_usd.total)} on AWS`,
    parts.length > 0 && ` (${parts.map(([name, value]) => `${name} ${usd(value)}`).join(", ")})`,
    ".",
  );
}
