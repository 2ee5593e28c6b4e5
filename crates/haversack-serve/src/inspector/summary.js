// The summary of a pack: how each layer uses the budget, and the notices.

import { bar, byId, facts, fill, link, make } from "./dom.js";
import { count, counted, milliseconds } from "./format.js";

const area = byId("summary");
const LOOKS = 8;

/** A class of colour for the nth of many. */
export function look(n) {
  return `look-${n % LOOKS}`;
}

function uses(assembly) {
  const filled = assembly.layers
    .map((layer, n) => ({ ...layer, look: look(n) }))
    .filter((layer) => layer.tokens > 0);
  const inLayers = filled.reduce((sum, layer) => sum + layer.tokens, 0);
  const between = Math.max(assembly.tokens - inLayers, 0);
  const reserve = Math.max(assembly.budget - assembly.limit, 0);
  return { filled, between, reserve };
}

function legend({ filled, between, reserve }, assembly) {
  const entry = (style, name, tokens, more) =>
    make(
      "li",
      {},
      make("span", { class: `swatch ${style}`, "aria-hidden": "true" }),
      make("span", {}, name),
      make("span", { class: "figure" }, count(tokens)),
      more ? make("span", { class: "quiet" }, more) : null,
    );
  const free = Math.max(assembly.limit - assembly.tokens, 0);
  return make(
    "ul",
    { class: "legend" },
    filled.map((layer) => {
      const cut = layer.cut ? `, ${layer.cut} cut` : "";
      return entry(
        layer.look,
        layer.title || layer.name,
        layer.tokens,
        `${layer.items} of ${layer.candidates}${cut}`,
      );
    }),
    between ? entry("look-between", "overhead", between) : null,
    free ? entry("look-free", "unused", free) : null,
    reserve ? entry("look-reserve", "reserved", reserve) : null,
  );
}

function noticeEntry(notice) {
  const suggestions = notice.suggestions ?? [];
  return make(
    "li",
    {},
    make("code", {}, notice.code),
    ` ${notice.message}`,
    suggestions.length ? make("span", { class: "quiet" }, `: ${suggestions.join("; ")}`) : null,
  );
}

export function clearSummary() {
  area.hidden = true;
}

/** Shows the summary; `openReceipt` opens a receipt. */
export function showSummary({ result, preview, linked }, openReceipt) {
  const assembly = result.assembly;
  const used = uses(assembly);
  const parts = used.filled.map((layer) => ({
    size: layer.tokens,
    look: layer.look,
    title: `${layer.title || layer.name} ${counted(layer.tokens, "token")}`,
  }));
  parts.push({ size: used.between, look: "look-between", title: `overhead ${count(used.between)}` });
  const free = Math.max(assembly.limit - assembly.tokens, 0);
  parts.push({ size: free, look: "look-free", title: `unused ${count(free)}` });
  parts.push({ size: used.reserve, look: "look-reserve", title: `reserved ${count(used.reserve)}` });
  const receipt = preview
    ? make("span", { title: linked ? "Opened from a link: press Pack to store a receipt" : "" }, "none: a preview")
    : link(assembly.receipt, () => openReceipt(assembly.receipt), { class: "link code" });
  fill(
    area,
    make(
      "div",
      { class: "summary-top" },
      make(
        "p",
        { class: "big" },
        make("b", { id: "tokens-used" }, count(assembly.tokens)),
        ` of ${count(assembly.budget)} tokens`,
      ),
      facts(
        [
          ["recipe", assembly.recipe],
          ["tokenizer", `${assembly.tokenizer}, ${assembly.accuracy}`],
          ["revision", String(assembly.revision)],
          ["took", milliseconds(assembly.timingsMs.total)],
          ["receipt", receipt],
        ],
        { class: "facts line" },
      ),
    ),
    bar(parts, Math.max(assembly.budget, assembly.tokens), { class: "bar tall" }),
    legend(used, assembly),
    assembly.notices.length ? make("ul", { class: "notices" }, assembly.notices.map(noticeEntry)) : null,
  );
  area.hidden = false;
}
