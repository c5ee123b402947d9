// Signing in: the user pastes a token.

import { h } from "../dom.js";
import { field } from "../parts/form.js";
import { signIn } from "../session.js";

/** @param {() => void} done */
export function signInScreen(reason, done) {
  const input = h("textarea", {
    class: "code",
    rows: 4,
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
  });
  const { element, complain } = field({
    id: "token",
    label: "Token",
    control: input,
    hint: "A JWT, sent with every call and forgotten when this tab is closed. Locally `belfry token` prints one.",
  });
  const submit = (event) => {
    event.preventDefault();
    if (!input.value.trim()) return complain("paste a token");
    signIn(input.value);
    done();
  };
  const form = h(
    "form",
    { class: "sheet", onsubmit: submit },
    h("img", { src: "console/icon.svg", alt: "" }),
    h(
      "div",
      null,
      h("h1", null, "Sign in to Belfry"),
      h(
        "p",
        { class: "soft" },
        "The console calls the API with your token and can do what the token allows.",
      ),
    ),
    reason && h("p", { class: "note bad", role: "alert" }, h("span", null, reason)),
    element,
    h("button", { class: "button main", type: "submit" }, "Sign in"),
  );
  queueMicrotask(() => input.focus());
  return h("main", { class: "signin" }, form);
}
