// The API: every call the console makes. The console has no API of its own; curl can do the same.

import { readJson } from "./numbers.js";
import { token } from "./session.js";

/** `/api/v1` beside the console, behind the name of the stage if there is one. */
const BASE = new URL("api/v1/", document.baseURI);

/** An error answer of the API (RFC 9457). */
class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `the API answered ${status}`);
    this.status = status;
    this.errors = Array.isArray(body.errors) ? body.errors : [];
  }

  /** All problems in one sentence. */
  get sentence() {
    const fields = this.errors.map(({ field, message }) =>
      field ? `${field}: ${message}` : message,
    );
    return fields.length ? fields.join("; ") : this.message;
  }
}

let onSignedOut = () => {};

/** Sets the function that is called when the API answers 401. */
export function whenSignedOut(listener) {
  onSignedOut = listener;
}

/**
 * @param {string} method
 * @param {string} path below the base, already escaped
 * @param {{query?: object, body?: any, headers?: object, signal?: AbortSignal}} [more]
 */
export async function call(method, path, { query, body, headers, signal } = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, value);
  }
  const sent = { accept: "application/json", ...headers };
  if (token()) sent.authorization = `Bearer ${token()}`;
  if (body !== undefined) sent["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(url, {
      method,
      signal,
      headers: sent,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    throw new Problem(0, { detail: "the API cannot be reached; the console tries again" });
  }
  const text = await answer.text();
  const read = parse(text);
  if (answer.status === 401) onSignedOut();
  if (!answer.ok) throw new Problem(answer.status, read ?? {});
  return read;
}

const id = encodeURIComponent;

export const api = {
  schedules: (query, signal) => call("GET", "schedules", { query, signal }),
  schedule: (name, signal) => call("GET", `schedules/${id(name)}`, { signal }),
  create: (body) => call("POST", "schedules", { body }),
  replace: (name, body, revision) =>
    call("PUT", `schedules/${id(name)}`, { body, headers: { "if-match": `"${revision}"` } }),
  tryReplace: (name, body, signal) =>
    call("PUT", `schedules/${id(name)}`, { body, query: { dry_run: true }, signal }),
  remove: (name) => call("DELETE", `schedules/${id(name)}`),
  pause: (name, body = {}) => call("POST", `schedules/${id(name)}/pause`, { body }),
  resume: (name, body = {}) => call("POST", `schedules/${id(name)}/resume`, { body }),
  trigger: (name, body = {}) =>
    call("POST", `schedules/${id(name)}/trigger`, {
      body,
      headers: { "idempotency-key": crypto.randomUUID() },
    }),
  backfill: (name, body) => call("POST", `schedules/${id(name)}/backfill`, { body }),
  backfills: (name, signal) => call("GET", `schedules/${id(name)}/backfills`, { signal }),
  cancelBackfill: (name, backfill) =>
    call("DELETE", `schedules/${id(name)}/backfills/${id(backfill)}`),
  bulk: (body) => call("POST", "schedules/bulk", { body }),
  runs: (name, query, signal) => call("GET", `schedules/${id(name)}/runs`, { query, signal }),
  run: (name, signal) => call("GET", `runs/${id(name)}`, { signal }),
  ledger: (name, query, signal) => call("GET", `schedules/${id(name)}/ledger`, { query, signal }),
  changes: (name, query, signal) => call("GET", `schedules/${id(name)}/changes`, { query, signal }),
  validate: (body, signal) => call("POST", "schedules/validate", { body, signal }),
  presets: (signal) => call("GET", "presets", { signal }),
  timezones: (signal) => call("GET", "timezones", { signal }),
  overview: (signal) => call("GET", "overview", { signal }),
  stats: (signal) => call("GET", "stats", { signal }),
  vocabulary: (signal) => call("GET", "vocabulary", { signal }),
};

function parse(text) {
  try {
    return text ? readJson(text) : null;
  } catch {
    return null;
  }
}
