// The session: a token, kept by this tab for as long as it is open.

const KEY = "belfry.token";

/** The token, or null. */
export function token() {
  return sessionStorage.getItem(KEY);
}

export function signIn(text) {
  sessionStorage.setItem(KEY, text.trim().replace(/^Bearer\s+/i, ""));
}

export function signOut() {
  sessionStorage.removeItem(KEY);
}

/**
 * Takes a token out of a link such as `/console#token=...`, which `belfry dev` prints. The token is
 * removed from the address at once, so that it is not shared with a copied link.
 */
export function takeTokenFromAddress() {
  const found = /^#\/?token=([^&]+)/.exec(location.hash);
  if (!found) return;
  signIn(decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname + location.search);
}

/** The subject of the token, for display only: the API checks the token. */
export function subject() {
  try {
    const body = token().split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
    return String(JSON.parse(new TextDecoder().decode(bytes)).sub ?? "");
  } catch {
    return "";
  }
}
