// Badges: a status as a word with a colour, never a colour alone.

import { h } from "../dom.js";
import { RUN, STATUS } from "../words.js";

const TONES = {
  active: "good",
  paused: "mind",
  pending: "busy",
  expired: "idle",
  invalid: "bad",
  SUCCESS: "good",
  FAILED: "bad",
  ABANDONED: "bad",
  SKIPPED: "mind",
  STARTED: "busy",
  QUEUED: "busy",
  ENQUEUED: "idle",
};

/** The colour a status has everywhere. */
export function tone(status) {
  return TONES[status] ?? "idle";
}

export function badge(status) {
  const [word, meaning] = STATUS[status] ?? RUN[status] ?? [status, ""];
  const open = ["ENQUEUED", "QUEUED", "pending", "expired"].includes(status) ? " ring" : "";
  return h("span", { class: `badge ${tone(status)}${open}`, title: meaning }, word);
}
