// Every operation of the server.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, beforeEach, test } from "node:test";
import * as haversack from "../src/index.js";
import { Haversack, Workspace } from "../src/index.js";
import { start, type Server } from "./server.js";

const METHODS: Record<string, string> = {
  createWorkspace: "createWorkspace",
  addFiles: "addFile",
  getWorkspace: "get",
  removeWorkspace: "remove",
  buildContext: "buildAny",
  buildContextEverything: "pack",
  buildContextProposal: "buildProposalContext",
  buildContextPrime: "build",
  buildContextWorkspace: "assemble",
  buildContextSituation: "assembleContext",
  buildContextMemory: "buildContext",
};

let server: Server;
let client: Haversack;
let ws: Workspace;
let count = 0;

before(async () => {
  server = await start();
  client = new Haversack({ url: server.url, timeoutMs: 60_000 });
});
after(() => server.stop());

beforeEach(async () => {
  count += 1;
  ws = client.workspace(`test-${count}`);
  await ws.create();
  await ws.putItems([
    {
      id: "discounts",
      kind: "note",
      title: "Discounts",
      body: "Mara approves every discount above ten percent. Below that, sales decide.",
      path: "handbook/discounts.md",
    },
    {
      id: "launch",
      kind: "note",
      title: "Launch",
      body: "The launch of the new roaster is on the third of May in Lübeck.",
      path: "handbook/launch.md",
    },
    {
      id: "salaries",
      kind: "note",
      title: "Salaries",
      body: "Salaries and discounts for staff are decided by Jonas.",
      readers: ["user:jonas", "group:board"],
    },
  ]);
});

test("every operation has a method", async () => {
  const { paths } = (await client.openapi()) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const operations = Object.values(paths).flatMap((path) =>
    Object.values(path).map((operation) => operation.operationId),
  );
  assert.ok(operations.length > 40);
  // What is asked over MCP is asked by clients of MCP, who gives tokens by who looks for one, the
  // inspector by a browser, rows of databases are sent by `haversack sync`, and users are erased by
  // `haversack user erase`.
  const others = ["mcp", "protectedResource", "protectedMcp", "inspector", "inspectorFile"];
  others.push("getSource", "writeSource", "eraseUser");
  for (const operation of operations.filter((operation) => !others.includes(operation))) {
    const name = METHODS[operation] ?? operation;
    assert.ok(name in Workspace.prototype || name in Haversack.prototype, operation);
  }
});

test("the types are those of the server", async () => {
  const { types } = (await import(
    new URL("../../scripts/types.mjs", import.meta.url).href
  )) as { types(document: unknown): Promise<string> };
  const kept = await readFile(new URL("../../src/schema.ts", import.meta.url), "utf8");
  assert.ok((await types(await client.openapi())) === kept, "stale: run npm run schema");
});

test("the server says how it is", async () => {
  assert.deepEqual(await client.livez(), { status: "ok" });
  assert.deepEqual(await client.readyz(), { status: "ok" });
  assert.ok((await client.healthz()).version);
  assert.match(await client.metrics(), /haversack_http_requests_total/);
});

test("workspaces are made, listed and removed", async () => {
  const { workspaces } = await client.listWorkspaces();
  assert.ok(workspaces.some(({ name }) => name === ws.name));
  assert.equal((await ws.get()).items, 3);
  await assert.rejects(client.createWorkspace(ws.name), haversack.Conflict);
  assert.equal(await ws.remove(), undefined);
  await assert.rejects(ws.get(), haversack.NotFound);
});

test("items are written, listed, read and deleted", async () => {
  assert.equal((await ws.getItem("launch")).path, "handbook/launch.md");
  const first = await ws.listItems({ kind: "note", limit: 2 });
  assert.deepEqual(first.items.map(({ id }) => id), ["discounts", "launch"]);
  const all: string[] = [];
  for await (const item of ws.items({ limit: 1 })) all.push(item.id);
  assert.deepEqual(all, ["discounts", "launch", "salaries"]);
  assert.equal((await ws.deleteItem("launch")).stored, 1);
  assert.equal((await ws.deleteItem("salaries", { purge: true })).stored, 1);
  await assert.rejects(ws.getItem("launch"), { code: "item_not_found", status: 404 });
  await ws.putItems([{ id: "a/b ü?#%", kind: "note", created: "2026-05-03" }]);
  assert.match((await ws.getItem("a/b ü?#%")).created ?? "", /^2026-05-03/);
});

test("links and events are written", async () => {
  const link = { from: "launch", to: "discounts", sort: "link" };
  assert.equal((await ws.putLinks({ add: [link] })).stored, 1);
  assert.equal((await ws.putLinks({ remove: [link] })).stored, 1);
  const events = [{ item: "launch", happening: "viewed", user: "anna" }] as const;
  assert.equal((await ws.putEvents(events)).stored, 1);
});

test("a stream of any length is ingested, in pieces", async () => {
  const body = "A line that is long enough to fill more than one piece. ".repeat(15);
  async function* many(): AsyncGenerator<haversack.NewItem> {
    for (let n = 0; n < 1500; n += 1) yield { id: `line-${n}`, kind: "note", body: `${n} ${body}` };
  }
  const written = await ws.ingest(many());
  assert.deepEqual([written.stored, written.unchanged], [1500, 0]);
  assert.equal((await ws.ingest(many())).unchanged, 1500);
  assert.equal((await ws.ingest([])).stored, 0);
  function* wrong(): Generator<haversack.NewItem> {
    for (let n = 0; n < 1500; n += 1) {
      yield { id: `line-${n}`, kind: n === 1400 ? "" : "note", body: `${n} ${body}` };
    }
  }
  await assert.rejects(ws.ingest(wrong()), (error: haversack.HaversackError) => {
    assert.ok(error instanceof haversack.ValidationError);
    assert.deepEqual([error.line, error.stored, error.field], [1401, 1400, "kind"]);
    return true;
  });
});

test("memories are added, searched and built", async () => {
  const added = await ws.addMemories([
    { content: "Anna drinks green tea, never coffee.", type: "preference" },
    { content: "Anna's birthday is on the third of March.", type: "fact" },
    { content: "Anna drinks green tea, never coffee.", id: "again" },
  ]);
  assert.equal(added.stored.length, 2);
  assert.deepEqual(added.leftOut.map(({ id }) => id), ["again"]);
  const found = await ws.searchMemories("what does Anna drink?", { limit: 1 });
  assert.match(found[0]?.memory.content ?? "", /green tea/);
  const both = await ws.searchMemoriesBatch([{ query: "tea" }, { query: "birthday", limit: 1 }]);
  assert.deepEqual([both.length, both[1]?.length], [2, 1]);
  const built = await ws.buildContext("what does Anna drink?", { tokenBudget: 200 });
  assert.match(built.context, /green tea/);
  assert.ok(built.tokenCount <= 200);
  const preview = await ws.previewContext("what does Anna drink?", { tokenBudget: 200 });
  assert.equal(preview.context, built.context);
  assert.ok(preview.memoryIds.every((id) => id in preview.rankingScores));
  assert.ok(preview.budgetUsed > 0 && preview.budgetUsed <= 100);
});

test("memories are found by vector", async () => {
  await ws.addMemories([{ content: "Anna drinks green tea." }, { content: "Bob runs at dawn." }]);
  const wrong: unknown = await ws.searchByVector([1, 0]).catch((error: unknown) => error);
  assert.ok(wrong instanceof haversack.ValidationError);
  const size = Math.max(...(wrong.detail.match(/\d+/g) ?? []).map(Number));
  const vector = [1, ...Array<number>(size - 1).fill(0)];
  assert.equal((await ws.searchByVector(vector, { limit: 2 })).length, 2);
  assert.ok((await ws.buildContextByVector(vector, { tokenBudget: 300 })).tokenCount <= 300);
});

test("search finds by all ways or one", async () => {
  const { found } = await ws.search("who approves a discount?", { limit: 2, excerpt: 40 });
  assert.equal(found[0]?.id, "discounts");
  const spelled = await ws.search("dicsounts", { way: "fuzzy", kinds: ["note"], perItem: 1 });
  assert.ok(Array.isArray(spelled.found));
});

test("a pack comes as messages for a provider", async () => {
  const query = "who approves a discount?";
  const plain = await ws.pack(query, { tokenBudget: 600 });
  assert.equal(plain.assembly.messages, undefined);
  const pack = await ws.pack(query, { tokenBudget: 600 }, { messages: "openai" });
  const messages = pack.assembly.messages;
  assert.ok(messages && "prompt_cache_key" in messages);
  assert.match(JSON.stringify(messages.messages), /Mara/);
  const other = await ws.pack(query, { tokenBudget: 600 }, { messages: "anthropic" });
  assert.equal(other.assembly.messages?.messages.at(-1)?.role, "user");
});

test("a pack is built, explained and looked back at", async () => {
  const options = { tokenBudget: 600 };
  const pack = await ws.pack("who approves a discount?", options, { explain: true });
  assert.match(pack.context, /Mara/);
  assert.ok(pack.tokenCount <= 600 && pack.assembly.ledger);
  const receipt = await ws.getReceipt(pack.assembly.receipt);
  assert.equal(receipt.tokens, pack.tokenCount);
  const replay = await ws.replay(receipt.id);
  assert.ok(replay.difference.same);
  const other = await ws.pack("when is the launch?", options);
  const difference = await ws.diff(receipt.id, other.assembly.receipt);
  assert.ok(!difference.same && difference.causes.some(({ cause }) => cause === "request"));
  const same = await ws.buildAny("everything", { query: "who approves a discount?", tokenBudget: 600 });
  assert.equal(same.context, pack.context);
  const preview = await ws.pack("who approves?", {}, { preview: true });
  await assert.rejects(ws.getReceipt(preview.assembly.receipt), { code: "receipt_not_found" });
});

test("a build is watched as it goes", async () => {
  const events: haversack.StreamEvent[] = [];
  const request = { query: "who approves a discount?", tokenBudget: 600 };
  for await (const event of ws.streamContext("everything", request)) events.push(event);
  assert.equal(events[0]?.event, "stage");
  const last = events.at(-1);
  assert.ok(last?.event === "result");
  assert.equal(last.result.context, (await ws.buildAny("everything", request)).context);
  await assert.rejects(ws.streamContext("nowhere", {}).next(), { code: "recipe_not_found" });
  const failing = ws.streamContext("everything", { query: "x", template: "nowhere" });
  await assert.rejects(async () => {
    for await (const event of failing) assert.equal(event.event, "stage");
  }, haversack.TemplateNotFound);
  for await (const event of ws.streamContext("everything", request)) {
    assert.equal(event.event, "stage");
    break;
  }
});

test("other budgets are compared", async () => {
  const { points } = await ws.frontier("everything", { query: "discount" }, [300, 600]);
  assert.deepEqual(points.map(({ budget }) => budget), [300, 600]);
});

test("prime gives a list with citations", async () => {
  await ws.putItems([{ id: "f1", kind: "file", path: "p.md", body: "Nightjar costs 22.90." }]);
  const answer = await ws.build(undefined, "What does Nightjar cost?", { tokenBudget: 800 });
  const again = await ws.buildPrimeContext(undefined, "What does Nightjar cost?", { tokenBudget: 800 });
  assert.equal(again.context, answer.context);
  const first = answer.data.citations[0];
  assert.ok(first);
  const cited = await ws.citations(answer.assembly.receipt, `It costs 22.90 ${first.id}.`);
  assert.deepEqual(cited.citations.filter((one) => one.usedInResponse).map(({ id }) => id), [first.id]);
  assert.match(cited.sources, /p\.md/);
  assert.equal(await ws.feedback(first.item, true, { user: "anna", idempotencyKey: ws.name }), undefined);
});

test("blocks are assembled, counted and checked", async () => {
  await ws.putItems([
    { id: "move", kind: "page", title: "Moving the library" },
    { id: "task", kind: "todo", parent: "move", body: "Move the periodicals." },
  ]);
  const payload = await ws.assemble("Break this task into subtasks", {
    focus: { blockId: "task" },
    type: "assist",
    user: "mara",
    tokenBudget: { total: 2000, focus: 800 },
  });
  assert.equal(payload.metadata.focusBlockId, "task");
  const { tokenizer } = payload.assembly;
  assert.equal((await ws.estimateTokens(payload, { tokenizer })).tokens, payload.metadata.totalTokens);
  assert.deepEqual(await ws.validate(payload, { user: "mara" }), { valid: true, problems: [] });
  payload.metadata.totalTokens += 1;
  assert.equal((await ws.validate(payload)).valid, false);
  const counted = await ws.estimateTokens("How many tokens is this?", { model: "gpt-4o" });
  assert.deepEqual(counted, { tokens: 6, tokenizer: "o200k_base", accuracy: "exact" });
});

test("a situation brings in what its rules say", async () => {
  const condition = 'situation.environment == "production"';
  await ws.putItems([
    {
      id: "team",
      kind: "context",
      title: "Payments",
      fields: { injection_rules: [{ name: "production", condition, inject: ["guide"] }] },
    },
    {
      id: "guide",
      kind: "context",
      title: "Release guide",
      fields: { behavior_rules: [{ trigger: "before a run", action: "take a backup" }] },
    },
  ]);
  const situation = { environment: "production" };
  const context = await ws.assembleContext({ currentContext: "team", situation, maxTokens: 1000 });
  assert.match(context.context, /take a backup/);
  await assert.rejects(
    ws.assembleContext({ currentContext: "guide", maxTokens: 1 }),
    haversack.BudgetTooSmall,
  );
});

test("a proposal has its layers", async () => {
  await ws.putItems([
    { id: "company", kind: "company_profile", fields: { summary: "We keep it cold." } },
    { id: "harrow", kind: "opportunity", fields: { name: "Harrow Hospitals" } },
  ]);
  const context = await ws.buildProposalContext("harrow", "Write the summary", { targetBudget: 8000 });
  assert.ok(context.companyProfile);
  assert.equal(context.budgetStatus.isOverBudget, false);
});

test("templates, rankers and recipes are kept", async () => {
  await ws.registerTemplate("brief", { header: "Memories:\n", item: "- {{content}}\n" });
  assert.deepEqual(await ws.listTemplates(), { names: ["brief"] });
  assert.equal((await ws.getTemplate("brief")).item, "- {{content}}\n");
  await ws.registerRanker("fresh", "semantic * 0.7 + recency * 0.3");
  assert.deepEqual(await ws.listRankers(), { names: ["fresh"] });
  assert.deepEqual(await ws.getRanker("fresh"), { expression: "semantic * 0.7 + recency * 0.3" });
  await ws.addMemories([{ content: "Anna drinks green tea." }]);
  const built = await ws.buildContext("Anna", { template: "brief", ranker: "fresh" });
  assert.match(built.context, /Memories:/);
  await ws.putRecipe("mine", 'haversack = 1\nname = "mine"\nextends = "memory"\n');
  assert.ok((await ws.listRecipes()).names.includes("mine"));
  assert.match((await ws.getRecipe("mine")).source, /memory/);
  assert.equal((await ws.buildContext("Anna", {}, { recipe: "mine" })).assembly.recipe, "mine");
  await ws.removeRecipe("mine");
  await ws.removeRanker("fresh");
  await ws.removeTemplate("brief");
  await assert.rejects(ws.getTemplate("brief"), haversack.TemplateNotFound);
});

test("lists are read to their end", async () => {
  const names = ["a", "b", "c", "d", "e"];
  for (const name of names) {
    await ws.registerRanker(name, "semantic");
    await ws.registerTemplate(name, { item: "- {{content}}\n" });
  }
  let pages = 0;
  const few = new Haversack({
    url: server.url,
    fetch: (input, init) => {
      pages += 1;
      return fetch(String(input).replace("limit=1000", "limit=2"), init);
    },
  });
  assert.deepEqual(await few.workspace(ws.name).listRankers(), { names });
  assert.deepEqual(await few.workspace(ws.name).listTemplates(), { names });
  assert.equal(pages, 6);
  assert.deepEqual(await few.workspace(ws.name).listRecipes(), await ws.listRecipes());
  assert.deepEqual(await few.listWorkspaces(), await client.listWorkspaces());
});

test("a viewer sees what they may read", async () => {
  assert.equal((await ws.asUser("anna").get()).items, 2);
  assert.equal((await ws.asUser("anna", ["board"]).get()).items, 3);
  assert.equal((await client.workspace(ws.name, { user: "jonas" }).get()).items, 3);
  await assert.rejects(ws.asUser("anna").getItem("salaries"), haversack.NotFound);
});

test("every name arrives as what it is", async () => {
  const names = ["anna", "%61nna", "50%", "jürgen", "a,b", "a b", "it's (!*)", "日本"];
  const readers = [...names.map((name) => `user:${name}`), ...names.map((name) => `group:${name}`)];
  await ws.putItems(
    readers.map((reader, n) => ({ id: `for-${n}`, kind: "note", body: "x", readers: [reader] })),
  );
  const seen = async (viewer: Workspace): Promise<string[]> => {
    const ids: string[] = [];
    for await (const { id } of viewer.items()) if (id.startsWith("for-")) ids.push(id);
    return ids;
  };
  for (const [n, name] of names.entries()) {
    assert.deepEqual(await seen(ws.asUser(name)), [`for-${n}`], name);
    assert.deepEqual(await seen(client.workspace(ws.name, { user: name })), [`for-${n}`], name);
    const group = [`for-${n + names.length}`];
    assert.deepEqual(await seen(ws.asUser(undefined, ["other", name])), group, name);
  }
  await assert.rejects(ws.asUser("%61nna").getItem("for-0"), haversack.NotFound);
  assert.throws(() => ws.asUser(""), RangeError);
  assert.throws(() => ws.asUser("anna", [""]), RangeError);
});

test("nobody sees everything by mistake", async () => {
  const annas = new Haversack({ url: server.url, user: "anna", groups: ["board"] });
  const items = async (workspace: Workspace): Promise<number> => (await workspace.get()).items;
  assert.equal(await items(annas.workspace(ws.name)), 3);
  assert.equal(await items(annas.workspace(ws.name, {})), 3);
  assert.equal(await items(annas.workspace(ws.name, { groups: [] })), 2);
  assert.equal(await items(annas.workspace(ws.name, { groups: ["sales"] })), 2);
  assert.equal(await items(annas.workspace(ws.name, { user: "ben" })), 2, "her groups are not his");
  assert.equal(await items(annas.workspace(ws.name, { groups: [] }).asOwner()), 3);
  const sales = new Haversack({ url: server.url, user: "anna" });
  assert.equal(await items(sales.workspace(ws.name, {})), 2);
  const board = new Haversack({ url: server.url, groups: ["board"] });
  for (const asked of [board, client]) {
    assert.throws(() => asked.workspace(ws.name, { groups: [] }), /asOwner/);
  }
  assert.throws(() => ws.asUser(undefined), /asOwner/);
});

test("errors name the field, and keys of repeats are heeded", async () => {
  const bad = [{ id: "ok", kind: "note" }, { id: "bad", kind: "" }];
  await assert.rejects(ws.putItems(bad), { code: "validation_error", field: "[1].kind", status: 400 });
  const write = { idempotencyKey: `${ws.name}-1` };
  const first = await ws.putItems([{ id: "once", kind: "note" }], write);
  assert.deepEqual(await ws.putItems([{ id: "once", kind: "note" }], write), first);
  await assert.rejects(ws.putItems([{ id: "twice", kind: "note" }], write), haversack.Conflict);
});

test("a file is read", async () => {
  const bytes = new TextEncoder().encode("# The well\n\nIt is dug in June.\n");
  const added = await ws.addFile("notes/well.md", bytes);
  assert.deepEqual([added.stored, added.skipped], [1, []]);
  assert.equal((await ws.getItem("notes/well.md")).title, "The well");
});
