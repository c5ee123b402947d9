// The sheet of the payload: JSON that every run receives, checked while it is typed.

import { h } from "../dom.js";
import { readJson } from "../numbers.js";
import { sheet } from "../parts/sheet.js";
import { named } from "./fields.js";

/** @param {import("./draft.js").Draft} draft it keeps the last payload that was JSON */
export function payloadEditor(draft) {
  let good = true;
  const area = h("textarea", {
    class: "code",
    rows: 7,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    value: JSON.stringify(draft.values.payload, null, 2),
    oninput: judge,
    onkeydown: keepIndent,
  });
  const labelled = named(draft, "payload", area);
  const complain = draft.complain.payload;

  function judge() {
    const text = area.value.trim() || "{}";
    try {
      draft.values.payload = readJson(text);
      good = true;
      complain();
    } catch (problem) {
      good = false;
      complain(explain(problem.message, area.value));
    }
  }
  function tidy() {
    if (good) area.value = JSON.stringify(readJson(area.value.trim() || "{}"), null, 2);
  }
  const button = h("button", { class: "button slim", type: "button", onclick: tidy }, "Tidy");
  const element = sheet(
    { name: "Payload", title: "What each run receives", beside: button },
    labelled,
  );
  return { element, isGood: () => good };
}

/** Enter keeps the indent of the line. Tab is left alone: it moves to the next field. */
function keepIndent(event) {
  if (event.key !== "Enter") return;
  const area = event.target;
  const before = area.value.slice(0, area.selectionStart);
  const spaces = /(?:^|\n)([ ]*)[^\n]*$/.exec(before)[1] + (/[{[]\s*$/.test(before) ? "  " : "");
  if (!spaces) return;
  event.preventDefault();
  area.setRangeText(`\n${spaces}`, area.selectionStart, area.selectionEnd, "end");
  area.dispatchEvent(new InputEvent("input"));
}

/** The browser's message, with the line and the column as an editor counts them. */
function explain(message, text) {
  const position = /position (\d+)/.exec(message);
  const reason = message
    .replace(/ in JSON.*$| \(line.*$/, "")
    .replace(/^./, (letter) => letter.toLowerCase());
  if (!position) return `not JSON yet: ${reason}`;
  const before = text.slice(0, +position[1]).split("\n");
  return `line ${before.length}, column ${before.at(-1).length + 1}: ${reason}`;
}
