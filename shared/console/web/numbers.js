// Numbers as people read them.

/** `98.2 %`. Rounded down, so that 100 % means all. */
export function percent(rate) {
  const text = (Math.floor(rate * 1000) / 10).toFixed(1).replace(/\.0$/, "");
  return `${text} %`;
}

/**
 * JSON whose whole numbers stay as they are written, also those that a double cannot hold: a payload
 * that is shown and saved again is not changed. Browsers without JSON.rawJSON round them.
 */
export function readJson(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" &&
    !Number.isSafeInteger(value) &&
    /^-?\d+$/.test(context?.source ?? "") &&
    JSON.rawJSON
      ? JSON.rawJSON(context.source)
      : value,
  );
}
