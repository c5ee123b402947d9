// The theme: light, dark, or that of the system.

import { h, put } from "../dom.js";
import { icon } from "./icons.js";

const KEY = "belfry.theme";
const TURNS = { system: "light", light: "dark", dark: "system" };
const ICONS = { system: "half", light: "sun", dark: "moon" };

function chosen() {
  const theme = localStorage.getItem(KEY);
  return theme in TURNS ? theme : "system";
}

export function applyTheme() {
  const theme = chosen();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** A button that goes from one theme to the next. */
export function themeSwitch() {
  const button = h("button", { class: "button quiet slim", type: "button", onclick: turn });
  function show() {
    const says = `Theme: ${chosen()}`;
    button.setAttribute("aria-label", says);
    button.title = says;
    put(button, icon(ICONS[chosen()]));
  }
  function turn() {
    localStorage.setItem(KEY, TURNS[chosen()]);
    applyTheme();
    show();
  }
  show();
  return button;
}
