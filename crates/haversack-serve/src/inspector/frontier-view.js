// The frontier: a chart of value and coverage by budget. Choosing a point packs with its budget.

import { byId, draw, fill, link, make } from "./dom.js";
import { count, counted, percent, score } from "./format.js";

const panel = byId("panel-frontier");
const WIDTH = 720;
const HEIGHT = 300;
const EDGE = { left: 60, right: 56, top: 16, bottom: 46 };

function axisMarks(most, markCount) {
  const rough = most / markCount;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? 10 * power;
  const marks = [];
  for (let at = 0; at <= most; at += step) marks.push(at);
  return marks;
}

function scales(points) {
  const most = Math.max(...points.map((point) => point.budget), 1) * 1.02;
  const value = Math.max(...points.map((point) => point.value), 1e-9);
  const across = WIDTH - EDGE.left - EDGE.right;
  const down = HEIGHT - EDGE.top - EDGE.bottom;
  return {
    most,
    value,
    x: (budget) => EDGE.left + (across * budget) / most,
    y: (share) => EDGE.top + down * (1 - share),
  };
}

function axes({ most, value, x, y }) {
  const foot = HEIGHT - EDGE.bottom;
  const across = axisMarks(most, 6).map((at) => [
    draw("line", { class: "rule", x1: x(at), x2: x(at), y1: foot, y2: foot + 4 }),
    draw("text", { class: "tick", x: x(at), y: foot + 18, "text-anchor": "middle" }, count(at)),
  ]);
  const up = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    draw("line", { class: "rule", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(share), y2: y(share) }),
    draw("text", { class: "tick", x: EDGE.left - 8, y: y(share) + 4, "text-anchor": "end" }, percent(share)),
    draw(
      "text",
      { class: "tick value", x: WIDTH - EDGE.right + 8, y: y(share) + 4 },
      (value * share).toFixed(value < 10 ? 2 : 0),
    ),
  ]);
  const name = draw(
    "text",
    { class: "tick", x: (EDGE.left + WIDTH - EDGE.right) / 2, y: HEIGHT - 8, "text-anchor": "middle" },
    "budget in tokens",
  );
  return [up, across, name];
}

function describePoint(point) {
  const figures = [
    counted(point.tokens, "token"),
    counted(point.items, "item"),
    `value ${score(point.value)}`,
    `coverage ${percent(point.coverage)}`,
  ];
  return `Budget ${count(point.budget)}: ${figures.join(", ")}`;
}

function chart(points, now, packWith) {
  const scale = scales(points);
  const { x, y, most, value } = scale;
  const places = (share) => points.map((point) => `${x(point.budget)},${y(share(point))}`);
  const ends = [points.at(-1), points[0]].map((point) => `${x(point.budget)},${y(0)}`);
  const area = draw("polygon", {
    class: "value",
    points: [...places((point) => point.value / value), ...ends].join(" "),
  });
  const line = draw("polyline", { class: "coverage", points: places((point) => point.coverage).join(" ") });
  const dots = points.map((point) => {
    const act = () => packWith(point.budget);
    const pressed = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      act();
    };
    return draw(
      "g",
      {
        class: point.budget === now ? "point now" : "point",
        tabindex: "0",
        role: "button",
        "aria-label": `${describePoint(point)}. Pack with it`,
        "data-budget": point.budget,
        listen: { click: act, keydown: pressed },
      },
      draw("title", {}, describePoint(point)),
      draw("rect", {
        class: "reach",
        x: x(point.budget) - 9,
        y: EDGE.top,
        width: 18,
        height: HEIGHT - EDGE.top - EDGE.bottom,
      }),
      draw("circle", { class: "coverage", cx: x(point.budget), cy: y(point.coverage), r: 4 }),
    );
  });
  const here =
    now && now <= most ? draw("line", { class: "here", x1: x(now), x2: x(now), y1: y(1), y2: y(0) }) : null;
  return draw(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: "chart",
      role: "group",
      "aria-label": "Value and coverage by budget",
    },
    area,
    axes(scale),
    here,
    line,
    dots,
  );
}

function table(points, now, packWith) {
  const rows = points.map((point) =>
    make(
      "tr",
      { class: point.budget === now ? "now" : "" },
      make(
        "td",
        { class: "figure" },
        link(count(point.budget), () => packWith(point.budget), {
          "aria-label": `Pack with ${count(point.budget)} tokens`,
        }),
      ),
      make("td", { class: "figure" }, count(point.tokens)),
      make("td", { class: "figure" }, count(point.items)),
      make("td", { class: "figure" }, score(point.value)),
      make("td", { class: "figure" }, percent(point.coverage)),
    ),
  );
  const heads = ["Budget", "Tokens", "Items", "Value", "Coverage"].map((name) =>
    make("th", { scope: "col", class: "figure" }, name),
  );
  return make(
    "div",
    { class: "scroll" },
    make("table", { class: "points" }, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows)),
  );
}

export function emptyFrontier(
  text = "Build a pack first: the frontier then shows the packs of other budgets.",
) {
  fill(panel, make("div", { class: "empty" }, make("p", {}, text)));
}

/** Shows the points; `now` is the budget of the pack that is shown, `packWith` packs with another. */
export function showFrontier(points, now, packWith) {
  if (!points.length) {
    emptyFrontier("There is nothing to pack at any budget.");
    return;
  }
  const key = (look, text) =>
    make("li", {}, make("span", { class: `swatch ${look}`, "aria-hidden": "true" }), text);
  fill(
    panel,
    make("p", { class: "lead" }, "Value and coverage at each budget. Choose a point to pack with it."),
    make(
      "ul",
      { class: "legend" },
      key("look-coverage", "coverage, left: the share of all candidates' value that is in the pack"),
      key("look-value", "value, right: the value of the pack"),
      key("look-here", "the pack shown now"),
    ),
    chart(points, now, packWith),
    table(points, now, packWith),
  );
}
