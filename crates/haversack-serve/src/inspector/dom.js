// Makes elements from data. Content is only ever inserted as text, so it cannot become markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

// Attributes through which a value could run or load something.
const UNSAFE_ATTRIBUTES = /^(on|style$|src|href|xlink|action|formaction)/i;

/** The element of the page with this id. */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element "${id}"`);
  return element;
}

function buildElement(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "listen") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
      continue;
    }
    if (UNSAFE_ATTRIBUTES.test(name)) throw new Error(`"${name}" is not set from here`);
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter(isShown));
  return element;
}

function isShown(child) {
  return child !== undefined && child !== null && child !== false && child !== "";
}

/** An HTML element; strings among the children become text. */
export function make(tag, attributes = {}, ...children) {
  return buildElement(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function draw(tag, attributes = {}, ...children) {
  return buildElement(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(isShown));
}

/** A button that looks like text. */
export function link(text, act, attributes = {}) {
  return make("button", { type: "button", class: "link", ...attributes, listen: { click: act } }, text);
}

/** A button. */
export function button(text, act, attributes = {}) {
  return make("button", { type: "button", ...attributes, listen: { click: act } }, text);
}

/** A list of names and values; pairs without a value are left out. */
export function facts(pairs, attributes = {}) {
  const visible = pairs.filter(([, value]) => isShown(value) && !(Array.isArray(value) && !value.length));
  const rows = visible.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  return make("dl", { class: "facts", ...attributes }, rows);
}

/** A horizontal bar in parts: each has `size`, `look` (a class) and `title`; sizes are of `whole`. */
export function bar(parts, whole, attributes = {}) {
  let at = 0;
  const visible = parts.filter((part) => part.size > 0);
  const rects = visible.map((part) => {
    const width = whole > 0 ? Math.min((100 * part.size) / whole, 100 - at) : 0;
    const rect = draw(
      "rect",
      { x: at, y: 0, width: Math.max(width, 0), height: 10, class: part.look },
      part.title ? draw("title", {}, part.title) : null,
    );
    at += width;
    return rect;
  });
  const label = visible
    .map((part) => part.title)
    .filter(Boolean)
    .join(", ");
  return draw(
    "svg",
    {
      viewBox: "0 0 100 10",
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": label,
      class: "bar",
      ...attributes,
    },
    rects,
  );
}
