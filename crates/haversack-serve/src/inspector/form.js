// The form, and its state in the address. The key is in neither.

import { byId, fill, make } from "./dom.js";
import { Problem } from "./api.js";

const workspace = byId("workspace");
const recipe = byId("recipe");
const query = byId("query");
const budget = byId("budget");
const user = byId("user");
const groups = byId("groups");
const options = byId("options");
const keep = byId("keep");

function splitList(text) {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
}

/** The user and groups of the form. */
export function viewer() {
  return { user: user.value.trim(), groups: splitList(groups.value) };
}

function parseOptions() {
  if (!options.value.trim()) return {};
  let parsed;
  try {
    parsed = JSON.parse(options.value);
  } catch (error) {
    throw new Problem({ title: "this is not JSON", detail: error.message, field: "options" });
  }
  if (parsed === null || typeof parsed !== "object" || Array.isArray(parsed)) {
    throw new Problem({ title: "a field is invalid", detail: "it is not an object", field: "options" });
  }
  return parsed;
}

/** The form as a request. */
export function readRequest() {
  if (!workspace.value) {
    const detail = "there is none: create one with `haversack add`, or POST /v1/workspaces";
    throw new Problem({ title: "no workspace", detail, field: "workspace" });
  }
  const requestWithoutBudget = parseOptions();
  if (query.value.trim()) requestWithoutBudget.query = query.value;
  const request = { ...requestWithoutBudget };
  const total = budget.value === "" ? null : Number(budget.value);
  if (total !== null) {
    // One recipe takes caps for its sections beside the total.
    const caps = request.tokenBudget;
    request.tokenBudget = caps && typeof caps === "object" ? { ...caps, total } : total;
  }
  return {
    workspace: workspace.value,
    recipe: recipe.value,
    viewer: viewer(),
    request,
    requestWithoutBudget,
  };
}

export function keepsReceipt() {
  return keep.checked;
}

export function chosenWorkspace() {
  return workspace.value;
}

export function setBudget(tokens) {
  budget.value = String(tokens);
}

export function queryText() {
  return query.value;
}

/** Fills a select with names. A preferred name that is not in the list is added. */
function fillSelect(select, names, preferred, fallback) {
  const all = preferred && !names.includes(preferred) ? [...names, preferred] : names;
  fill(
    select,
    all.map((name) => make("option", { value: name }, name)),
  );
  const chosen = [preferred, fallback].find((name) => name && all.includes(name));
  if (chosen) select.value = chosen;
}

export function listWorkspaces(names, preferred) {
  fillSelect(workspace, names, preferred);
}

export function listRecipes(names, preferred) {
  const own = names.includes(workspace.value) ? workspace.value : "everything";
  fillSelect(recipe, names, preferred, own);
}

// The fragment that this module last read or wrote.
let lastHash = location.hash;

/** Reads the address. */
export function readAddress() {
  lastHash = location.hash;
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Fills the form from the address; workspace and recipe are chosen once their lists are loaded. */
export function restore(address) {
  query.value = address.query ?? "";
  budget.value = address.budget ?? "";
  user.value = address.user ?? "";
  groups.value = address.groups ?? "";
  options.value = address.options ?? "";
  keep.checked = address.keep !== "no";
  byId("options-area").open = options.value !== "";
}

/** Writes the form and the view into the address. */
export function writeAddress(view) {
  // The user has just navigated; the page will handle it.
  if (location.hash !== lastHash) return;
  const address = {
    workspace: workspace.value,
    recipe: recipe.value,
    query: query.value,
    budget: budget.value,
    user: user.value.trim(),
    groups: groups.value.trim(),
    options: options.value.trim(),
    keep: keep.checked ? "" : "no",
    view: view === "pack" ? "" : view,
  };
  const pairs = Object.entries(address).filter(([, value]) => value !== "");
  history.replaceState(null, "", `#${new URLSearchParams(pairs)}`);
  lastHash = location.hash;
}

/** Sets the handlers for sending the form and for choosing a workspace or recipe. */
export function listen({ send, workspaceChanged, recipeChanged, viewerChanged }) {
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  query.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  workspace.addEventListener("change", workspaceChanged);
  recipe.addEventListener("change", recipeChanged);
  for (const field of [user, groups]) field.addEventListener("change", viewerChanged);
}

/** Lists the fields of the recipe's own request, as the OpenAPI document describes them. */
export function describeOptions(document) {
  const name = recipe.value;
  const own = `${name.slice(0, 1).toUpperCase()}${name.slice(1)}Request`;
  const schemas = document?.components?.schemas ?? {};
  const properties = (schemas[own] ?? schemas.AnyRequest)?.properties ?? {};
  const ownInputs = new Set(["query", "tokenBudget", "targetBudget", "maxTokens", "user", "groups"]);
  const rows = Object.entries(properties).filter(([field]) => !ownInputs.has(field));
  fill(
    byId("options-help"),
    rows.map(([field, what]) => [make("dt", {}, field), make("dd", {}, what.description ?? "")]),
  );
}
