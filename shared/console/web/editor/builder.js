// The visual builder: reads the expression into a plan, and writes it back when it is touched.

import { MONTHS, WEEKDAYS, plain, read, write } from "../cron/plan.js";
import { h, put } from "../dom.js";
import { chips, select } from "../parts/form.js";

const PACES = [
  ["times", "at set times"],
  ["minutes", "every few minutes"],
  ["hours", "every few hours"],
  ["seconds", "every few seconds"],
];
const DAYS = [
  ["every", "every day"],
  ["week", "on days of the week"],
  ["month", "on days of the month"],
  ["nth", "on one weekday a month"],
];
const STEPS = {
  seconds: [1, 2, 5, 10, 15, 20, 30],
  minutes: [1, 2, 3, 5, 10, 15, 20, 30],
  hours: [1, 2, 3, 4, 6, 8, 12],
};
const NAMES = {
  SUN: "Sunday",
  MON: "Monday",
  TUE: "Tuesday",
  WED: "Wednesday",
  THU: "Thursday",
  FRI: "Friday",
  SAT: "Saturday",
};
const NTH = [
  [1, "first"],
  [2, "second"],
  [3, "third"],
  [4, "fourth"],
  [5, "fifth"],
  ["L", "last"],
];
const two = (number) => String(number).padStart(2, "0");
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

/**
 * @param {(expression: string) => void} changed somebody touched the builder
 * @returns {{element: HTMLElement, show: (expression: string) => void}}
 */
export function builder(changed) {
  const element = h("div", { class: "builder", role: "group", "aria-label": "Builder" });
  let plan = null;
  let shown = null;

  function show(expression) {
    const found = read(expression);
    const key = JSON.stringify(found);
    // What it already shows is left alone, so that the keyboard stays where it is.
    if (element.hasChildNodes() && key === shown) return;
    shown = key;
    plan = found;
    put(element, plan ? lines() : beyond());
  }
  function beyond() {
    return [
      h(
        "p",
        { class: "soft small" },
        "This expression says more than the builder can draw. Edit it as text, or start over from here.",
      ),
      h(
        "div",
        null,
        h(
          "button",
          { class: "button slim", type: "button", onclick: () => change({ ...plain() }) },
          "Start over with every day at 09:00",
        ),
      ),
    ];
  }
  /** Takes the change over; another shape of the plan draws other lines. */
  function change(next, redraw = true) {
    plan = next;
    shown = JSON.stringify(plan);
    if (redraw) {
      const at = [...element.querySelectorAll("select, input, button")].indexOf(
        document.activeElement,
      );
      put(element, lines());
      element.querySelectorAll("select, input, button")[at]?.focus();
    }
    changed(write(plan));
  }
  const set = (more, redraw) => change({ ...plan, ...more }, redraw);
  const line = (lead, ...content) =>
    h("div", { class: "line" }, h("span", { class: "lead" }, lead), content);
  const number = (label, choices, chosen, act) =>
    select(
      choices.map((value) => (Array.isArray(value) ? value : [value, value])),
      chosen,
      (value) => act(+value),
      { "aria-label": label },
    );

  function lines() {
    return [pace(), plan.pace === "times" ? times() : within(), days(), months()];
  }
  function pace() {
    const kind = select(
      PACES,
      plan.pace,
      (value) =>
        set({
          pace: value,
          step: STEPS[value]?.[value === "hours" ? 0 : 2] ?? 1,
          window: value === "times" ? null : plan.window,
        }),
      { "aria-label": "How often" },
    );
    if (plan.pace === "times") return line("Run", kind);
    const steps = [...new Set([...STEPS[plan.pace], plan.step])].sort((a, b) => a - b);
    const at = plan.pace === "hours" && [
      "at minute",
      number(
        "Minute",
        range(0, 59).map((m) => [m, two(m)]),
        plan.minute,
        (minute) => set({ minute }, false),
      ),
    ];
    return line(
      "Run",
      kind,
      "every",
      number(`Number of ${plan.pace}`, steps, plan.step, (step) => set({ step }, false)),
      plan.pace,
      at,
    );
  }
  function times() {
    return [
      h(
        "div",
        { class: "line" },
        h("span", { class: "lead" }, "at"),
        chips(
          range(0, 23).map((hour) => [hour, two(hour), `${two(hour)} hours`]),
          plan.hours,
          (hours) => set({ hours }, false),
          "hours",
        ),
      ),
      line(
        "past",
        number(
          "Minute",
          range(0, 59).map((m) => [m, `:${two(m)}`]),
          plan.minute,
          (minute) => set({ minute }, false),
        ),
        h("span", { class: "soft small" }, "the minute is the same for all hours"),
      ),
    ];
  }
  function within() {
    const toggle = select(
      [
        ["", "all day"],
        ["window", "only from"],
      ],
      plan.window ? "window" : "",
      (value) => set({ window: value ? { from: 9, to: 17 } : null }),
      { "aria-label": "Hours" },
    );
    if (!plan.window) return line("during", toggle);
    const { from, to } = plan.window;
    return line(
      "during",
      toggle,
      number(
        "First hour",
        range(0, to).map((hour) => [hour, `${two(hour)}:00`]),
        from,
        (value) => set({ window: { from: value, to } }),
      ),
      "to",
      number(
        "Last hour",
        range(from, 23).map((hour) => [hour, `${two(hour)}:59`]),
        to,
        (value) => set({ window: { from, to: value } }),
      ),
    );
  }
  function days() {
    const kind = select(DAYS, plan.days, (value) => set({ days: value }), { "aria-label": "Days" });
    const week = [1, 2, 3, 4, 5, 6, 0].map((day) => [
      day,
      WEEKDAYS[day][0] + WEEKDAYS[day].slice(1, 3).toLowerCase(),
      NAMES[WEEKDAYS[day]],
    ]);
    const more = {
      every: () => null,
      week: () => chips(week, plan.weekdays, (weekdays) => set({ weekdays }, false)),
      month: () =>
        chips(
          [
            ...range(1, 31).map((day) => [day, String(day), `Day ${day}`]),
            ["L", "last day"],
            ["LW", "last workday"],
          ],
          plan.dates,
          (dates) => set({ dates }, false),
          "dates",
        ),
      nth: () => [
        select(
          NTH,
          plan.nth.nth,
          (value) => set({ nth: { ...plan.nth, nth: value === "L" ? "L" : +value } }, false),
          { "aria-label": "Which" },
        ),
        select(
          week.map(([day, , name]) => [day, name]),
          plan.nth.weekday,
          (value) => set({ nth: { ...plan.nth, weekday: +value } }, false),
          { "aria-label": "Weekday" },
        ),
      ],
    }[plan.days]();
    return line("on", kind, more);
  }
  function months() {
    const names = MONTHS.map((name, at) => [at + 1, name[0] + name.slice(1).toLowerCase()]);
    return line(
      "in",
      chips(names, plan.months, (chosen) => set({ months: chosen }, false)),
      plan.months.length === 0 && h("span", { class: "soft small" }, "none chosen: every month"),
    );
  }
  return { element, show };
}
