// Shows a problem of the server and what to do about it.

import { button, byId, fill, make } from "./dom.js";
import { count } from "./format.js";
import { Problem } from "./api.js";

const area = byId("problem");

export function clearProblem() {
  fill(area);
}

/** Shows a problem; `useBudget` packs with the smallest sufficient budget. */
export function showProblem(error, useBudget) {
  if (error?.name === "AbortError") return;
  if (!(error instanceof Problem)) {
    console.error(error);
    fill(
      area,
      make("div", { class: "problem" }, make("strong", {}, "The page failed"), ` ${error?.message ?? error}`),
    );
    return;
  }
  const { title, detail, field, code, status, least, request } = error.details;
  const small = [field ? `field ${field}` : "", code, status, request ? `request ${request}` : ""].filter(
    Boolean,
  );
  fill(
    area,
    make(
      "div",
      { class: "problem" },
      make("strong", {}, title ?? "something went wrong"),
      detail && detail !== title ? make("p", {}, detail) : null,
      least && useBudget ? button(`Use ${count(least)} tokens`, () => useBudget(least)) : null,
      small.length ? make("p", { class: "quiet" }, small.join(" · ")) : null,
    ),
  );
}
