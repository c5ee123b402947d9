// Elements: the only file that makes them. Text always becomes text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** Attributes that are set as properties: the attribute has no effect once a user has changed them. */
const PROPERTIES = ["value", "checked", "indeterminate", "selected"];

/** What `h` and `s` were given for each element; `update` compares it with what is wanted next. */
const given = new WeakMap();

/** The events each element listens to already. */
const heard = new WeakMap();

/**
 * Makes an element. Attributes that are functions are listeners; `true` is a bare attribute;
 * `null`, `undefined` and `false` leave the attribute out. `key` is no attribute: it names the
 * element among its siblings, for `update`.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...any} children elements, texts, numbers, lists of them; null and false are left out
 * @returns {HTMLElement}
 */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an SVG element, as `h` does. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A sentence of the API, with the parts in backticks as code. */
export function prose(text) {
  return String(text)
    .split("`")
    .map((part, at, all) => (at % 2 && at < all.length - 1 ? h("code", null, part) : part));
}

/** Replaces the children of an element. */
export function put(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/**
 * Changes the children of an element into these and keeps every element that is still wanted, so
 * that focus, selection, scroll position and open menus survive. A child is the same as before if
 * its tag and its `key` are; children without a key are matched in their order.
 */
export function update(element, ...children) {
  const focused = document.activeElement;
  reconcile(element, nodes(children));
  // The browser drops the focus of an element that changes its place.
  if (focused !== document.activeElement && element.contains(focused))
    focused.focus({ preventScroll: true });
  return element;
}

function reconcile(parent, wanted) {
  const present = Map.groupBy(parent.childNodes, identity);
  const kept = wanted.map((node) => {
    const same = present.get(identity(node))?.shift();
    return same ? patch(same, node) : node;
  });
  // Removed first: the rest is then in order already, unless the order itself has changed.
  for (const unwanted of [...present.values()].flat()) unwanted.remove();
  let next = parent.firstChild;
  for (const node of kept) {
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
  }
}

function identity(node) {
  return `${node.nodeName} ${given.get(node)?.key ?? ""}`;
}

/** Makes `element` look and act like `wanted`; leaves alone what neither of them was given. */
function patch(element, wanted) {
  if (element.nodeType === Node.TEXT_NODE) {
    if (element.data !== wanted.data) element.data = wanted.data;
    return element;
  }
  const before = given.get(element);
  const after = given.get(wanted);
  for (const name of Object.keys(before)) if (!(name in after)) unset(element, name);
  for (const [name, value] of Object.entries(after)) {
    if (typeof value === "function") listen(element, name);
    else if (value !== before[name] || isChoice(name)) set(element, name, value);
  }
  given.set(element, after);
  reconcile(element, [...wanted.childNodes]);
  return element;
}

/** A user may have made another choice since; a text that is being typed is left alone. */
function isChoice(name) {
  return PROPERTIES.includes(name) && name !== "value";
}

function fill(element, attributes, children) {
  const wanted = Object.entries(attributes ?? {}).filter(
    ([, value]) => value !== null && value !== undefined && value !== false,
  );
  for (const [name, value] of wanted) {
    if (typeof value === "function") listen(element, name);
    else set(element, name, value);
  }
  given.set(element, Object.fromEntries(wanted));
  element.append(...nodes(children));
  return element;
}

/** Calls the listener the element has been given last, so that `patch` only exchanges the function. */
function listen(element, name) {
  const names = heard.get(element) ?? new Set();
  if (names.has(name)) return;
  heard.set(element, names.add(name));
  element.addEventListener(name.replace(/^on/, ""), (event) => given.get(element)[name]?.(event));
}

function set(element, name, value) {
  if (name === "key") return;
  if (PROPERTIES.includes(name)) element[name] = value;
  else element.setAttribute(name, value === true ? "" : String(value));
}

function unset(element, name) {
  if (name === "value") element.value = "";
  else if (PROPERTIES.includes(name)) element[name] = false;
  else element.removeAttribute(name);
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}
