// The views, one at a time, by mouse or by arrow keys.

import { byId } from "./dom.js";

const list = byId("tabs");
const tabs = Array.from(list.querySelectorAll("[role=tab]"));

function panelOf(tab) {
  return byId(tab.getAttribute("aria-controls"));
}

/** The view that is shown. */
export function activeView() {
  return list.querySelector("[aria-selected=true]")?.dataset.view ?? "pack";
}

/** Shows a view. */
export function show(view) {
  const active = tabs.find((tab) => tab.dataset.view === view) ?? tabs[0];
  for (const tab of tabs) {
    const chosen = tab === active;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    panelOf(tab).hidden = !chosen;
  }
}

/** Sets the handler for choosing another view. */
export function listen(changed) {
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (!tab) return;
    show(tab.dataset.view);
    changed(tab.dataset.view);
  });
  list.addEventListener("keydown", (event) => {
    const at = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    const steps = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = tabs[(steps[event.key] + tabs.length) % tabs.length];
    show(next.dataset.view);
    next.focus();
    changed(next.dataset.view);
  });
}

/** Writes a count beside a view's name. */
export function setCount(view, figure) {
  const tab = tabs.find((each) => each.dataset.view === view);
  tab.dataset.figure = figure;
}
