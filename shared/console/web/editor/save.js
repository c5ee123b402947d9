// Saving: the API says what the draft would change, the user agrees, and only then it is saved.

import { api } from "../api.js";
import { title } from "../parts/actions.js";
import { told } from "../parts/toast.js";
import { go, to } from "../router.js";
import { askSave } from "./diff.js";
import { requestOf, showProblems } from "./draft.js";

/** @param {import("./draft.js").Draft} draft */
export async function review(draft) {
  const { found, wantedId } = draft;
  const body = requestOf(draft);
  // A draft without an id is tried under an id that no schedule has.
  const id = found?.schedule_id ?? (wantedId || `draft-${crypto.randomUUID()}`);
  try {
    const diff = await api.tryReplace(id, body);
    let saved = null;
    const save = async () => {
      saved = found
        ? await api.replace(id, body, found.revision).catch(explainConflict)
        : await api.create({ ...body, ...(wantedId && { schedule_id: wantedId }) });
    };
    if (await askSave(diff, draft.values.timezone ?? "UTC", !found, save)) {
      told(`${title(saved)} is saved.`);
      go(to.schedule(saved.schedule_id));
    }
  } catch (problem) {
    if (problem.status === 401) return;
    const { errors, message } = problem;
    showProblems(draft, errors.length ? errors : [{ field: "", message }]);
  }
}

/** The schedule has another revision than the one that was opened: the other change stays. */
function explainConflict(problem) {
  if (problem.status !== 412) throw problem;
  throw new Error("the schedule was changed since you opened it; nothing is saved, open it again");
}
