// The zone picker: type a part of its name, see what its clock shows.

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
  let found = [];
  let at = -1;
  const list = h("ul", {
    id: "zone-list",
    role: "listbox",
    "aria-label": "Time zones",
    hidden: true,
  });
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
      open(input.value);
      changed(input.value.trim());
    },
    onfocus: () => input.select(),
    onclick: () => open(""),
    onblur: () => close(),
    onkeydown: key,
  });
  const now = h("span");

  function open(text) {
    const words = text.toLowerCase().replaceAll(" ", "_");
    found = names.filter(({ name }) => name.toLowerCase().includes(words)).slice(0, SHOWN);
    at = found.findIndex(({ name }) => name === input.value);
    draw();
  }
  function draw() {
    const shown = found.length > 0;
    list.hidden = !shown;
    input.setAttribute("aria-expanded", String(shown));
    put(
      list,
      found.map(({ name }, place) =>
        h(
          "li",
          {
            role: "option",
            id: `zone-${place}`,
            "aria-selected": String(place === at),
            onmousedown: (event) => {
              event.preventDefault();
              choose(name);
            },
          },
          h("span", null, name),
          h("span", null, `${clock(Date.now(), name).slice(0, 5)}  ${offset(Date.now(), name)}`),
        ),
      ),
    );
    if (at >= 0) {
      input.setAttribute("aria-activedescendant", `zone-${at}`);
      list.children[at]?.scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  }
  function close() {
    found = [];
    draw();
  }
  function choose(name) {
    input.value = name;
    close();
    tick();
    changed(name);
  }
  function key(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!found.length) return open("");
      at =
        (at +
          (event.key === "ArrowDown" ? 1 : found.length - 1) +
          (at < 0 && event.key === "ArrowUp" ? 1 : 0)) %
        found.length;
      draw();
    } else if (event.key === "Enter" && found.length) {
      event.preventDefault();
      choose(found[Math.max(at, 0)].name);
    } else if (event.key === "Escape" && found.length) {
      event.preventDefault();
      close();
    }
  }
  function tick() {
    const name = input.value.trim() || "UTC";
    const is = names.length === 0 || names.some((zone) => zone.name === name);
    put(now, is ? `Now ${clock(Date.now(), name)} there, ${offset(Date.now(), name)}` : "");
  }
  const timer = setInterval(tick, 1000);
  signal.addEventListener("abort", () => clearInterval(timer));
  tick();
  zones(signal)
    .then((items) => {
      names = items;
      // Somebody may have typed before they came.
      if (document.activeElement === input && input.value !== chosen) open(input.value);
    })
    .catch(() => {});
  return { input, element: h("div", { class: "zone" }, input, list), now };
}
