// Scales: numbers to places, and the round numbers to write beside them.

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
