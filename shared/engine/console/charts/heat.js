// Fires per minute for a day: a row an hour of the clock, a place a minute, the darker the more.

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
  const rows = Array.from({ length: Math.ceil(places.length / 60) }, (_, hour) => places.slice(hour * 60, hour * 60 + 60));
  const shade = shades(counts);
  return h("div", { class: "heat" }, rows.flatMap((minutes, hour) => {
    const at = start + hour * 60 * MINUTE;
    const says = `${minutes.reduce((sum, count) => sum + count, 0)} fires from ${shortClock(at)}`;
    return [
      h("span", { "aria-hidden": "true" }, shortClock(at)),
      s("svg", { viewBox: `0 0 ${60 * ROOM} 13`, preserveAspectRatio: "none", role: "img", "aria-label": says },
        minutes.map((count, minute) => count !== null && s("rect", {
          x: minute * ROOM, y: 0, width: ROOM - 1, height: 13, rx: 1,
          class: count ? "t-accent" : "t-line", opacity: count ? shade(count) : 0.5,
        }, count > 0 && s("title", null, `${shortClock(at + minute * MINUTE)}: ${count}`)))),
    ];
  }));
}

/** From the least that fires to the most, by the logarithm: one busy minute must not wash out all the others. */
function shades(counts) {
  const some = counts.filter((count) => count > 0);
  const [least, most] = [Math.log(Math.min(...some)), Math.log(Math.max(...some))];
  return (count) => (most > least ? 0.28 + (0.72 * (Math.log(count) - least)) / (most - least) : 0.6).toFixed(2);
}
