// The draft: the schedule as the form has it, and the place where each field shows its problem.

import { h, put } from "../dom.js";
import { MINE } from "../time.js";
import { writtenFields } from "../words.js";

const FRESH = {
  name: null,
  description: null,
  tags: {},
  workflow_id: "",
  version: null,
  cron_expr: "0 9 * * *",
  timezone: MINE,
  start_at: null,
  end_at: null,
  overlap_policy: "skip",
  catchup_policy: "none",
  dst_gap: null,
  dst_fold: null,
  payload: {},
  paused: false,
};

/** The fields the preview depends on. */
const TIMING = ["start_at", "end_at", "dst_gap", "dst_fold"];

/**
 * @typedef {object} Draft
 * @property {object|null} found the schedule that is edited; null for a new one
 * @property {object} values the fields as they are in the form
 * @property {string} wantedId the id a new schedule is to have; empty lets the API choose
 * @property {Object<string, (text?: string) => void>} complain shows a field's problem, by field
 * @property {HTMLElement} wrong where problems of no field are shown
 * @property {() => void} look called when the timing has changed
 */

/** @returns {Draft} */
export function draftOf(found) {
  // The API shows more of a schedule than a request may set; the editor leaves that alone.
  const written = writtenFields().filter((name) => found && name in found);
  return {
    found,
    values: found ? Object.fromEntries(written.map((name) => [name, found[name]])) : { ...FRESH },
    wantedId: "",
    complain: {},
    wrong: h("p", { class: "wrong", role: "alert" }),
    look: () => {},
  };
}

/** What the preview is asked about. */
export function timingOf({ values, found }) {
  return {
    cron_expr: values.cron_expr ?? "",
    timezone: values.timezone || "UTC",
    ...Object.fromEntries(TIMING.map((name) => [name, values[name]])),
    ...(found && { schedule_id: found.schedule_id }),
  };
}

/** The request that saves the draft. */
export function requestOf({ values, found }) {
  const { version } = values;
  const body = { ...values, version: /^\d+$/.test(version ?? "") ? Number(version) : version };
  if (found) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

export function clearProblems({ complain, wrong }) {
  Object.values(complain).forEach((show) => show());
  put(wrong);
}

/** Shows each problem at its field and the others beside the button; focuses the first field. */
export function showProblems({ complain, wrong }, errors) {
  const rest = [];
  for (const { field, message } of errors) {
    const name = field.split(/[.[]/)[0];
    if (complain[name]) complain[name](message);
    else rest.push(field ? `${field} ${message}` : message);
  }
  put(wrong, rest.join("; ") || "Some fields have problems.");
  document.querySelector('[aria-invalid="true"]')?.focus();
}
