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

function listed(text) {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
}

/** The user and groups of the form. */
export function viewer() {
  return { user: user.value.trim(), groups: listed(groups.value) };
}

function optionsRead() {
  if (!options.value.trim()) return {};
  let read;
  try {
    read = JSON.parse(options.value);
  } catch (error) {
    throw new Problem({ title: "this is not JSON", detail: error.message, field: "options" });
  }
  if (read === null || typeof read !== "object" || Array.isArray(read)) {
    throw new Problem({ title: "a field is invalid", detail: "it is not an object", field: "options" });
  }
  return read;
}

/** The form as a request. */
export function asked() {
  if (!workspace.value) {
    const detail = "there is none: create one with `haversack add`, or POST /v1/workspaces";
    throw new Problem({ title: "no workspace", detail, field: "workspace" });
  }
  const requestWithoutBudget = optionsRead();
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

export function workspaceChosen() {
  return workspace.value;
}

export function setBudget(tokens) {
  budget.value = String(tokens);
}

export function queryText() {
  return query.value;
}

/** Puts names into a list to choose from; one that is wanted but not there is tried all the same. */
export function offer(select, names, wanted, otherwise) {
  const all = wanted && !names.includes(wanted) ? [...names, wanted] : names;
  fill(
    select,
    all.map((name) => make("option", { value: name }, name)),
  );
  const preferred = [wanted, otherwise].find((name) => name && all.includes(name));
  if (preferred) select.value = preferred;
}

export function offerWorkspaces(names, wanted) {
  offer(workspace, names, wanted);
}

export function offerRecipes(names, wanted) {
  const own = names.includes(workspace.value) ? workspace.value : "everything";
  offer(recipe, names, wanted, own);
}

// The fragment as it was last read or written here.
let known = location.hash;

/** Reads the address. */
export function fromAddress() {
  known = location.hash;
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Fills the form from the address; workspace and recipe are chosen when their lists are there. */
export function restore(said) {
  query.value = said.query ?? "";
  budget.value = said.budget ?? "";
  user.value = said.user ?? "";
  groups.value = said.groups ?? "";
  options.value = said.options ?? "";
  keep.checked = said.keep !== "no";
  byId("options-area").open = options.value !== "";
}

/** Writes the form and the view into the address. */
export function toAddress(view) {
  // The user has just navigated; the page will handle it.
  if (location.hash !== known) return;
  const said = {
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
  const pairs = Object.entries(said).filter(([, value]) => value !== "");
  history.replaceState(null, "", `#${new URLSearchParams(pairs)}`);
  known = location.hash;
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

/** Shows what the recipe's request has of its own, as the OpenAPI document describes it. */
export function describeOptions(document) {
  const name = recipe.value;
  const own = `${name.slice(0, 1).toUpperCase()}${name.slice(1)}Request`;
  const schemas = document?.components?.schemas ?? {};
  const properties = (schemas[own] ?? schemas.AnyRequest)?.properties ?? {};
  const spoken = new Set(["query", "tokenBudget", "targetBudget", "maxTokens", "user", "groups"]);
  const rows = Object.entries(properties).filter(([field]) => !spoken.has(field));
  fill(
    byId("options-help"),
    rows.map(([field, what]) => [make("dt", {}, field), make("dd", {}, what.description ?? "")]),
  );
}
