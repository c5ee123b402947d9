// Numbers as people read them.

/** `98.2 %`, and 100 only if it is. */
export function percent(rate) {
  const text = (Math.floor(rate * 1000) / 10).toFixed(1).replace(/\.0$/, "");
  return `${text} %`;
}
