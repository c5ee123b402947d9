// Fires per minute for a day: one row per hour, one cell per minute; more fires are darker.

import { h, s } from "../dom.js";
import { clock, shortClock } from "../time.js";

const MINUTE = 60_000;
const ROOM = 10;

/**
 * @param {string} from the first minute
 * @param {number[]} counts a number a minute
 */
export function heat(from, counts) {
  const before = Number(clock(from).slice(3, 5));
  const start = Date.parse(from) - before * MINUTE;
  const places = [...Array(before).fill(null), ...counts];
  const rows = Array.from({ length: Math.ceil(places.length / 60) }, (_, hour) =>
    places.slice(hour * 60, hour * 60 + 60),
  );
  const shade = shades(counts);
  return h(
    "div",
    { class: "heat" },
    rows.flatMap((minutes, hour) => {
      const at = start + hour * 60 * MINUTE;
      const says = `${minutes.reduce((sum, count) => sum + count, 0)} fires from ${shortClock(at)}`;
      return [
        h("span", { "aria-hidden": "true" }, shortClock(at)),
        s(
          "svg",
          {
            viewBox: `0 0 ${60 * ROOM} 13`,
            preserveAspectRatio: "none",
            role: "img",
            "aria-label": says,
          },
          minutes.map(
            (count, minute) =>
              count !== null &&
              s(
                "rect",
                {
                  x: minute * ROOM,
                  y: 0,
                  width: ROOM - 1,
                  height: 13,
                  rx: 1,
                  class: count ? "t-accent" : "t-line",
                  opacity: count ? shade(count) : 0.5,
                },
                count > 0 && s("title", null, `${shortClock(at + minute * MINUTE)}: ${count}`),
              ),
          ),
        ),
      ];
    }),
  );
}

/**
 * The shade follows the rank of a count, not its size: 101 fires must differ from 100 as visibly as
 * 1 from 0. The first minute is left out because a part of it has passed.
 */
function shades(counts) {
  const levels = [...new Set(counts.slice(1).filter((count) => count > 0))].sort((a, b) => a - b);
  const last = Math.max(1, levels.length - 1);
  const rank = (count) =>
    Math.max(
      0,
      levels.findLastIndex((level) => level <= count),
    );
  return (count) => (levels.length > 1 ? 0.3 + (0.7 * rank(count)) / last : 0.6).toFixed(2);
}
