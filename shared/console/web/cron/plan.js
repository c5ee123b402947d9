// A plan: the part of cron that the builder can draw. `read` turns an expression into a plan, `write` a plan into an expression.

/**
 * @typedef {object} Plan
 * @property {"seconds"|"minutes"|"hours"|"times"} pace how its seconds are found
 * @property {number} step the number of seconds, minutes or hours between two fires
 * @property {number} minute the minute of `hours` and `times`
 * @property {number[]} hours the hours of `times`
 * @property {{from: number, to: number}|null} window only in these hours, for the other paces
 * @property {"every"|"week"|"month"|"nth"} days how its days are found
 * @property {number[]} weekdays 0 is Sunday, for `week`
 * @property {(number|"L"|"LW")[]} dates for `month`
 * @property {{nth: number|"L", weekday: number}} nth such as the second Friday, for `nth`
 * @property {number[]} months none is all of them
 */

export const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
export const MONTHS = [
  "JAN",
  "FEB",
  "MAR",
  "APR",
  "MAY",
  "JUN",
  "JUL",
  "AUG",
  "SEP",
  "OCT",
  "NOV",
  "DEC",
];

const MACROS = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/** @returns {Plan} every day at nine */
export function plain() {
  return {
    pace: "times",
    step: 5,
    minute: 0,
    hours: [9],
    window: null,
    days: "every",
    weekdays: [1, 2, 3, 4, 5],
    dates: [1],
    nth: { nth: 1, weekday: 1 },
    months: [],
  };
}

/** @returns {Plan|null} null if a plan cannot hold the expression */
export function read(expression) {
  const text = expression.trim();
  const fields = (MACROS[text.toLowerCase()] ?? text).toUpperCase().split(/\s+/);
  const seconds = fields.length === 6 ? fields.shift() : "0";
  if (fields.length !== 5) return null;
  const [minute, hour, date, month, weekday] = fields;
  const pace = readPace(seconds, minute, hour);
  const days = readDays(date.replace("?", "*"), weekday.replace("?", "*"));
  const months = month === "*" ? [] : values(month, 1, 12, MONTHS, 1);
  return pace && days && months ? { ...plain(), ...pace, ...days, months } : null;
}

/** @param {Plan} plan */
export function write(plan) {
  const every = plan.step > 1 ? `*/${plan.step}` : "*";
  const within = plan.window ? `${plan.window.from}-${plan.window.to}` : "*";
  const time = {
    seconds: () => `${every} * ${within}`,
    minutes: () => `${every} ${within}`,
    hours: () => `${plan.minute} ${plan.step > 1 ? `${within}/${plan.step}` : within}`,
    times: () => `${plan.minute} ${list(plan.hours.length ? plan.hours : [0], String)}`,
  }[plan.pace]();
  const months =
    plan.months.length && plan.months.length < 12 ? list(plan.months, (n) => MONTHS[n - 1]) : "*";
  const [date, weekday] = {
    every: () => ["*", "*"],
    week: () => ["*", plan.weekdays.length % 7 ? week(plan.weekdays) : "*"],
    month: () => [dates(plan.dates), "*"],
    nth: () => [
      "*",
      WEEKDAYS[plan.nth.weekday] + (plan.nth.nth === "L" ? "L" : `#${plan.nth.nth}`),
    ],
  }[plan.days]();
  return `${time} ${date} ${months} ${weekday}`;
}

function readPace(seconds, minute, hour) {
  const window = /^(\d+)-(\d+)$/.exec(hour);
  const hours = values(hour, 0, 23);
  const within = hour === "*" ? null : window && { from: +window[1], to: +window[2] };
  const known = hour === "*" || (window && hours && within.from <= within.to);
  if (step(seconds, 60) && minute === "*" && known) {
    return { pace: "seconds", step: step(seconds, 60), window: within };
  }
  if (seconds !== "0") return null;
  if (step(minute, 60)) {
    return known ? { pace: "minutes", step: step(minute, 60), window: within } : null;
  }
  if (!/^\d+$/.test(minute) || +minute > 59) return null;
  const paced = /^(?:\*|(\d+)-(\d+))(?:\/(\d+))?$/.exec(hour);
  if (paced && hours && (!paced[1] || +paced[2] - +paced[1] > 1)) {
    const window = paced[1] ? { from: +paced[1], to: +paced[2] } : null;
    return { pace: "hours", minute: +minute, step: +(paced[3] ?? 1), window };
  }
  return hours && { pace: "times", minute: +minute, hours };
}

function readDays(date, weekday) {
  if (date === "*" && weekday === "*") return { days: "every" };
  if (weekday === "*") {
    const special = date.split(",").filter((part) => part === "L" || part === "LW");
    const plain = date
      .split(",")
      .filter((part) => part !== "L" && part !== "LW")
      .join(",");
    const dates = plain ? values(plain, 1, 31) : [];
    return dates && !date.startsWith("*") ? { days: "month", dates: [...dates, ...special] } : null;
  }
  if (date !== "*" || weekday.startsWith("*")) return null;
  const nth = /^(\w+?)(?:#([1-5L])|(L))$/.exec(weekday);
  if (nth) {
    const [day] = values(nth[1], 0, 7, WEEKDAYS, 0) ?? [];
    const which = nth[3] || nth[2] === "L" ? "L" : +nth[2];
    return day === undefined ? null : { days: "nth", nth: { nth: which, weekday: day % 7 } };
  }
  const weekdays = values(weekday, 0, 7, WEEKDAYS, 0);
  return (
    weekdays && { days: "week", weekdays: [...new Set(weekdays.map((day) => day % 7))].sort() }
  );
}

/** The n of `*` and `*\/n`, else null. */
function step(field, size) {
  const found = /^\*(?:\/(\d+))?$/.exec(field);
  const n = found && +(found[1] ?? 1);
  return n && n >= 1 && n < size ? n : null;
}

/** The numbers of a field, ascending; null if it is not made of numbers, names, ranges and steps. */
function values(field, min, max, names = [], first = 0) {
  const number = (text) => {
    const at = names.indexOf(text);
    return at >= 0 ? at + first : /^\d+$/.test(text) ? +text : NaN;
  };
  const found = new Set();
  for (const part of field.split(",")) {
    const parts = /^(?:\*|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/.exec(part);
    if (!parts) return null;
    const from = parts[1] === undefined ? min : number(parts[1]);
    const to = parts[1] === undefined ? max : parts[2] ? number(parts[2]) : parts[3] ? max : from;
    const by = +(parts[3] ?? 1);
    if (!(from >= min && to <= max && from <= to && by >= 1)) return null;
    for (let value = from; value <= to; value += by) found.add(value);
  }
  return [...found].sort((a, b) => a - b);
}

/** Numbers as cron writes them, three in a row as a range. */
function list(numbers, name) {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  const parts = [];
  for (let at = 0; at < sorted.length;) {
    let end = at;
    while (sorted[end + 1] === sorted[end] + 1) end += 1;
    if (end - at >= 2) parts.push(`${name(sorted[at])}-${name(sorted[end])}`);
    else parts.push(...sorted.slice(at, end + 1).map(name));
    at = end + 1;
  }
  return parts.join(",");
}

/** Weekdays from Monday on, so that a weekend is one range. */
function week(days) {
  return list(
    days.map((day) => day || 7),
    (day) => WEEKDAYS[day % 7],
  );
}

function dates(chosen) {
  const numbers = chosen.filter((date) => typeof date === "number");
  const special = ["L", "LW"].filter((word) => chosen.includes(word));
  return [...(numbers.length ? [list(numbers, String)] : []), ...special].join(",") || "1";
}
