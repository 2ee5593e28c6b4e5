// A workspace, with a method for each operation of the server.
import type { Call, Haversack } from "./client.js";
import { HaversackError, Unreachable } from "./errors.js";
import type * as t from "./types.js";
import * as wire from "./wire.js";

/** How a context is built. */
export interface Build {
  /** Another recipe of the same shape. */
  recipe?: string;
  /** Whether the ledger and the quality are told. */
  explain?: boolean;
  /** Whether nothing is kept: no receipt, no use, no cache. */
  preview?: boolean;
  /** The provider for whose requests the pack is given as messages, too: `assembly.messages`. */
  messages?: "anthropic" | "openai";
  /** Ends the request. */
  signal?: AbortSignal;
}

/** How a write is made. With a key, it can be sent again without being done twice. */
export interface Write {
  idempotencyKey?: string;
}

/** Lines of a stream are sent in pieces of about this many characters. */
const PIECE = 1 << 20;

type Body = Record<string, unknown>;

/** A workspace, asked for a certain viewer. */
export class Workspace {
  readonly name: string;
  readonly #client: Haversack;
  readonly #viewer: Record<string, string>;
  readonly #base: string;

  constructor(client: Haversack, name: string, viewer: Record<string, string>) {
    this.name = name;
    this.#client = client;
    this.#viewer = viewer;
    this.#base = wire.path("v1", "workspaces", name);
  }

  /** The same workspace, asked for somebody else. The key must be trusted to. */
  asUser(user: string | undefined, groups: readonly string[] = []): Workspace {
    return new Workspace(this.#client, this.name, wire.somebody(user, groups));
  }

  /** The same workspace, asked for nobody: a trusted key then sees everything in it. */
  asOwner(): Workspace {
    return new Workspace(this.#client, this.name, {});
  }

  #call<T>(method: Call["method"], parts: string[], more: Partial<Call> = {}): Promise<T> {
    const path = this.#base + wire.path(...parts);
    return this.#client.json({ method, path, viewer: this.#viewer, ...more });
  }

  #ask<T>(parts: string[], body: unknown, more: Partial<Call> = {}): Promise<T> {
    return this.#call("POST", parts, { body, reads: true, ...more });
  }

  #write<T>(parts: string[], body: unknown, write: Write): Promise<T> {
    return this.#call("POST", parts, { body, idempotencyKey: write.idempotencyKey });
  }

  async #names(shelf: string): Promise<t.Names> {
    const path = this.#base + wire.path(shelf);
    const names: string[] = [];
    const pages = this.#client.pages<t.Names>({ method: "GET", path, viewer: this.#viewer });
    for await (const page of pages) names.push(...page.names);
    return { names };
  }

  // The workspace itself

  /** Makes the workspace. */
  create(write: Write = {}): Promise<t.WorkspaceName> {
    return this.#client.createWorkspace(this.name, write);
  }

  /** Its state, and how many items the viewer can read. */
  get(): Promise<t.WorkspaceState> {
    return this.#call("GET", []);
  }

  /** Its embedding model, how far a change is, and what was used of models today. */
  getModel(): Promise<t.WorkspaceModel> {
    return this.#call("GET", ["model"]);
  }

  /** Starts to change it to another embedding model. It answers all the while. */
  changeModel(name: string): Promise<t.WorkspaceModel> {
    return this.#call("PUT", ["model"], { body: { name } });
  }

  /** Removes the workspace with all that is in it. */
  remove(): Promise<void> {
    return this.#call("DELETE", []);
  }

  // Items, links and events

  /** Adds items or replaces them, all or none. */
  putItems(items: readonly t.NewItem[], write: Write = {}): Promise<t.Written> {
    return this.#write(["items"], items, write);
  }

  /** Reads a file of any known format. `name` is its path in the workspace, with its extension. */
  addFile(name: string, file: Uint8Array<ArrayBuffer>): Promise<t.FilesAdded> {
    return this.#call("POST", ["files"], { query: { name }, file });
  }

  /**
   * Adds any number of items, written as they come, a piece at a time. An item that is wrong ends the
   * stream: the error has its `line`, and how many before it are `stored`. Items that are there
   * exactly so stay, so a stream can be sent again.
   */
  async ingest(items: Iterable<t.NewItem> | AsyncIterable<t.NewItem>): Promise<t.Written> {
    const sum: t.Written = { revision: 0, stored: 0, unchanged: 0 };
    let [lines, count, sent] = ["", 0, 0];
    const flush = async (): Promise<void> => {
      if (count === 0) return;
      const written = await this.#lines(lines, sent, sum);
      sum.revision = written.revision;
      sum.stored += written.stored;
      sum.unchanged += written.unchanged;
      [lines, sent, count] = ["", sent + count, 0];
    };
    for await (const item of items) {
      lines += `${JSON.stringify(item)}\n`;
      count += 1;
      if (lines.length >= PIECE) await flush();
    }
    await flush();
    return sum;
  }

  async #lines(lines: string, before: number, sum: t.Written): Promise<t.Written> {
    try {
      return await this.#call("POST", ["items"], { lines });
    } catch (error) {
      if (!(error instanceof HaversackError) || error.line === undefined) throw error;
      // The server counts the lines of a piece, the caller those of the whole.
      const Class = error.constructor as typeof HaversackError;
      throw new Class(error.code, error.status, error.detail, {
        title: error.title,
        ...(error.field === undefined ? {} : { field: error.field }),
        line: error.line + before,
        stored: (error.stored ?? 0) + sum.stored + sum.unchanged,
        ...(error.retryAfter === undefined ? {} : { retryAfter: error.retryAfter }),
        ...(error.requestId === undefined ? {} : { requestId: error.requestId }),
      });
    }
  }

  /** One page of items by id. `next` of a page is `after` of the one that follows. */
  listItems(
    page: { kind?: string; parent?: string; after?: string; limit?: number } = {},
  ): Promise<t.ItemPage> {
    return this.#call("GET", ["items"], { query: page });
  }

  /** All items by id, a page at a time. */
  async *items(only: { kind?: string; parent?: string; limit?: number } = {}): AsyncGenerator<t.Item> {
    let after: string | undefined;
    do {
      const start = after === undefined ? {} : { after };
      const page: t.ItemPage = await this.listItems({ limit: 1000, ...only, ...start });
      yield* page.items;
      after = page.next ?? undefined;
    } while (after !== undefined);
  }

  /** An item. */
  getItem(id: string): Promise<t.Item> {
    return this.#call("GET", ["items", id]);
  }

  /** Takes an item and what hangs under it out of sight; with `purge`, for good. */
  deleteItem(id: string, options: { purge?: boolean } = {}): Promise<t.Written> {
    return this.#call("DELETE", ["items", id], { query: { purge: options.purge } });
  }

  /** Adds links between items and takes links away. */
  putLinks(
    links: { add?: readonly t.Link[]; remove?: readonly t.Link[] },
    write: Write = {},
  ): Promise<t.Written> {
    return this.#write(["links"], links, write);
  }

  /** Notes what happened to items. */
  putEvents(events: readonly t.Event[], write: Write = {}): Promise<t.Written> {
    return this.#write(["events"], { events }, write);
  }

  // Memories

  /** Stores what says something new, and says what does not. */
  addMemories(
    memories: readonly t.NewMemory[],
    options: Write & { user?: string } = {},
  ): Promise<t.Remembered> {
    const { user, ...write } = options;
    return this.#write(["memories"], { user, memories }, write);
  }

  /** Extracts memories from a conversation by the server's model and stores the new ones. */
  extractMemories(
    conversation: readonly t.Turn[],
    options: { conversationId?: string; user?: string; dryRun?: boolean } = {},
  ): Promise<t.ExtractedMemories> {
    return this.#write(["memories", "extract"], { ...options, conversation }, {});
  }

  /** Memories that answer, best first. */
  async searchMemories(query: string, options: t.MemoryOptions = {}): Promise<t.MemorySearchResult[]> {
    return (await this.searchMemoriesBatch([{ ...options, query }]))[0] ?? [];
  }

  /** Memories near a vector of the workspace's own embedding model, best first. */
  async searchByVector(
    vector: readonly number[],
    options: t.MemoryOptions = {},
  ): Promise<t.MemorySearchResult[]> {
    return (await this.searchMemoriesBatch([{ ...options, vector: [...vector] }]))[0] ?? [];
  }

  /** Several questions at once; an answer for each, in order. */
  async searchMemoriesBatch(searches: readonly t.MemoryRequest[]): Promise<t.MemorySearchResult[][]> {
    const said: { results: t.MemorySearchResult[][] } = await this.#ask(["memories", "search"], {
      searches,
    });
    return said.results;
  }

  // Searching

  /** What the workspace holds about a question: words, meaning and spelling together. */
  search(query: string, options: t.SearchOptions = {}): Promise<t.SearchAnswer> {
    return this.#ask(["search"], { ...options, query });
  }

  // Contexts

  /** A result of any recipe, for a request as the wire has it. */
  buildAny(recipe: string, request: Body, build: Build = {}): Promise<t.Result> {
    return this.#build(recipe, request, build);
  }

  #build<T>(recipe: string, request: Body, build: Build): Promise<T> {
    const { explain, preview, messages, signal } = build;
    const query = { explain, preview, messages };
    return this.#ask(["context", build.recipe ?? recipe], request, { query, signal });
  }

  /** The context for a question, by `everything` or another recipe whose result has sections. */
  pack(query: string, options: t.Options = {}, build: Build = {}): Promise<t.SectionsContext> {
    return this.#build("everything", { ...options, query }, build);
  }

  /** One ranked list over files and threads, for a message in a thread. */
  build(
    threadId: string | undefined,
    message: string,
    options: t.PrimeOptions = {},
    build: Build = {},
  ): Promise<t.PrimeAnswer> {
    return this.#build("prime", { ...options, threadId, message }, build);
  }

  /** The same as `build`. */
  buildPrimeContext(
    threadId: string | undefined,
    message: string,
    options: t.PrimeOptions = {},
    build: Build = {},
  ): Promise<t.PrimeAnswer> {
    return this.build(threadId, message, options, build);
  }

  /** Blocks around what the asker looks at. */
  assemble(query: string, options: t.WorkspaceOptions = {}, build: Build = {}): Promise<t.WorkspaceContext> {
    return this.#build("workspace", { ...options, query }, build);
  }

  /** Guidance for a situation, from inherited contexts and the rules that apply. */
  assembleContext(request: t.SituationOptions = {}, build: Build = {}): Promise<t.SituationContext> {
    return this.#build("situation", request, build);
  }

  /** What a proposal for an opportunity is written from. */
  buildProposalContext(
    opportunityId: string,
    userPrompt: string,
    options: t.ProposalOptions = {},
    build: Build = {},
  ): Promise<t.ProposalContext> {
    return this.#build("proposal", { ...options, opportunityId, userPrompt }, build);
  }

  /** Memories for a message, ready for a prompt. */
  buildContext(
    query: string,
    options: t.MemoryOptions = {},
    build: Omit<Build, "preview"> = {},
  ): Promise<t.MemoryContext> {
    return this.#build("memory", { ...options, query }, build);
  }

  /** The same for a vector of the workspace's own embedding model. */
  buildContextByVector(
    vector: readonly number[],
    options: t.MemoryOptions = {},
    build: Omit<Build, "preview"> = {},
  ): Promise<t.MemoryContext> {
    return this.#build("memory", { ...options, vector }, build);
  }

  /** What `buildContext` would give, with what decided it. Nothing is kept. */
  previewContext(
    query: string,
    options: t.MemoryOptions = {},
    build: Omit<Build, "preview" | "explain"> = {},
  ): Promise<t.MemoryPreview> {
    return this.#build("memory", { ...options, query }, { ...build, preview: true });
  }

  /**
   * A build as it goes: its steps, then its warnings, then its result. A build that fails throws its
   * error. Who stops reading ends the build.
   */
  async *streamContext(recipe: string, request: Body, build: Build = {}): AsyncGenerator<t.StreamEvent> {
    const { explain, preview, messages, signal } = build;
    const response = await this.#client.send({
      method: "POST",
      path: this.#base + wire.path("context", recipe),
      query: { explain, preview, messages },
      body: request,
      viewer: this.#viewer,
      reads: true,
      accept: "text/event-stream",
      signal,
    });
    let ended = false;
    for await (const event of this.#client.events(response, signal)) {
      ended ||= event.event === "result";
      yield event;
    }
    if (!ended) throw new Unreachable("unreachable", 0, "the stream ended without a result");
  }

  /** What other budgets would give. */
  frontier(recipe: string, request: Body, budgets: readonly number[] = []): Promise<t.Frontier> {
    return this.#ask(["frontier", recipe], { request, budgets });
  }

  // Looking back

  /** What a pack was made from, and what became of each candidate. */
  getReceipt(id: string): Promise<t.Receipt> {
    return this.#call("GET", ["receipts", id]);
  }

  /** Makes a pack again from its receipt: the same bytes, or what changed. */
  replay(id: string): Promise<t.Replay> {
    return this.#ask(["receipts", id, "replay"], undefined);
  }

  /** What differs between two packs, and why. */
  diff(a: string, b: string): Promise<t.Difference> {
    return this.#call("GET", ["receipts", a, "diff", b]);
  }

  /** Notes that an item helped, or did not: it counts in later scores. */
  async feedback(
    contextItemId: string,
    useful: boolean,
    options: Write & { user?: string } = {},
  ): Promise<void> {
    const { user, ...write } = options;
    await this.#write<t.Noted>(["feedback"], { contextItemId, useful, user }, write);
  }

  /** Which of a pack's sources a response used, and a block that names them. */
  citations(receipt: string, response: string): Promise<t.Citations> {
    return this.#ask(["citations"], { receipt, response });
  }

  // Templates, rankers and recipes

  /** The names of the workspace's own templates. */
  listTemplates(): Promise<t.Names> {
    return this.#names("templates");
  }

  /** Keeps a template under a name. */
  registerTemplate(name: string, template: t.Template): Promise<void> {
    return this.#call("PUT", ["templates", name], { body: template });
  }

  /** A template of the workspace. */
  getTemplate(name: string): Promise<t.Template> {
    return this.#call("GET", ["templates", name]);
  }

  /** Removes a template of the workspace. */
  removeTemplate(name: string): Promise<void> {
    return this.#call("DELETE", ["templates", name]);
  }

  /** The names of the workspace's own rankers. */
  listRankers(): Promise<t.Names> {
    return this.#names("rankers");
  }

  /** Keeps a ranker, such as `semantic * 0.7 + recency * 0.3`, under a name. */
  registerRanker(name: string, expression: string): Promise<void> {
    return this.#call("PUT", ["rankers", name], { body: { expression } });
  }

  /** A ranker of the workspace. */
  getRanker(name: string): Promise<t.RankerText> {
    return this.#call("GET", ["rankers", name]);
  }

  /** Removes a ranker of the workspace. */
  removeRanker(name: string): Promise<void> {
    return this.#call("DELETE", ["rankers", name]);
  }

  /** The recipes that can be used here, built-in ones included. */
  listRecipes(): Promise<t.Names> {
    return this.#names("recipes");
  }

  /** Keeps a recipe, a TOML text, under a name. */
  putRecipe(name: string, source: string): Promise<void> {
    return this.#call("PUT", ["recipes", name], { body: { source } });
  }

  /** A recipe's text, as it would be used. */
  getRecipe(name: string): Promise<t.RecipeText> {
    return this.#call("GET", ["recipes", name]);
  }

  /** Removes a recipe of the workspace; a built-in one of its name shows again. */
  removeRecipe(name: string): Promise<void> {
    return this.#call("DELETE", ["recipes", name]);
  }

  // Counting and checking

  /** Counts the tokens of a text, or of a result's final string. */
  estimateTokens(
    text: string | { context: string },
    options: { model?: string; tokenizer?: string } = {},
  ): Promise<t.Count> {
    const what = typeof text === "string" ? { text } : { payload: { context: text.context } };
    return this.#ask(["estimate"], { ...what, ...options });
  }

  /** Whether a result of `assemble` is within its budget, holds nothing forbidden and nothing twice. */
  validate(
    payload: t.WorkspaceContext,
    viewer: { user?: string; groups?: string[] } = {},
  ): Promise<t.WorkspaceValidation> {
    return this.#ask(["validate"], { payload, ...viewer });
  }
}
