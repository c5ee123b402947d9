// The zone picker: type a part of a zone's name, see the time there.

import { api } from "../api.js";
import { h, put } from "../dom.js";
import { clock, offset } from "../time.js";

const SHOWN = 60;
let known = null;

async function zones(signal) {
  known ??= (await api.timezones(signal)).items;
  return known;
}

/**
 * @param {string} chosen
 * @param {(name: string) => void} changed
 * @returns {{input: HTMLInputElement, element: HTMLElement, now: HTMLElement}}
 */
export function zonePicker(chosen, changed, signal) {
  let names = [];
  const input = h("input", {
    type: "text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-expanded": "false",
    "aria-controls": "zone-list",
    "aria-autocomplete": "list",
    value: chosen,
    oninput: () => {
      offered.open(input.value);
      changed(input.value.trim());
    },
    onfocus: () => input.select(),
    onclick: () => offered.open(""),
    onblur: () => offered.close(),
    onkeydown: (event) => offered.key(event),
  });
  const now = localTime(input, () => names, signal);
  const offered = suggestions(
    input,
    () => names,
    (name) => {
      input.value = name;
      now.show();
      changed(name);
    },
  );
  zones(signal)
    .then((items) => {
      names = items.map(({ name }) => name);
      // The user may have typed before the zones arrived.
      if (document.activeElement === input && input.value !== chosen) offered.open(input.value);
    })
    .catch(() => {});
  return { input, element: h("div", { class: "zone" }, input, offered.list), now: now.element };
}

/** The time in the zone that is written in the field, every second. */
function localTime(input, names, signal) {
  const element = h("span");
  const show = () => {
    const name = input.value.trim() || "UTC";
    const isZone = names().length === 0 || names().includes(name);
    put(element, isZone ? `Now ${clock(Date.now(), name)} there, ${offset(Date.now(), name)}` : "");
  };
  const timer = setInterval(show, 1000);
  signal.addEventListener("abort", () => clearInterval(timer));
  show();
  return { element, show };
}

/** The list below the field: the zones whose name contains the text, chosen by mouse or keyboard. */
function suggestions(input, names, chosen) {
  const list = h("ul", {
    id: "zone-list",
    role: "listbox",
    "aria-label": "Time zones",
    hidden: true,
  });
  let found = [];
  let at = -1;

  function open(text) {
    const part = text.toLowerCase().replaceAll(" ", "_");
    found = names()
      .filter((name) => name.toLowerCase().includes(part))
      .slice(0, SHOWN);
    at = found.indexOf(input.value);
    draw();
  }
  function close() {
    found = [];
    draw();
  }
  function choose(name) {
    close();
    chosen(name);
  }
  function draw() {
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
    put(
      list,
      found.map((name, place) => option(name, place, place === at, choose)),
    );
    if (at >= 0) input.setAttribute("aria-activedescendant", `zone-${at}`);
    else input.removeAttribute("aria-activedescendant");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }
  function move(by) {
    if (!found.length) return open("");
    const from = at < 0 && by < 0 ? 0 : at;
    at = (from + by + found.length) % found.length;
    draw();
  }
  const keys = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => choose(found[Math.max(at, 0)]),
    Escape: close,
  };
  function key(event) {
    const isArrow = event.key.startsWith("Arrow");
    if (!Object.hasOwn(keys, event.key) || (!isArrow && !found.length)) return;
    event.preventDefault();
    keys[event.key]();
  }
  return { list, open, close, key };
}

function option(name, place, isSelected, choose) {
  return h(
    "li",
    {
      role: "option",
      id: `zone-${place}`,
      "aria-selected": String(isSelected),
      // Before the field loses the focus and the list is closed.
      onmousedown: (event) => {
        event.preventDefault();
        choose(name);
      },
    },
    h("span", null, name),
    h("span", null, `${clock(Date.now(), name).slice(0, 5)}  ${offset(Date.now(), name)}`),
  );
}
