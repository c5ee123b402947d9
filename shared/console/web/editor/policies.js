// The sheet of policies: what happens when things go wrong, with a sentence for every choice.

import { h, put } from "../dom.js";
import { segments } from "../parts/form.js";
import { sheet } from "../parts/sheet.js";
import { FIELDS, numbers, policies } from "../words.js";
import { named } from "./fields.js";

/** @param {import("./draft.js").Draft} draft */
export function policySheet(draft) {
  return sheet(
    { name: "Policies", title: "When things go wrong" },
    h(
      "div",
      { class: "choices" },
      policies().map((name) => choice(draft, name)),
    ),
    h(
      "div",
      { class: "fields" },
      numbers().map((name) => number(draft, name)),
    ),
  );
}

function choice(draft, name) {
  const { label, choices } = FIELDS[name];
  const hint = h("p", { class: "hint" });
  const explain = (value) => put(hint, choices.find(([choice]) => choice === value)?.[2] ?? "");
  const now = draft.values[name] ?? "";
  const choose = (value) => {
    explain(value);
    draft.values[name] = value || null;
    if (name.startsWith("dst_")) draft.look();
  };
  explain(now);
  return h(
    "div",
    { class: "choice" },
    h("h3", null, label),
    h("div", null, segments(label, choices, now, choose)),
    hint,
  );
}

function number(draft, name) {
  const control = h("input", {
    type: "number",
    min: FIELDS[name].minimum,
    max: FIELDS[name].maximum,
    step: 1,
    inputmode: "numeric",
    placeholder: FIELDS[name].placeholder,
    value: draft.values[name] ?? "",
    oninput: ({ target }) => {
      draft.values[name] = target.value === "" ? null : Number(target.value);
    },
  });
  return named(draft, name, control);
}
