// The ledger: every candidate with its score components, outcome and reason.

import { bar, button, fill, link, make } from "./dom.js";
import { candidate, count, counted, fate, parts, reason, score, wholeFrom, words } from "./format.js";
import { look } from "./summary.js";

const ROWS_AT_FIRST = 200;
const FATES = ["in", "cut", "out"];

const COLUMNS = [
  { name: "fate", title: "", label: "Outcome", of: (line) => FATES.indexOf(fate(line)) },
  { name: "candidate", title: "Candidate", of: candidate },
  { name: "layer", title: "Layer", of: (line) => line.layer },
  { name: "found", title: "Found by", of: (line) => Object.keys(line.found ?? {}).join(", ") },
  { name: "score", title: "Score", of: (line) => line.score, largestFirst: true },
  { name: "tokens", title: "Tokens", of: (line) => line.tokensWhole, largestFirst: true },
  { name: "why", title: "Why", of: (line) => wholeFrom(line) ?? (line.outcome === "in" ? -1 : Infinity) },
];

/** The components of all lines, largest first, each with its colour. */
export function components(lines) {
  const sums = new Map();
  for (const line of lines) {
    for (const part of parts(line)) sums.set(part.name, (sums.get(part.name) ?? 0) + Math.max(part.gives, 0));
  }
  const order = [...sums]
    .filter(([, sum]) => sum > 0)
    .sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  return new Map(order.map(([name], n) => [name, look(n)]));
}

/** A score as a bar of its parts, as long as the score is beside the largest. */
export function scoreBar(line, looks, largest) {
  const all = parts(line).filter((part) => part.gives > 0);
  const sum = all.reduce((total, part) => total + part.gives, 0);
  // A custom ranker need not sum its parts. Then they only share the bar.
  const scale = sum > 0 ? line.score / sum : 0;
  const scaled = all.map((part) => ({
    size: part.gives * scale,
    look: looks.get(part.name),
    title: `${words(part.name)} ${score(part.gives)}`,
  }));
  const whole =
    sum > 0 ? scaled : [{ size: line.score, look: "look-between", title: `score ${score(line.score)}` }];
  return bar(whole, largest, { class: "bar small" });
}

function compareValues(a, b) {
  if (typeof a === "number" && typeof b === "number") return a === b ? 0 : a - b;
  return String(a).localeCompare(String(b));
}

/** A ledger in a panel: `open` shows a candidate's item, `useBudget` packs with another budget. */
export class Ledger {
  constructor(panel, lines, { open, useBudget, unlisted = 0 }) {
    this.panel = panel;
    this.lines = lines;
    this.open = open;
    this.useBudget = useBudget;
    this.unlisted = unlisted;
    this.looks = components(lines);
    this.largest = Math.max(...lines.map((line) => line.score), 1e-9);
    this.only = "all";
    this.text = "";
    this.sort = null;
    this.rowsMax = ROWS_AT_FIRST;
    this.body = make("tbody");
    this.more = make("p", { class: "more" });
    this.build();
  }

  build() {
    const filter = make("input", {
      type: "search",
      placeholder: "id, kind, layer, collector, reason",
      "aria-label": "Filter the ledger",
      listen: { input: (event) => this.narrow({ text: event.target.value.toLowerCase() }) },
    });
    const heads = COLUMNS.map((column) => this.head(column));
    this.heads = heads;
    this.choices = ["all", ...FATES].map((name) => this.choice(name));
    fill(
      this.panel,
      make(
        "div",
        { class: "row wrap tools" },
        make("div", { class: "choices", role: "group", "aria-label": "Outcome" }, this.choices),
        filter,
      ),
      this.legend(),
      make(
        "div",
        { class: "scroll" },
        make("table", { class: "ledger" }, make("thead", {}, make("tr", {}, heads)), this.body),
      ),
      this.more,
    );
    this.render();
  }

  choice(name) {
    const size = name === "all" ? this.lines.length : this.lines.filter((line) => fate(line) === name).length;
    return button(
      [
        name === "all" ? null : make("span", { class: `fate ${name}`, "aria-hidden": "true" }),
        `${name} `,
        make("span", { class: "figure" }, count(size)),
      ],
      () => this.narrow({ only: name }),
      { "aria-pressed": String(name === this.only), "data-fate": name, "data-count": size },
    );
  }

  head(column) {
    const act = () => {
      const again = this.sort?.column === column;
      if (again && this.sort.reversed) this.sort = null;
      else this.sort = { column, reversed: again };
      this.render();
    };
    return make(
      "th",
      { scope: "col", class: column.name },
      link(column.title || "·", act, { "aria-label": `Sort by ${column.label ?? column.title}` }),
    );
  }

  legend() {
    const entries = [...this.looks].map(([name, style]) =>
      make("li", {}, make("span", { class: `swatch ${style}`, "aria-hidden": "true" }), words(name)),
    );
    return entries.length
      ? make("ul", { class: "legend", "aria-label": "Score components" }, entries)
      : null;
  }

  narrow(change) {
    Object.assign(this, change, { rowsMax: ROWS_AT_FIRST });
    for (const choice of this.choices)
      choice.setAttribute("aria-pressed", String(choice.dataset.fate === this.only));
    this.render();
  }

  matchingLines() {
    const matches = (line) =>
      [candidate(line), line.kind, line.layer, Object.keys(line.found ?? {}).join(" "), reason(line)]
        .join("\n")
        .toLowerCase()
        .includes(this.text);
    const lines = this.lines.filter(
      (line) => (this.only === "all" || fate(line) === this.only) && (!this.text || matches(line)),
    );
    if (!this.sort) return lines;
    const { column, reversed } = this.sort;
    const way = reversed !== Boolean(column.largestFirst) ? -1 : 1;
    return [...lines].sort(
      (a, b) => way * compareValues(column.of(a), column.of(b)) || candidate(a).localeCompare(candidate(b)),
    );
  }

  render() {
    COLUMNS.forEach((column, n) => {
      const sorted = this.sort?.column === column;
      const down = this.sort?.reversed !== Boolean(column.largestFirst);
      if (sorted) this.heads[n].setAttribute("aria-sort", down ? "descending" : "ascending");
      else this.heads[n].removeAttribute("aria-sort");
    });
    const lines = this.matchingLines();
    fill(
      this.body,
      lines.slice(0, this.rowsMax).map((line) => this.row(line)),
    );
    const rest = lines.length - this.rowsMax;
    const all = () => {
      this.rowsMax = Infinity;
      this.render();
    };
    fill(
      this.more,
      lines.length ? null : "No candidate matches.",
      rest > 0 ? button(`Show ${count(rest)} more`, all) : null,
      this.unlisted ? ` ${counted(this.unlisted, "more candidate")} had too low a score to be listed.` : null,
    );
  }

  row(line) {
    const outcome = fate(line);
    const from = wholeFrom(line);
    const act = () => this.open(line.item, line);
    const found = Object.entries(line.found ?? {}).map(([collector, rank]) =>
      make("span", { class: "collector" }, collector, make("span", { class: "quiet" }, ` ${rank}`)),
    );
    const whole = line.tokensWhole ? count(line.tokensWhole) : "–";
    const size = outcome === "cut" ? `${count(line.tokens)} of ${whole}` : whole;
    const pressed = (event) => {
      if (!event.target.closest("button")) act();
    };
    return make(
      "tr",
      { class: outcome, listen: { click: pressed } },
      make(
        "td",
        { class: "fate" },
        make("span", { class: `fate ${outcome}`, title: outcome }),
        make("span", { class: "fate-word" }, line.outcome),
      ),
      make(
        "td",
        { class: "candidate" },
        link(candidate(line), act, { class: "link code" }),
        make("span", { class: "quiet" }, line.kind),
      ),
      make("td", { class: "layer" }, line.layer),
      make("td", { class: "found" }, found),
      make(
        "td",
        { class: "score" },
        make("span", { class: "figure" }, score(line.score)),
        scoreBar(line, this.looks, this.largest),
      ),
      make("td", { class: "tokens figure" }, size),
      make(
        "td",
        { class: "why" },
        reason(line),
        from
          ? [" ", link(`Pack with ${count(from)}`, () => this.useBudget(from), { class: "link use" })]
          : null,
      ),
    );
  }
}
