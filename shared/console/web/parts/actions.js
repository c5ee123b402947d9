// Actions on a schedule, offered on several screens: pause, resume, run now, delete.

import { api } from "../api.js";
import { h } from "../dom.js";
import { to } from "../router.js";
import { fromField } from "../time.js";
import { ask } from "./dialog.js";
import { field, select } from "./form.js";
import { failed, told } from "./toast.js";
import { FIELDS } from "../words.js";

/**
 * A listener that disables its button while `act` is under way and `look` shows what came of it.
 * `done` is called instead of `look` if `act` answers with something.
 */
export function whileDisabled(act, look, done) {
  return async ({ currentTarget: button }) => {
    const hadFocus = document.activeElement === button;
    button.disabled = true;
    try {
      const answer = await act();
      if (answer && done) return done(answer);
    } catch (problem) {
      failed(problem);
    }
    await look();
    button.disabled = false;
    // The browser takes the focus from a disabled button.
    if (hadFocus && document.activeElement === document.body) button.focus({ preventScroll: true });
  };
}

/** The name of a schedule, or its id. */
export function title(schedule) {
  return schedule.name || schedule.schedule_id;
}

export function askPause(schedule) {
  const until = h("input", { type: "datetime-local", step: 1 });
  const note = h("input", { type: "text", maxlength: 300, placeholder: "Optional" });
  return ask({
    title: `Pause ${title(schedule)}?`,
    body: [
      h(
        "p",
        { class: "soft" },
        "Once it is paused, the schedule launches no run by itself. Runs that were launched go on, and it can still be run by hand.",
      ),
      field({ id: "pause-note", label: "Note: why it is paused", control: note }).element,
      field({
        id: "pause-until",
        label: "Until",
        hint: "In your time zone. Empty: until it is resumed.",
        control: until,
      }).element,
    ],
    agree: "Pause",
    act: async () => {
      await api.pause(schedule.schedule_id, {
        note: note.value || null,
        until: fromField(until.value),
      });
      told(`${title(schedule)} is paused.`);
    },
  });
}

export async function askResume(schedule) {
  const id = schedule.schedule_id;
  let catchup = schedule.catchup_policy;
  const missed = h("p", { class: "soft", role: "status" }, "Counting the missed fires…");
  const look = async () => {
    const { fires, launches } = await api.resume(id, { catchup, dry_run: true });
    missed.textContent = fires
      ? `${fires} ${fires === 1 ? "fire was" : "fires were"} missed; this launches ${launches} of them.`
      : "No fire was missed.";
  };
  const policy = FIELDS.catchup_policy;
  const chooser = select(
    policy.choices.map(([value, text]) => [value, text]),
    catchup,
    (value) => {
      catchup = value;
      look().catch(() => {});
    },
  );
  look().catch((problem) => {
    missed.textContent = problem.message;
  });
  return ask({
    title: `Resume ${title(schedule)}?`,
    body: [field({ id: "resume-catchup", label: policy.label, control: chooser }).element, missed],
    agree: "Resume",
    act: async () => {
      await api.resume(id, { catchup });
      told(`${title(schedule)} is resumed.`);
    },
  });
}

/** Runs the schedule and links to the run. */
export async function runNow(schedule) {
  const run = await api.trigger(schedule.schedule_id);
  told(`${title(schedule)} runs now. `, h("a", { href: to.run(run.run_id) }, "See the run"));
  return run;
}

export function askDelete(schedule) {
  return ask({
    title: `Delete ${title(schedule)}?`,
    body: h(
      "p",
      { class: "soft" },
      "The schedule no longer fires, and its list of runs is deleted with it. A single run can be read by its id until it expires.",
    ),
    agree: "Delete",
    danger: true,
    act: async () => {
      await api.remove(schedule.schedule_id);
      told(`${title(schedule)} is deleted.`);
    },
  });
}
