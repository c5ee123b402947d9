// A histogram: how many runs fall into each bucket.

import { s } from "../dom.js";
import { linear, room, steps } from "./scale.js";

const HEIGHT = 170;
const LEFT = 40;

/** @param {{label: string, count: number, tone?: string}[]} buckets */
export function bars(buckets, says) {
  const width = room(2);
  const marks = steps(Math.max(1, ...buckets.map(({ count }) => count))).filter(Number.isInteger);
  const y = linear(0, marks.at(-1), HEIGHT - 24, 8);
  const place = (width - LEFT) / Math.max(1, buckets.length);
  return s(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": says },
    marks.map((value) => [
      s("line", { class: "axis", x1: LEFT, x2: width, y1: y(value), y2: y(value) }),
      s("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, value),
    ]),
    buckets.map(({ label, count, tone = "accent" }, at) => [
      count > 0 &&
        s(
          "rect",
          {
            class: `t-${tone}`,
            x: LEFT + at * place + place * 0.14,
            width: place * 0.72,
            rx: 2,
            y: Math.min(y(count), y(0) - 2),
            height: Math.max(2, y(0) - y(count)),
          },
          s("title", null, `${label}: ${count}`),
        ),
      s("text", { x: LEFT + (at + 0.5) * place, y: HEIGHT - 6, "text-anchor": "middle" }, label),
    ]),
  );
}
