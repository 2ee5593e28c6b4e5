// One item in a dialog: its text, its readers and its ledger line.

import { byId, button, facts, fill, link, make } from "./dom.js";
import * as api from "./api.js";
import { candidate, count, moment, parts, reason, score, words } from "./format.js";

const sheet = byId("sheet");
const body = byId("sheet-body");
const title = byId("sheet-title");
const BODY_AT_FIRST = 4_000;

byId("sheet-close").addEventListener("click", () => sheet.close());
sheet.addEventListener("click", (event) => {
  if (event.target === sheet) sheet.close();
});

function ledgerSection(line) {
  if (!line) return null;
  const rows = parts(line).map((part) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, words(part.name)),
      make("td", { class: "figure" }, score(part.value)),
      make("td", { class: "figure" }, `× ${score(part.weight)}`),
      make("td", { class: "figure" }, score(part.gives)),
    ),
  );
  return make(
    "section",
    { class: "standing" },
    make(
      "p",
      { class: "why" },
      make("span", { class: `fate ${line.outcome}` }),
      make("b", {}, line.outcome),
      ` ${reason(line)}`,
    ),
    facts(
      [
        ["candidate", candidate(line)],
        ["layer", line.layer],
        ["tokens", `${count(line.tokens)} in the pack, ${count(line.tokensWhole)} in full`],
      ],
      { class: "facts" },
    ),
    make(
      "table",
      { class: "parts" },
      make("tbody", {}, rows),
      make(
        "tfoot",
        {},
        make(
          "tr",
          {},
          make("th", { scope: "row", colspan: "3" }, "score"),
          make("td", { class: "figure" }, score(line.score)),
        ),
      ),
    ),
  );
}

function text(item) {
  const pre = make("pre", { class: "body" }, item.body.slice(0, BODY_AT_FIRST));
  if (item.body.length <= BODY_AT_FIRST)
    return item.body ? pre : make("p", { class: "quiet" }, "It has no text of its own.");
  const rest = button(`Show all ${count(item.body.length)} characters`, () => {
    pre.textContent = item.body;
    rest.remove();
  });
  return [pre, rest];
}

function readers(item, viewer) {
  if (item.readers) return item.readers.join(", ") || "nobody";
  if (viewer.user || viewer.groups.length) return "shown only if no user is named";
  return "those who may read its parent; without one, everyone";
}

function itemView(item, place) {
  const fields = Object.keys(item.fields ?? {});
  const parent = item.parent
    ? link(item.parent, () => openItem(item.parent, place), { class: "link code" })
    : null;
  return [
    facts([
      ["id", make("code", {}, item.id)],
      ["kind", item.kind],
      ["path", item.path],
      ["under", parent],
      ["readers", readers(item, place.viewer)],
      ["trust", item.trust],
      ["confidence", item.confidence === undefined ? null : score(item.confidence)],
      ["made", item.created ? moment(item.created) : null],
      ["changed", item.updated ? moment(item.updated) : null],
      ["in use", item.active ? null : "no"],
      ["revision", String(item.revision)],
    ]),
    text(item),
    fields.length
      ? [make("h3", {}, "Fields"), make("pre", { class: "body" }, JSON.stringify(item.fields, null, 2))]
      : null,
  ];
}

/** Opens the sheet on an item of a workspace, as a viewer sees it, with its line of the ledger if it has one. */
export async function openItem(id, place, line = null) {
  title.textContent = id;
  const rest = make("div", {}, make("p", { class: "quiet" }, "Loading…"));
  fill(body, ledgerSection(line), rest);
  if (!sheet.open) sheet.showModal();
  try {
    const item = await api.item(place.workspace, id, place.viewer);
    // Another item was opened meanwhile.
    if (!rest.isConnected) return;
    title.textContent = item.title || item.id;
    fill(rest, itemView(item, place));
  } catch (error) {
    fill(rest, make("p", { class: "problem" }, error.message));
  }
}
