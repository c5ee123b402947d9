// Tags: rows of a key and a value.

import { h } from "../dom.js";

/** @param {(tags: Object<string, string>) => void} changed */
export function tagRows(tags, changed) {
  const rows = h("div", { class: "notes" });
  const tell = () => {
    const pairs = [...rows.children].map((row) =>
      [...row.querySelectorAll("input")].map((input) => input.value.trim()),
    );
    changed(Object.fromEntries(pairs.filter(([key]) => key)));
  };
  const add = (key = "", value = "") => {
    const row = tagRow(key, value, tell);
    rows.append(row);
    return row;
  };
  for (const [key, value] of Object.entries(tags)) add(key, value);
  const another = h(
    "button",
    { class: "button slim", type: "button", onclick: () => add().querySelector("input").focus() },
    "Add a tag",
  );
  return h(
    "div",
    { class: "field" },
    h("span", { class: "label" }, "Tags"),
    rows,
    h("div", null, another),
  );
}

function tagRow(key, value, changed) {
  const text = (placeholder, label, text) =>
    h("input", {
      class: "search",
      type: "text",
      placeholder,
      "aria-label": label,
      value: text,
      oninput: changed,
    });
  const remove = () => {
    row.remove();
    changed();
  };
  const row = h(
    "div",
    { class: "filters" },
    text("key", "Key of the tag", key),
    text("value", "Value of the tag", value),
    h(
      "button",
      {
        class: "button quiet slim",
        type: "button",
        "aria-label": `Remove the tag ${key}`,
        onclick: remove,
      },
      "Remove",
    ),
  );
  return row;
}
