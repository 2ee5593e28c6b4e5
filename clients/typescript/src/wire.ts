// From arguments to the wire and back: paths, headers, lines, events, waits.
import { problem, type HaversackError } from "./errors.js";
import type { StreamEvent } from "./types.js";

export const DEFAULT_URL = "http://127.0.0.1:7077";

/** A server that asks for a longer wait is not waited for: the error is thrown instead. */
export const WAIT_SECONDS_MAX = 30;

/** The most that a page of a list holds. */
export const PAGE_MAX = 1000;

/** A path whose parts may hold anything. */
export function path(...parts: string[]): string {
  for (const part of parts) {
    if (part === "" || part === "." || part === "..") {
      throw new RangeError(`${JSON.stringify(part)} cannot be part of a path`);
    }
  }
  return parts.map((part) => `/${encodeURIComponent(part)}`).join("");
}

export type Query = Record<string, string | number | boolean | undefined>;

/** A query string. What is undefined or false is left out. */
export function query(given: Query = {}): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined && value !== false) parts.set(name, String(value));
  }
  return parts.size > 0 ? `?${parts}` : "";
}

/** For whom a trusted key asks. One that names nobody sees everything. */
export function viewerHeaders(user: string | undefined, groups: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  if (user !== undefined) headers["Haversack-User"] = encoded(user, "user");
  if (groups.length > 0) {
    headers["Haversack-Groups"] = groups.map((group) => encoded(group, "group")).join(",");
  }
  return headers;
}

/** For whom a trusted key asks, which must be somebody. */
export function somebody(user: string | undefined, groups: readonly string[]): Record<string, string> {
  if (user === undefined && groups.length === 0) {
    throw new RangeError("neither a user nor a group is named: use asOwner() if everything is to be seen");
  }
  return viewerHeaders(user, groups);
}

/** A name as a header has it: percent-encoded, so that every name arrives as what it is. */
function encoded(text: string, what: string): string {
  if (typeof text !== "string" || text === "") {
    throw new RangeError(`the ${what} ${JSON.stringify(text)} is not a name`);
  }
  const rest = (letter: string): string => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text).replace(/[!'()*]/g, rest);
}

/**
 * How many seconds to wait before the next attempt; undefined when it is too long to wait for. The
 * server's own wish counts, with a little more at random so that clients do not return together;
 * without one, the wait doubles each time and is anything up to that.
 */
export function waitSeconds(attempt: number, retryAfter: number | undefined): number | undefined {
  if (retryAfter !== undefined) {
    return retryAfter > WAIT_SECONDS_MAX ? undefined : retryAfter + Math.random() * 0.25;
  }
  return Math.random() * Math.min(0.25 * 2 ** attempt, WAIT_SECONDS_MAX);
}

/** The error that an answer tells. */
export function failure(response: Response, text: string): HaversackError {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const wait = Number(response.headers.get("retry-after") ?? Number.NaN);
  const requestId = response.headers.get("x-request-id");
  return problem(response.status, body, {
    ...(Number.isFinite(wait) ? { retryAfter: Math.max(0, wait) } : {}),
    ...(requestId === null ? {} : { requestId }),
  });
}

/** The events of a stream, as they come. A `problem` is thrown, and `lost` says what a break is. */
export async function* events(
  body: ReadableStream<Uint8Array>,
  lost: (error: unknown) => unknown,
): AsyncGenerator<StreamEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw lost(error);
      });
      if (done) return;
      text += decoder.decode(value, { stream: true });
      let end: number;
      while ((end = text.indexOf("\n\n")) >= 0) {
        const event = read(text.slice(0, end));
        text = text.slice(end + 2);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    // Who stops reading ends the build.
    await reader.cancel().catch(() => undefined);
  }
}

function read(block: string): StreamEvent | undefined {
  let name = "";
  let data = "";
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (line.startsWith("event:")) name = value;
    else if (line.startsWith("data:")) data += value;
  }
  if (data === "") return undefined;
  const said = JSON.parse(data);
  switch (name) {
    case "stage":
      return { event: "stage", stage: said.stage, ms: said.ms };
    case "warning":
      return { event: "warning", notice: said };
    case "result":
      return { event: "result", result: said };
    case "problem":
      throw problem(said.status ?? 500, said);
    default:
      return undefined;
  }
}
