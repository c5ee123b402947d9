// The payload: JSON that every run is given, checked while it is typed.

import { h } from "../dom.js";
import { field } from "../parts/form.js";

/** @param {(payload: any) => void} changed only with what can be read */
export function payloadEditor(payload, changed) {
  let good = true;
  const area = h("textarea", {
    class: "code",
    rows: 7,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    value: JSON.stringify(payload, null, 2),
    oninput: () => judge(),
    onkeydown: indent,
  });
  const made = field({
    id: "f-payload",
    label: "Payload",
    hint: "Any JSON up to 256 KB. Every run is given it.",
    control: area,
  });

  function judge() {
    const text = area.value.trim() || "{}";
    try {
      const read = JSON.parse(text);
      good = true;
      made.complain();
      changed(read);
    } catch (problem) {
      good = false;
      made.complain(explain(problem.message, area.value));
    }
  }
  /** Tab leaves the field, as everywhere; Enter keeps the indent. */
  function indent(event) {
    if (event.key !== "Enter") return;
    const before = area.value.slice(0, area.selectionStart);
    const spaces = /(?:^|\n)([ ]*)[^\n]*$/.exec(before)[1] + (/[{[]\s*$/.test(before) ? "  " : "");
    if (!spaces) return;
    event.preventDefault();
    area.setRangeText(`\n${spaces}`, area.selectionStart, area.selectionEnd, "end");
    judge();
  }
  function tidy() {
    if (good) area.value = JSON.stringify(JSON.parse(area.value.trim() || "{}"), null, 2);
  }
  const element = h(
    "section",
    { class: "sheet", "aria-label": "Payload" },
    h(
      "header",
      null,
      h("h2", null, "What each run is given"),
      h("button", { class: "button slim", type: "button", onclick: tidy }, "Tidy"),
    ),
    h("div", { class: "body" }, made.element),
  );
  return { element, complain: made.complain, isGood: () => good };
}

/** The browser's message, with the place as an editor counts it. */
function explain(message, text) {
  const position = /position (\d+)/.exec(message);
  const reason = message
    .replace(/ in JSON.*$| \(line.*$/, "")
    .replace(/^./, (letter) => letter.toLowerCase());
  if (!position) return `not JSON yet: ${reason}`;
  const before = text.slice(0, +position[1]).split("\n");
  return `line ${before.length}, column ${before.at(-1).length + 1}: ${reason}`;
}
