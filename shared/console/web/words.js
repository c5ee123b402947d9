// The vocabulary: what the API's words mean. Every screen takes them from here.

/** What a schedule is doing. `tone` is its colour; a `ring` says that it has yet to begin, or is over. */
export const STATUS = {
  active: { word: "Active", meaning: "It fires at its times.", tone: "good" },
  paused: { word: "Paused", meaning: "It does not fire until it is resumed.", tone: "mind" },
  pending: { word: "Pending", meaning: "Its start is still to come.", tone: "busy", ring: true },
  expired: { word: "Expired", meaning: "It has no fire left.", tone: "idle", ring: true },
  invalid: {
    word: "Invalid",
    meaning: "This version of Belfry cannot read its stored expression.",
    tone: "bad",
  },
};

/** What became of a run. A run that has `ended` never changes its status again. */
export const RUN = {
  ENQUEUED: {
    word: "Enqueued",
    meaning: "Recorded. Its message waits for its launch time, or for the next attempt.",
    tone: "idle",
    ring: true,
  },
  QUEUED: {
    word: "Queued",
    meaning: "Waits for an earlier run of its schedule.",
    tone: "busy",
    ring: true,
  },
  STARTED: {
    word: "Started",
    meaning: "Claimed by a launcher, or running at its target.",
    tone: "busy",
  },
  SUCCESS: { word: "Success", meaning: "Done.", tone: "good", ended: true },
  FAILED: {
    word: "Failed",
    meaning: "Not done, and not tried again.",
    tone: "bad",
    ended: true,
  },
  SKIPPED: { word: "Skipped", meaning: "Deliberately not launched.", tone: "mind", ended: true },
  ABANDONED: {
    word: "Abandoned",
    meaning: "Lost, and every attempt to recover it failed.",
    tone: "bad",
    ended: true,
  },
};

/** Why a run is in its status. */
const REASONS = {
  missed: "Its time passed by more than the grace, and the catch-up policy did not launch it.",
  overlap: "An earlier run of the schedule was still running and held the slot.",
  queue_full: "As many runs as may wait were waiting already.",
  paused: "The schedule was paused before the run launched.",
  deleted: "The schedule was deleted before the run launched.",
  superseded: "The schedule was changed before the run launched, and no longer has this fire.",
  cancelled: "The backfill it belongs to was cancelled.",
  upstream: "The run it was to follow did not succeed after all.",
  launch_failed: "The target refused the run, or could not be reached in any attempt.",
  workflow_missing: "The version of the workflow no longer exists.",
  executor: "The executor reported it.",
  timeout: "It took longer than its longest runtime.",
  lost: "The run was lost, and every attempt to recover it failed or it was too old to try.",
};

/** What made a run, by its trigger. */
const CAUSES = {
  schedule: "Scheduled",
  catchup: "Caught up",
  manual: "By hand",
  backfill: "Backfill",
  after: "After another run",
};

/** What became of the fires that a ledger expected. */
const LEDGER = {
  on_time: { meaning: "Succeeded, started within a second of its time", tone: "good" },
  late: { meaning: "Succeeded, started later than that", tone: "good" },
  caught_up: { meaning: "Succeeded, launched after an outage", tone: "good" },
  failed: { meaning: "Launched, or tried, and failed", tone: "bad" },
  skipped_overlap: { meaning: "An earlier run was still running", tone: "mind" },
  queue_full: { meaning: "As many runs as may wait were waiting", tone: "mind" },
  missed: { meaning: "Passed in an outage, not caught up", tone: "mind" },
  paused: { meaning: "The schedule was paused", tone: "idle" },
  deleted: { meaning: "Withdrawn when the schedule was deleted", tone: "idle" },
  superseded: { meaning: "Withdrawn when the schedule was changed", tone: "idle" },
  cancelled: { meaning: "Withdrawn when its backfill was cancelled", tone: "idle" },
  upstream: { meaning: "The run it was to follow did not succeed", tone: "mind" },
  skipped: { meaning: "Not launched, for a reason this version does not know", tone: "mind" },
  abandoned: { meaning: "Lost, could not be recovered", tone: "bad" },
  in_flight: { meaning: "Waiting or running", tone: "busy" },
  pending: { meaning: "Still to come", tone: "busy" },
  expired: { meaning: "Older than records are kept", tone: "idle" },
};

/** Runs that a ledger counts beside the expected fires. */
const BESIDE = {
  manual: "Run by hand",
  backfill: "Run by a backfill",
  catchup: "Launched after an outage",
  after: "Followed a run of another schedule",
  before_change: "Launched before a change removed the fire",
};

/** What is wrong with a fire or a record that a ledger cannot explain. */
const UNEXPLAINED = {
  no_record: "lost: the tick passed it and recorded nothing",
  overdue: "the tick has not reached it yet",
  not_launched: "sent, but not launched",
  not_ended: "launched, but its longest runtime is over",
  unexpected: "recorded, but no definition had this fire",
  unknown_definition: "the definition at that time cannot be read",
};

/** How far a backfill has come. */
const BACKFILL = { running: "Running", done: "Done", cancelled: "Cancelled" };

/** In which order a backfill launches its fires. */
export const ORDERS = [
  ["oldest_first", "Oldest first"],
  ["newest_first", "Newest first"],
];

/**
 * The fields of a schedule. `label` asks for the field in a form, `short` names it beside its
 * value; `choices` are a value, its word and its meaning.
 */
export const FIELDS = {
  name: { label: "Name" },
  schedule_id: {
    label: "Id",
    hint: "Names the schedule in the API, runs and logs. It cannot be changed.",
    placeholder: "chosen for you",
  },
  description: { label: "Description" },
  user_id: { short: "Owner" },
  workflow_id: {
    label: "Workflow",
    hint: "The workflow to launch; it must exist.",
    placeholder: "such as demo",
  },
  version: { label: "Version", hint: "Empty takes the newest.", placeholder: "newest" },
  cron_expr: {
    label: "Expression",
    hint: "5 fields from the minute, 6 from the second, macros, L W # H, and AWS's cron(), rate(), at().",
  },
  after_schedule_id: {
    label: "After another schedule",
    short: "Follows",
    hint: "Runs when that schedule succeeds, in addition to the expression if there is one.",
    placeholder: "id of a schedule",
  },
  timezone: { label: "Time zone" },
  start_at: { label: "Not before", short: "Start" },
  end_at: { label: "Not after", short: "End" },
  payload: { label: "Payload", hint: "Any JSON up to 256 KB. Every run receives it." },
  overlap_policy: {
    label: "When the last run is still running",
    short: "Overlap",
    choices: [
      ["skip", "Skip", "The fire is skipped, and its record names the run that held the slot."],
      ["allow", "Run beside it", "Every fire launches, however many runs there are."],
      ["queue", "Wait", "The fire waits for the earlier runs and launches in order."],
    ],
  },
  catchup_policy: {
    label: "When fires were missed in an outage",
    short: "Catch-up",
    choices: [
      ["none", "Let them go", "They are recorded as missed; none is launched."],
      ["once", "Run once", "The newest missed fire is launched, the others are recorded."],
      ["fire_immediately", "Run all now", "All missed fires are launched, oldest first."],
      ["spread", "Spread them", "All are launched, evenly over the look-ahead."],
    ],
  },
  dst_gap: {
    label: "A local time the clock skips in spring",
    choices: [
      ["", "Default", "Fixed times fire right after the gap; intervals follow the clock."],
      ["shift", "Right after", "One fire right after the gap."],
      ["skip", "Not at all", "No fire on that day."],
    ],
  },
  dst_fold: {
    label: "A local time the clock shows twice in autumn",
    choices: [
      ["", "Default", "Fixed times fire once; intervals follow the clock."],
      ["first", "Once", "Only the first time."],
      ["both", "Both times", "It fires twice on that day."],
    ],
  },
  max_concurrent: {
    label: "Runs at once",
    placeholder: "1",
    hint: "How many runs may go on at the same time before the overlap rule applies.",
  },
  jitter_ms: {
    label: "Jitter, in ms",
    short: "Jitter",
    placeholder: "0",
    hint: "Moves each start by up to this much, earlier or later, so that not all begin together.",
  },
  catchup_window_s: {
    label: "Catch-up window, in s",
    placeholder: "no limit",
    hint: "Missed fires older than this are never caught up.",
  },
  max_runtime_s: {
    label: "Longest runtime, in s",
    short: "Longest runtime",
    placeholder: "no limit",
    hint: "A run that reports its end and takes longer than this has failed.",
  },
  pause_after_failures: {
    label: "Pause after failures",
    placeholder: "never",
    hint: "This many failures in a row pause the schedule.",
  },
};

/** The fields that are policies, in the order a form shows them. */
export const POLICIES = ["overlap_policy", "catchup_policy", "dst_gap", "dst_fold"];

/** The fields that are numbers, in the order a form shows them. */
export const NUMBERS = [
  "max_concurrent",
  "jitter_ms",
  "catchup_window_s",
  "max_runtime_s",
  "pause_after_failures",
];

/** The name of a field beside its value. */
export function fieldName(field) {
  return FIELDS[field].short ?? FIELDS[field].label;
}

/** The status of a schedule or of a run; a word that is not known stands for itself. */
export function status(name) {
  const unknown = { word: name, meaning: "", tone: "idle" };
  return own(STATUS, name) ?? own(RUN, name) ?? unknown;
}

/** The choices of a menu of statuses, with one that takes all of them. */
export function statusChoices(statuses) {
  return [["", "Any status"], ...Object.entries(statuses).map(([name, { word }]) => [name, word])];
}

/** Where a run came from. */
export function cause({ trigger }) {
  return own(CAUSES, trigger?.split(":")[0]) ?? trigger ?? "";
}

/** Why, in a sentence: of the reason, which stands for itself if it is not known, or of the status. */
export function why(run) {
  return run.reason ? (own(REASONS, run.reason) ?? run.reason) : status(run.status).meaning;
}

/** Why, with the API's word before the sentence. */
export function wordAndWhy(run) {
  return own(REASONS, run.reason) ? `${run.reason}: ${why(run)}` : why(run);
}

/** A fire of a ledger: its word, meaning and colour. */
export function fate(name) {
  return { word: spaced(name), meaning: "", tone: "idle", ...own(LEDGER, name) };
}

/** A run beside the expected fires of a ledger. */
export function beside(name) {
  const meaning = own(BESIDE, name) ?? own(LEDGER, name)?.meaning;
  return { word: spaced(name), meaning: meaning ?? "Beside the expected fires" };
}

/** What is wrong with a fire or a record of a ledger. */
export function unexplained(name) {
  return own(UNEXPLAINED, name) ?? name;
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
