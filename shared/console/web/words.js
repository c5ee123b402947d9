// What the API's words mean, in a sentence each.

/** What a schedule is doing. */
export const STATUS = {
  active: ["Active", "It fires."],
  paused: ["Paused", "It does not fire until somebody resumes it."],
  pending: ["Pending", "Its start has not come yet."],
  expired: ["Expired", "It has no fire left."],
  invalid: ["Invalid", "Its stored expression is no longer understood."],
};

/** What became of a run. */
export const RUN = {
  ENQUEUED: ["Enqueued", "Recorded. Its message waits for its second, or for the next attempt."],
  QUEUED: ["Queued", "Waits for an earlier run of its schedule."],
  STARTED: ["Started", "Claimed by a launcher, or running at its target."],
  SUCCESS: ["Success", "Done."],
  FAILED: ["Failed", "Not done, and not tried again."],
  SKIPPED: ["Skipped", "Deliberately not launched."],
  ABANDONED: ["Abandoned", "Lost, and given up on."],
};

/** Why a run ended as it did. */
const REASON = {
  missed: "Late by more than the grace, and not caught up.",
  overlap: "An earlier run was still going and had the slot.",
  queue_full: "Too many runs were waiting already.",
  paused: "The schedule was paused before it launched.",
  deleted: "The schedule was deleted before it launched.",
  superseded: "The definition changed before it launched, and the new one has no such fire.",
  launch_failed: "The target refused it, or could not be reached often enough.",
  workflow_missing: "The workflow version is gone.",
  executor: "The executor said so.",
  timeout: "It took longer than its longest runtime.",
  lost: "Nobody launched it, and every attempt to recover it failed.",
};

/** Where a run came from. */
export function cause(run) {
  if (run.trigger?.startsWith("schedule:")) return "Scheduled";
  const known = { manual: "By hand", backfill: "Backfill", catchup: "Caught up" };
  return known[run.trigger] ?? run.trigger ?? "";
}

/** Why, for people: the sentence of the reason, or of the status. */
export function why(run) {
  if (run.reason) return REASON[run.reason] ?? run.reason;
  return RUN[run.status]?.[1] ?? "";
}

/** What a fire of the ledger was. */
export const LEDGER = {
  on_time: "Ended well, started within a second of its time",
  late: "Ended well, started later than that",
  caught_up: "Ended well, launched after an outage",
  failed: "Launched, or tried, and failed",
  skipped_overlap: "An earlier run was going",
  missed: "Passed by in an outage, not caught up",
  paused: "Fell into a pause",
  deleted: "Taken back by a deletion",
  superseded: "Taken back by an edit",
  abandoned: "Lost, could not be recovered",
  in_flight: "On its way",
  pending: "Still to come",
  expired: "Older than runs are kept",
};

/** Policies: field, question, and the choices with a sentence each. */
export const POLICIES = [
  {
    field: "overlap_policy",
    label: "When the last run is still going",
    choices: [
      ["skip", "Skip", "The fire is skipped, and its record names the run in its way."],
      ["allow", "Run beside it", "Every fire launches, however many are going."],
      ["queue", "Wait", "The fire waits for its turn and launches in order."],
    ],
  },
  {
    field: "catchup_policy",
    label: "When fires were missed in an outage",
    choices: [
      ["none", "Let them go", "They are recorded as missed, and nothing is launched."],
      ["once", "Run once", "The newest missed fire is launched, the others are recorded."],
      ["fire_immediately", "Run all now", "All missed fires are launched, oldest first."],
      ["spread", "Spread them", "All are launched, evenly over the look-ahead."],
    ],
  },
  {
    field: "dst_gap",
    label: "A local time the clock skips in spring",
    choices: [
      ["", "As is usual", "Fixed times fire right after the gap; intervals follow the clock."],
      ["shift", "Right after", "One fire right after the gap."],
      ["skip", "Not at all", "No fire on that day."],
    ],
  },
  {
    field: "dst_fold",
    label: "A local time the clock shows twice in autumn",
    choices: [
      ["", "As is usual", "Fixed times fire once; intervals follow the clock."],
      ["first", "Once", "Only the first time."],
      ["both", "Both times", "It fires twice on that day."],
    ],
  },
];

/** Numbers a schedule can set, with what they do. */
export const NUMBERS = [
  [
    "max_concurrent",
    "Runs at once",
    "1",
    "How many runs may go at the same time before the rule above applies.",
  ],
  [
    "jitter_ms",
    "Jitter, in ms",
    "0",
    "Moves each start by up to this much, earlier or later, so that not all begin together.",
  ],
  [
    "catchup_window_s",
    "Catch-up window, in s",
    "no limit",
    "Missed fires older than this are never caught up.",
  ],
  [
    "max_runtime_s",
    "Longest runtime, in s",
    "no limit",
    "A tracked run that takes longer has failed.",
  ],
  [
    "pause_after_failures",
    "Pause after failures",
    "never",
    "So many failures in a row pause the schedule.",
  ],
];
