// The workspace: search, and lists of items in pages.

import { button, byId, fill, link, make } from "./dom.js";
import * as api from "./api.js";
import { count, counted, moment, score } from "./format.js";
import { clearProblem } from "./problem.js";

const PAGE = 50;

/** An excerpt with the words of the question marked; their places come in bytes. */
export function highlighted(excerpt, hits) {
  const bytes = new TextEncoder().encode(excerpt);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const text = (from, to) => decoder.decode(bytes.subarray(from, to));
  const nodes = [];
  let at = 0;
  for (const [from, to] of hits) {
    if (from < at || to > bytes.length) continue;
    nodes.push(text(at, from), make("mark", {}, text(from, to)));
    at = to;
  }
  nodes.push(text(at, bytes.length));
  return nodes;
}

function hit(found, open) {
  const ways = Object.entries(found.ranks)
    .map(([way, rank]) => `${way} ${rank}`)
    .join(", ");
  const headings = found.headings.join(" › ");
  const place = [found.path, headings, found.lines[1] > 1 ? `lines ${found.lines[0]}–${found.lines[1]}` : ""]
    .filter(Boolean)
    .join(" · ");
  return make(
    "li",
    { class: "hit" },
    make(
      "p",
      { class: "hit-top" },
      make("span", { class: "figure" }, score(found.score)),
      link(found.title || found.id, () => open(found.id)),
      make("span", { class: "quiet" }, found.kind),
    ),
    make("p", { class: "excerpt" }, highlighted(found.excerpt, found.hits)),
    make(
      "p",
      { class: "quiet" },
      make("code", {}, found.id),
      place ? ` ${place}` : "",
      ways ? ` · ${ways}` : "",
    ),
  );
}

function startSearch(current) {
  const area = byId("found");
  byId("search-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    clearProblem();
    const { workspace, viewer, open, fail, announce } = current();
    const body = { query: byId("search-query").value, limit: 20 };
    const way = byId("search-way").value;
    const kinds = byId("search-kinds")
      .value.split(",")
      .map((kind) => kind.trim())
      .filter(Boolean);
    if (way) body.way = way;
    if (kinds.length) body.kinds = kinds;
    try {
      const { found, notices } = await api.search(workspace, body, viewer);
      fill(
        area,
        notices.length
          ? make(
              "ul",
              { class: "notices" },
              notices.map((notice) => make("li", {}, notice)),
            )
          : null,
        found.length
          ? make(
              "ol",
              { class: "hits" },
              found.map((each) => hit(each, open)),
            )
          : make("p", { class: "empty" }, "Nothing was found."),
      );
      announce(`${counted(found.length, "answer")}.`);
    } catch (error) {
      fill(area);
      fail(error);
    }
  });
}

function row(item, open) {
  return make(
    "tr",
    {},
    make(
      "td",
      { class: "candidate" },
      link(item.id, () => open(item.id), { class: "link code" }),
      make("span", { class: "quiet" }, item.kind),
    ),
    make("td", {}, item.title, item.active ? null : make("span", { class: "quiet" }, " not in use")),
    make("td", { class: "figure" }, count(item.body.length)),
    make("td", { class: "quiet" }, item.updated ? moment(item.updated) : ""),
  );
}

function startItems(current) {
  const area = byId("listed");
  // The `after` of each page so far, for going back.
  let pages = [];

  async function show(after) {
    clearProblem();
    const { workspace, viewer, open, fail, announce } = current();
    const query = {
      kind: byId("items-kind").value.trim(),
      parent: byId("items-parent").value.trim(),
      after,
      limit: PAGE,
    };
    try {
      const { items, next } = await api.items(workspace, query, viewer);
      const first = (pages.length - 1) * PAGE + 1;
      const heads = ["Item", "Title", "Characters", "Changed"].map((name) =>
        make("th", { scope: "col", class: name === "Characters" ? "figure" : null }, name),
      );
      fill(
        area,
        items.length
          ? make(
              "div",
              { class: "scroll" },
              make(
                "table",
                { class: "items" },
                make("thead", {}, make("tr", {}, heads)),
                make(
                  "tbody",
                  {},
                  items.map((item) => row(item, open)),
                ),
              ),
            )
          : make("p", { class: "empty" }, "No matching items are visible to this viewer."),
        make(
          "p",
          { class: "row" },
          button("Back", back, { disabled: pages.length < 2 }),
          button("Next", () => forth(next), { disabled: next === undefined }),
          items.length
            ? make("span", { class: "quiet" }, `${count(first)} to ${count(first + items.length - 1)}`)
            : null,
        ),
      );
      announce(`${counted(items.length, "item")}.`);
    } catch (error) {
      fill(area);
      fail(error);
    }
  }
  function forth(next) {
    pages.push(next);
    return show(next);
  }
  function back() {
    pages.pop();
    return show(pages.at(-1));
  }
  const load = () => {
    pages = [undefined];
    return show(undefined);
  };
  byId("items-form").addEventListener("submit", (event) => {
    event.preventDefault();
    load();
  });
  return {
    load,
    clear: () => {
      pages = [];
      fill(area);
    },
    isLoaded: () => pages.length > 0,
  };
}

/** Sets up both views; `current` has the workspace and the viewer. */
export function start(current) {
  startSearch(current);
  return startItems(current);
}

export function clearSearchResults() {
  fill(byId("found"));
}
