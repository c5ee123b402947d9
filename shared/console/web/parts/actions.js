// What one does to a schedule from wherever one sees it: pause, resume, run now, delete.

import { api } from "../api.js";
import { h } from "../dom.js";
import { to } from "../router.js";
import { fromField } from "../time.js";
import { ask } from "./dialog.js";
import { field, select } from "./form.js";
import { told } from "./toast.js";
import { POLICIES } from "../words.js";

/** The name people gave it, or its id. */
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
        "When this returns nothing of it launches by itself. What has launched goes on; running it by hand still works.",
      ),
      field({ id: "pause-note", label: "Note, for whoever wonders why", control: note }).element,
      field({
        id: "pause-until",
        label: "Until",
        hint: "In your time; empty until somebody resumes it.",
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
  const missed = h("p", { class: "soft", role: "status" }, "Looking what was missed…");
  const look = async () => {
    const { fires, launches } = await api.resume(id, { catchup, dry_run: true });
    missed.textContent = fires
      ? `${fires} ${fires === 1 ? "fire was" : "fires were"} missed; this launches ${launches} of them.`
      : "No fire was missed meanwhile.";
  };
  const policy = POLICIES.find(({ field }) => field === "catchup_policy");
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
      told(`${title(schedule)} fires again.`);
    },
  });
}

/** Runs it and says where the run is. */
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
      "It fires no more, and its list of runs is gone with it. Single runs can be read until they expire.",
    ),
    agree: "Delete",
    danger: true,
    act: async () => {
      await api.remove(schedule.schedule_id);
      told(`${title(schedule)} is deleted.`);
    },
  });
}
