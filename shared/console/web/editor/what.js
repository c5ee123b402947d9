// The sheets "What runs" and "For people".

import { h } from "../dom.js";
import { sheet } from "../parts/sheet.js";
import { idField, textField } from "./fields.js";
import { tagRows } from "./tags.js";

/** @param {string[]} workflows the workflows that other schedules launch, offered while typing */
export function whatSheet(draft, workflows) {
  return sheet(
    { name: "What runs" },
    h("div", { class: "fields" }, textField(draft, "name"), !draft.found && idField(draft)),
    h(
      "div",
      { class: "fields" },
      textField(draft, "workflow_id", { list: "known-workflows", spellcheck: "false" }),
      textField(draft, "version", { inputmode: "numeric" }),
    ),
    h(
      "datalist",
      { id: "known-workflows" },
      workflows.map((value) => h("option", { value })),
    ),
  );
}

export function peopleSheet(draft) {
  return sheet(
    { name: "For people" },
    textField(draft, "description", { area: true }),
    tagRows(draft.values.tags, (tags) => {
      draft.values.tags = tags;
    }),
  );
}
