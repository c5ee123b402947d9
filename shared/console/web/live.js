// Looking again: a screen asks for what it shows every few seconds, while somebody looks.

/**
 * Calls `look` now and again every `ms`, never twice at once, not while the tab is hidden, until
 * `signal` says that the screen is gone.
 * @param {() => Promise<void>} look
 * @returns {() => Promise<void>} looks at once
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

/** Calls `act` when the calls have stopped for `ms`. */
export function settled(act, ms) {
  let timer = null;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), ms);
  };
}
