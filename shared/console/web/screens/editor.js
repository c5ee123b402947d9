// The editor: one form for a new schedule and for a change of one, previewed while it is typed.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { clearProblems, draftOf, showProblems, timingOf } from "../editor/draft.js";
import { payloadEditor } from "../editor/payload.js";
import { policySheet } from "../editor/policies.js";
import { preview } from "../editor/preview.js";
import { review } from "../editor/save.js";
import { timingSheet } from "../editor/timing.js";
import { peopleSheet, whatSheet } from "../editor/what.js";
import { title } from "../parts/actions.js";
import { load, waiting } from "../parts/states.js";
import { to } from "../router.js";

export function editor(main, { id, signal }) {
  put(main, waiting());
  const ask = () =>
    Promise.all([
      id ? api.schedule(id, signal) : null,
      api.presets(signal),
      api.schedules({ limit: 200 }, signal),
    ]);
  return load(main, ask, ([found, presets, others]) => {
    if (signal.aborted) return;
    const workflows = [...new Set(others.items.map(({ workflow_id }) => workflow_id))].sort();
    draw(main, draftOf(found), presets.items, workflows, signal);
  });
}

function draw(main, draft, presets, workflows, signal) {
  const timing = timingSheet(draft, presets, signal);
  const seen = preview(timing.judged, signal);
  draft.look = () => seen.look(timingOf(draft));
  const payload = payloadEditor(draft);
  const submit = (event) => {
    event.preventDefault();
    clearProblems(draft);
    if (payload.isGood()) return review(draft);
    return showProblems(draft, [{ field: "payload", message: "is not JSON yet" }]);
  };
  put(
    main,
    heading(draft.found),
    h(
      "div",
      { class: "editor" },
      h(
        "form",
        { class: "form", novalidate: true, onsubmit: submit },
        whatSheet(draft, workflows),
        timing.element,
        payload.element,
        policySheet(draft),
        peopleSheet(draft),
        saveBar(draft),
      ),
      h("div", { class: "side" }, seen.element),
    ),
  );
  draft.look();
}

function heading(found) {
  const link = found && h("a", { href: to.schedule(found.schedule_id) }, found.schedule_id);
  return h(
    "div",
    { class: "head" },
    h(
      "div",
      { class: "title" },
      h("p", { class: "crumb" }, h("a", { href: to.list() }, "Schedules"), found && [" / ", link]),
      h("h1", null, found ? `Edit ${title(found)}` : "New schedule"),
    ),
  );
}

function saveBar({ found, wrong }) {
  const back = found ? to.schedule(found.schedule_id) : to.list();
  return h(
    "div",
    { class: "save" },
    wrong,
    h("a", { class: "button", href: back }, "Cancel"),
    h("button", { class: "button main", type: "submit" }, "Review and save"),
  );
}
