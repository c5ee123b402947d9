// Elements: the one place that makes them. Text only ever becomes text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Makes an element. Attributes that are functions are listeners; `true` is a bare attribute,
 * `null`, `undefined` and `false` none at all.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...any} children elements, texts, numbers, lists of them; nothing for null and false
 * @returns {HTMLElement}
 */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an SVG element, as `h` does. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A sentence of the API's, with what stands in backticks as code. */
export function prose(text) {
  return String(text)
    .split("`")
    .map((part, at, all) => (at % 2 && at < all.length - 1 ? h("code", null, part) : part));
}

/** Replaces what an element holds. */
export function put(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/**
 * Replaces what an element holds without taking the keyboard away: what has focus is found again
 * by its `data-key`.
 */
export function refresh(element, ...children) {
  const held = element.contains(document.activeElement) ? document.activeElement : null;
  const key = held?.dataset.key;
  put(element, ...children);
  if (key) element.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (name === "value" || name === "checked" || name === "indeterminate")
      element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}
