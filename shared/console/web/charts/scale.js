// Scales: numbers to places, and the round numbers to write beside them.

/** The page's measures, as the style sheets have them. */
const PAGE = 1240;
const NARROW = 720;

/**
 * The width of a chart in pixels, with this many charts beside each other. A chart is drawn at the
 * size at which it is shown, so that its texts are as large as all others.
 */
export function room(beside = 1) {
  const page = Math.min(innerWidth, PAGE);
  if (page <= NARROW) return page - 24 - 34;
  const sheet = beside > 1 && page > 900 ? (page - 40 - 16) / 2 : page - 40;
  return Math.round(sheet - 34);
}

/** A function from `[low, high]` to `[from, to]`. */
export function linear(low, high, from, to) {
  const size = high - low || 1;
  return (value) => from + ((value - low) / size) * (to - from);
}

/** A few round numbers from 0 to at least `high`. */
export function steps(high, about = 3) {
  const rough = (high || 1) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  return Array.from({ length: Math.ceil((high || 1) / step) + 1 }, (_, at) => at * step);
}
