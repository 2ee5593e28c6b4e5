// Sends requests to the page's own server only. The key stays in this module's memory.

let key = "";
let handleMissingKey = () => {};

/** A problem of the server (RFC 9457) or of the connection. */
export class Problem extends Error {
  constructor(details) {
    super(details.detail ?? details.title);
    this.details = details;
  }
}

/** Sets the key, which is stored nowhere else. */
export function setKey(text) {
  key = text.trim();
}

export function hasKey() {
  return key !== "";
}

/** Sets the handler for a missing key. */
export function onMissingKey(handler) {
  handleMissingKey = handler;
}

/** A path with its names encoded. */
function encodePath(parts, ...names) {
  const encoded = names.map((name) => {
    // A browser takes such a name for a step in the path, however it is encoded.
    if (name === "" || name === "." || name === "..") {
      throw new Problem({ title: "this cannot be requested", detail: `"${name}" cannot stand in a URL` });
    }
    return encodeURIComponent(name);
  });
  return parts.reduce((whole, part, n) => whole + encoded[n - 1] + part);
}

function headersFor(viewer, body, file) {
  const headers = { accept: "application/json" };
  if (key) headers.authorization = `Bearer ${key}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  if (file !== undefined) headers["content-type"] = "application/octet-stream";
  if (viewer?.user) headers["haversack-user"] = encodeURIComponent(viewer.user);
  if (viewer?.groups?.length) headers["haversack-groups"] = viewer.groups.map(encodeURIComponent).join(",");
  return headers;
}

async function parseBody(response) {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return { title: "the response is not JSON", detail: text.slice(0, 500), status: response.status };
  }
}

async function send(method, path, { query = {}, body, file, viewer, signal } = {}) {
  const parameters = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== "" && value !== undefined),
  );
  const url = parameters.size ? `${path}?${parameters}` : path;
  let response;
  try {
    response = await fetch(url, {
      method,
      signal,
      headers: headersFor(viewer, body, file),
      body: body === undefined ? file : JSON.stringify(body),
      credentials: "omit",
      redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "the server did not respond", detail: error.message });
  }
  const parsed = await parseBody(response);
  if (response.ok) return parsed;
  if (response.status === 401) handleMissingKey();
  throw new Problem({ ...parsed, request: response.headers.get("x-request-id") ?? undefined });
}

export function health() {
  return send("GET", "healthz");
}

export function openapi() {
  return send("GET", "openapi.json");
}

export function workspaces() {
  return send("GET", "v1/workspaces");
}

export function workspace(name, viewer) {
  return send("GET", encodePath`v1/workspaces/${name}`, { viewer });
}

export function recipes(workspace) {
  return send("GET", encodePath`v1/workspaces/${workspace}/recipes`);
}

/** Builds a pack with its ledger; a preview keeps nothing. */
export function pack(packRequest, { preview, signal }) {
  const { workspace, recipe, viewer, request } = packRequest;
  const query = { explain: true, preview: preview ? true : undefined };
  return send("POST", encodePath`v1/workspaces/${workspace}/context/${recipe}`, {
    query,
    body: request,
    viewer,
    signal,
  });
}

export function frontier(packRequest, signal) {
  const { workspace, recipe, viewer, requestWithoutBudget: request } = packRequest;
  return send("POST", encodePath`v1/workspaces/${workspace}/frontier/${recipe}`, {
    body: { request },
    viewer,
    signal,
  });
}

export function receipt(workspace, id, viewer) {
  return send("GET", encodePath`v1/workspaces/${workspace}/receipts/${id}`, { viewer });
}

export function replay(workspace, id, viewer) {
  return send("POST", encodePath`v1/workspaces/${workspace}/receipts/${id}/replay`, { viewer });
}

export function diff(workspace, before, after, viewer) {
  return send("GET", encodePath`v1/workspaces/${workspace}/receipts/${before}/diff/${after}`, { viewer });
}

export function search(workspace, body, viewer) {
  return send("POST", encodePath`v1/workspaces/${workspace}/search`, { body, viewer });
}

export function items(workspace, query, viewer) {
  return send("GET", encodePath`v1/workspaces/${workspace}/items`, { query, viewer });
}

/** Reads a file into the workspace under a name; what was skipped and remarked is in the answer. */
export function addFile(workspace, { file, name }, viewer, signal) {
  return send("POST", encodePath`v1/workspaces/${workspace}/files`, { query: { name }, file, viewer, signal });
}

export function item(workspace, id, viewer) {
  return send("GET", encodePath`v1/workspaces/${workspace}/items/${id}`, { viewer });
}
