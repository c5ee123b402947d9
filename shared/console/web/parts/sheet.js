// Sheets: the titled parts of a screen.

import { h } from "../dom.js";

/**
 * @param {object} given
 * @param {string} given.name how it is read out; also its key among its siblings
 * @param {string} [given.title] if the heading is not the name
 * @param {any} [given.beside] beside the heading: a text, or controls
 * @param {string} [given.kind] class of the body; null shows the content without a body around it
 */
export function sheet({ name, title = name, beside, kind = "body" }, ...content) {
  const aside = typeof beside === "string" ? h("span", { class: "soft small" }, beside) : beside;
  return h(
    "section",
    { class: "sheet", "aria-label": name, key: name },
    h("header", null, h("h2", null, title), aside),
    kind ? h("div", { class: kind }, content) : content,
  );
}

/** A number with its name above and a remark below. */
export function fact(name, value, remark) {
  return h(
    "div",
    { key: name },
    h("dt", null, name),
    h("dd", null, value, remark && h("small", null, remark)),
  );
}

/** A line of a list of names and values; nothing if there is no value. */
export function line(name, value) {
  const none = value === null || value === undefined || value === "" || value === false;
  return none ? null : [h("dt", null, name), h("dd", null, value)];
}

/** JSON as it is written, in a frame that scrolls by the keyboard too. */
export function json(name, value) {
  return h(
    "pre",
    { class: "json", tabindex: "0", role: "region", "aria-label": name },
    JSON.stringify(value, null, 2),
  );
}
