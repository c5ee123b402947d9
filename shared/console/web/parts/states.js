// States: what a place shows while it loads, when there is nothing to show, and when a call failed.

import { h, prose, put } from "../dom.js";

export function waiting(what = "Loading…") {
  return h("p", { class: "waiting", role: "status" }, what);
}

export function empty(title, text, action) {
  return h("div", { class: "empty" }, h("h2", null, title), h("p", null, text), action);
}

/** A failed call, with a button that asks again. */
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

/** Shows an answer in `place`, or what went wrong with a button that asks again. */
export async function load(place, ask, show) {
  try {
    show(await ask());
  } catch (problem) {
    if (problem.name !== "AbortError")
      put(
        place,
        broken(problem, () => load(place, ask, show)),
      );
  }
}

/** Wide content: it scrolls inside its own frame, by the keyboard too. */
export function scrolling(label, ...content) {
  return h(
    "div",
    {
      class: "scroll",
      tabindex: "0",
      role: "group",
      "aria-label": label,
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
