// The ledger: every fire the schedule should have had in a window, compared with the records.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { fromField, moment, toField } from "../time.js";
import { beside, fate, unexplained } from "../words.js";
import { segments } from "./form.js";
import { sheet } from "./sheet.js";
import { load, notes, waiting } from "./states.js";
import { table } from "./table.js";

const HOUR = 3_600_000;
const WINDOWS = [
  ["1", "Hour"],
  ["24", "Day"],
  ["168", "Week"],
  ["own", "Choose"],
];

export function ledgerSheet(id, signal) {
  const body = h("div", { class: "body" }, waiting());
  const from = h("input", { type: "datetime-local", step: 1 });
  const to = h("input", { type: "datetime-local", step: 1 });
  const own = h(
    "div",
    { class: "filters", hidden: true },
    h("label", { class: "inline" }, "From", from),
    h("label", { class: "inline" }, "To", to),
    h(
      "button",
      {
        class: "button slim",
        type: "button",
        onclick: () => look(fromField(from.value), fromField(to.value)),
      },
      "Show",
    ),
  );

  function look(first, last) {
    put(body, waiting());
    const ask = () => api.ledger(id, { from: first, to: last }, signal);
    return load(body, ask, (ledger) => put(body, account(ledger)));
  }
  function choose(hours) {
    own.hidden = hours !== "own";
    const now = Date.now();
    if (hours !== "own")
      return look(new Date(now - hours * HOUR).toISOString(), new Date(now).toISOString());
    from.value = toField(now - HOUR);
    to.value = toField(now);
  }
  choose("1");
  const windows = segments("Window of the ledger", WINDOWS, "1", choose);
  return sheet({ name: "Ledger", beside: [own, windows], kind: null }, body);
}

function account(ledger) {
  const reasons = Object.entries(ledger.by_reason).sort(([, a], [, b]) => b - a);
  const expected = reasons.map(([name, count]) => ({ ...fate(name), count }));
  const others = Object.entries(ledger.extra ?? {});
  const extra = others.map(([name, count]) => ({ ...beside(name), count }));
  return [
    h("p", { class: "soft small" }, `${moment(ledger.from)} to ${moment(ledger.to)}`),
    verdict(ledger),
    expected.length > 0 && stack(expected),
    tally([...expected, ...extra]),
  ];
}

function verdict({ expected, unexplained: listed, unexplained_count: count = listed.length }) {
  if (count === 0) return notes("good", [`${expected} expected, all explained.`]);
  const named = listed
    .slice(0, 5)
    .map(({ run_at, why }) => `${moment(run_at)} (${unexplained(why)})`);
  return notes("bad", [`${count} of ${expected} unexplained: ${named.join(", ")}`]);
}

/** The shares of the fates, as a bar. */
function stack(fates) {
  const says = fates.map(({ word, count }) => `${count} ${word}`).join(", ");
  return h(
    "div",
    { class: "stack", role: "img", "aria-label": says },
    fates.map(({ tone, count }) => grow(h("i", { class: tone }), count)),
  );
}

/** The policy forbids style attributes, not the style of an element. */
function grow(element, number) {
  element.style.flexGrow = number;
  return element;
}

function tally(counts) {
  return table({
    kind: "tally",
    columns: [
      { cell: ({ word }) => word },
      { kind: "soft small", cell: ({ meaning }) => meaning },
      { kind: "num", cell: ({ count }) => count },
    ],
    items: counts,
    key: ({ word }) => word,
  });
}
