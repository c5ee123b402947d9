// The preview: what the expression means and its next fires, while the user types.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { settled } from "../live.js";
import { notes, scrolling } from "../parts/states.js";
import { MINE, clock, day, fromNow, offset, shortClock } from "../time.js";

const TYPING_MS = 200;
const SHOWN = 8;

/**
 * @param {(errors: {field: string, message: string, at?: number}[]) => void} judged
 * @returns {{element: HTMLElement, look: (timing: object) => void}}
 */
export function preview(judged, signal) {
  const says = h("p", { class: "says", role: "status", "aria-live": "polite" }, "…");
  const body = h("div", { class: "notes" });
  let last = 0;

  const look = settled(async (timing) => {
    const turn = ++last;
    try {
      const found = await api.validate({ ...timing, count: SHOWN }, signal);
      // The answer to a later question may have come before this one.
      if (turn !== last) return;
      judged(found.errors ?? []);
      put(says, found.description ?? "This is not an expression yet.");
      put(
        body,
        found.valid && fires(found, timing.timezone || "UTC"),
        found.warnings?.length > 0 &&
          notes(
            "mind",
            found.warnings.map(({ message }) => message),
          ),
      );
    } catch (problem) {
      if (problem.name === "AbortError" || turn !== last) return;
      judged(problem.errors);
      put(body, notes("bad", [problem.sentence]));
    }
  }, TYPING_MS);

  const element = h(
    "section",
    { class: "sheet", "aria-label": "Preview" },
    h("header", null, h("h2", null, "What it means")),
    h("div", { class: "body" }, says, body),
  );
  return { element, look };
}

function fires(found, zone) {
  if (!found.next_executions.length) return h("p", { class: "soft" }, "No fire is left.");
  const local = found.local_executions ?? [];
  // Seconds are shown only if a fire has any.
  const show = found.next_executions.every((at) => at.endsWith(":00Z")) ? shortClock : clock;
  return scrolling(
    "Next fires",
    h(
      "table",
      { class: "fires" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", null, `In ${zone}`),
          h("th", null, zone === MINE ? "UTC" : "Here"),
          h("th", { class: "num" }, "From now"),
        ),
      ),
      h(
        "tbody",
        null,
        found.next_executions.map((at, place) =>
          h(
            "tr",
            { title: `${at} · here: ${MINE}` },
            h("td", null, inZone(at, local[place], zone, show)),
            h("td", { class: "soft" }, here(at, zone === MINE ? "UTC" : MINE, local[place], show)),
            h("td", { class: "num soft" }, fromNow(at)),
          ),
        ),
      ),
    ),
  );
}

/** By the API's zone data, which may be newer than the browser's. */
function inZone(at, local, zone, show) {
  if (!local) return `${day(at, zone)} ${show(at, zone)} ${offset(at, zone)}`;
  const shown = `${local.slice(0, 19)}Z`;
  return `${day(shown, "UTC")} ${show(shown, "UTC")} ${local.slice(19).replace("+00:00", "UTC")}`;
}

/** Only the clock if the day is the same in both zones. */
function here(at, zone, local, show) {
  const same = local && day(`${local.slice(0, 19)}Z`, "UTC") === day(at, zone);
  return same ? show(at, zone) : `${day(at, zone)} ${show(at, zone)}`;
}
