// Times as people read them: in a zone, and from now.

/** The time zone of the browser. */
export const MINE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

const formats = new Map();

function format(zone, options) {
  const key = `${zone} ${JSON.stringify(options)}`;
  if (!formats.has(key)) {
    let made;
    try {
      made = new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options });
    } catch {
      // The API knows zones that an older browser does not.
      made = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...options });
    }
    formats.set(key, made);
  }
  return formats.get(key);
}

const DATE = { weekday: "short", day: "numeric", month: "short" };
const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };

/** `Mon, 16 Nov`, with the year if it is not this one. */
export function day(at, zone = MINE) {
  const date = new Date(at);
  const other = date.getUTCFullYear() !== new Date().getUTCFullYear();
  return format(zone, other ? { ...DATE, year: "numeric" } : DATE).format(date);
}

/** `09:00:00` */
export function clock(at, zone = MINE) {
  return format(zone, CLOCK).format(new Date(at));
}

/** `09:00`, with seconds only if there are any. */
export function shortClock(at, zone = MINE) {
  return clock(at, zone).replace(/:00$/, "");
}

/** `Mon, 16 Nov 09:00:00` */
export function moment(at, zone = MINE) {
  return `${day(at, zone)} ${clock(at, zone)}`;
}

/** `UTC+1`: the offset at that time. */
export function offset(at, zone = MINE) {
  const part = format(zone, { timeZoneName: "shortOffset" })
    .formatToParts(new Date(at))
    .find(({ type }) => type === "timeZoneName");
  return part.value.replace("GMT", "UTC").replace("UTC+0", "UTC");
}

const UNITS = [
  ["y", 31_557_600_000],
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** `2 min`, `1 d 4 h`: at most two units, the smaller one only while the larger is below 10. */
export function span(ms) {
  const whole = Math.abs(ms);
  if (whole < 1000) return `${Math.round(whole)} ms`;
  const at = UNITS.findIndex(([, size]) => whole >= size);
  const [unit, size] = UNITS[at];
  const count = Math.floor(whole / size);
  const next = UNITS[at + 1];
  const rest = next ? Math.floor((whole - count * size) / next[1]) : 0;
  return rest && count < 10 ? `${count} ${unit} ${rest} ${next[0]}` : `${count} ${unit}`;
}

/** `in 2 min`, `5 s ago`, `now` */
export function fromNow(at, now = Date.now()) {
  const away = new Date(at) - now;
  if (Math.abs(away) < 1000) return "now";
  return away > 0 ? `in ${span(away)}` : `${span(away)} ago`;
}

/** An instant as the text of a `datetime-local` field, in the browser's zone. */
export function toField(at) {
  if (!at) return "";
  const date = new Date(at);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** The text of a `datetime-local` field as an instant. */
export function fromField(text) {
  const date = text ? new Date(text) : null;
  return date && !Number.isNaN(date.getTime()) ? date.toISOString().replace(".000Z", "Z") : null;
}
