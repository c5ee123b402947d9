// Policies: what happens when things go wrong, a sentence for every choice.

import { h, put } from "../dom.js";
import { field, segments } from "../parts/form.js";
import { NUMBERS, POLICIES } from "../words.js";

/**
 * @param {object} given the schedule, or its defaults
 * @param {(field: string, value: any) => void} changed
 * @returns {{element: HTMLElement, complain: Object<string, (text?: string) => void>}}
 */
export function policies(given, changed) {
  const complain = {};
  const choice = ({ field: name, label, choices }) => {
    const hint = h("p", { class: "hint" });
    const explain = (value) => put(hint, choices.find(([choice]) => choice === value)?.[2] ?? "");
    const now = given[name] ?? "";
    explain(now);
    return h(
      "div",
      { class: "choice" },
      h("h3", null, label),
      h(
        "div",
        null,
        segments(label, choices, now, (value) => {
          explain(value);
          changed(name, value || null);
        }),
      ),
      hint,
    );
  };
  const number = ([name, label, otherwise, sentence]) => {
    const control = h("input", {
      type: "number",
      min: 0,
      step: 1,
      inputmode: "numeric",
      placeholder: otherwise,
      value: given[name] ?? "",
      oninput: (event) =>
        changed(name, event.target.value === "" ? null : Number(event.target.value)),
    });
    const made = field({ id: `f-${name}`, label, hint: sentence, control });
    complain[name] = made.complain;
    return made.element;
  };
  const element = h(
    "section",
    { class: "sheet", "aria-label": "Policies" },
    h("header", null, h("h2", null, "When things go wrong")),
    h(
      "div",
      { class: "body" },
      h("div", { class: "choices" }, POLICIES.map(choice)),
      h("div", { class: "fields" }, NUMBERS.map(number)),
    ),
  );
  return { element, complain };
}
