// What can go wrong. Every problem of the server is a HaversackError with its stable code.

/** What the server says of a problem, and what its headers add. */
export interface ProblemParts {
  title?: string;
  field?: string;
  line?: number;
  stored?: number;
  available?: string[];
  retryAfter?: number;
  requestId?: string;
}

/** The server refused or failed. `code` never changes; `detail` is for people. */
export class HaversackError extends Error {
  /** The stable name of the problem, such as `budget_too_small`. */
  readonly code: string;
  /** The status of the answer; 0 when there was none. */
  readonly status: number;
  /** What is wrong in this case, and what to do. */
  readonly detail: string;
  /** What is wrong in general. */
  readonly title: string;
  /** The field it is about. */
  readonly field: string | undefined;
  /** The line of a streamed body it is about, from 1. */
  readonly line: number | undefined;
  /** How many lines of a streamed body are stored. */
  readonly stored: number | undefined;
  /** The names that are there, where a template or recipe is not. */
  readonly available: readonly string[] | undefined;
  /** After how many seconds it is worth trying again, if the server said so. */
  readonly retryAfter: number | undefined;
  /** The name under which the server's log has the request. */
  readonly requestId: string | undefined;

  constructor(code: string, status: number, detail: string, parts: ProblemParts = {}, cause?: unknown) {
    super(
      parts.field ? `${code}: ${parts.field}: ${detail}` : `${code}: ${detail}`,
      cause === undefined ? undefined : { cause },
    );
    this.name = new.target.name;
    this.code = code;
    this.status = status;
    this.detail = detail;
    this.title = parts.title ?? "";
    this.field = parts.field;
    this.line = parts.line;
    this.stored = parts.stored;
    this.available = parts.available;
    this.retryAfter = parts.retryAfter;
    this.requestId = parts.requestId;
  }
}

/** There was no answer: the server is not there, or the connection broke. */
export class Unreachable extends HaversackError {}
/** The request is wrong; `field` says where. */
export class ValidationError extends HaversackError {}
/** There was no key, or one that is not good. */
export class Unauthenticated extends HaversackError {}
/** The key does not reach so far. */
export class Forbidden extends HaversackError {}
/** There is no such workspace, item, receipt, recipe, ranker or template for this caller. */
export class NotFound extends HaversackError {}
/** There is no such template. */
export class TemplateNotFound extends NotFound {}
/** The name or id is taken, the idempotency key was used otherwise, or vectors are stale. */
export class Conflict extends HaversackError {}
/** What is never cut does not fit into the budget. `detail` names the least that would do. */
export class BudgetTooSmall extends HaversackError {}
/** A body, line or batch is over its limit. */
export class TooLarge extends HaversackError {}
/** The key's rate is used up; try again after `retryAfter` seconds. */
export class RateLimited extends HaversackError {}
/** The server has more to do than it can; try again after `retryAfter` seconds. */
export class Overloaded extends HaversackError {}
/** The answer took longer than it may. */
export class DeadlineExceeded extends HaversackError {}
/** The store failed, or its disk is full. */
export class StorageError extends HaversackError {}
/** The query could not be turned into a vector. */
export class EmbeddingError extends HaversackError {}

/** A model that cannot be done without failed or cannot be reached. */
export class ModelError extends HaversackError {}
/** A search failed. */
export class SearchError extends HaversackError {}

type Sort = typeof HaversackError;

/** The classes of the codes that have one. Others are a plain HaversackError. */
export const BY_CODE: Readonly<Record<string, Sort>> = {
  bad_json: ValidationError,
  validation_error: ValidationError,
  unsupported_media_type: ValidationError,
  unauthenticated: Unauthenticated,
  forbidden: Forbidden,
  not_found: NotFound,
  workspace_not_found: NotFound,
  item_not_found: NotFound,
  receipt_not_found: NotFound,
  recipe_not_found: NotFound,
  ranker_not_found: NotFound,
  template_not_found: TemplateNotFound,
  workspace_exists: Conflict,
  id_taken: Conflict,
  idempotency_conflict: Conflict,
  stale_vectors: Conflict,
  model_changing: Conflict,
  budget_too_small: BudgetTooSmall,
  too_large: TooLarge,
  rate_limited: RateLimited,
  too_many_denied: RateLimited,
  overloaded: Overloaded,
  not_ready: Overloaded,
  journal_unavailable: Overloaded,
  outcome_unknown: StorageError,
  deadline: DeadlineExceeded,
  slow_client: DeadlineExceeded,
  storage_error: StorageError,
  storage_full: StorageError,
  embedding_error: EmbeddingError,
  model_error: ModelError,
  search_error: SearchError,
};

/** For answers that are not the server's own, such as those of a proxy before it. */
const BY_STATUS: Readonly<Record<number, Sort>> = {
  400: ValidationError,
  401: Unauthenticated,
  403: Forbidden,
  404: NotFound,
  413: TooLarge,
  429: RateLimited,
  503: Overloaded,
  504: DeadlineExceeded,
};

/** The error that an answer tells. `body` is its JSON, if it is JSON. */
export function problem(status: number, body: unknown, parts: ProblemParts = {}): HaversackError {
  const said = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  if (typeof said["code"] !== "string") {
    const Class = BY_STATUS[status] ?? HaversackError;
    const detail = "the answer is not one of Haversack's: is something between it and you?";
    return new Class(`http_${status}`, status, detail, parts);
  }
  const all: ProblemParts = { ...parts };
  if (typeof said["title"] === "string") all.title = said["title"];
  if (typeof said["field"] === "string") all.field = said["field"];
  if (typeof said["line"] === "number") all.line = said["line"];
  if (typeof said["stored"] === "number") all.stored = said["stored"];
  if (Array.isArray(said["available"])) all.available = said["available"].map(String);
  const Class = BY_CODE[said["code"]] ?? HaversackError;
  return new Class(said["code"], status, String(said["detail"] ?? ""), all);
}
