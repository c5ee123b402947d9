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
    const row = h(
      "div",
      { class: "filters" },
      h("input", {
        class: "search",
        type: "text",
        placeholder: "key",
        "aria-label": "Key of the tag",
        value: key,
        oninput: tell,
      }),
      h("input", {
        class: "search",
        type: "text",
        placeholder: "value",
        "aria-label": "Value of the tag",
        value,
        oninput: tell,
      }),
      h(
        "button",
        {
          class: "button quiet slim",
          type: "button",
          "aria-label": `Remove the tag ${key}`,
          onclick: () => {
            row.remove();
            tell();
          },
        },
        "Remove",
      ),
    );
    rows.append(row);
    return row;
  };
  for (const [key, value] of Object.entries(tags)) add(key, value);
  return h(
    "div",
    { class: "field" },
    h("span", { class: "label" }, "Tags"),
    rows,
    h(
      "div",
      null,
      h(
        "button",
        {
          class: "button slim",
          type: "button",
          onclick: () => add().querySelector("input").focus(),
        },
        "Add a tag",
      ),
    ),
  );
}
