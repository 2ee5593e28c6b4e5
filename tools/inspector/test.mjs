// Drives the inspector in a browser: everything it does works, hostile texts stay texts, and nothing leaves for elsewhere.

import assert from "node:assert/strict";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { RECIPE, VECTORS, kind } from "./hostile.mjs";
import { start } from "./server.mjs";

const QUESTION = `what about window.pwned onerror ${VECTORS[1]}`;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });

/** A page that keeps account of all that must not happen. */
async function visit(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const wrong = [];
  const statuses = [];
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== url) wrong.push(`asked elsewhere: ${request.url()}`);
  });
  page.on("response", (response) => statuses.push(response.status()));
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("popup", () => wrong.push("a window was opened"));
  page.on("console", (message) => {
    // The browser itself logs every answer of 400 or more; those are looked at by their status.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      wrong.push(`console: ${message.text()}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) =>
      window.violations.push(`${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  /** What must hold at every moment. */
  async function sound(failures = []) {
    assert.deepEqual(wrong, []);
    assert.deepEqual(await page.evaluate(() => window.violations), []);
    assert.equal(await page.evaluate(() => window.pwned), undefined, "a text ran");
    const foreign =
      "script:not([src='inspector/main.js']), img, iframe, object, embed, a, video, audio, style, base, marquee, math";
    assert.equal(await page.locator(foreign).count(), 0, "a text became an element");
    assert.deepEqual(
      statuses.filter((status) => status >= 400),
      failures,
    );
  }
  return { page, context, sound };
}

async function picture(page, name) {
  if (process.env.PICTURES) await page.screenshot({ path: join(process.env.PICTURES, `${name}.png`) });
}

/** What an element says, whole. */
function text(page, selector) {
  return page
    .locator(selector)
    .first()
    .evaluate((element) => element.textContent);
}

async function says(page, selector, vector) {
  const said = await text(page, selector);
  assert.ok(said.includes(vector), `${selector} does not show ${JSON.stringify(vector)}`);
}

async function filled(server, headers = {}) {
  await server.ask("POST", "/v1/workspaces", { name: "hostile" }, headers);
  const items = VECTORS.map((vector) => ({
    id: vector,
    kind: kind(vector),
    title: `title ${vector}`,
    body: `${vector}\n\nwhat about window.pwned onerror ${vector}`,
    path: `folder/${vector}`,
    fields: { [vector]: vector, note: { deep: [vector] } },
    readers: ["everyone", `user:${vector}`],
  }));
  await server.ask("POST", "/v1/workspaces/hostile/items", items, headers);
  await server.ask("PUT", "/v1/workspaces/hostile/recipes/hostile", { source: RECIPE }, headers);
}

const count = (ledger, ...outcomes) => ledger.filter((line) => outcomes.includes(line.outcome)).length;

async function pack(page) {
  await page.click("#pack");
  await page.waitForSelector("#pack[aria-busy]", { state: "detached" });
}

async function packsAndLedger(server, page) {
  await page.selectOption("#workspace", "hostile");
  await page.waitForSelector("#recipe option[value=hostile]", { state: "attached" });
  await page.selectOption("#recipe", "hostile");
  await page.fill("#query", QUESTION);
  await page.fill("#budget", "900");
  await page.fill("#user", VECTORS[0]);
  await page.fill("#groups", VECTORS[24].replace(",", ""));
  const answered = page.waitForResponse((response) => response.url().includes("/context/"));
  await page.press("#query", "Enter");
  const told = await (await answered).json();
  await page.waitForSelector("#pack-text.mapped", { state: "attached" });
  const viewer = {
    "haversack-user": encodeURIComponent(VECTORS[0]),
    "haversack-groups": encodeURIComponent(VECTORS[24]),
  };
  const shown = await page
    .locator("#pack-text pre")
    .evaluateAll((all) => all.map((each) => each.textContent).join(""));
  assert.equal(shown, told.context, "the text is shown to the last character");
  assert.equal(await text(page, "#tokens-used"), told.assembly.tokens.toLocaleString("en-GB"));
  await says(page, "#summary", VECTORS[1]);
  const cited = await page.locator("#pack-text .cite").count();
  assert.ok(cited > 0, "citations are marked");

  await page.click("#tab-ledger");
  const { ledger } = await server.ask(
    "GET",
    `/v1/workspaces/hostile/receipts/${told.assembly.receipt}`,
    undefined,
    viewer,
  );
  const counts = {
    all: ledger.length,
    in: count(ledger, "in"),
    cut: count(ledger, "cut", "essential"),
    out: count(ledger, "out"),
  };
  assert.ok(counts.in > 0 && counts.out > 0, JSON.stringify(counts));
  for (const [fate, size] of Object.entries(counts)) {
    const choice = page.locator(`#panel-ledger [data-fate="${fate}"]`);
    assert.equal(Number(await choice.getAttribute("data-count")), size, fate);
    await choice.click();
    assert.equal(await page.locator("#panel-ledger tbody tr").count(), Math.min(size, 200), fate);
  }
  await page.click('#panel-ledger [data-fate="all"]');
  for (const vector of VECTORS) await says(page, "#panel-ledger tbody", vector);
  await page.click("#panel-ledger th.score button");
  const scores = (await page.locator("#panel-ledger td.score .figure").allTextContents()).map(Number);
  assert.deepEqual(
    scores,
    [...scores].sort((a, b) => b - a),
    "sorted by score",
  );
  await page.fill("#panel-ledger input[type=search]", "onbegin");
  const narrowed = await page.locator("#panel-ledger tbody tr").count();
  assert.ok(narrowed >= 1 && narrowed < ledger.length);
  await page.fill("#panel-ledger input[type=search]", "");
  await picture(page, "ledger");
}

async function everyItem(page) {
  await page.fill("#user", "");
  await page.fill("#groups", "");
  await page.click("#tab-items");
  await page.click("#items-form button");
  await page.waitForFunction(
    (size) => document.querySelectorAll("#listed tbody tr").length === size,
    VECTORS.length,
  );
  for (const vector of VECTORS) {
    await says(page, "#listed", `title ${vector}`);
    await page
      .locator("#listed tbody .link", { hasText: vector })
      .filter({ hasText: vector })
      .first()
      .focus();
  }
  for (const vector of VECTORS) {
    const links = page.locator("#listed tbody .link");
    const at = (await links.allTextContents()).indexOf(vector);
    await links.nth(at).click();
    await page.waitForFunction(
      (title) => document.getElementById("sheet-title").textContent === title,
      `title ${vector}`,
    );
    await says(page, "#sheet-body", `folder/${vector}`);
    await says(page, "#sheet-body", `user:${vector}`);
    await says(page, "#sheet-body", JSON.stringify(vector));
    await says(page, "#sheet-body pre", vector);
    await page.keyboard.press("Escape");
  }
  await page.fill("#items-kind", kind(VECTORS[2]));
  await page.press("#items-kind", "Enter");
  await page.waitForFunction(() => document.querySelectorAll("#listed tbody tr").length === 1);
}

async function searches(page) {
  await page.click("#tab-search");
  await page.fill("#search-query", QUESTION);
  await page.press("#search-query", "Enter");
  await page.waitForSelector("#found .hit");
  assert.ok((await page.locator("#found mark").count()) > 0, "the words of the question are marked");
  assert.ok((await text(page, "#found")).includes(VECTORS[1]));
}

async function takesAPoint(page) {
  await page.click("#tab-frontier");
  await page.waitForSelector(".chart .point");
  const before = await page.inputValue("#budget");
  const point = page.locator(".chart .point").nth(6);
  const budget = await point.getAttribute("data-budget");
  assert.notEqual(budget, before);
  await point.click();
  await page.waitForFunction(
    (wanted) => document.querySelector(".chart .now")?.dataset.budget === wanted,
    budget,
  );
  assert.equal(await page.inputValue("#budget"), budget);
  assert.ok((await text(page, "#summary")).includes(`of ${Number(budget).toLocaleString("en-GB")} tokens`));
  await page.locator(".chart .point").nth(8).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction((old) => document.querySelector(".chart .now")?.dataset.budget !== old, budget);
  await picture(page, "frontier");
}

async function looksBack(server, page) {
  await page.click("#tab-pack");
  const first = await text(page, "#summary .link.code");
  await page.fill("#budget", "600");
  await pack(page);
  const second = await text(page, "#summary .link.code");
  assert.notEqual(first, second);
  await page.click("#summary .link.code");
  await page.waitForFunction(
    (id) => document.querySelector("#back-result h3")?.textContent === `Receipt ${id}`,
    second,
  );
  await says(page, "#back-result", QUESTION);
  await page.click("#replay");
  await page.waitForSelector("#verdict");
  assert.equal(await text(page, "#verdict"), "The same bytes.");
  await page.locator("#recent li", { hasText: first }).getByText("compare").click();
  await page.click("#diff");
  await page.waitForFunction(() => document.querySelector("#verdict")?.textContent === "Different bytes.");
  await says(page, "#back-result", "tokenBudget");
  await server.ask("POST", "/v1/workspaces/hostile/items", [
    { id: "later", kind: "note", body: "what about window.pwned onerror, later?" },
  ]);
  await page.click("#replay");
  await page.waitForFunction(() => document.querySelector("#verdict")?.textContent === "The same bytes.");
  const stored = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, Object.keys(sessionStorage)]),
  );
  assert.equal(stored, '[{},["haversack-recent-receipts"]]');
  await picture(page, "look-back");
}

async function problems(page) {
  await page.fill("#receipt", VECTORS[1]);
  await page.press("#receipt", "Enter");
  await page.waitForSelector("#problem .problem");
  await says(page, "#problem", "<img src=x");
  await page.click("#tab-pack");
  await page.fill("#budget", "1");
  await pack(page);
  const least = page.locator("#problem button");
  if (await least.count()) await least.click();
  await page.fill("#budget", "500");
  await page.evaluate(() => (document.getElementById("options-area").open = true));
  await page.fill("#options", "{not json");
  await page.click("#pack");
  await page.waitForFunction(() => document.getElementById("problem").textContent.includes("options"));
  await page.fill("#options", JSON.stringify({ [VECTORS[1]]: 1 }));
  await page.click("#pack");
  await page.waitForFunction(() =>
    document.getElementById("problem").textContent.includes("validation_error"),
  );
  await says(page, "#problem", "<img src=x");
  await page.fill("#options", "");
  await pack(page);
  assert.equal(await text(page, "#problem"), "");
}

const asFile = (name, text) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(text) });

async function uploaded(page) {
  await page.waitForSelector("#uploads-stop", { state: "detached" });
  const rows = page.locator("#uploads .upload");
  return rows.evaluateAll((all) => all.map((row) => [row.dataset.state, row.textContent]));
}

async function addsFiles(server, page) {
  await page.fill("#user", "");
  await page.fill("#groups", "");
  await page.click("#tab-files");
  const vector = VECTORS[1];
  await page.setInputFiles("#choose-files", [
    asFile("tea.md", "# Tea\n\nAnna drinks green tea.\n"),
    asFile(`${vector}.md`, `what about ${vector}`),
    asFile("picture.png", "\x89PNG\r\n\x00\x00"),
    asFile("..", "a name that is no path"),
  ]);
  let rows = await uploaded(page);
  assert.deepEqual(rows.map(([state]) => state), ["done", "done", "failed", "failed"]);
  assert.ok(rows[0][1].includes("1 item stored"), rows[0][1]);
  assert.ok(rows[1][1].startsWith(`${vector}.md`), "a hostile name is shown as it is");
  assert.ok(rows[2][1].includes("picture.png") && rows[2][1].includes("not stored"), rows[2][1]);
  assert.ok(rows[3][1].includes("not a relative path"), rows[3][1]);
  const summary = await text(page, "#uploads-summary");
  assert.equal(summary, "2 items stored from 4 files, 2 not stored.");
  const item = await server.ask("GET", `/v1/workspaces/hostile/items/${encodeURIComponent("tea.md")}`);
  assert.ok(item.body.includes("green tea"));
  await page.waitForFunction(
    (facts) => document.getElementById("workspace-facts").textContent.startsWith(facts),
    `${VECTORS.length + 3} items`,
  );
  await picture(page, "files");

  // A drop, with text that is no file beside the file, and one that misses its place.
  await page.evaluate((dropped) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["dropped text about soup"], dropped));
    transfer.items.add("https://evil.example/", "text/uri-list");
    const event = () => new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true });
    window.missed = document.body.dispatchEvent(event());
    document.getElementById("drop").dispatchEvent(event());
  }, "soup.txt");
  await page.waitForFunction(() => document.getElementById("uploads-summary").textContent.includes("from 1 file"));
  rows = await uploaded(page);
  assert.deepEqual(rows.map(([state]) => state), ["done"]);
  assert.equal(await page.evaluate(() => window.missed), false, "the browser does not open the file");

  // A folder keeps its paths; what is in it already is unchanged.
  await page.evaluate(() => {
    const file = new File(["a plan"], "plan.md");
    Object.defineProperty(file, "webkitRelativePath", { value: "docs/plan.md" });
    const input = document.getElementById("choose-folder");
    Object.defineProperty(input, "files", { value: [file], configurable: true });
    input.dispatchEvent(new Event("change"));
    delete input.files;
  });
  await page.waitForFunction(() => document.getElementById("uploads").textContent.includes("docs/plan.md"));
  await uploaded(page);
  await server.ask("GET", `/v1/workspaces/hostile/items/${encodeURIComponent("docs/plan.md")}`);
  await page.setInputFiles("#choose-files", [asFile("tea.md", "# Tea\n\nAnna drinks green tea.\n")]);
  await page.waitForFunction(() => document.getElementById("uploads").textContent.includes("1 unchanged"));
  assert.equal(await page.evaluate(() => window.pwned), undefined, "a name ran");
  assert.deepEqual(await page.evaluate(() => window.violations), []);
}

async function sharedView(server) {
  const { page, context, sound } = await visit(server.url);
  for (const vector of VECTORS) {
    const said = new URLSearchParams({
      workspace: "hostile",
      recipe: "hostile",
      query: vector,
      budget: "700",
      options: "",
      view: vector,
    });
    await page.goto(`${server.url}/#${said}`);
    await page.waitForFunction((query) => document.getElementById("query").value === query, vector);
    await page.waitForSelector("#summary:not([hidden])");
    await page.evaluate(() => (location.hash = ""));
    await page.waitForSelector("#summary", { state: "hidden" });
  }
  await sound();
  await page.goto(
    `${server.url}/#${new URLSearchParams({ workspace: VECTORS[1], recipe: VECTORS[0], query: "x" })}`,
  );
  await page.waitForSelector("#problem .problem");
  await page.keyboard.press("Tab");
  await sound([404]);
  await context.close();
}

async function asksForAKey() {
  const server = await start("keys");
  try {
    const key = server.key();
    await filled(server, { authorization: `Bearer ${key}` });
    const { page, context, sound } = await visit(server.url);
    await page.goto(`${server.url}/`);
    await page.waitForSelector("#key-area:not([hidden])");
    await says(page, "#key-area", "haversack key create");
    await picture(page, "key");
    await page.fill("#key", "hvs_wrong");
    await page.press("#key", "Enter");
    await page.waitForFunction(() => document.getElementById("key-title").textContent.includes("not good"));
    await page.fill("#key", key);
    await page.press("#key", "Enter");
    await page.waitForSelector("#key-area", { state: "hidden" });
    await page.waitForSelector("#recipe option[value=hostile]", { state: "attached" });
    await page.fill("#query", QUESTION);
    await pack(page);
    await page.waitForSelector("#summary:not([hidden])");
    const secret = key.slice(-12);
    const kept = await page.evaluate(() =>
      [
        location.href,
        document.documentElement.outerHTML,
        document.getElementById("key").value,
        JSON.stringify({ ...localStorage, ...sessionStorage }),
      ].join("\n"),
    );
    assert.ok(!kept.includes(secret), "the key is nowhere but in memory");
    // A key that may only read is refused for the first file, and no other is sent.
    await page.reload();
    await page.waitForSelector("#key-area:not([hidden])");
    await page.fill("#key", server.key("read"));
    await page.press("#key", "Enter");
    await page.waitForSelector("#recipe option[value=hostile]", { state: "attached" });
    await page.click("#tab-files");
    await page.setInputFiles("#choose-files", [asFile("a.md", "a"), asFile("b.md", "b")]);
    const rows = await uploaded(page);
    assert.ok(rows[0][1].includes("the scope write"), rows[0][1]);
    assert.deepEqual(rows.map(([state]) => state), ["failed", "left"]);
    await page.reload();
    await page.waitForSelector("#key-area:not([hidden])");
    await sound([401, 401, 401, 403, 401]);
    await context.close();
  } finally {
    await server.stop();
  }
}

async function fitsNarrowPages(server) {
  const said = new URLSearchParams({
    workspace: "hostile",
    recipe: "hostile",
    query: QUESTION,
    budget: "900",
  });
  for (const colorScheme of ["light", "dark"]) {
    const { page, context, sound } = await visit(server.url, {
      viewport: { width: 380, height: 800 },
      colorScheme,
    });
    await page.goto(`${server.url}/#${said}`);
    await page.waitForSelector("#summary:not([hidden])");
    for (const view of ["pack", "ledger", "frontier", "back", "search", "items", "files"]) {
      await page.click(`#tab-${view}`);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 380, `${view} is ${width} wide`);
    }
    await picture(page, `narrow-${colorScheme}`);
    await sound();
    await context.close();
  }
}

const server = await start();
try {
  await filled(server);
  const { page, context, sound } = await visit(server.url);
  await page.goto(`${server.url}/`);
  await packsAndLedger(server, page);
  await sound();
  await everyItem(page);
  await sound();
  await searches(page);
  await sound();
  await takesAPoint(page);
  await sound();
  await looksBack(server, page);
  await sound();
  await problems(page);
  await addsFiles(server, page);
  await context.close();
  await sharedView(server);
  await fitsNarrowPages(server);
  await asksForAKey();
} finally {
  await browser.close();
  await server.stop();
}
