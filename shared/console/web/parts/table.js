// Tables: a list of items by columns, and one that is read page by page and asked for again.

import { h, update } from "../dom.js";
import { polled } from "./polled.js";
import { waiting } from "./states.js";

/**
 * @typedef {object} Column
 * @property {any} [head] its title; none leaves the corner empty
 * @property {(item: any) => any} cell what stands in it
 * @property {string} [align] class of the title and of the cells
 * @property {string} [kind] class of the cells
 */

/**
 * A table with a row an item. Rows are kept by their key when the table is updated.
 * @param {object} given
 * @param {string} [given.kind] class of the table
 * @param {Column[]} given.columns
 * @param {any[]} given.items
 * @param {(item: any) => string} given.key
 * @param {(item: any) => object} [given.attributes] of the row
 */
export function table({ kind, columns, items, key, attributes = () => ({}) }) {
  const title = ({ head, align }) => (head ? h("th", { class: align }, head) : h("td", null));
  const cell = (item) => (column) =>
    h("td", { class: classes(column.align, column.kind) }, column.cell(item));
  const row = (item) => h("tr", { key: key(item), ...attributes(item) }, columns.map(cell(item)));
  return h(
    "table",
    { class: kind },
    columns.some(({ head }) => head) && h("thead", null, h("tr", null, columns.map(title))),
    h("tbody", null, items.map(row)),
  );
}

function classes(...names) {
  return names.filter(Boolean).join(" ") || null;
}

/**
 * Items of the API that are read page by page, asked for again and again. A button reads one page
 * more; from then on every look reads that page too.
 * @param {object} given
 * @param {(cursor?: string) => Promise<{items: any[], next_cursor?: string}>} given.ask one page
 * @param {(items: any[], hasMore: boolean) => any} given.show
 * @param {number} given.every ms between two looks
 * @param {AbortSignal} given.signal the screen is left
 * @returns {{element: HTMLElement, look: Function, draw: Function, restart: Function}} `look` asks
 *   at once, `draw` shows the same items again, `restart` goes back to the first page
 */
export function pagedTable({ ask, show, every, signal }) {
  const element = h("div", { class: "scroll" }, waiting());
  let pages = 1;
  let found = null;

  async function read() {
    const items = [];
    let cursor;
    for (let page = 0; page < pages; page += 1) {
      const answer = await ask(cursor);
      items.push(...answer.items);
      cursor = answer.next_cursor;
      if (!cursor) break;
    }
    return { items, hasMore: Boolean(cursor) };
  }
  function draw() {
    if (!found) return;
    const { items, hasMore } = found;
    update(element, show(items, hasMore), hasMore && moreButton(more));
  }
  function more() {
    pages += 1;
    look();
  }
  function restart() {
    pages = 1;
    return look();
  }
  const look = polled({
    place: element,
    ask: read,
    show: (answer) => {
      found = answer;
      draw();
    },
    every,
    signal,
  });
  return { element, look, draw, restart };
}

function moreButton(act) {
  const button = h("button", { class: "button", type: "button", onclick: act }, "Show more");
  return h("div", { class: "more", key: "more" }, button);
}
