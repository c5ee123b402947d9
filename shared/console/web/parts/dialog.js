// Dialogs: a question with a button that agrees and one that cancels.

import { h, put } from "../dom.js";
import { failed } from "./toast.js";

/**
 * Asks the user. `act` runs when the user agrees; if it fails, the dialog stays open and shows why.
 * @param {{title: string, body: any, agree: string, danger?: boolean, act: () => Promise<any>}} question
 * @returns {Promise<boolean>} whether `act` has succeeded
 */
export function ask({ title, body, agree, danger, act }) {
  return new Promise((resolve) => {
    const wrong = h("p", { class: "wrong", role: "alert" });
    const yes = h(
      "button",
      { class: `button ${danger ? "danger" : "main"}`, type: "submit" },
      agree,
    );
    const submit = async (event) => {
      event.preventDefault();
      yes.disabled = true;
      try {
        await act();
        dialog.close("done");
      } catch (problem) {
        yes.disabled = false;
        put(wrong, problem.sentence ?? problem.message);
        if (problem.status === 401) dialog.close();
      }
    };
    const dialog = h(
      "dialog",
      { "aria-labelledby": "dialog-title" },
      h(
        "form",
        { method: "dialog", onsubmit: (event) => submit(event).catch(failed) },
        h("h2", { id: "dialog-title" }, title),
        body,
        h("div", { class: "field" }, wrong),
        h(
          "div",
          { class: "foot" },
          h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel"),
          yes,
        ),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "done");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
