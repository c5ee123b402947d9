// The shell: a bar, the screen the address names, and the sign-in screen when the API asks for it.

import { api, whenSignedOut } from "./api.js";
import { h, put } from "./dom.js";
import { icon } from "./parts/icons.js";
import { applyTheme, themeSwitch } from "./parts/theme.js";
import { place, to } from "./router.js";
import { editor } from "./screens/editor.js";
import { list } from "./screens/list.js";
import { overview } from "./screens/overview.js";
import { run } from "./screens/run.js";
import { schedule } from "./screens/schedule.js";
import { signInScreen } from "./screens/signin.js";
import { signOut, subject, takeTokenFromAddress, token } from "./session.js";
import { learn } from "./words.js";

const SCREENS = { editor, list, overview, run, schedule };
const TITLES = {
  editor: "Editor",
  list: "Schedules",
  overview: "Overview",
  run: "Run",
  schedule: "Schedule",
};

const app = document.getElementById("app");
let leaving = new AbortController();

/** Ends the calls of the screen and closes its dialogs. */
function leaveScreen() {
  leaving.abort();
  leaving = new AbortController();
  document.querySelectorAll("dialog").forEach((dialog) => dialog.close());
}

let hasWords = false;

/** Fetches the API's words, once. Without them a screen shows the API's own names. */
async function fetchWords(signal) {
  if (hasWords || !token()) return;
  try {
    learn(await api.vocabulary(signal));
    hasWords = true;
  } catch {
    // The screen's own call meets the same problem, and tells of it.
  }
}

async function show() {
  leaveScreen();
  const { signal } = leaving;
  await fetchWords(signal);
  if (signal.aborted) return;
  const { screen, id } = place();
  const main = h("main", { id: "main", tabindex: "-1" });
  put(
    app,
    h("a", { class: "skip", href: "#main", onclick: skip }, "Skip to the content"),
    bar(screen),
    main,
  );
  document.title = `${TITLES[screen]} · Belfry`;
  scrollTo(0, 0);
  SCREENS[screen](main, { id, signal });
}

function bar(screen) {
  const link = (name, href, text) =>
    h("a", { href, "aria-current": screen === name ? "page" : null }, text);
  return h(
    "header",
    { class: "bar" },
    h(
      "div",
      null,
      h(
        "a",
        { class: "brand", href: to.list(), "aria-label": "Belfry, schedules" },
        h("img", { src: "console/icon.svg", alt: "" }),
        h("span", null, "Belfry"),
      ),
      h(
        "nav",
        { "aria-label": "Screens" },
        link("list", to.list(), "Schedules"),
        link("overview", to.overview(), "Overview"),
      ),
      h(
        "div",
        { class: "end" },
        h("span", { class: "who", title: subject() }, subject()),
        themeSwitch(),
        token() &&
          h(
            "button",
            {
              class: "button quiet slim",
              type: "button",
              "aria-label": "Sign out",
              title: "Sign out",
              onclick: leave,
            },
            icon("exit"),
          ),
        screen !== "editor" &&
          h(
            "a",
            { class: "button main slim", href: to.make() },
            icon("plus"),
            "New",
            h("span", { class: "wide-only" }, "schedule"),
          ),
      ),
    ),
  );
}

/** The router owns the `#` of the address, so this link moves the focus itself. */
function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function leave() {
  signOut();
  askForToken("");
}

function askForToken(reason) {
  leaveScreen();
  put(app, signInScreen(reason, show));
}

applyTheme();
takeTokenFromAddress();
whenSignedOut(() =>
  askForToken(token() ? "The API did not accept the token. It may have expired." : ""),
);
addEventListener("hashchange", () => {
  takeTokenFromAddress();
  show();
});
show();
