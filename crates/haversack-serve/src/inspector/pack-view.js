// The pack: the final string, with the source of each part beside it.

import { bar, button, byId, facts, fill, link, make } from "./dom.js";
import { candidate, count, fate, milliseconds, percent, words } from "./format.js";
import { look } from "./summary.js";

const panel = byId("panel-pack");
// Not every recipe lists its citations, but all have this form; an item's own stands before its text.
const CITATION = /\[[a-z]{3}-[0-9a-z]{5,7}\]/;
const STEPS = ["analyse", "embed", "collect", "measure", "rank", "pack"];

/** All citation ids of a result, in whichever shape its recipe has. */
export function citationsOf(result) {
  const found = new Map();
  const add = (id, item) => {
    if (typeof id === "string" && id.length > 2) found.set(id, item);
  };
  for (const cited of [...(result.citations ?? []), ...(result.data?.citations ?? [])])
    add(cited.id, cited.item);
  const groups = [...(result.sections ?? []), { items: result.contexts }, { items: result.history }];
  for (const group of groups) {
    for (const item of group.items ?? []) add(item.citation, item.id);
  }
  return found;
}

/** Where an item's own part of a stretch begins: at its fence, or at the line that cites it. */
function itemStart(text, ids) {
  for (const id of ids) {
    const cited = text.indexOf(id);
    if (cited < 0) continue;
    const name = id.slice(1, -1);
    const fence = text
      .split("\n")
      .find((line) => line.startsWith("<data-") && line.split(" ").includes(name));
    return fence ? text.indexOf(fence) : text.lastIndexOf("\n", cited) + 1;
  }
  return /^\n*/.exec(text)[0].length;
}

/** The final string in rows, each from one item or from what holds them, or null without a usable receipt. */
export function rows(text, receipt, citations) {
  const lines = receipt?.ledger.filter((line) => line.outcome !== "out") ?? [];
  const marks = receipt?.marks ?? [];
  if (!lines.length || marks.length !== lines.length + 1) return null;
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const all = [];
  let from = 0;
  marks.forEach(([end], n) => {
    const stretch = decoder.decode(bytes.subarray(from, end));
    from = end;
    const line = lines[n];
    const ids = [...citations].filter(([, item]) => item === line?.item).map(([id]) => id);
    const unlisted = line && !ids.length ? CITATION.exec(stretch)?.[0] : undefined;
    if (unlisted) {
      ids.push(unlisted);
      citations.set(unlisted, line.item);
    }
    const at = line ? itemStart(stretch, ids) : stretch.length;
    const before = stretch.slice(0, at);
    if (before.trim() === "" && all.length) all.at(-1).text += before;
    else if (before) all.push({ text: before, layer: line?.layer });
    if (line) all.push({ text: stretch.slice(at), layer: line.layer, line });
  });
  // The rows must be exactly the packed text.
  return all.map((row) => row.text).join("") === text ? all : null;
}

function pattern(citations) {
  const escaped = [...citations.keys()].map((id) => id.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const fences = "^</?data-[0-9a-z]+[^>\\n]*>$";
  return new RegExp([...escaped, fences].join("|"), "gm");
}

function highlight(text, { citations, special, titles, open }) {
  const nodes = [];
  let at = 0;
  const plain = (stretch) => {
    for (const piece of stretch.split(/(?<=\n)/)) {
      const heading = titles.has(piece.replace(/^#+\s*/, "").trim()) && piece.startsWith("#");
      nodes.push(heading ? make("span", { class: "heading" }, piece) : piece);
    }
  };
  for (const found of text.matchAll(special)) {
    plain(text.slice(at, found.index));
    const item = citations.get(found[0]);
    nodes.push(
      item === undefined
        ? make("span", { class: "fence" }, found[0])
        : link(found[0], () => open(item), { class: "link cite", title: item }),
    );
    at = found.index + found[0].length;
  }
  plain(text.slice(at));
  return nodes;
}

function gutter({ line }, layer, first, open) {
  return make(
    "div",
    { class: "gutter" },
    first
      ? make(
          "p",
          { class: "layer" },
          make("span", { class: `swatch ${layer.look}`, "aria-hidden": "true" }),
          layer.title,
        )
      : null,
    line
      ? link(candidate(line), () => open(line.item, line), { class: "link code", title: candidate(line) })
      : null,
    line
      ? make(
          "span",
          { class: "quiet" },
          `${count(line.tokens)} tokens`,
          fate(line) === "cut" ? ", shortened" : "",
        )
      : null,
  );
}

function page(packed, open) {
  const { result, receipt } = packed;
  const layers = new Map(
    result.assembly.layers.map((layer, n) => [
      layer.name,
      { title: layer.title || layer.name, look: look(n) },
    ]),
  );
  const titles = new Set([...layers.values()].map((layer) => layer.title));
  const citations = citationsOf(result);
  const all = rows(result.context, receipt, citations);
  const show = { citations, special: pattern(citations), titles, open };
  if (!all)
    return make("pre", { class: "page", id: "pack-text", tabindex: "0" }, highlight(result.context, show));
  let before;
  const stretches = all.map((row) => {
    const layer = layers.get(row.layer) ?? { title: row.layer ?? "", look: "look-between" };
    const first = row.layer !== undefined && row.layer !== before;
    before = row.layer ?? before;
    return make(
      "div",
      { class: row.line ? "stretch" : "stretch between" },
      gutter(row, layer, first, open),
      make("pre", {}, highlight(row.text, show)),
    );
  });
  return make("div", { class: "page mapped", id: "pack-text", tabindex: "0" }, stretches);
}

function timings(assembly) {
  const usual = STEPS.filter((step) => step in assembly.timingsMs);
  const others = Object.keys(assembly.timingsMs).filter((step) => step !== "total" && !usual.includes(step));
  const steps = [...usual, ...others].map((step, n) => ({
    size: assembly.timingsMs[step],
    look: look(n),
    step,
    title: `${step} ${milliseconds(assembly.timingsMs[step])}`,
  }));
  return make(
    "section",
    { class: "aside" },
    make("h3", {}, "Time by stage"),
    bar(steps, Math.max(assembly.timingsMs.total, 0.001), { class: "bar" }),
    make(
      "ul",
      { class: "legend" },
      steps.map((step) =>
        make(
          "li",
          {},
          make("span", { class: `swatch ${step.look}` }),
          step.step,
          make("span", { class: "figure" }, milliseconds(step.size)),
        ),
      ),
    ),
  );
}

function analysis(query) {
  const times = (query.times ?? []).map((time) => `${time.text} (${time.start} to ${time.end})`);
  return make(
    "section",
    { class: "aside" },
    make("h3", {}, "Query analysis"),
    facts([
      ["language", query.language],
      ["intent", query.intent],
      ["keywords", query.keywords.join(", ")],
      ["phrases", query.phrases.join(", ")],
      ["paths", query.paths.join(", ")],
      ["references", query.references.join(", ")],
      ["times", times.join(", ")],
    ]),
  );
}

function quality(figures) {
  if (!figures) return null;
  const names = ["coverage", "redundancy", "freshness", "budgetUse", "score"];
  return make(
    "section",
    { class: "aside" },
    make("h3", {}, "Quality"),
    facts(names.filter((name) => name in figures).map((name) => [words(name), percent(figures[name])])),
  );
}

async function copy(text, element, pressed) {
  try {
    await navigator.clipboard.writeText(text);
    pressed.textContent = "Copied";
  } catch {
    // Pages over plain HTTP from other machines may not use the clipboard.
    getSelection().selectAllChildren(element);
    pressed.textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => (pressed.textContent = "Copy"), 2000);
}

/** Shows that there is no pack: not yet, or because it failed. */
export function emptyPack({ failed = false } = {}) {
  const first = failed
    ? "Nothing was packed."
    : "Choose a workspace and a recipe, enter a query, and press Pack.";
  const then =
    "You will see the text for the model and the source of each part; the ledger lists every candidate " +
    "with its outcome.";
  fill(
    panel,
    make(
      "div",
      { class: "empty" },
      make("p", {}, first),
      failed ? null : make("p", { class: "quiet" }, then),
    ),
  );
}

/** Shows a pack; `open` shows an item. */
export function showPack(packed, open) {
  const { result } = packed;
  const text = page(packed, open);
  const pressed = button("Copy", () => copy(result.context, text, pressed));
  const length = new TextEncoder().encode(result.context).length;
  fill(
    panel,
    make(
      "div",
      { class: "row tools" },
      pressed,
      make("span", { class: "quiet" }, `${count(length)} bytes, exactly what the model gets`),
    ),
    text,
    make(
      "div",
      { class: "asides" },
      quality(result.assembly.quality),
      timings(result.assembly),
      analysis(result.assembly.query),
    ),
  );
}
