// Keys, errors and retries.
import assert from "node:assert/strict";
import { createServer, type Server as Stub } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import * as haversack from "../src/index.js";
import { Haversack } from "../src/index.js";
import { path, waitSeconds } from "../src/wire.js";
import { start, type Server } from "./server.js";

let server: Server;
let stub: Stub;
let url: string;
let refusals: { status: number; wait?: string }[] = [];
let seen = 0;

before(async () => {
  server = await start({ HAVERSACK_SERVER_AUTH: "keys" });
  stub = createServer((request, response) => {
    seen += 1;
    request.resume();
    const refusal = refusals.shift();
    const code = refusal && { 429: "rate_limited", 503: "overloaded", 500: "internal" }[refusal.status];
    response.statusCode = refusal?.status ?? 200;
    if (refusal?.wait !== undefined) response.setHeader("Retry-After", refusal.wait);
    response.end(JSON.stringify(code === undefined ? { status: "ok" } : { code, detail: "busy" }));
  });
  await new Promise<void>((done) => stub.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${(stub.address() as AddressInfo).port}`;
});
after(async () => {
  stub.closeAllConnections();
  stub.close();
  await server.stop();
});
beforeEach(() => {
  [refusals, seen] = [[], 0];
});

test("a key reaches as far as it says", async () => {
  const admin = new Haversack({ url: server.url, key: server.key("admin", "--scope", "admin") });
  await admin.createWorkspace("acme");
  await assert.rejects(new Haversack({ url: server.url }).listWorkspaces(), (error: unknown) => {
    assert.ok(error instanceof haversack.Unauthenticated);
    assert.equal(error.name, "Unauthenticated");
    assert.ok(error.requestId);
    return true;
  });
  const reader = new Haversack({ url: server.url, key: server.key("reader") });
  assert.deepEqual(await reader.listWorkspaces(), { workspaces: [{ name: "acme" }] });
  await assert.rejects(reader.metrics(), haversack.Forbidden);
  await assert.rejects(
    reader.workspace("acme").putItems([{ id: "a", kind: "note" }]),
    haversack.Forbidden,
  );
});

test("a server that is not there is unreachable, and so is one that is too slow", async () => {
  const nobody = new Haversack({ url: "http://127.0.0.1:9" });
  await assert.rejects(nobody.livez(), { code: "unreachable", status: 0 });
  const slow: typeof fetch = (_input, init) =>
    new Promise((_, failed) => {
      init?.signal?.addEventListener("abort", () => failed(init.signal?.reason));
    });
  const late = new Haversack({ url, timeoutMs: 5, fetch: slow });
  await assert.rejects(late.livez(), haversack.Unreachable);
  const aborted = AbortSignal.abort(new Error("enough"));
  const ws = new Haversack({ url }).workspace("acme");
  await assert.rejects(ws.pack("x", {}, { signal: aborted }), { message: "enough" });
});

test("what can be repeated is, after the wait", async () => {
  refusals = [{ status: 429, wait: "0" }, { status: 503 }];
  assert.deepEqual(await new Haversack({ url }).livez(), { status: "ok" });
  assert.equal(seen, 3);
  refusals = [{ status: 503, wait: "0" }];
  await new Haversack({ url }).workspace("acme").buildAny("memory", { query: "x" });
  refusals = [{ status: 429, wait: "0" }];
  await new Haversack({ url }).workspace("acme").putItems([], { idempotencyKey: "once" });
  assert.equal(seen, 7);
});

test("an answer that breaks off, or stops coming, is no answer", async () => {
  const broken = createServer((request, response) => {
    request.resume();
    const status = request.url?.includes("refused") ? 500 : 200;
    response.writeHead(status, { "Content-Type": "text/event-stream", "Content-Length": "1000" });
    response.write('event: stage\ndata: {"stage":"analyse","ms":1}\n\n', () => {
      if (!request.url?.includes("slow")) response.socket?.destroy();
    });
  });
  await new Promise<void>((done) => broken.listen(0, "127.0.0.1", done));
  const at = `http://127.0.0.1:${(broken.address() as AddressInfo).port}`;
  try {
    for (const name of ["gone", "slow", "refused", "refused-slow"]) {
      const client = new Haversack({ url: at, timeoutMs: 200 });
      const workspace = client.workspace(name);
      const told = (error: unknown): boolean => {
        assert.ok(error instanceof haversack.Unreachable, `${name}: ${error}`);
        assert.deepEqual([error.code, error.status], ["unreachable", 0]);
        assert.ok(error.cause !== undefined);
        return true;
      };
      await assert.rejects(workspace.get(), told);
      await assert.rejects(workspace.pack("x"), told);
      await assert.rejects(async () => {
        for await (const event of workspace.streamContext("everything", {})) {
          assert.equal(event.event, "stage");
        }
      }, told);
    }
    await assert.rejects(new Haversack({ url: at }).metrics(), haversack.Unreachable);
    const own = new AbortController();
    const slow = new Haversack({ url: at }).workspace("slow");
    const watched = slow.streamContext("everything", {}, { signal: own.signal });
    assert.equal((await watched.next()).value.event, "stage");
    own.abort();
    await assert.rejects(watched.next(), { name: "AbortError" });
  } finally {
    broken.closeAllConnections();
    broken.close();
  }
});

test("what cannot be repeated is not", async () => {
  refusals = [{ status: 503, wait: "0" }, { status: 500 }, { status: 429, wait: "3600" }];
  await assert.rejects(new Haversack({ url }).workspace("acme").putItems([]), haversack.Overloaded);
  await assert.rejects(new Haversack({ url }).livez(), { code: "internal" });
  await assert.rejects(new Haversack({ url }).livez(), { code: "rate_limited", retryAfter: 3600 });
  assert.equal(seen, 3);
  refusals = [1, 2, 3].map(() => ({ status: 429, wait: "0" }));
  await assert.rejects(new Haversack({ url, retries: 2 }).livez(), haversack.RateLimited);
  assert.equal(seen, 6);
});

test("waits grow and heed the server", () => {
  for (let n = 0; n < 6; n += 1) assert.ok((waitSeconds(n, undefined) ?? 99) <= 0.25 * 2 ** n);
  assert.ok((waitSeconds(0, 2) ?? 0) >= 2);
  assert.equal(waitSeconds(0, 31), undefined);
});

test("a path cannot be left", () => {
  assert.equal(path("a/b", "ü"), "/a%2Fb/%C3%BC");
  assert.throws(() => path(".."), RangeError);
});

test("every code of the server has its class", async () => {
  const document = (await new Haversack({ url: server.url }).openapi()) as {
    components: { responses: Record<string, { content: Record<string, { examples: object }> }> };
  };
  const codes = Object.values(document.components.responses)
    .flatMap((answer) => Object.values(answer.content))
    .flatMap((content) => Object.keys(content.examples));
  const plain = ["internal", "method_not_allowed", "wrong_host"];
  assert.deepEqual(codes.sort(), [...Object.keys(haversack.BY_CODE), ...plain].sort());
});

test("answers of others are told from the server's", () => {
  assert.equal(haversack.problem(502, undefined).code, "http_502");
  assert.ok(haversack.problem(429, []) instanceof haversack.RateLimited);
});
