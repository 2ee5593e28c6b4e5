// Files into the workspace: dropped or chosen, sent one after another, each with what became of it.

import { button, byId, fill, make } from "./dom.js";
import * as api from "./api.js";
import { count, counted, size } from "./format.js";
import { clearProblem } from "./problem.js";

// Most files of one go, and the deepest folders that are read.
const FILES_MAX = 1_000;
const DEPTH_MAX = 32;

// After these answers the next file fares no better: no key, no right, no such workspace, no room.
const HOPELESS = [401, 403, 404, 507];

const area = byId("uploads");
const drop = byId("drop");

function nameOf(file) {
  return file.webkitRelativePath || file.name;
}

/** All entries of a dropped folder; the browser gives them in portions. */
async function entriesOf(folder) {
  const reader = folder.createReader();
  const all = [];
  for (;;) {
    const portion = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!portion.length || all.length > FILES_MAX) return all;
    all.push(...portion);
  }
}

/** Collects the files of a dropped entry, a file or a folder, one more than are taken at most. */
async function collect(entry, path, files, depth = 0) {
  if (files.length > FILES_MAX || depth > DEPTH_MAX) return;
  const name = `${path}${entry.name}`;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    files.push({ file, name });
    return;
  }
  // Hidden folders are left out, as `haversack add` does.
  if (depth > 0 && entry.name.startsWith(".")) return;
  for (const each of await entriesOf(entry)) await collect(each, `${name}/`, files, depth + 1);
}

/** The files of a drop. The list of a drop is gone after the first wait, so its entries are taken at once. */
async function droppedFiles(transfer) {
  const items = Array.from(transfer.items).filter((item) => item.kind === "file");
  const sources = items.map((item) => ({ entry: item.webkitGetAsEntry?.(), file: item.getAsFile() }));
  const files = [];
  for (const { entry, file } of sources) {
    if (entry) await collect(entry, "", files);
    else if (file) files.push({ file, name: file.name });
  }
  return files;
}

/** What became of one file, in words. */
function outcome(added) {
  const counts = [
    added.stored ? `${counted(added.stored, "item")} stored` : "",
    added.unchanged ? `${count(added.unchanged)} unchanged` : "",
    added.deleted ? `${count(added.deleted)} deleted` : "",
  ].filter(Boolean);
  if (counts.length) return counts.join(", ");
  return added.skipped.length ? "not stored" : "nothing to store in it";
}

/** A line of the list for one file. */
class Row {
  constructor({ file, name }) {
    this.state = make("p", { class: "upload-state" }, "waiting");
    this.details = make("ul", { class: "upload-notes" });
    this.element = make(
      "li",
      { class: "upload", "data-state": "waiting" },
      make("p", { class: "row wrap" }, make("code", {}, name), make("span", { class: "quiet figure" }, size(file.size))),
      this.state,
      this.details,
    );
  }

  say(state, text, details = []) {
    this.element.setAttribute("data-state", state);
    this.state.textContent = text;
    fill(
      this.details,
      details.map((detail) => make("li", {}, detail)),
    );
  }
}

/** A problem in words: what is wrong, and what to do where that is known. */
function problemWords({ details = {}, message }) {
  const words = details.detail ?? details.title ?? message;
  if (details.status === 403) return `${words}. Files need a key with the scope write.`;
  return details.field ? `${details.field}: ${words}` : words;
}

/** Sets up the view; `current` has the workspace and the viewer, `changed` is called after files were stored. */
export function start(current, changed) {
  let running = null;

  async function sendAll(files, rows, progress) {
    const { workspace, viewer } = current();
    const sums = { sent: 0, stored: 0, failed: 0 };
    const signal = running.signal;
    let hopeless = false;
    for (const [at, each] of files.entries()) {
      const row = rows[at];
      if (hopeless || signal.aborted) {
        row.say("left", "not sent");
        continue;
      }
      row.say("sending", "sending and reading…");
      try {
        const added = await api.addFile(workspace, each, viewer, signal);
        const nothing = added.stored + added.unchanged === 0;
        row.say(nothing ? "failed" : "done", outcome(added), [...added.skipped, ...added.notices]);
        sums.stored += added.stored;
        sums.failed += nothing ? 1 : 0;
      } catch (error) {
        if (error.name === "AbortError") {
          row.say("left", "stopped; it may have been stored");
          continue;
        }
        if (!(error instanceof api.Problem)) throw error;
        row.say("failed", problemWords(error));
        sums.failed += 1;
        hopeless = error.details.status === undefined || HOPELESS.includes(error.details.status);
      }
      sums.sent += 1;
      progress(sums.sent);
    }
    return sums;
  }

  async function take(files) {
    clearProblem();
    const { workspace, fail, announce } = current();
    if (running || !files.length) return;
    if (!workspace) return fill(area, make("p", { class: "empty" }, "Create a workspace first."));
    if (files.length > FILES_MAX) {
      const text = `These are more than ${count(FILES_MAX)} files. For so many, use haversack add on the server.`;
      return fill(area, make("p", { class: "empty" }, text));
    }
    running = new AbortController();
    const rows = files.map((file) => new Row(file));
    const meter = make("progress", { max: files.length, value: 0, "aria-label": "files sent" });
    const summary = make("p", { id: "uploads-summary" }, `Sending ${counted(files.length, "file")} to ${workspace}…`);
    const stop = button("Stop", () => running?.abort(), { id: "uploads-stop" });
    const list = rows.map((row) => row.element);
    fill(area, summary, make("p", { class: "row" }, meter, stop), make("ul", { class: "uploads" }, list));
    try {
      const sums = await sendAll(files, rows, (sent) => meter.setAttribute("value", sent));
      const failed = sums.failed ? `, ${count(sums.failed)} not stored` : "";
      const left = files.length - sums.sent;
      const unsent = left ? `, ${count(left)} not sent` : "";
      summary.textContent = `${counted(sums.stored, "item")} stored from ${counted(files.length, "file")}${failed}${unsent}.`;
      announce(summary.textContent);
      if (sums.stored) changed();
    } catch (error) {
      fail(error);
    } finally {
      running = null;
      stop.remove();
    }
  }

  for (const id of ["choose-files", "choose-folder"]) {
    const input = byId(id);
    input.addEventListener("change", () => {
      const files = Array.from(input.files, (file) => ({ file, name: nameOf(file) }));
      // So that the same file can be chosen again.
      input.value = "";
      take(files);
    });
  }
  drop.addEventListener("drop", (event) => {
    drop.classList.remove("over");
    droppedFiles(event.dataTransfer).then(take, (error) => current().fail(error));
  });
  drop.addEventListener("dragover", () => drop.classList.add("over"));
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  // A file that misses its place would be opened instead of this page.
  for (const event of ["dragover", "drop"]) {
    window.addEventListener(event, (dragged) => dragged.preventDefault());
  }
  return { clear: () => running || fill(area) };
}
