// Numbers as people read them.

/** `98.2 %`. Rounded down, so that 100 % means all. */
export function percent(rate) {
  const text = (Math.floor(rate * 1000) / 10).toFixed(1).replace(/\.0$/, "");
  return `${text} %`;
}
