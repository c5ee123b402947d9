// The visual builder: shows the expression as a plan, and writes the expression when the plan is changed.

import { MONTHS, WEEKDAYS, plain, read, write } from "../cron/plan.js";
import { h, update } from "../dom.js";
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
 * @param {(expression: string) => void} changed called when a user changed the builder
 * @returns {{element: HTMLElement, show: (expression: string) => void}}
 */
export function builder(changed) {
  const element = h("div", { class: "builder", role: "group", "aria-label": "Builder" });
  let shown = null;

  function show(expression) {
    const plan = read(expression);
    const key = JSON.stringify(plan);
    // A plan that is shown already is left alone, so that the keyboard stays where it is.
    if (element.hasChildNodes() && key === shown) return;
    shown = key;
    draw(plan);
  }
  function draw(plan) {
    update(element, plan ? lines(plan, change) : beyond(change));
  }
  function change(plan) {
    shown = JSON.stringify(plan);
    draw(plan);
    changed(write(plan));
  }
  return { element, show };
}

/** Shown for an expression that no plan can hold. */
function beyond(change) {
  return [
    h(
      "p",
      { class: "soft small" },
      "The builder cannot draw this expression. Edit it as text, or start over from here.",
    ),
    h(
      "div",
      null,
      h(
        "button",
        { class: "button slim", type: "button", onclick: () => change(plain()) },
        "Start over with every day at 09:00",
      ),
    ),
  ];
}

function lines(plan, change) {
  const set = (more) => change({ ...plan, ...more });
  return [
    pace(plan, set),
    plan.pace === "times" ? times(plan, set) : within(plan, set),
    days(plan, set),
    months(plan, set),
  ];
}

function line(lead, ...content) {
  return h("div", { class: "line", key: lead }, h("span", { class: "lead" }, lead), content);
}

function number(label, choices, chosen, act) {
  const pairs = choices.map((value) => (Array.isArray(value) ? value : [value, value]));
  return select(pairs, chosen, (value) => act(+value), { "aria-label": label, key: label });
}

function minutes(chosen, set, text) {
  const choices = range(0, 59).map((minute) => [minute, text(minute)]);
  return number("Minute", choices, chosen, (minute) => set({ minute }));
}

function pace(plan, set) {
  const choose = (value) =>
    set({
      pace: value,
      step: STEPS[value]?.[value === "hours" ? 0 : 2] ?? 1,
      window: value === "times" ? null : plan.window,
    });
  const kind = select(PACES, plan.pace, choose, { "aria-label": "How often", key: "pace" });
  if (plan.pace === "times") return line("Run", kind);
  const steps = [...new Set([...STEPS[plan.pace], plan.step])].sort((a, b) => a - b);
  return line(
    "Run",
    kind,
    "every",
    number(`Number of ${plan.pace}`, steps, plan.step, (step) => set({ step })),
    plan.pace,
    plan.pace === "hours" && ["at minute", minutes(plan.minute, set, two)],
  );
}

function times(plan, set) {
  const hours = range(0, 23).map((hour) => [hour, two(hour), `${two(hour)} hours`]);
  return [
    line(
      "at",
      chips(hours, plan.hours, (chosen) => set({ hours: chosen }), "hours"),
    ),
    line(
      "past",
      minutes(plan.minute, set, (minute) => `:${two(minute)}`),
      h("span", { class: "soft small" }, "the minute is the same for all hours"),
    ),
  ];
}

function within(plan, set) {
  const choices = [
    ["", "all day"],
    ["window", "only from"],
  ];
  const choose = (value) => set({ window: value ? { from: 9, to: 17 } : null });
  const toggle = select(choices, plan.window ? "window" : "", choose, {
    "aria-label": "Hours",
    key: "hours",
  });
  if (!plan.window) return line("during", toggle);
  const { from, to } = plan.window;
  const hours = (first, last, end) => range(first, last).map((hour) => [hour, two(hour) + end]);
  return line(
    "during",
    toggle,
    number("First hour", hours(0, to, ":00"), from, (value) =>
      set({ window: { from: value, to } }),
    ),
    "to",
    number("Last hour", hours(from, 23, ":59"), to, (value) =>
      set({ window: { from, to: value } }),
    ),
  );
}

/** The days of the week from Monday on: number, short name, name. */
const WEEK = [1, 2, 3, 4, 5, 6, 0].map((day) => [
  day,
  NAMES[WEEKDAYS[day]].slice(0, 3),
  NAMES[WEEKDAYS[day]],
]);

const DATES = [
  ...range(1, 31).map((day) => [day, String(day), `Day ${day}`]),
  ["L", "last day"],
  ["LW", "last workday"],
];

function days(plan, set) {
  const choose = (value) => set({ days: value });
  const kind = select(DAYS, plan.days, choose, { "aria-label": "Days", key: "days" });
  const which = {
    every: () => null,
    week: () => chips(WEEK, plan.weekdays, (weekdays) => set({ weekdays })),
    month: () => chips(DATES, plan.dates, (dates) => set({ dates }), "dates"),
    nth: () => nthWeekday(plan, set),
  }[plan.days]();
  return line("on", kind, which);
}

function nthWeekday({ nth }, set) {
  const weekdays = WEEK.map(([day, , name]) => [day, name]);
  const chooseNth = (value) => set({ nth: { ...nth, nth: value === "L" ? "L" : +value } });
  const chooseDay = (value) => set({ nth: { ...nth, weekday: +value } });
  return [
    select(NTH, nth.nth, chooseNth, { "aria-label": "Which", key: "nth" }),
    select(weekdays, nth.weekday, chooseDay, { "aria-label": "Weekday", key: "weekday" }),
  ];
}

function months(plan, set) {
  const names = MONTHS.map((name, at) => [at + 1, name[0] + name.slice(1).toLowerCase()]);
  return line(
    "in",
    chips(names, plan.months, (chosen) => set({ months: chosen })),
    plan.months.length === 0 && h("span", { class: "soft small" }, "none chosen: every month"),
  );
}
