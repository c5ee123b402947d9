// Form parts: a field with its label, hint and error; chips to choose from.

import { h, prose, put } from "../dom.js";

/**
 * A labelled field.
 * @param {{id: string, label: any, hint?: any, control: HTMLElement, around?: HTMLElement}} given
 *   `around` is the element that contains the control, if there is one
 * @returns {{element: HTMLElement, complain: (text?: string) => void}}
 */
export function field({ id, label, hint, control, around = control }) {
  const wrong = h("p", { class: "wrong", id: `${id}-wrong`, role: "alert" });
  const described = hint ? `${id}-hint ${id}-wrong` : `${id}-wrong`;
  control.id = id;
  control.setAttribute("aria-describedby", described);
  const element = h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    around,
    hint &&
      h("p", { class: "hint", id: `${id}-hint` }, typeof hint === "string" ? prose(hint) : hint),
    wrong,
  );
  const complain = (text = "") => {
    put(wrong, prose(text));
    control.setAttribute("aria-invalid", text ? "true" : "false");
  };
  return { element, complain };
}

/**
 * Chips of which any number can be pressed.
 * @param {[any, string, string?][]} choices value, text, and its name for a screen reader
 * @param {(chosen: any[]) => void} changed
 */
export function chips(choices, chosen, changed, more = "") {
  const pressed = new Set(chosen);
  const toggle = (value, button) => {
    if (!pressed.delete(value)) pressed.add(value);
    button.setAttribute("aria-pressed", pressed.has(value));
    changed([...pressed]);
  };
  return h(
    "div",
    { class: `chips ${more}` },
    choices.map(([value, text, name]) => {
      const button = h(
        "button",
        {
          class: `chip tight ${text.length > 4 ? "wide" : ""}`,
          type: "button",
          "aria-label": name,
          "aria-pressed": String(pressed.has(value)),
          onclick: () => toggle(value, button),
        },
        text,
      );
      return button;
    }),
  );
}

/** A row of buttons of which exactly one is pressed. */
export function segments(label, choices, chosen, changed) {
  const buttons = choices.map(([value, text]) =>
    h(
      "button",
      {
        class: "chip",
        type: "button",
        "aria-pressed": String(value === chosen),
        onclick: () => choose(value),
      },
      text,
    ),
  );
  function choose(value) {
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", choices[at][0] === value));
    changed(value);
  }
  return h("div", { class: "segments", role: "group", "aria-label": label }, buttons);
}

export function select(choices, chosen, changed, attributes = {}) {
  return h(
    "select",
    { ...attributes, onchange: (event) => changed(event.target.value) },
    choices.map(([value, text]) =>
      h("option", { value, selected: String(value) === String(chosen) }, text),
    ),
  );
}
