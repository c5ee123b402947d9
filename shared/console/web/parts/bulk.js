// Actions on many schedules at once: on the chosen ones, or on all with a tag or a workflow.

import { api } from "../api.js";
import { h } from "../dom.js";
import { ask } from "./dialog.js";
import { title } from "./actions.js";
import { told } from "./toast.js";

/**
 * The bar above the list; null when there is nothing to act on.
 * @param {object[]} chosen the ticked schedules
 * @param {{workflow_id: string, tag: string}} asked the filters of the list
 * @param {() => Promise<void>} done
 */
export function bulkBar(chosen, asked, done) {
  const filter = asked.tag
    ? { tag: asked.tag }
    : asked.workflow_id
      ? { workflow_id: asked.workflow_id }
      : null;
  if (!chosen.length && !filter) return null;
  const button = (text, act) =>
    h(
      "button",
      {
        class: "button slim",
        type: "button",
        onclick: () => act().then((acted) => acted && done()),
      },
      text,
    );
  if (chosen.length) {
    return h(
      "div",
      { class: "chosen", key: "chosen", role: "group", "aria-label": "Chosen schedules" },
      h("strong", null, `${chosen.length} chosen`),
      button("Pause", () => each(chosen, "Pause", (id) => api.pause(id))),
      button("Resume", () => each(chosen, "Resume", (id) => api.resume(id))),
      button("Run now", () => each(chosen, "Run", (id) => api.trigger(id))),
      button("Clear", () => Promise.resolve(true)),
    );
  }
  const what = filter.tag ? `tagged ${filter.tag}` : `of workflow ${filter.workflow_id}`;
  return h(
    "div",
    { class: "chosen", key: "all", role: "group", "aria-label": `All schedules ${what}` },
    h("strong", null, `All ${what}`),
    button("Pause all", () => whole("pause", what, filter)),
    button("Resume all", () => whole("resume", what, filter)),
  );
}

function each(chosen, verb, act) {
  const names = chosen.map(title);
  return ask({
    title: `${verb} ${chosen.length} ${chosen.length === 1 ? "schedule" : "schedules"}?`,
    body: h(
      "p",
      { class: "soft break" },
      names.length > 8
        ? `${names.slice(0, 8).join(", ")} and ${names.length - 8} more`
        : names.join(", "),
    ),
    agree: verb,
    act: async () => {
      const ends = await Promise.allSettled(chosen.map(({ schedule_id }) => act(schedule_id)));
      const bad = ends.filter(({ status }) => status === "rejected");
      if (bad.length === chosen.length) throw bad[0].reason;
      told(
        `${ends.length - bad.length} done${bad.length ? `, ${bad.length} failed: ${bad[0].reason.message}` : "."}`,
      );
    },
  });
}

/** Through the API's bulk call; the dialog shows the count before anything changes. */
async function whole(action, what, filter) {
  const count = h("p", { class: "soft", role: "status" }, "Counting…");
  changeAll({ action, ...filter, dry_run: true })
    .then(({ changed }) => {
      count.textContent = `${counted(changed)} would change.`;
    })
    .catch((problem) => {
      count.textContent = problem.sentence ?? problem.message;
    });
  return ask({
    title: `${action === "pause" ? "Pause" : "Resume"} all schedules ${what}?`,
    body: count,
    agree: action === "pause" ? "Pause all" : "Resume all",
    act: async () => {
      const { changed, failed } = await changeAll({ action, ...filter });
      told(`${counted(changed)} changed${failed ? `, ${failed} failed` : ""}.`);
    },
  });
}

/** One call changes a bounded number of schedules and answers with a cursor if there are more. */
async function changeAll(body) {
  let [changed, failed, cursor] = [0, 0, undefined];
  do {
    const answer = await api.bulk({ ...body, cursor });
    changed += answer.changed;
    failed += answer.failed.length;
    cursor = answer.next_cursor;
  } while (cursor);
  return { changed, failed };
}

function counted(count) {
  return `${count} ${count === 1 ? "schedule" : "schedules"}`;
}
