// Addresses: which screen the part behind the `#` names, and how to link to it.

/** Links, by what they show. */
export const to = {
  overview: () => "#/overview",
  list: () => "#/schedules",
  make: () => "#/new",
  schedule: (id) => `#/schedules/${encodeURIComponent(id)}`,
  edit: (id) => `#/schedules/${encodeURIComponent(id)}/edit`,
  run: (id) => `#/runs/${encodeURIComponent(id)}`,
};

/** @returns {{screen: string, id?: string}} */
export function place(hash = location.hash) {
  const parts = hash.replace(/^#\/?/, "").split("?")[0].split("/").filter(Boolean).map(decode);
  if (parts[0] === "overview") return { screen: "overview" };
  if (parts[0] === "new") return { screen: "editor" };
  if (parts[0] === "runs" && parts[1]) return { screen: "run", id: parts[1] };
  if (parts[0] === "schedules" && parts[2] === "edit") return { screen: "editor", id: parts[1] };
  if (parts[0] === "schedules" && parts[1]) return { screen: "schedule", id: parts[1] };
  return { screen: "list" };
}

export function go(hash) {
  location.hash = hash;
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
