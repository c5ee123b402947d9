// Polling: a place of the screen that shows an answer of the API and asks for it again.

import { put } from "../dom.js";
import { live } from "../live.js";
import { broken } from "./states.js";
import { failed } from "./toast.js";

/**
 * Asks now and every `every` ms, and shows each answer. A problem takes the place as long as it
 * shows nothing, or when the thing is gone (404). Otherwise the problem is a toast, and the last
 * answer stays.
 * @param {object} given
 * @param {HTMLElement} given.place
 * @param {() => Promise<any>} given.ask
 * @param {(answer: any, isFirst: boolean) => void} given.show `isFirst`: the place has to be laid out
 * @param {number} given.every
 * @param {AbortSignal} given.signal the screen is left
 * @returns {() => Promise<void>} asks at once
 */
export function polled({ place, ask, show, every, signal }) {
  let isShown = false;
  const look = live(
    async () => {
      try {
        const answer = await ask();
        show(answer, !isShown);
        isShown = true;
      } catch (problem) {
        if (problem.name === "AbortError") throw problem;
        if (isShown && problem.status !== 404) return failed(problem);
        isShown = false;
        put(
          place,
          broken(problem, () => look()),
        );
      }
    },
    every,
    signal,
  );
  return look;
}
