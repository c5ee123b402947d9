// The ledger: every fire the schedule should have had in a window, held against what is recorded.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { fromField, moment, toField } from "../time.js";
import { LEDGER } from "../words.js";
import { segments } from "./form.js";
import { broken, notes, waiting } from "./states.js";

const HOUR = 3_600_000;
const WINDOWS = [
  ["1", "Hour"],
  ["24", "Day"],
  ["168", "Week"],
  ["own", "Choose"],
];
const TONES = {
  on_time: "good",
  late: "good",
  caught_up: "good",
  failed: "bad",
  abandoned: "bad",
  missed: "mind",
  skipped_overlap: "mind",
  in_flight: "busy",
  pending: "busy",
};

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

  async function look(first, last) {
    put(body, waiting());
    try {
      put(body, account(await api.ledger(id, { from: first, to: last }, signal)));
    } catch (problem) {
      if (problem.name !== "AbortError") put(body, broken(problem));
    }
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
  return h(
    "section",
    { class: "sheet", "aria-label": "Ledger" },
    h(
      "header",
      null,
      h("h2", null, "Ledger"),
      own,
      segments("Window of the ledger", WINDOWS, "1", choose),
    ),
    body,
  );
}

function account(ledger) {
  const reasons = Object.entries(ledger.by_reason).sort(([, a], [, b]) => b - a);
  const extra = Object.entries(ledger.extra ?? {});
  const count = ledger.unexplained_count ?? ledger.unexplained.length;
  return [
    h("p", { class: "soft small" }, `${moment(ledger.from)} to ${moment(ledger.to)}`),
    count === 0
      ? notes("good", [`${ledger.expected} expected, all explained.`])
      : notes("bad", [
          `${count} of ${ledger.expected} unexplained: ${ledger.unexplained
            .slice(0, 5)
            .map(({ run_at, why }) => `${moment(run_at)} (${why})`)
            .join(", ")}`,
        ]),
    reasons.length > 0 &&
      h(
        "div",
        {
          class: "stack",
          role: "img",
          "aria-label": reasons.map(([name, number]) => `${number} ${name}`).join(", "),
        },
        reasons.map(([name, number]) => grow(h("i", { class: TONES[name] ?? "idle" }), number)),
      ),
    h(
      "table",
      { class: "tally" },
      h(
        "tbody",
        null,
        reasons.map(([name, number]) =>
          h(
            "tr",
            null,
            h("td", null, name.replaceAll("_", " ")),
            h("td", { class: "soft small" }, LEDGER[name] ?? ""),
            h("td", { class: "num" }, number),
          ),
        ),
        extra.map(([name, number]) =>
          h(
            "tr",
            null,
            h("td", null, name.replaceAll("_", " ")),
            h("td", { class: "soft small" }, "Beside the expected fires"),
            h("td", { class: "num" }, number),
          ),
        ),
      ),
    ),
  ];
}

/** The policy forbids style attributes, not the style of an element. */
function grow(element, number) {
  element.style.flexGrow = number;
  return element;
}
