// The sheet "When": presets, the expression, the builder, the zone, and from when until when.

import { h, put } from "../dom.js";
import { sheet } from "../parts/sheet.js";
import { builder } from "./builder.js";
import { named, textField, timeField } from "./fields.js";
import { zonePicker } from "./zone.js";

/** The fields whose problems the preview finds while they are typed. */
const JUDGED = ["cron_expr", "timezone", "start_at", "end_at"];

/**
 * @param {import("./draft.js").Draft} draft
 * @param {{name: string, cron_expr: string}[]} presets
 * @returns {{element: HTMLElement, judged: (errors: object[]) => void}}
 */
export function timingSheet(draft, presets, signal) {
  const expression = expressionPart(draft, presets);
  const element = sheet(
    { name: "When" },
    expression.elements,
    textField(draft, "after_schedule_id", { spellcheck: "false" }),
    zoneField(draft, signal),
    h("div", { class: "fields" }, timeField(draft, "start_at"), timeField(draft, "end_at")),
  );
  const judged = (errors) => {
    const of = (name) => errors.find(({ field }) => field === name);
    for (const name of JUDGED) draft.complain[name]?.(of(name)?.message);
    expression.pointAt(of("cron_expr")?.at);
  };
  return { element, judged };
}

/** The expression: chosen by a preset, typed, or drawn with the builder. Each follows the others. */
function expressionPart(draft, presets) {
  const input = h("input", {
    class: "expression",
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    maxlength: 256,
    value: draft.values.cron_expr ?? "",
    oninput: () => write(input.value),
  });
  const pointer = h("div", { class: "pointer", "aria-hidden": "true" });
  const drawn = builder((expression) => {
    input.value = expression;
    take(expression);
  });
  const chips = presetChips(presets, (expression) => {
    input.value = expression;
    write(expression);
  });
  function write(expression) {
    drawn.show(expression);
    take(expression);
  }
  function take(expression) {
    draft.values.cron_expr = expression.trim() ? expression : null;
    chips.mark(expression);
    draft.look();
  }
  const element = named(draft, "cron_expr", input);
  element.insertBefore(pointer, input.nextSibling);
  drawn.show(input.value);
  chips.mark(input.value);
  return {
    elements: [chips.element, element, drawn.element],
    /** Points at a character of the expression. */
    pointAt: (at) => put(pointer, Number.isInteger(at) ? `${" ".repeat(at)}^` : ""),
  };
}

function presetChips(presets, chosen) {
  const buttons = presets.map(({ name, cron_expr }) =>
    h(
      "button",
      {
        class: "chip",
        type: "button",
        "aria-pressed": "false",
        onclick: () => chosen(cron_expr),
      },
      name,
    ),
  );
  const element = h(
    "div",
    { class: "field" },
    h("span", { class: "label" }, "Presets"),
    h("div", { class: "chips", role: "group", "aria-label": "Presets" }, buttons),
  );
  const mark = (expression) =>
    buttons.forEach((button, at) =>
      button.setAttribute("aria-pressed", String(presets[at].cron_expr === expression.trim())),
    );
  return { element, mark };
}

function zoneField(draft, signal) {
  const changed = (name) => {
    draft.values.timezone = name || null;
    draft.look();
  };
  const zone = zonePicker(draft.values.timezone ?? "UTC", changed, signal);
  return named(draft, "timezone", zone.input, { hint: zone.now, around: zone.element });
}
