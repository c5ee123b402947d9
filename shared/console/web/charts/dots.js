// A number of every run, oldest left: drift and duration.

import { s } from "../dom.js";
import { moment, span } from "../time.js";
import { status } from "../words.js";
import { linear, room, steps } from "./scale.js";

const HEIGHT = 150;
const LEFT = 52;

/**
 * @param {{at: string, value: number, status: string}[]} points oldest first
 * @param {string} what what the numbers are, in ms
 */
export function dots(points, what) {
  const width = room(2);
  const high = Math.max(1, ...points.map(({ value }) => value));
  const low = Math.min(0, ...points.map(({ value }) => value));
  const marks = steps(high);
  const y = linear(low, marks.at(-1), HEIGHT - 20, 10);
  const x = linear(0, Math.max(1, points.length - 1), LEFT + 6, width - 8);
  const sorted = points.map(({ value }) => value).sort((a, b) => a - b);
  const half = sorted[Math.floor((sorted.length - 1) / 2)];
  const says = `${what} of ${points.length} runs: half within ${span(half)}, at most ${span(high)}`;
  return s(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": says },
    marks.map((value) => [
      s("line", { class: "axis", x1: LEFT, x2: width, y1: y(value), y2: y(value) }),
      s("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, value ? span(value) : "0"),
    ]),
    points.map((point, place) =>
      s(
        "circle",
        {
          cx: x(place),
          cy: y(point.value),
          r: 3,
          class: `t-${status(point.status).tone}`,
          opacity: 0.8,
        },
        s("title", null, `${moment(point.at)}: ${span(point.value)}`),
      ),
    ),
    s("text", { x: LEFT, y: HEIGHT - 2 }, "older"),
    s("text", { x: width, y: HEIGHT - 2, "text-anchor": "end" }, "newest"),
  );
}
