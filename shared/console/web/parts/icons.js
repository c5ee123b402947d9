// Icons, drawn with strokes: they take the colour of the text beside them.

import { s } from "../dom.js";

const PATHS = {
  pause: ["M5.500 3.500v9", "M10.500 3.500v9"],
  play: ["M5 3.200l7.500 4.800L5 12.800z"],
  bolt: ["M9 1.800L3.500 9H8l-1 5.200L12.500 7H8z"],
  sun: [
    "M8 5.200a2.800 2.800 0 1 0 0 5.600 2.800 2.800 0 0 0 0-5.600z",
    "M8 1.500v1.200",
    "M8 13.300v1.200",
    "M1.500 8h1.200",
    "M13.300 8h1.200",
    "M3.400 3.400l.8.8",
    "M11.800 11.800l.8.8",
    "M3.400 12.600l.8-.8",
    "M11.800 4.200l.8-.8",
  ],
  moon: ["M13 9.600A5.500 5.500 0 0 1 6.400 3 5.500 5.500 0 1 0 13 9.600z"],
  half: [
    "M8 2.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11z",
    "M8 2.500v11",
    "M8 5h4.500",
    "M8 8h5.500",
    "M8 11h4.500",
  ],
  plus: ["M8 3v10", "M3 8h10"],
  exit: ["M6.500 2.500H3.500v11h3", "M6.500 8H14", "M11 5l3 3-3 3"],
};

export function icon(name) {
  return s(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" },
    PATHS[name].map((d) => s("path", { d })),
  );
}
