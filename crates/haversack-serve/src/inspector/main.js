// Connects the form, the server's responses and the views.

import * as api from "./api.js";
import { byId, make, fill } from "./dom.js";
import * as form from "./form.js";
import { count, counted, fate } from "./format.js";
import { emptyFrontier, showFrontier } from "./frontier-view.js";
import { Ledger } from "./ledger-view.js";
import * as lookBack from "./look-back.js";
import { emptyPack, showPack } from "./pack-view.js";
import { clearProblem, showProblem } from "./problem.js";
import { openItem } from "./sheet.js";
import * as storeViews from "./store-views.js";
import { clearSummary, showSummary } from "./summary.js";
import * as tabs from "./tabs.js";
import * as uploadView from "./upload-view.js";

const state = { packed: null, frontier: null, running: null, document: null, loads: 0 };
const packButton = byId("pack");

function announce(text) {
  byId("live").textContent = text;
}

function fail(error) {
  showProblem(error, useBudget);
}

/** The workspace and viewer for the other views. */
function current() {
  const place = { workspace: form.chosenWorkspace(), viewer: form.viewer() };
  return {
    ...place,
    open: (id, line) => openItem(id, place, line),
    useBudget,
    announce,
    fail: (error) => fail(error),
  };
}

function useBudget(tokens) {
  form.setBudget(tokens);
  return pack();
}

function emptyLedger() {
  fill(
    byId("panel-ledger"),
    make(
      "div",
      { class: "empty" },
      make("p", {}, "Build a pack first: the ledger then lists every candidate with its outcome and reason."),
    ),
  );
}

function showResult(packed) {
  state.packed = packed;
  const { result, packRequest } = packed;
  const place = { workspace: packRequest.workspace, viewer: packRequest.viewer };
  const open = (id, line) => openItem(id, place, line);
  const lines = result.assembly.ledger ?? [];
  showSummary(packed, openReceipt);
  showPack(packed, open);
  new Ledger(byId("panel-ledger"), lines, { open, useBudget, unlisted: packed.receipt?.unlisted ?? 0 });
  tabs.setCount("ledger", count(lines.length));
  const sum = (name) => lines.filter((line) => fate(line) === name).length;
  announce(
    `${counted(result.assembly.tokens, "token")} packed; ${sum("in")} in, ${sum("cut")} cut, ${sum("out")} out.`,
  );
}

function clearPack() {
  state.packed = null;
  state.frontier = null;
  clearSummary();
  emptyPack();
  emptyLedger();
  emptyFrontier();
  tabs.setCount("ledger", "");
}

/** Packs the form's request. A pack opened through a link stores no receipt. */
async function pack({ linked = false } = {}) {
  clearProblem();
  state.running?.abort();
  const running = new AbortController();
  state.running = running;
  packButton.setAttribute("aria-busy", "true");
  try {
    const packRequest = form.readRequest();
    form.writeAddress(tabs.activeView());
    const preview = linked || !form.keepsReceipt();
    const result = await api.pack(packRequest, { preview, signal: running.signal });
    // Without its receipt a pack is shown in less detail.
    const receipt = preview
      ? null
      : await api.receipt(packRequest.workspace, result.assembly.receipt, packRequest.viewer).catch(() => null);
    if (state.running !== running) return;
    const packed = { packRequest, result, receipt, preview, linked };
    if (!preview) lookBack.remember(packed);
    showResult(packed);
    await viewChanged(tabs.activeView());
  } catch (error) {
    if (state.running !== running || error.name === "AbortError") return;
    clearPack();
    emptyPack({ failed: true });
    fail(error);
  } finally {
    if (state.running === running) packButton.removeAttribute("aria-busy");
  }
}

async function drawFrontier() {
  const { packed } = state;
  if (!packed) return;
  const { packRequest, result } = packed;
  const cacheKey = JSON.stringify([
    packRequest.workspace,
    packRequest.recipe,
    packRequest.viewer,
    packRequest.requestWithoutBudget,
    result.assembly.revision,
  ]);
  try {
    if (state.frontier?.cacheKey !== cacheKey) {
      emptyFrontier("Drawing…");
      const { points } = await api.frontier(packRequest);
      state.frontier = { cacheKey, points };
    }
    if (state.packed === packed) showFrontier(state.frontier.points, result.assembly.budget, useBudget);
  } catch (error) {
    emptyFrontier("The frontier could not be drawn.");
    fail(error);
  }
}

function openReceipt(id) {
  tabs.show("back");
  form.writeAddress("back");
  lookBack.showRecent(form.chosenWorkspace());
  return lookBack.showReceipt(id);
}

const itemsView = storeViews.start(current);
const uploads = uploadView.start(current, () => {
  itemsView.clear();
  describeWorkspace();
});

async function viewChanged(view) {
  form.writeAddress(view);
  if (view === "frontier") await drawFrontier();
  if (view === "back") lookBack.showRecent(form.chosenWorkspace());
  if (view === "items" && form.chosenWorkspace() && !itemsView.isLoaded()) await itemsView.load();
  if (view === "search" && !byId("search-query").value) byId("search-query").value = form.queryText();
}

async function describeWorkspace() {
  const area = byId("workspace-facts");
  const name = form.chosenWorkspace();
  if (!name) return fill(area, "There is no workspace yet.");
  try {
    const { items, revision } = await api.workspace(name, form.viewer());
    if (name === form.chosenWorkspace())
      fill(area, `${counted(items, "item")} to read, revision ${revision}`);
  } catch {
    fill(area);
  }
}

async function chooseWorkspace(preferredRecipe) {
  clearProblem();
  fill(byId("workspace-facts"));
  itemsView.clear();
  uploads.clear();
  storeViews.clearSearchResults();
  const name = form.chosenWorkspace();
  if (!name) return describeWorkspace();
  const { names } = await api.recipes(name);
  if (name !== form.chosenWorkspace()) return;
  form.listRecipes(names, preferredRecipe);
  form.describeOptions(state.document);
  lookBack.showRecent(name);
  await describeWorkspace();
}

/** Loads the workspaces and recipes, and packs the request of a shared address. */
async function load() {
  clearProblem();
  state.running?.abort();
  state.loads += 1;
  const thisLoad = state.loads;
  const address = form.readAddress();
  form.restore(address);
  tabs.show(address.view ?? "pack");
  clearPack();
  try {
    const { workspaces } = await api.workspaces();
    if (thisLoad !== state.loads) return;
    byId("key-area").hidden = true;
    form.listWorkspaces(
      workspaces.map((each) => each.name),
      address.workspace,
    );
    await chooseWorkspace(address.recipe);
    if (thisLoad !== state.loads) return;
    if (address.query || address.options) await pack({ linked: true });
    else await viewChanged(tabs.activeView());
  } catch (error) {
    if (error.details?.status !== 401 || api.hasKey()) fail(error);
  }
}

function setUpKeyForm() {
  const area = byId("key-area");
  api.onMissingKey(() => {
    if (api.hasKey()) byId("key-title").textContent = "This key is not good: it is unknown, expired or revoked";
    area.hidden = false;
    byId("key").focus();
  });
  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    api.setKey(byId("key").value);
    byId("key").value = "";
    load();
  });
}

function start() {
  setUpKeyForm();
  lookBack.start(current);
  tabs.listen((view) => viewChanged(view));
  form.listen({
    send: () => pack(),
    workspaceChanged: () => {
      clearPack();
      chooseWorkspace().then(() => viewChanged(tabs.activeView()), fail);
    },
    recipeChanged: () => {
      form.describeOptions(state.document);
      form.writeAddress(tabs.activeView());
    },
    viewerChanged: () => {
      itemsView.clear();
      describeWorkspace();
    },
  });
  window.addEventListener("hashchange", load);
  api.health().then(
    ({ version }) => fill(byId("server"), `server ${version}`),
    () => {},
  );
  api.openapi().then(
    (document) => {
      state.document = document;
      form.describeOptions(document);
    },
    () => {},
  );
  load();
}

start();
