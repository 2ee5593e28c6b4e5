// Sends requests to the page's own server only. The key stays in this module's memory.

let key = "";
let whenKeyIsWanted = () => {};

/** A problem of the server (RFC 9457) or of the connection. */
export class Problem extends Error {
  constructor(told) {
    super(told.detail ?? told.title);
    this.told = told;
  }
}

/** Sets the key, which is stored nowhere else. */
export function useKey(text) {
  key = text.trim();
}

export function hasKey() {
  return key !== "";
}

/** Sets the handler for a missing key. */
export function onKeyWanted(act) {
  whenKeyIsWanted = act;
}

/** A path with its names encoded. */
function path(parts, ...names) {
  const encoded = names.map((name) => {
    // A browser takes such a name for a step in the path, however it is encoded.
    if (name === "" || name === "." || name === "..") {
      throw new Problem({ title: "this cannot be requested", detail: `"${name}" cannot stand in a URL` });
    }
    return encodeURIComponent(name);
  });
  return parts.reduce((whole, part, n) => whole + encoded[n - 1] + part);
}

function headersFor(viewer, body) {
  const headers = { accept: "application/json" };
  if (key) headers.authorization = `Bearer ${key}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  if (viewer?.user) headers["haversack-user"] = encodeURIComponent(viewer.user);
  if (viewer?.groups?.length) headers["haversack-groups"] = viewer.groups.map(encodeURIComponent).join(",");
  return headers;
}

async function told(response) {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return { title: "the response is not JSON", detail: text.slice(0, 500), status: response.status };
  }
}

async function ask(method, where, { query = {}, body, viewer, signal } = {}) {
  const asked = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== "" && value !== undefined),
  );
  const url = asked.size ? `${where}?${asked}` : where;
  let response;
  try {
    response = await fetch(url, {
      method,
      signal,
      headers: headersFor(viewer, body),
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "omit",
      redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "the server did not respond", detail: error.message });
  }
  const answer = await told(response);
  if (response.ok) return answer;
  if (response.status === 401) whenKeyIsWanted();
  throw new Problem({ ...answer, request: response.headers.get("x-request-id") ?? undefined });
}

export function health() {
  return ask("GET", "healthz");
}

export function openapi() {
  return ask("GET", "openapi.json");
}

export function workspaces() {
  return ask("GET", "v1/workspaces");
}

export function workspace(name, viewer) {
  return ask("GET", path`v1/workspaces/${name}`, { viewer });
}

export function recipes(workspace) {
  return ask("GET", path`v1/workspaces/${workspace}/recipes`);
}

/** Builds a pack with its ledger; a preview keeps nothing. */
export function pack(asked, { preview, signal }) {
  const { workspace, recipe, viewer, request } = asked;
  const query = { explain: true, preview: preview ? true : undefined };
  return ask("POST", path`v1/workspaces/${workspace}/context/${recipe}`, {
    query,
    body: request,
    viewer,
    signal,
  });
}

export function frontier(asked, signal) {
  const { workspace, recipe, viewer, requestWithoutBudget: request } = asked;
  return ask("POST", path`v1/workspaces/${workspace}/frontier/${recipe}`, {
    body: { request },
    viewer,
    signal,
  });
}

export function receipt(workspace, id, viewer) {
  return ask("GET", path`v1/workspaces/${workspace}/receipts/${id}`, { viewer });
}

export function replay(workspace, id, viewer) {
  return ask("POST", path`v1/workspaces/${workspace}/receipts/${id}/replay`, { viewer });
}

export function diff(workspace, before, after, viewer) {
  return ask("GET", path`v1/workspaces/${workspace}/receipts/${before}/diff/${after}`, { viewer });
}

export function search(workspace, body, viewer) {
  return ask("POST", path`v1/workspaces/${workspace}/search`, { body, viewer });
}

export function items(workspace, query, viewer) {
  return ask("GET", path`v1/workspaces/${workspace}/items`, { query, viewer });
}

export function item(workspace, id, viewer) {
  return ask("GET", path`v1/workspaces/${workspace}/items/${id}`, { viewer });
}
