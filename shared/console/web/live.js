// Asking again: a screen repeats its calls every few seconds while its tab is visible.

/**
 * Calls `look` now and then every `ms`, never twice at once and not while the tab is hidden, until
 * `signal` is aborted because the user left the screen.
 * @param {() => Promise<void>} look
 * @returns {() => Promise<void>} calls `look` at once
 */
export function live(look, ms, signal) {
  let timer = null;
  let busy = null;
  const again = () => {
    clearTimeout(timer);
    if (!signal.aborted) timer = setTimeout(turn, ms);
  };
  const turn = () => {
    if (document.hidden) return again();
    busy ??= look()
      .catch((failure) => {
        if (failure.name !== "AbortError") throw failure;
      })
      .finally(() => {
        busy = null;
        again();
      });
    return busy;
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  document.addEventListener("visibilitychange", () => !document.hidden && turn(), { signal });
  turn();
  return async () => {
    await busy;
    await turn();
  };
}

/** A function that calls `act` once, `ms` after it was called last. */
export function settled(act, ms) {
  let timer = null;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), ms);
  };
}
