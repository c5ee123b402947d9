// The editor: one form for a new schedule and for a change of one, previewed while it is typed.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { builder } from "../editor/builder.js";
import { askSave } from "../editor/diff.js";
import { payloadEditor } from "../editor/payload.js";
import { policies } from "../editor/policies.js";
import { preview } from "../editor/preview.js";
import { tagRows } from "../editor/tags.js";
import { zonePicker } from "../editor/zone.js";
import { field } from "../parts/form.js";
import { broken, waiting } from "../parts/states.js";
import { told } from "../parts/toast.js";
import { title } from "../parts/actions.js";
import { go, to } from "../router.js";
import { MINE, fromField, toField } from "../time.js";

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

/** What a request may set; what a schedule says besides is not the editor's. */
const WRITTEN = [
  ...Object.keys(FRESH),
  "inject_metadata",
  "max_concurrent",
  "jitter_ms",
  "catchup_window_s",
  "max_runtime_s",
  "pause_after_failures",
  "after_schedule_id",
];

/** Somebody else was faster: their change stays, and this one is not saved. */
function lost(problem) {
  if (problem.status !== 412) throw problem;
  throw new Error("somebody changed the schedule meanwhile; nothing is saved, open it again");
}

export async function editor(main, { id, signal }) {
  put(main, waiting());
  try {
    const [found, presets, others] = await Promise.all([
      id ? api.schedule(id, signal) : null,
      api.presets(signal),
      api.schedules({ limit: 200 }, signal),
    ]);
    if (signal.aborted) return;
    const workflows = [...new Set(others.items.map(({ workflow_id }) => workflow_id))].sort();
    draw(main, found, presets.items, workflows, signal);
  } catch (problem) {
    if (problem.name !== "AbortError")
      put(
        main,
        broken(problem, () => editor(main, { id, signal })),
      );
  }
}

function draw(main, found, presets, workflows, signal) {
  const draft = found
    ? Object.fromEntries(WRITTEN.filter((name) => name in found).map((name) => [name, found[name]]))
    : { ...FRESH };
  let wantedId = "";
  const complain = {};
  const general = h("p", { class: "wrong", role: "alert" });

  const set = (name) => (value) => {
    draft[name] = value;
  };
  const text = (name, label, { hint, area, list, attributes } = {}) => {
    const control = h(area ? "textarea" : "input", {
      ...(area ? { rows: 2 } : { type: "text", list }),
      ...attributes,
      value: draft[name] ?? "",
      oninput: (event) => set(name)(event.target.value || null),
    });
    const made = field({ id: `f-${name}`, label, hint, control });
    complain[name] = made.complain;
    return made.element;
  };

  const seen = preview((errors) => {
    for (const name of ["cron_expr", "timezone", "start_at", "end_at"])
      complain[name]?.(errors.find((error) => error.field === name)?.message);
    const at = errors.find((error) => error.field === "cron_expr")?.at;
    put(pointer, Number.isInteger(at) ? `${" ".repeat(at)}^` : "");
  }, signal);
  const look = () =>
    seen.look({
      cron_expr: draft.cron_expr ?? "",
      timezone: draft.timezone || "UTC",
      start_at: draft.start_at,
      end_at: draft.end_at,
      dst_gap: draft.dst_gap,
      dst_fold: draft.dst_fold,
      ...(found && { schedule_id: found.schedule_id }),
    });

  const expression = h("input", {
    class: "expression",
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    maxlength: 256,
    value: draft.cron_expr ?? "",
    oninput: () => write(expression.value, true),
  });
  const pointer = h("div", { class: "pointer", "aria-hidden": "true" });
  const drawn = builder((written) => write(written, false));
  function write(value, typed) {
    draft.cron_expr = value.trim() ? value : null;
    if (typed) drawn.show(value);
    else expression.value = value;
    markPreset();
    look();
  }
  const presetButtons = presets.map(({ name, cron_expr }) =>
    h(
      "button",
      {
        class: "chip",
        type: "button",
        "aria-pressed": "false",
        onclick: () => {
          expression.value = cron_expr;
          write(cron_expr, true);
        },
      },
      name,
    ),
  );
  function markPreset() {
    presetButtons.forEach((button, at) =>
      button.setAttribute(
        "aria-pressed",
        String(presets[at].cron_expr === draft.cron_expr?.trim()),
      ),
    );
  }

  const zone = zonePicker(
    draft.timezone ?? "UTC",
    (name) => {
      draft.timezone = name || null;
      look();
    },
    signal,
  );
  const when = (name, label) => {
    const control = h("input", {
      type: "datetime-local",
      step: 1,
      value: toField(draft[name]),
      onchange: (event) => {
        draft[name] = fromField(event.target.value);
        look();
      },
    });
    const made = field({ id: `f-${name}`, label, hint: `In your time, ${MINE}`, control });
    complain[name] = made.complain;
    return made.element;
  };
  const cron = field({
    id: "f-cron_expr",
    label: "Expression",
    hint: "5 fields from the minute, 6 from the second, macros, L W # H, and AWS's cron(), rate(), at().",
    control: expression,
  });
  complain.cron_expr = cron.complain;
  cron.element.insertBefore(pointer, expression.nextSibling);
  const zoneField = field({
    id: "f-timezone",
    label: "Time zone",
    hint: zone.now,
    control: zone.input,
    around: zone.element,
  });
  complain.timezone = zoneField.complain;

  const rules = policies(draft, (name, value) => {
    draft[name] = value;
    if (name.startsWith("dst_")) look();
  });
  Object.assign(complain, rules.complain);
  const payload = payloadEditor(draft.payload, set("payload"));
  complain.payload = payload.complain;

  const name = () => {
    const control = h("input", {
      type: "text",
      placeholder: "chosen for you",
      spellcheck: "false",
      oninput: (event) => {
        wantedId = event.target.value.trim();
      },
    });
    const made = field({
      id: "f-schedule_id",
      label: "Id",
      hint: "How the API, runs and logs call it. It cannot be changed.",
      control,
    });
    complain.schedule_id = made.complain;
    return made.element;
  };
  const options = h(
    "datalist",
    { id: "known-workflows" },
    workflows.map((value) => h("option", { value })),
  );

  async function submit(event) {
    event.preventDefault();
    Object.values(complain).forEach((clear) => clear());
    put(general);
    if (!payload.isGood()) return point([{ field: "payload", message: "is not JSON yet" }]);
    const body = {
      ...draft,
      version: /^\d+$/.test(draft.version ?? "") ? Number(draft.version) : draft.version,
    };
    for (const key of WRITTEN) if (body[key] === null && !found) delete body[key];
    // A draft without a name of its own is tried under one that nobody has.
    const id = found?.schedule_id ?? (wantedId || `draft-${crypto.randomUUID()}`);
    try {
      const diff = await api.tryReplace(id, body);
      let saved = null;
      const save = async () => {
        saved = found
          ? await api.replace(id, body, found.revision).catch(lost)
          : await api.create({ ...body, ...(wantedId && { schedule_id: wantedId }) });
      };
      if (await askSave(diff, draft.timezone ?? "UTC", !found, save)) {
        told(`${title(saved)} is saved.`);
        go(to.schedule(saved.schedule_id));
      }
    } catch (problem) {
      if (problem.status !== 401)
        point(problem.errors.length ? problem.errors : [{ field: "", message: problem.message }]);
    }
  }
  /** Each problem where it belongs, the rest beside the button; the first gets the keyboard. */
  function point(errors) {
    const rest = [];
    for (const { field, message } of errors) {
      const key = field.split(/[.[]/)[0];
      if (complain[key]) complain[key](message);
      else rest.push(field ? `${field} ${message}` : message);
    }
    put(general, rest.join("; ") || "Some fields need another look.");
    document.querySelector('[aria-invalid="true"]')?.focus();
  }

  const what = h(
    "section",
    { class: "sheet", "aria-label": "What runs" },
    h("header", null, h("h2", null, "What runs")),
    h(
      "div",
      { class: "body" },
      h("div", { class: "fields" }, text("name", "Name"), !found && name()),
      h(
        "div",
        { class: "fields" },
        text("workflow_id", "Workflow", {
          list: "known-workflows",
          hint: "What to launch; it must exist.",
          attributes: { spellcheck: "false", placeholder: "such as demo" },
        }),
        text("version", "Version", {
          hint: "Empty takes the newest.",
          attributes: { inputmode: "numeric", placeholder: "newest" },
        }),
      ),
      options,
    ),
  );
  const people = h(
    "section",
    { class: "sheet", "aria-label": "For people" },
    h("header", null, h("h2", null, "For people")),
    h(
      "div",
      { class: "body" },
      text("description", "Description", { area: true }),
      tagRows(draft.tags, set("tags")),
    ),
  );
  const timing = h(
    "section",
    { class: "sheet", "aria-label": "When" },
    h("header", null, h("h2", null, "When")),
    h(
      "div",
      { class: "body" },
      h(
        "div",
        { class: "field" },
        h("span", { class: "label" }, "Presets"),
        h("div", { class: "chips", role: "group", "aria-label": "Presets" }, presetButtons),
      ),
      cron.element,
      drawn.element,
      text("after_schedule_id", "After another schedule", {
        hint: "Runs when that one succeeds, besides the expression or, if there is none, only then.",
        attributes: { spellcheck: "false", placeholder: "id of a schedule" },
      }),
      zoneField.element,
      h("div", { class: "fields" }, when("start_at", "Not before"), when("end_at", "Not after")),
    ),
  );

  put(
    main,
    h(
      "div",
      { class: "head" },
      h(
        "div",
        { class: "title" },
        h(
          "p",
          { class: "crumb" },
          h("a", { href: to.list() }, "Schedules"),
          found && [" / ", h("a", { href: to.schedule(found.schedule_id) }, found.schedule_id)],
        ),
        h("h1", null, found ? `Edit ${title(found)}` : "New schedule"),
      ),
    ),
    h(
      "div",
      { class: "editor" },
      h(
        "form",
        { class: "form", novalidate: true, onsubmit: submit },
        what,
        timing,
        payload.element,
        rules.element,
        people,
        h(
          "div",
          { class: "save" },
          general,
          h(
            "a",
            { class: "button", href: found ? to.schedule(found.schedule_id) : to.list() },
            "Cancel",
          ),
          h("button", { class: "button main", type: "submit" }, "Review and save"),
        ),
      ),
      h("div", { class: "side" }, seen.element),
    ),
  );
  drawn.show(draft.cron_expr ?? "");
  markPreset();
  look();
}
