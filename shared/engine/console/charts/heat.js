// Fires per minute for a day: a row an hour, a place a minute, the darker the more.

import { h, s } from "../dom.js";
import { shortClock } from "../time.js";

const ROOM = 10;

/**
 * @param {string} from the first minute
 * @param {number[]} counts a number a minute
 */
export function heat(from, counts) {
  const start = Date.parse(from);
  const most = Math.max(1, ...counts);
  const rows = Array.from({ length: Math.ceil(counts.length / 60) }, (_, hour) => counts.slice(hour * 60, hour * 60 + 60));
  return h("div", { class: "heat" }, rows.flatMap((minutes, hour) => {
    const at = start + hour * 3_600_000;
    const sum = minutes.reduce((all, count) => all + count, 0);
    const says = `${sum} fires from ${shortClock(at)}`;
    return [
      h("span", null, shortClock(at)),
      s("svg", { viewBox: `0 0 ${60 * ROOM} 13`, preserveAspectRatio: "none", role: "img", "aria-label": says },
        minutes.map((count, minute) => s("rect", {
          x: minute * ROOM, y: 0, width: ROOM - 1, height: 13, rx: 1,
          class: count ? "t-accent" : "t-line", opacity: count ? shade(count, most) : 0.45,
        }, count > 0 && s("title", null, `${shortClock(at + minute * 60_000)}: ${count}`)))),
    ];
  }));
}

/** By the logarithm: one busy minute must not wash out all the others. */
function shade(count, most) {
  return (0.3 + (0.7 * Math.log1p(count)) / Math.log1p(most)).toFixed(2);
}
