// The plain fields of the form: texts and times, labelled by the vocabulary.

import { h } from "../dom.js";
import { field } from "../parts/form.js";
import { MINE, fromField, toField } from "../time.js";
import { FIELDS } from "../words.js";

/** A control with the label and hint of its field; its problems are shown below it. */
export function named(draft, name, control, { hint = FIELDS[name].hint, around } = {}) {
  const made = field({ id: `f-${name}`, label: FIELDS[name].label, hint, control, around });
  draft.complain[name] = made.complain;
  return made.element;
}

/** A line of text, or a few of them. */
export function textField(draft, name, { area, ...attributes } = {}) {
  const control = h(area ? "textarea" : "input", {
    ...(area ? { rows: 2 } : { type: "text" }),
    placeholder: FIELDS[name].placeholder,
    ...attributes,
    value: draft.values[name] ?? "",
    oninput: (event) => {
      draft.values[name] = event.target.value || null;
    },
  });
  return named(draft, name, control);
}

/** The id of a new schedule. */
export function idField(draft) {
  const control = h("input", {
    type: "text",
    placeholder: FIELDS.schedule_id.placeholder,
    spellcheck: "false",
    oninput: (event) => {
      draft.wantedId = event.target.value.trim();
    },
  });
  return named(draft, "schedule_id", control);
}

/** A time, in the zone of the browser. */
export function timeField(draft, name) {
  const control = h("input", {
    type: "datetime-local",
    step: 1,
    value: toField(draft.values[name]),
    onchange: (event) => {
      draft.values[name] = fromField(event.target.value);
      draft.look();
    },
  });
  return named(draft, name, control, { hint: `In your time zone, ${MINE}` });
}
