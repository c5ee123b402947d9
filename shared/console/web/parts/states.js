// What a place shows when it has nothing to show: loading, empty, gone wrong.

import { h, prose } from "../dom.js";

export function waiting(what = "Loading…") {
  return h("p", { class: "waiting", role: "status" }, what);
}

export function empty(title, text, action) {
  return h("div", { class: "empty" }, h("h2", null, title), h("p", null, text), action);
}

/** A problem, with a way to try again. */
export function broken(problem, again) {
  const title = problem.status === 404 ? "Not found" : "That did not work";
  return h(
    "div",
    { class: "empty", role: "alert" },
    h("h1", null, title),
    h("p", null, problem.sentence ?? problem.message),
    again && h("button", { class: "button", type: "button", onclick: again }, "Try again"),
  );
}

/** Something wide: it scrolls by itself, by the keyboard too. */
export function scrolling(label, ...content) {
  return h(
    "div",
    {
      class: "scroll",
      tabindex: "0",
      role: "group",
      "aria-label": label,
      "data-key": `scroll ${label}`,
    },
    content,
  );
}

/** Warnings, one under the other. */
export function notes(kind, messages) {
  return h(
    "ul",
    { class: "notes" },
    messages.map((message) => h("li", { class: `note ${kind}` }, h("span", null, prose(message)))),
  );
}
