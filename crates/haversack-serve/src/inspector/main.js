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

const state = { packed: null, drawn: null, running: null, document: null, begun: 0 };
const packButton = byId("pack");

function announce(text) {
  byId("live").textContent = text;
}

function fail(error) {
  showProblem(error, useBudget);
}

/** The workspace and viewer for the other views. */
function current() {
  const place = { workspace: form.workspaceChosen(), viewer: form.viewer() };
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

function show(packed) {
  state.packed = packed;
  const { result, asked } = packed;
  const place = { workspace: asked.workspace, viewer: asked.viewer };
  const open = (id, line) => openItem(id, place, line);
  const lines = result.assembly.ledger ?? [];
  showSummary(packed, openReceipt);
  showPack(packed, open);
  new Ledger(byId("panel-ledger"), lines, { open, useBudget, unlisted: packed.receipt?.unlisted ?? 0 });
  tabs.note("ledger", count(lines.length));
  const sum = (name) => lines.filter((line) => fate(line) === name).length;
  announce(
    `${counted(result.assembly.tokens, "token")} packed; ${sum("in")} in, ${sum("cut")} cut, ${sum("out")} out.`,
  );
}

function forget() {
  state.packed = null;
  state.drawn = null;
  clearSummary();
  emptyPack();
  emptyLedger();
  emptyFrontier();
  tabs.note("ledger", "");
}

/** Packs the form's request. A pack opened through a link stores no receipt. */
async function pack({ linked = false } = {}) {
  clearProblem();
  state.running?.abort();
  const running = new AbortController();
  state.running = running;
  packButton.setAttribute("aria-busy", "true");
  try {
    const asked = form.asked();
    form.toAddress(tabs.shown());
    const preview = linked || !form.keepsReceipt();
    const result = await api.pack(asked, { preview, signal: running.signal });
    // Without its receipt a pack is shown in less detail.
    const receipt = preview
      ? null
      : await api.receipt(asked.workspace, result.assembly.receipt, asked.viewer).catch(() => null);
    if (state.running !== running) return;
    const packed = { asked, result, receipt, preview, linked };
    if (!preview) lookBack.remember(packed);
    show(packed);
    await viewChanged(tabs.shown());
  } catch (error) {
    if (state.running !== running || error.name === "AbortError") return;
    forget();
    emptyPack({ failed: true });
    fail(error);
  } finally {
    if (state.running === running) packButton.removeAttribute("aria-busy");
  }
}

async function drawFrontier() {
  const { packed } = state;
  if (!packed) return;
  const { asked, result } = packed;
  const wanted = JSON.stringify([
    asked.workspace,
    asked.recipe,
    asked.viewer,
    asked.requestWithoutBudget,
    result.assembly.revision,
  ]);
  try {
    if (state.drawn?.wanted !== wanted) {
      emptyFrontier("Drawing…");
      const { points } = await api.frontier(asked);
      state.drawn = { wanted, points };
    }
    if (state.packed === packed) showFrontier(state.drawn.points, result.assembly.budget, useBudget);
  } catch (error) {
    emptyFrontier("The frontier could not be drawn.");
    fail(error);
  }
}

function openReceipt(id) {
  tabs.show("back");
  form.toAddress("back");
  lookBack.showRecent(form.workspaceChosen());
  return lookBack.look(id);
}

const itemsView = storeViews.start(current);

async function viewChanged(view) {
  form.toAddress(view);
  if (view === "frontier") await drawFrontier();
  if (view === "back") lookBack.showRecent(form.workspaceChosen());
  if (view === "items" && form.workspaceChosen() && !itemsView.isBegun()) await itemsView.begin();
  if (view === "search" && !byId("search-query").value) byId("search-query").value = form.queryText();
}

async function describeWorkspace() {
  const area = byId("workspace-facts");
  const name = form.workspaceChosen();
  if (!name) return fill(area, "There is no workspace yet.");
  try {
    const { items, revision } = await api.workspace(name, form.viewer());
    if (name === form.workspaceChosen())
      fill(area, `${counted(items, "item")} to read, revision ${revision}`);
  } catch {
    fill(area);
  }
}

async function chooseWorkspace(wantedRecipe) {
  clearProblem();
  fill(byId("workspace-facts"));
  itemsView.clear();
  storeViews.clearFound();
  const name = form.workspaceChosen();
  if (!name) return describeWorkspace();
  const { names } = await api.recipes(name);
  if (name !== form.workspaceChosen()) return;
  form.offerRecipes(names, wantedRecipe);
  form.describeOptions(state.document);
  lookBack.showRecent(name);
  await describeWorkspace();
}

/** Loads what there is to choose from, and packs what a shared address asks. */
async function begin() {
  clearProblem();
  state.running?.abort();
  state.begun += 1;
  const turn = state.begun;
  const said = form.fromAddress();
  form.restore(said);
  tabs.show(said.view ?? "pack");
  forget();
  try {
    const { workspaces } = await api.workspaces();
    if (turn !== state.begun) return;
    byId("key-area").hidden = true;
    form.offerWorkspaces(
      workspaces.map((each) => each.name),
      said.workspace,
    );
    await chooseWorkspace(said.recipe);
    if (turn !== state.begun) return;
    if (said.query || said.options) await pack({ linked: true });
    else await viewChanged(tabs.shown());
  } catch (error) {
    if (error.told?.status !== 401 || api.hasKey()) fail(error);
  }
}

function startKey() {
  const area = byId("key-area");
  api.onKeyWanted(() => {
    if (api.hasKey()) byId("key-title").textContent = "This key is not good: it is unknown, expired or revoked";
    area.hidden = false;
    byId("key").focus();
  });
  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    api.useKey(byId("key").value);
    byId("key").value = "";
    begin();
  });
}

function start() {
  startKey();
  lookBack.start(current);
  tabs.listen((view) => viewChanged(view));
  form.listen({
    send: () => pack(),
    workspaceChanged: () => {
      forget();
      chooseWorkspace().then(() => viewChanged(tabs.shown()), fail);
    },
    recipeChanged: () => {
      form.describeOptions(state.document);
      form.toAddress(tabs.shown());
    },
    viewerChanged: () => {
      itemsView.clear();
      describeWorkspace();
    },
  });
  window.addEventListener("hashchange", begin);
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
  begin();
}

start();
