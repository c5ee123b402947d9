// Toasts: the outcome of an action, shown for a few seconds and read out.

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

/**
 * Shows what went wrong. A call of a screen that was left (AbortError) is not worth a toast, and
 * after a 401 the sign-in screen is shown.
 */
export function failed(problem) {
  if (problem.name !== "AbortError" && problem.status !== 401)
    say("bad", [problem.sentence ?? problem.message]);
}
