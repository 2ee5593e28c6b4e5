"""Errors. Every problem of the server is a `HaversackError` with its stable code."""

from __future__ import annotations

from typing import Any


class HaversackError(Exception):
    """The server refused or failed. `code` never changes; `detail` is for people."""

    def __init__(
        self,
        code: str,
        status: int,
        detail: str,
        *,
        title: str = "",
        field: str | None = None,
        line: int | None = None,
        stored: int | None = None,
        available: list[str] | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(f"{code}: {field}: {detail}" if field else f"{code}: {detail}")
        self.code = code
        """The stable name of the problem, such as `budget_too_small`."""
        self.status = status
        """The status of the response; 0 if there was none."""
        self.detail = detail
        """What is wrong in this case, and what to do."""
        self.title = title
        """What is wrong in general."""
        self.field = field
        """The invalid field."""
        self.line = line
        """The invalid line of a streamed body, from 1."""
        self.stored = stored
        """The number of lines of a streamed body that are stored."""
        self.available = available
        """The existing names, if a template or recipe does not exist."""
        self.retry_after = retry_after
        """The seconds to wait before a retry, if the server gave them."""
        self.request_id = request_id
        """The id of the request in the server's log."""


class Unreachable(HaversackError):
    """There was no response: the server is not running, or the connection broke."""


class ValidationError(HaversackError):
    """The request is not valid; `field` says where."""


class Unauthenticated(HaversackError):
    """The key is missing, unknown, expired or revoked."""


class Forbidden(HaversackError):
    """The key lacks the permission."""


class NotFound(HaversackError):
    """There is no such workspace, item, receipt, recipe, ranker or template for this caller."""


class TemplateNotFound(NotFound):
    """There is no such template."""


class Conflict(HaversackError):
    """The name or id is taken, the idempotency key was used otherwise, or vectors are stale."""


class BudgetTooSmall(HaversackError):
    """Text that is never cut does not fit the budget. `detail` names the least sufficient one."""


class TooLarge(HaversackError):
    """A body, line or batch is over its limit."""


class RateLimited(HaversackError):
    """The key's rate is used up; try again after `retry_after` seconds."""


class Overloaded(HaversackError):
    """The server is overloaded; try again after `retry_after` seconds."""


class DeadlineExceeded(HaversackError):
    """The response took longer than its deadline."""


class StorageError(HaversackError):
    """The store failed, or its disk is full."""


class ModelError(HaversackError):
    """A model that cannot be done without failed or cannot be reached."""


class EmbeddingError(HaversackError):
    """The query could not be embedded."""


class SearchError(HaversackError):
    """A search failed."""


BY_CODE: dict[str, type[HaversackError]] = {
    "bad_json": ValidationError,
    "validation_error": ValidationError,
    "unsupported_media_type": ValidationError,
    "unauthenticated": Unauthenticated,
    "forbidden": Forbidden,
    "not_found": NotFound,
    "workspace_not_found": NotFound,
    "item_not_found": NotFound,
    "receipt_not_found": NotFound,
    "recipe_not_found": NotFound,
    "ranker_not_found": NotFound,
    "template_not_found": TemplateNotFound,
    "workspace_exists": Conflict,
    "id_taken": Conflict,
    "idempotency_conflict": Conflict,
    "stale_vectors": Conflict,
    "model_changing": Conflict,
    "budget_too_small": BudgetTooSmall,
    "too_large": TooLarge,
    "rate_limited": RateLimited,
    "too_many_denied": RateLimited,
    "overloaded": Overloaded,
    "not_ready": Overloaded,
    "journal_unavailable": Overloaded,
    "outcome_unknown": StorageError,
    "deadline": DeadlineExceeded,
    "slow_client": DeadlineExceeded,
    "storage_error": StorageError,
    "storage_full": StorageError,
    "embedding_error": EmbeddingError,
    "model_error": ModelError,
    "search_error": SearchError,
}
"""The classes of the codes that have one. Others are a plain `HaversackError`."""

BY_STATUS: dict[int, type[HaversackError]] = {
    400: ValidationError,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    413: TooLarge,
    429: RateLimited,
    503: Overloaded,
    504: DeadlineExceeded,
}
"""For responses that are not the server's own, such as those of a proxy."""


def problem(
    status: int,
    body: Any,
    *,
    retry_after: float | None = None,
    request_id: str | None = None,
) -> HaversackError:
    """The error that a response describes. `body` is its JSON, if it is JSON."""
    parsed = body if isinstance(body, dict) else {}
    code = parsed.get("code")
    if not isinstance(code, str):
        error_class = BY_STATUS.get(status, HaversackError)
        detail = "the answer is not one of Haversack's: is something between it and you?"
        return error_class(
            f"http_{status}", status, detail, retry_after=retry_after, request_id=request_id
        )
    error_class = BY_CODE.get(code, HaversackError)
    return error_class(
        code,
        status,
        str(parsed.get("detail", "")),
        title=str(parsed.get("title", "")),
        field=parsed.get("field"),
        line=parsed.get("line"),
        stored=parsed.get("stored"),
        available=parsed.get("available"),
        retry_after=retry_after,
        request_id=request_id,
    )
