// Badges: a status as a word with a colour, never a colour alone.

import { h } from "../dom.js";
import { status } from "../words.js";

export function badge(name) {
  const { word, meaning, tone, ring } = status(name);
  return h("span", { class: `badge ${tone}${ring ? " ring" : ""}`, title: meaning }, word);
}
