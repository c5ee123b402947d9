// The next fires on a line from now on.

import { s } from "../dom.js";
import { day, fromNow, moment, shortClock, span } from "../time.js";
import { linear, room } from "./scale.js";

const HEIGHT = 74;

/** @param {string[]} fires ascending */
export function timeline(fires, zone, now = Date.now()) {
  const width = room();
  const many = width > 600 ? 6 : 3;
  const times = fires.map((at) => Date.parse(at)).filter((at) => at >= now);
  const end = times.at(-1) ?? now + 1;
  const x = linear(now, end, 14, width - 14);
  const far = end - now > 36 * 3_600_000;
  const says = `The next ${times.length} fires, within ${span(end - now)}`;
  const marks = Array.from({ length: many }, (_, at) => now + ((end - now) * at) / (many - 1));
  const mark = (at, place) =>
    s(
      "g",
      null,
      s("line", { class: "axis", x1: x(at), x2: x(at), y1: 44, y2: 50 }),
      s(
        "text",
        {
          x: x(at),
          y: 66,
          "text-anchor": place === 0 ? "start" : place === many - 1 ? "end" : "middle",
        },
        place === 0 ? "now" : far ? day(at, zone) : shortClock(at, zone),
      ),
    );
  return s(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": says },
    s("line", { class: "axis", x1: 14, x2: width - 14, y1: 44.5, y2: 44.5 }),
    marks.map(mark),
    s("line", { class: "now", x1: 14, x2: 14, y1: 8, y2: 44 }),
    times.map((at, place) =>
      s(
        "rect",
        {
          class: "t-accent",
          x: x(at) - 2,
          y: place ? 20 : 12,
          width: 4,
          height: place ? 24 : 32,
          rx: 2,
          opacity: place ? 0.55 : 1,
        },
        s("title", null, `${moment(at, zone)}, ${fromNow(at, now)}`),
      ),
    ),
  );
}
