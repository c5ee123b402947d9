// The last runs as a row of bars, oldest first: height and colour both say how each ended.

import { s } from "../dom.js";
import { status } from "../words.js";

/** An end is highest; the less has happened, the lower. */
const HEIGHTS = {
  SUCCESS: 18,
  FAILED: 18,
  ABANDONED: 18,
  SKIPPED: 9,
  STARTED: 13,
  QUEUED: 6,
  ENQUEUED: 6,
};
const PLACES = 30;

/** @param {string[]} statuses newest first */
export function spark(statuses) {
  const shown = statuses.slice(0, PLACES).reverse();
  const counts = Object.entries(Object.groupBy(shown, (name) => name)).map(
    ([name, all]) => `${all.length} ${status(name).word.toLowerCase()}`,
  );
  const says = shown.length ? `Last ${shown.length} runs: ${counts.join(", ")}` : "No runs yet";
  return s(
    "svg",
    { class: "spark", viewBox: `0 0 ${PLACES * 4} 22`, role: "img", "aria-label": says },
    s("title", null, says),
    Array.from({ length: PLACES - shown.length }, (_, at) => bar(at, 3, "line")),
    shown.map((name, at) => bar(PLACES - shown.length + at, HEIGHTS[name] ?? 6, status(name).tone)),
  );
}

function bar(place, height, tone) {
  return s("rect", { x: place * 4, y: 20 - height, width: 3, height, rx: 1, class: `t-${tone}` });
}
