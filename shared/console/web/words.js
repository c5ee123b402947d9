// The words of the console. What statuses, reasons, ledgers and fields mean comes from the API's
// vocabulary (`learn`), so that none can lack its words here; this file adds how they look.

/** How the status of a schedule looks. A `ring` says that it has yet to begin, or is over. */
export const STATUS = {
  active: { tone: "good" },
  paused: { tone: "mind" },
  pending: { tone: "busy", ring: true },
  expired: { tone: "idle", ring: true },
  invalid: { tone: "bad" },
};

/** How the status of a run looks. A run that has `ended` never changes its status again. */
export const RUN = {
  ENQUEUED: { tone: "idle", ring: true },
  QUEUED: { tone: "busy", ring: true },
  STARTED: { tone: "busy" },
  SUCCESS: { tone: "good", ended: true },
  FAILED: { tone: "bad", ended: true },
  SKIPPED: { tone: "mind", ended: true },
  ABANDONED: { tone: "bad", ended: true },
};

/** Why a run is in its status. */
const REASONS = {};

/** What made a run, by its trigger. */
const CAUSES = {
  schedule: "Scheduled",
  catchup: "Caught up",
  manual: "By hand",
  backfill: "Backfill",
  after: "After another run",
};

/** How the fires that a ledger expected look; the API also has words for the runs beside them. */
const LEDGER = {
  on_time: { tone: "good" },
  late: { tone: "good" },
  caught_up: { tone: "good" },
  failed: { tone: "bad" },
  skipped_overlap: { tone: "mind" },
  queue_full: { tone: "mind" },
  missed: { tone: "mind" },
  upstream: { tone: "mind" },
  skipped: { tone: "mind" },
  abandoned: { tone: "bad" },
  in_flight: { tone: "busy" },
  pending: { tone: "busy" },
};

/** What is wrong with a fire or a record that a ledger cannot explain. */
const UNEXPLAINED = {};

/** How far a backfill has come. */
const BACKFILL = { running: "Running", done: "Done", cancelled: "Cancelled" };

/** In which order a backfill launches its fires. */
export const ORDERS = [
  ["oldest_first", "Oldest first"],
  ["newest_first", "Newest first"],
];

/**
 * The fields of a schedule, with what this console says of them beyond the vocabulary: `short` names
 * a field beside its value.
 */
export const FIELDS = {
  schedule_id: {
    hint: "Names the schedule in the API, runs and logs. It cannot be changed.",
    placeholder: "chosen for you",
  },
  user_id: { short: "Owner" },
  name: { hint: "", placeholder: "" },
  description: { hint: "", placeholder: "" },
  workflow_id: { placeholder: "such as demo" },
  version: { hint: "Empty takes the newest.", placeholder: "newest" },
  cron_expr: {
    hint: "5 fields from the minute, 6 from the second, macros, L W # H, and AWS's cron(), rate(), at().",
  },
  after_schedule_id: { short: "Follows", placeholder: "id of a schedule" },
  start_at: { short: "Start" },
  end_at: { short: "End" },
  overlap_policy: { short: "Overlap" },
  catchup_policy: { short: "Catch-up" },
  jitter_ms: { short: "Jitter" },
  max_runtime_s: { short: "Longest runtime" },
};

/** The fields of a schedule that a request may set, in the order of the vocabulary. */
let written = [];

/** Takes over the words that the API serves. */
export function learn(vocabulary) {
  take(STATUS, vocabulary.schedule_statuses);
  take(RUN, vocabulary.run_statuses);
  take(REASONS, vocabulary.reasons);
  take(LEDGER, vocabulary.ledger_reasons);
  take(UNEXPLAINED, vocabulary.ledger_problems);
  for (const field of vocabulary.fields) {
    FIELDS[field.name] = { ...served(field), ...own(FIELDS, field.name) };
  }
  written = vocabulary.fields.filter((field) => !field.read_only);
}

function take(words, terms) {
  for (const { word, label, meaning } of terms) {
    words[word] = { tone: "idle", ...own(words, word), word: label, meaning };
  }
}

/** A field as forms want it; `choices` are a value, its word and its meaning. */
function served(field) {
  const choices = (field.choices ?? []).map(({ word, label, meaning }) => [word, label, meaning]);
  const none = field.default_means ?? "";
  if (choices.length && field.nullable) choices.unshift(["", "Default", capital(`${none}.`)]);
  return {
    label: field.label,
    hint: capital(`${field.description.replaceAll("`", "")}.`),
    placeholder: none || String(field.default ?? ""),
    minimum: field.minimum,
    maximum: field.maximum,
    choices,
  };
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The names of the fields that a request may set. */
export function writtenFields() {
  return written.map(({ name }) => name);
}

/** The fields that are policies: a choice between words. */
export function policies() {
  const names = written.filter(({ kind }) => kind === "choice").map(({ name }) => name);
  // What happens at a clock change concerns fewer people than the others.
  return names.sort((one, other) => one.startsWith("dst_") - other.startsWith("dst_"));
}

/** The fields that are numbers; the version of the workflow stands beside the workflow. */
export function numbers() {
  const isNumber = ({ kind, name }) => kind === "whole_number" && name !== "version";
  return written.filter(isNumber).map(({ name }) => name);
}

/** The name of a field beside its value. */
export function fieldName(field) {
  return FIELDS[field]?.short ?? FIELDS[field]?.label ?? spaced(field);
}

/** The status of a schedule or of a run; a word that is not known stands for itself. */
export function status(name) {
  return { word: name, meaning: "", tone: "idle", ...(own(STATUS, name) ?? own(RUN, name)) };
}

/** The choices of a menu of statuses, with one that takes all of them. */
export function statusChoices(statuses) {
  const choices = Object.entries(statuses).map(([name, { word }]) => [name, word ?? name]);
  return [["", "Any status"], ...choices];
}

/** Where a run came from. */
export function cause({ trigger }) {
  return own(CAUSES, trigger?.split(":")[0]) ?? trigger ?? "";
}

/** Why, in a sentence: of the reason, which stands for itself if it is not known, or of the status. */
export function why(run) {
  const { meaning } = own(REASONS, run.reason) ?? {};
  return run.reason ? (meaning ?? run.reason) : status(run.status).meaning;
}

/** Why, with the API's word before the sentence. */
export function wordAndWhy(run) {
  return own(REASONS, run.reason) ? `${run.reason}: ${why(run)}` : why(run);
}

/** A fire of a ledger: its word, meaning and colour. */
export function fate(name) {
  return { meaning: "", tone: "idle", ...own(LEDGER, name), word: spaced(name) };
}

/** A run beside the expected fires of a ledger. */
export function beside(name) {
  const { meaning } = own(LEDGER, name) ?? {};
  return { word: spaced(name), meaning: meaning ?? "Beside the expected fires" };
}

/** What is wrong with a fire or a record of a ledger. */
export function unexplained(name) {
  return own(UNEXPLAINED, name)?.meaning ?? name;
}

/** How far a backfill has come. */
export function backfillState(name) {
  return own(BACKFILL, name) ?? name;
}

/** A name of the API as people write it. */
export function spaced(name) {
  return name.replaceAll("_", " ");
}

function own(words, name) {
  return Object.hasOwn(words, name) ? words[name] : undefined;
}
