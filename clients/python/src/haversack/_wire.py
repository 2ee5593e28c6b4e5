"""Encoding and decoding of the wire format: names, moments, lines, retries. No I/O."""

from __future__ import annotations

import json
import random
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeVar, Union
from urllib.parse import quote

from . import errors
from .types import Notice

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:7077"

RETRIED = (429, 503)
"""The statuses that are retried: the server refused the request before it did anything."""

WAIT_SECONDS_MAX = 30.0
"""The longest wait before a retry. If the server asks for a longer one, the error is raised."""

PAGE_MAX = 1000
"""The most entries of a page of a list."""

LINES_BYTES = 64 * 1024
"""Lines are sent in pieces of about this size."""


@dataclass(frozen=True)
class StageEvent:
    """A stage of a build has finished."""

    stage: str
    ms: float


@dataclass(frozen=True)
class WarningEvent:
    """A warning about a build."""

    notice: Notice


@dataclass(frozen=True)
class ResultEvent:
    """The result, in the shape of its recipe. It is the last event."""

    result: dict[str, Any]


StreamEvent = Union[StageEvent, WarningEvent, ResultEvent]


def camel(name: str) -> str:
    """`token_budget` as `tokenBudget`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments under the names of the wire, without those that are `None`."""
    return {camel(name): value for name, value in given.items() if value is not None}


def _plain(value: Any) -> Any:
    """Converts a value of a type that JSON does not have."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone: give it one, such as timezone.utc")
        return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def encode(value: Any) -> bytes:
    """A value as JSON, without needless bytes."""
    text = json.dumps(
        value, default=_plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    return text.encode("utf-8")


def path(*parts: str) -> str:
    """A path with its parts encoded."""
    for part in parts:
        if part in {"", ".", ".."}:
            raise ValueError(f"{part!r} cannot be part of a path")
    return "/" + "/".join(quote(part, safe="") for part in parts)


def query(given: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a query string, without those that are `None` or `False`."""
    texts: dict[str, str] = {}
    for name, value in given.items():
        if value is None or value is False:
            continue
        texts[name] = "true" if value is True else str(value)
    return texts


def viewer_headers(user: str | None, groups: Sequence[str]) -> dict[str, str]:
    """The headers for the viewer that a trusted key acts for; none if it acts for nobody."""
    headers: dict[str, str] = {}
    if user is not None:
        headers["Haversack-User"] = _name(user, "user")
    if groups:
        headers["Haversack-Groups"] = ",".join(_name(group, "group") for group in groups)
    return headers


def named_viewer_headers(user: str | None, groups: Sequence[str]) -> dict[str, str]:
    """The headers for a viewer; an error if neither a user nor a group is given."""
    headers = viewer_headers(user, groups)
    if not headers:
        raise ValueError(
            "neither a user nor a group is named: use as_owner() if everything is to be seen"
        )
    return headers


def _name(text: str, what: str) -> str:
    """A name for a header, percent-encoded, so that every name arrives unchanged."""
    if isinstance(text, str) and text:
        return quote(text, safe="")
    raise ValueError(f"the {what} {text!r} is not a name")


def line(item: Mapping[str, Any]) -> bytes:
    """An item as a line of a stream."""
    return encode(item) + b"\n"


def wait_seconds(attempt: int, retry_after: float | None) -> float | None:
    """The wait before the next attempt; `None` if it is too long.

    A `Retry-After` of the server counts, plus a little random time so that clients do not return
    together. Without one, the wait is random up to a bound that doubles each time.
    """
    if retry_after is not None:
        if retry_after > WAIT_SECONDS_MAX:
            return None
        return retry_after + random.uniform(0.0, 0.25)
    return random.uniform(0.0, min(0.25 * 2.0**attempt, WAIT_SECONDS_MAX))


def seconds(text: str | None) -> float | None:
    """A `Retry-After` header in seconds. The server sends no dates."""
    try:
        return max(0.0, float(text)) if text is not None else None
    except ValueError:
        return None


def failure(status: int, body: bytes, headers: Mapping[str, str]) -> errors.HaversackError:
    """The error that a response describes."""
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    return errors.problem(
        status,
        parsed,
        retry_after=seconds(headers.get("retry-after")),
        request_id=headers.get("x-request-id"),
    )


class EventReader:
    """Reads server-sent events line by line."""

    def __init__(self) -> None:
        self._name = ""
        self._data: list[str] = []

    def take(self, text: str) -> Iterator[StreamEvent]:
        """Takes one line, and yields an event if the line completes one."""
        if text:
            name, _, value = text.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                self._name = value
            elif name == "data":
                self._data.append(value)
            return
        name, data = self._name, "\n".join(self._data)
        self._name, self._data = "", []
        if not data:
            return
        parsed = json.loads(data)
        if name == "stage":
            yield StageEvent(parsed["stage"], parsed["ms"])
        elif name == "warning":
            yield WarningEvent(parsed)
        elif name == "result":
            yield ResultEvent(parsed)
        elif name == "problem":
            raise errors.problem(int(parsed.get("status", 500)), parsed)


async def aeach(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    """The items of a synchronous or asynchronous iterable."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
