// Earlier packs: shows, replays and compares receipts.

import { byId, button, facts, fill, link, make } from "./dom.js";
import * as api from "./api.js";
import { count, counted, moment, score, shortened, words } from "./format.js";
import { Ledger } from "./ledger-view.js";
import { clearProblem } from "./problem.js";

const id = byId("receipt");
const other = byId("other-receipt");
const result = byId("back-result");
const recent = byId("recent");
const STORED_AS = "haversack-recent-receipts";
const RECENT_MAX = 30;

function recentPacks() {
  try {
    const list = JSON.parse(sessionStorage.getItem(STORED_AS) ?? "[]");
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** Remembers a pack of this page, for as long as its tab is open. */
export function remember(packed) {
  const { packRequest, result: packResult } = packed;
  const entry = {
    id: packResult.assembly.receipt,
    workspace: packRequest.workspace,
    recipe: packRequest.recipe,
    query: shortened(String(packRequest.request.query ?? ""), 200),
    budget: packResult.assembly.budget,
    tokens: packResult.assembly.tokens,
  };
  const others = recentPacks().filter((one) => one.id !== entry.id || one.workspace !== entry.workspace);
  const list = [entry, ...others].slice(0, RECENT_MAX);
  try {
    sessionStorage.setItem(STORED_AS, JSON.stringify(list));
  } catch {
    // Without storage the list is just shorter.
  }
}

/** Lists the packs that this page made of a workspace. */
export function showRecent(workspace) {
  const own = recentPacks().filter((entry) => entry.workspace === workspace);
  const rows = own.map((entry) =>
    make(
      "li",
      {},
      link(entry.id, () => showReceipt(entry.id), { class: "link code" }),
      make("span", { class: "quiet" }, `${entry.recipe}, ${count(entry.tokens)} of ${count(entry.budget)}`),
      make("span", { class: "said" }, entry.query),
      link("compare", () => (other.value = entry.id), { "aria-label": `Compare with ${entry.id}` }),
    ),
  );
  fill(recent, rows.length ? rows : make("li", { class: "quiet" }, "None yet."));
}

function causeWords(cause) {
  const between = (before, after) => [
    " ",
    make("code", {}, String(before)),
    " became ",
    make("code", {}, String(after)),
  ];
  switch (cause.cause) {
    case "request":
      return [
        "The request’s ",
        make("b", {}, cause.field),
        ":",
        between(cause.before || "nothing", cause.after || "nothing"),
      ];
    case "viewer":
      return ["A different viewer."];
    case "data":
      return ["The data changed: revision", between(cause.before, cause.after)];
    case "time":
      return ["The time:", between(moment(cause.before), moment(cause.after))];
    default:
      return [`The ${cause.cause}:`, between(cause.before, cause.after)];
  }
}

function changeWords(change) {
  switch (change.change) {
    case "entered":
      return `included now; before: ${change.before}`;
    case "left":
      return `left out now: ${change.after}`;
    case "resized":
      return `${count(change.before)} tokens became ${count(change.after)}`;
    case "rewritten":
      return "its text changed";
    case "rescored": {
      const parts = Object.entries(change.parts ?? {}).map(
        ([name, [a, b]]) => `${words(name)} ${score(a)} to ${score(b)}`,
      );
      const why = parts.length ? ` (${parts.join(", ")})` : "";
      return `score ${score(change.before)} became ${score(change.after)}${why}`;
    }
    default:
      return words(change.change);
  }
}

function differenceView(comparison, heading, context) {
  const names = Object.entries(comparison.candidates);
  const rows = names.map(([name, changes]) =>
    make(
      "tr",
      {},
      make(
        "td",
        { class: "candidate" },
        link(name, () => context.open(name.replace(/#\d+$/, "")), { class: "link code" }),
      ),
      make(
        "td",
        {},
        changes.map((change) => make("p", {}, changeWords(change))),
      ),
    ),
  );
  return make(
    "section",
    { class: "difference" },
    make("h3", {}, heading),
    make(
      "p",
      { class: comparison.same ? "verdict same" : "verdict", id: "verdict" },
      comparison.same ? "The same bytes." : "Different bytes.",
    ),
    comparison.causes.length
      ? [
          make("h4", {}, "Causes"),
          make(
            "ul",
            {},
            comparison.causes.map((cause) => make("li", {}, causeWords(cause))),
          ),
        ]
      : null,
    rows.length
      ? [
          make("h4", {}, `${counted(rows.length, "candidate")} changed`),
          make("div", { class: "scroll" }, make("table", { class: "changes" }, make("tbody", {}, rows))),
        ]
      : null,
  );
}

function receiptView(receipt, context) {
  const ledger = make("div", { class: "inner-ledger" });
  const show = button(`Show its ledger: ${counted(receipt.ledger.length, "candidate")}`, () => {
    show.remove();
    new Ledger(ledger, receipt.ledger, {
      open: context.open,
      useBudget: context.useBudget,
      unlisted: receipt.unlisted,
    });
  });
  return make(
    "section",
    {},
    make("h3", {}, `Receipt ${receipt.id}`),
    facts([
      ["recipe", `${receipt.recipe} (${receipt.recipeHash})`],
      ["made", moment(receipt.now)],
      ["query", receipt.request.query],
      [
        "read by",
        receipt.viewer ? receipt.viewer.join(", ") || "an unknown user" : "the owner of the data",
      ],
      ["tokens", `${count(receipt.tokens)} of ${count(receipt.budget)}, by ${receipt.tokenizer}`],
      ["embedder", receipt.embedder],
      ["revision", String(receipt.revision)],
      ["inputs", make("code", {}, receipt.inputs)],
      ["text", make("code", {}, receipt.text)],
    ]),
    make(
      "details",
      {},
      make("summary", {}, "The request"),
      make("pre", { class: "body" }, JSON.stringify(receipt.request, null, 2)),
    ),
    show,
    ledger,
  );
}

let current = () => ({});

async function run(act) {
  clearProblem();
  try {
    fill(result, make("p", { class: "quiet" }, "Asking…"));
    fill(result, await act(current()));
    current().announce("Done.");
  } catch (error) {
    fill(result);
    current().fail(error);
  }
}

/** Shows a receipt. */
export function showReceipt(receipt) {
  id.value = receipt;
  return run(async (context) =>
    receiptView(await api.receipt(context.workspace, receipt, context.viewer), context),
  );
}

/** Sets up the view; `context` has the workspace, the viewer and the callbacks. */
export function start(context) {
  current = context;
  byId("back-form").addEventListener("submit", (event) => {
    event.preventDefault();
    showReceipt(id.value.trim());
  });
  byId("replay").addEventListener("click", () => {
    if (!byId("back-form").reportValidity()) return;
    run(async (now) =>
      differenceView(
        (await api.replay(now.workspace, id.value.trim(), now.viewer)).difference,
        "Replay",
        now,
      ),
    );
  });
  byId("diff").addEventListener("click", () => {
    if (!byId("back-form").reportValidity()) return;
    if (!other.value.trim()) return void other.focus();
    run(async (now) => {
      const comparison = await api.diff(now.workspace, id.value.trim(), other.value.trim(), now.viewer);
      return differenceView(comparison, "Changes from the first to the second", now);
    });
  });
}
