// The client: a server, and who asks it.
import { Unreachable } from "./errors.js";
import type * as t from "./types.js";
import * as wire from "./wire.js";
import { Workspace } from "./workspace.js";

/** How a client is set up. Everything has a default. */
export interface ClientOptions {
  /** Where the server is. */
  url?: string;
  /** An API key. */
  key?: string;
  /** For whom a trusted key asks. Without user and groups it sees everything. */
  user?: string;
  /** Their groups. */
  groups?: readonly string[];
  /** How long an answer may take, in milliseconds. */
  timeoutMs?: number;
  /** How often a request that was refused with 429 or 503 is sent again, if it can be repeated. */
  retries?: number;
  /** What sends requests, instead of the platform's own `fetch`. */
  fetch?: typeof fetch;
}

/** One request. */
export interface Call {
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  query?: wire.Query;
  body?: unknown;
  /** Lines instead of a body. */
  lines?: string;
  /** A file instead of a body. */
  file?: Uint8Array<ArrayBuffer>;
  viewer?: Record<string, string>;
  idempotencyKey?: string | undefined;
  /** Whether it changes nothing, although it is a POST. */
  reads?: boolean;
  accept?: string;
  signal?: AbortSignal | undefined;
}

/** A server, and who asks it. */
export class Haversack {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #user: string | undefined;
  readonly #viewer: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions = {}) {
    this.#url = (options.url ?? wire.DEFAULT_URL).replace(/\/+$/, "");
    this.#headers = options.key === undefined ? {} : { Authorization: `Bearer ${options.key}` };
    this.#user = options.user;
    this.#viewer = wire.viewerHeaders(options.user, options.groups ?? []);
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#retries = options.retries ?? 2;
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /**
   * A workspace by name, asked for the client's user and groups unless others are given. Groups
   * without a user are those of the client's user; a user without groups has none. Nothing is sent:
   * `get` says whether the workspace is there.
   */
  workspace(name: string, viewer: { user?: string; groups?: readonly string[] } = {}): Workspace {
    const { user, groups } = viewer;
    const own = user === undefined && groups === undefined;
    return new Workspace(this, name, own ? this.#viewer : wire.somebody(user ?? this.#user, groups ?? []));
  }

  /** Whether the process runs. */
  livez(): Promise<t.Health> {
    return this.json({ method: "GET", path: "/livez" });
  }

  /** Whether the server takes requests. */
  readyz(): Promise<t.Health> {
    return this.json({ method: "GET", path: "/readyz" });
  }

  /** Whether all is well, with the version. */
  healthz(): Promise<t.Health> {
    return this.json({ method: "GET", path: "/healthz" });
  }

  /** The figures of the server, as Prometheus reads them. */
  async metrics(): Promise<string> {
    return this.#text(await this.send({ method: "GET", path: "/metrics" }), undefined);
  }

  /** The server's own description. */
  openapi(): Promise<Record<string, unknown>> {
    return this.json({ method: "GET", path: "/openapi.json" });
  }

  /** All workspaces that the key reaches, however many pages they fill. */
  async listWorkspaces(): Promise<t.Workspaces> {
    const pages = this.pages<t.Workspaces>({ method: "GET", path: "/v1/workspaces" });
    const workspaces: t.WorkspaceName[] = [];
    for await (const page of pages) workspaces.push(...page.workspaces);
    return { workspaces };
  }

  /** The embedding model of new workspaces. */
  getDefaultModel(): Promise<t.DefaultModel> {
    return this.json({ method: "GET", path: "/v1/model" });
  }

  /** New workspaces get this embedding model from now on. */
  setDefaultModel(name: string): Promise<t.DefaultModel> {
    return this.json({ method: "PUT", path: "/v1/model", body: { name } });
  }

  /** The pages of a list, one after the other. For operations that have no method yet. */
  async *pages<T extends { next?: string | null }>(call: Call): AsyncGenerator<T> {
    let after: string | undefined;
    do {
      const page: T = await this.json({ ...call, query: { limit: wire.PAGE_MAX, ...call.query, after } });
      yield page;
      after = page.next ?? undefined;
    } while (after !== undefined);
  }

  /** Makes a workspace. */
  createWorkspace(name: string, options: { idempotencyKey?: string } = {}): Promise<t.WorkspaceName> {
    const { idempotencyKey } = options;
    return this.json({ method: "POST", path: "/v1/workspaces", body: { name }, idempotencyKey });
  }

  /** Sends a request and reads the JSON of its answer. For operations that have no method yet. */
  async json<T>(call: Call): Promise<T> {
    const text = await this.#text(await this.send(call), call.signal);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /** The events of an answer, as they come. */
  async *events(response: Response, signal?: AbortSignal): AsyncGenerator<t.StreamEvent> {
    if (response.body === null) return;
    const lost = (error: unknown): unknown => this.#lost(error, signal);
    yield* wire.events(response.body, lost);
  }

  async #text(response: Response, signal: AbortSignal | undefined): Promise<string> {
    try {
      return await response.text();
    } catch (error) {
      throw this.#lost(error, signal);
    }
  }

  /** What a connection that broke is told as, before the answer or in the middle of it. */
  #lost(error: unknown, signal: AbortSignal | undefined): unknown {
    // The caller's own doing is the caller's own error.
    if (signal?.aborted === true) return error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? cause.message || cause.name : String(cause);
    return new Unreachable("unreachable", 0, `no answer from ${this.#url}: ${why}`, {}, error);
  }

  /** Sends a request, and again if it may be repeated and the server was busy. */
  async send(call: Call): Promise<Response> {
    const headers: Record<string, string> = { ...this.#headers, ...call.viewer };
    let body: string | Uint8Array<ArrayBuffer> | undefined;
    if (call.file !== undefined) {
      headers["Content-Type"] = "application/octet-stream";
      body = call.file;
    } else if (call.lines !== undefined) {
      headers["Content-Type"] = "application/x-ndjson";
      body = call.lines;
    } else if (call.body !== undefined) {
      headers["Content-Type"] = "application/json";
      body = JSON.stringify(call.body);
    }
    if (call.accept !== undefined) headers["Accept"] = call.accept;
    if (call.idempotencyKey !== undefined) headers["Idempotency-Key"] = call.idempotencyKey;
    const repeatable = call.method !== "POST" || call.reads === true || call.idempotencyKey !== undefined;
    const url = this.#url + call.path + wire.query(call.query);
    const init: RequestInit = { method: call.method, headers, ...(body === undefined ? {} : { body }) };
    for (let attempt = 0; ; attempt += 1) {
      const response = await this.#once(url, init, call.signal);
      if (response.ok) return response;
      const failure = wire.failure(response, await this.#text(response, call.signal));
      const wait = wire.waitSeconds(attempt, failure.retryAfter);
      const again = repeatable && (response.status === 429 || response.status === 503);
      if (!again || wait === undefined || attempt >= this.#retries) throw failure;
      await new Promise((done) => setTimeout(done, wait * 1000));
      call.signal?.throwIfAborted();
    }
  }

  async #once(url: string, init: RequestInit, signal: AbortSignal | undefined): Promise<Response> {
    const late = AbortSignal.timeout(this.#timeoutMs);
    try {
      return await this.#fetch(url, {
        ...init,
        signal: signal === undefined ? late : AbortSignal.any([signal, late]),
      });
    } catch (error) {
      throw this.#lost(error, signal);
    }
  }
}
