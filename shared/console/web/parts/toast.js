// Toasts: what came of something somebody did, said once and read out.

import { h } from "../dom.js";

const SHOWN_MS = 6000;
let place = null;

function say(kind, content) {
  if (!place?.isConnected) {
    place = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
    document.body.append(place);
  }
  const toast = h("div", { class: `toast ${kind}` }, content);
  place.append(toast);
  setTimeout(() => toast.remove(), SHOWN_MS);
}

export const told = (...content) => say("", content);

/** Says what went wrong. A screen that is gone has nothing to say. */
export function failed(problem) {
  if (problem.name !== "AbortError" && problem.status !== 401)
    say("bad", [problem.sentence ?? problem.message]);
}
