"""The synchronous client. It is made from `_async.py` by `make_sync.py`: change that."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import httpx

from . import _wire as wire
from . import types as t
from .errors import HaversackError, Unreachable

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self, Unpack

Items = Iterable[t.NewItem]


class Haversack:
    """A connection to a server on behalf of a viewer.

    `user` and `groups` are the viewer that a trusted key acts for; without them it sees everything.
    `timeout` is in seconds, for each step of a request. `retries` is how often a request that the
    server refused with 429 or 503 is sent again; only requests that can be repeated are.
    """

    def __init__(
        self,
        url: str = wire.DEFAULT_URL,
        key: str | None = None,
        user: str | None = None,
        groups: Sequence[str] = (),
        timeout: float = 30.0,
        *,
        retries: int = 2,
        http: httpx.Client | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._retries = retries
        self._user = user
        self._viewer = wire.viewer_headers(user, groups)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._own = http is None
        self._http = http if http is not None else httpx.Client(timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, unless `http` was given: then the caller closes them."""
        if self._own:
            self._http.close()

    def workspace(
        self, name: str, *, user: str | None = None, groups: Sequence[str] | None = None
    ) -> Workspace:
        """A workspace by name, for the client's user and groups unless others are given.

        Groups without a user are those of the client's user; a user without groups has none.
        Nothing is sent: `get` says whether the workspace exists.
        """
        if user is None and groups is None:
            return Workspace(self, name, self._viewer)
        viewer = wire.named_viewer_headers(user if user is not None else self._user, groups or ())
        return Workspace(self, name, viewer)

    def livez(self) -> t.Health:
        """Whether the process runs."""
        return cast(t.Health, self._json("GET", "/livez"))

    def readyz(self) -> t.Health:
        """Whether the server takes requests."""
        return cast(t.Health, self._json("GET", "/readyz"))

    def healthz(self) -> t.Health:
        """Whether the server is healthy, with its version."""
        return cast(t.Health, self._json("GET", "/healthz"))

    def metrics(self) -> str:
        """The server's metrics in the format of Prometheus."""
        return (self._send("GET", "/metrics")).text

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document of the server."""
        return cast("dict[str, Any]", self._json("GET", "/openapi.json"))

    def list_workspaces(self) -> t.Workspaces:
        """All workspaces that the key may use, over all pages."""
        return {"workspaces": self._all("/v1/workspaces", "workspaces", {})}

    def create_workspace(
        self, name: str, *, idempotency_key: str | None = None
    ) -> t.WorkspaceName:
        """Creates a workspace."""
        result = self._json(
            "POST", "/v1/workspaces", body={"name": name}, idempotency_key=idempotency_key
        )
        return cast(t.WorkspaceName, result)

    def get_default_model(self) -> t.DefaultModel:
        """The embedding model of new workspaces."""
        return cast(t.DefaultModel, self._json("GET", "/v1/model"))

    def set_default_model(self, name: str) -> t.DefaultModel:
        """Creates new workspaces with this embedding model from now on."""
        result = self._json("PUT", "/v1/model", body={"name": name})
        return cast(t.DefaultModel, result)

    def _all(self, path: str, name: str, viewer: Mapping[str, str]) -> list[Any]:
        """All entries of a list, fetched page by page."""
        found: list[Any] = []
        query: dict[str, Any] = {"limit": wire.PAGE_MAX}
        while True:
            page = self._json("GET", path, query=query, viewer=viewer)
            found += page[name]
            if "next" not in page:
                return found
            query["after"] = page["next"]

    def _json(self, method: str, path: str, **more: Any) -> Any:
        return (self._send(method, path, **more)).json()

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        viewer: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        reads: bool = False,
    ) -> httpx.Response:
        """Sends a request, with retries if it can be repeated and the server is busy."""
        headers = {**self._headers, **(viewer or {})}
        content: bytes | None = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = wire.encode(body)
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        repeatable = reads or method != "POST" or idempotency_key is not None
        attempt = 0
        while True:
            try:
                response = self._http.request(
                    method,
                    self._url + path,
                    params=wire.query(query or {}),
                    content=content,
                    headers=headers,
                )
            except httpx.TransportError as error:
                raise unreachable_error(self._url, error) from error
            if response.is_success:
                return response
            failure = wire.failure(response.status_code, response.content, response.headers)
            self._pause(failure, attempt, repeatable)
            attempt += 1

    def _pause(self, failure: HaversackError, attempt: int, repeatable: bool) -> None:
        """Waits before a retry, or raises the failure if there is none."""
        wait = wire.wait_seconds(attempt, failure.retry_after)
        again = repeatable and failure.status in wire.RETRIED
        if not again or wait is None or attempt >= self._retries:
            raise failure
        time.sleep(wait)

    def _lines(self, path: str, items: Items, viewer: Mapping[str, str]) -> Any:
        """Streams lines. A stream is never retried, because the iterator is consumed."""
        headers = {**self._headers, **viewer, "Content-Type": "application/x-ndjson"}
        try:
            response = self._http.post(
                self._url + path, content=line_batches(items), headers=headers
            )
        except httpx.TransportError as error:
            raise unreachable_error(self._url, error) from error
        if not response.is_success:
            raise wire.failure(response.status_code, response.content, response.headers)
        return response.json()

    def _file(self, path: str, name: str, content: bytes, viewer: Mapping[str, str]) -> Any:
        """Sends a file, once."""
        headers = {**self._headers, **viewer, "Content-Type": "application/octet-stream"}
        try:
            response = self._http.post(
                self._url + path, params={"name": name}, content=content, headers=headers
            )
        except httpx.TransportError as error:
            raise unreachable_error(self._url, error) from error
        if not response.is_success:
            raise wire.failure(response.status_code, response.content, response.headers)
        return response.json()

    def _events(
        self, path: str, query: Mapping[str, Any], body: Any, viewer: Mapping[str, str]
    ) -> Iterator[wire.StreamEvent]:
        headers = {
            **self._headers,
            **viewer,
            "Accept": "text/event-stream",
            "Content-Type": "application/json",
        }
        reader = wire.EventReader()
        attempt, ended = 0, False
        while not ended:
            failure: HaversackError | None = None
            try:
                with self._http.stream(
                    "POST",
                    self._url + path,
                    params=wire.query(query),
                    content=wire.encode(body),
                    headers=headers,
                ) as response:
                    if response.is_success:
                        for line in response.iter_lines():
                            for event in reader.take(line):
                                ended = ended or isinstance(event, wire.ResultEvent)
                                yield event
                    else:
                        content = response.read()
                        failure = wire.failure(response.status_code, content, response.headers)
            except httpx.TransportError as error:
                raise unreachable_error(self._url, error) from error
            if failure is not None:
                self._pause(failure, attempt, True)
                attempt += 1
            elif not ended:
                raise Unreachable("unreachable", 0, "the stream ended without a result")


def unreachable_error(url: str, error: Exception) -> HaversackError:
    """The error for a server that did not respond."""
    detail = str(error) or type(error).__name__
    return Unreachable("unreachable", 0, f"no answer from {url}: {detail}")


def line_batches(items: Items) -> Iterator[bytes]:
    """Encodes items as lines, in batches of about `wire.LINES_BYTES`."""
    batch = bytearray()
    for item in items:
        batch += wire.line(item)
        if len(batch) >= wire.LINES_BYTES:
            yield bytes(batch)
            batch.clear()
    if batch:
        yield bytes(batch)


class Workspace:
    """A workspace, with a method for each operation of the server.

    Keyword arguments have Python's names (`token_budget`); keys of dictionaries have the names of
    the wire (`tokenBudget`). Writes are retried on 429 and 503 only with an `idempotency_key`.
    """

    def __init__(self, client: Haversack, name: str, viewer: Mapping[str, str]) -> None:
        self._client = client
        self._viewer = viewer
        self._base = wire.path("v1", "workspaces", name)
        self.name = name

    def as_user(self, user: str | None, groups: Sequence[str] = ()) -> Workspace:
        """The same workspace on behalf of another viewer. This needs a trusted key."""
        return Workspace(self._client, self.name, wire.named_viewer_headers(user, groups))

    def as_owner(self) -> Workspace:
        """The same workspace without a viewer: a trusted key then sees everything in it."""
        return Workspace(self._client, self.name, {})

    def _get(self, *parts: str, query: Mapping[str, Any] | None = None) -> Any:
        path = self._base + (wire.path(*parts) if parts else "")
        return self._client._json("GET", path, query=query, viewer=self._viewer)

    def _read(self, *parts: str, body: Any, query: Mapping[str, Any] | None = None) -> Any:
        path = self._base + wire.path(*parts)
        return self._client._json(
            "POST", path, query=query, body=body, viewer=self._viewer, reads=True
        )

    def _write(self, *parts: str, body: Any, idempotency_key: str | None) -> Any:
        response = self._client._send(
            "POST",
            self._base + wire.path(*parts),
            body=body,
            viewer=self._viewer,
            idempotency_key=idempotency_key,
        )
        return response.json() if response.content else None

    def _put(self, *parts: str, body: Any) -> None:
        path = self._base + wire.path(*parts)
        self._client._send("PUT", path, body=body, viewer=self._viewer)

    def _delete(self, *parts: str, query: Mapping[str, Any] | None = None) -> httpx.Response:
        path = self._base + (wire.path(*parts) if parts else "")
        return self._client._send("DELETE", path, query=query, viewer=self._viewer)

    # --- The workspace itself ---

    def create(self, *, idempotency_key: str | None = None) -> t.WorkspaceName:
        """Creates the workspace."""
        return self._client.create_workspace(self.name, idempotency_key=idempotency_key)

    def get(self) -> t.WorkspaceState:
        """Its state, and the number of items that the viewer can read."""
        return cast(t.WorkspaceState, self._get())

    def get_model(self) -> t.WorkspaceModel:
        """Its embedding model, how far a change is, and what was used of models today."""
        return cast(t.WorkspaceModel, self._get("model"))

    def change_model(self, name: str) -> t.WorkspaceModel:
        """Starts to change it to another embedding model. It answers all the while."""
        path = self._base + wire.path("model")
        result = self._client._json("PUT", path, body={"name": name}, viewer=self._viewer)
        return cast(t.WorkspaceModel, result)

    def remove(self) -> None:
        """Removes the workspace with everything in it."""
        self._delete()

    # --- Items, links and events ---

    def put_items(
        self, items: Sequence[t.NewItem], *, idempotency_key: str | None = None
    ) -> t.Written:
        """Adds or replaces items, all or none."""
        result = self._write("items", body=list(items), idempotency_key=idempotency_key)
        return cast(t.Written, result)

    def ingest(self, items: Items) -> t.Written:
        """Adds any number of items from an iterator, written as they come.

        Only one batch is held in memory at a time. An invalid item ends the stream: the error has
        its `line` and the number of items `stored` before it. Items that are already stored in the
        same form are unchanged, so a stream can be sent again.
        """
        path = self._base + wire.path("items")
        return cast(t.Written, self._client._lines(path, items, self._viewer))

    def add_file(self, name: str, content: bytes) -> t.FilesAdded:
        """Reads a file of any known format. `name` is its path, with its extension."""
        path = self._base + wire.path("files")
        result = self._client._file(path, name, content, self._viewer)
        return cast(t.FilesAdded, result)

    def list_items(
        self,
        *,
        kind: str | None = None,
        parent: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> t.ItemPage:
        """One page of items by id. Pass `next` of a page as `after` to get the following one."""
        query = {"kind": kind, "parent": parent, "after": after, "limit": limit}
        return cast(t.ItemPage, self._get("items", query=query))

    def items(
        self, *, kind: str | None = None, parent: str | None = None, page: int = 1000
    ) -> Iterator[t.Item]:
        """All items by id, a page at a time."""
        after: str | None = None
        while True:
            found = self.list_items(kind=kind, parent=parent, after=after, limit=page)
            for item in found["items"]:
                yield item
            after = found.get("next")
            if after is None:
                return

    def get_item(self, id: str) -> t.Item:
        """An item."""
        return cast(t.Item, self._get("items", id))

    def delete_item(self, id: str, *, purge: bool = False) -> t.Written:
        """Deletes an item and its descendants; with `purge`, also their history."""
        response = self._delete("items", id, query={"purge": purge})
        return cast(t.Written, response.json())

    def put_links(
        self,
        add: Sequence[t.Link] = (),
        remove: Sequence[t.Link] = (),
        *,
        idempotency_key: str | None = None,
    ) -> t.Written:
        """Adds and removes links between items."""
        body = {"add": list(add), "remove": list(remove)}
        result = self._write("links", body=body, idempotency_key=idempotency_key)
        return cast(t.Written, result)

    def put_events(
        self, events: Sequence[t.Event], *, idempotency_key: str | None = None
    ) -> t.Written:
        """Records events on items."""
        body = {"events": list(events)}
        result = self._write("events", body=body, idempotency_key=idempotency_key)
        return cast(t.Written, result)

    # --- Memories ---

    def add_memories(
        self,
        memories: Sequence[t.NewMemory],
        *,
        user: str | None = None,
        idempotency_key: str | None = None,
    ) -> t.Remembered:
        """Stores memories that say something new, and lists those that repeat known ones."""
        body = {**wire.options({"user": user}), "memories": list(memories)}
        result = self._write("memories", body=body, idempotency_key=idempotency_key)
        return cast(t.Remembered, result)

    def extract_memories(
        self,
        conversation: Sequence[t.Turn],
        *,
        conversation_id: str | None = None,
        user: str | None = None,
        dry_run: bool = False,
    ) -> t.ExtractedMemories:
        """Extracts memories from a conversation by the server's model and stores the new ones."""
        options = {"conversationId": conversation_id, "user": user, "dryRun": dry_run}
        body = {**wire.options(options), "conversation": list(conversation)}
        result = self._write("memories", "extract", body=body, idempotency_key=None)
        return cast(t.ExtractedMemories, result)

    def search_memories(
        self, query: str, **options: Unpack[t.MemoryOptions]
    ) -> list[t.MemorySearchResult]:
        """Memories that match a query, best first."""
        return self._search_memory({"query": query, **wire.options(options)})

    def search_by_vector(
        self, vector: Sequence[float], **options: Unpack[t.MemoryOptions]
    ) -> list[t.MemorySearchResult]:
        """Memories near a vector of the workspace's own embedding model, best first."""
        return self._search_memory({"vector": list(vector), **wire.options(options)})

    def _search_memory(self, search: Mapping[str, Any]) -> list[t.MemorySearchResult]:
        return (self.search_memories_batch([search]))[0]

    def search_memories_batch(
        self, searches: Sequence[Mapping[str, Any]]
    ) -> list[list[t.MemorySearchResult]]:
        """Several searches at once, in the form of the wire; results for each, in order."""
        result = self._read("memories", "search", body={"searches": list(searches)})
        return cast(t.MemoryResults, result)["results"]

    # --- Searching ---

    def search(
        self,
        query: str,
        *,
        kinds: Sequence[str] = (),
        path: str | None = None,
        under: str | None = None,
        fields: Mapping[str, Any] | None = None,
        way: t.Way | None = None,
        limit: int | None = None,
        per_item: int | None = None,
        excerpt: int | None = None,
        user: str | None = None,
        groups: Sequence[str] = (),
    ) -> t.SearchAnswer:
        """Searches the workspace by words, meaning and spelling together."""
        options = {
            "kinds": list(kinds) or None,
            "path": path,
            "under": under,
            "fields": fields,
            "way": way,
            "limit": limit,
            "per_item": per_item,
            "excerpt": excerpt,
            "user": user,
            "groups": list(groups) or None,
        }
        result = self._read("search", body={"query": query, **wire.options(options)})
        return cast(t.SearchAnswer, result)

    # --- Contexts ---

    def _build(
        self,
        recipe: str,
        body: Mapping[str, Any],
        *,
        explain: bool,
        preview: bool,
        messages: t.MessageFormat | None = None,
    ) -> Any:
        query = {"explain": explain, "preview": preview, "messages": messages}
        return self._read("context", recipe, body=body, query=query)

    def build_any(
        self,
        recipe: str,
        request: Mapping[str, Any],
        *,
        explain: bool = False,
        preview: bool = False,
        messages: t.MessageFormat | None = None,
    ) -> dict[str, Any]:
        """The result of any recipe, for a request in the form of the wire. The other methods are
        typed for one recipe each."""
        result = self._build(
            recipe, request, explain=explain, preview=preview, messages=messages
        )
        return cast("dict[str, Any]", result)

    def pack(
        self,
        query: str = "",
        *,
        recipe: str = "everything",
        explain: bool = False,
        preview: bool = False,
        messages: t.MessageFormat | None = None,
        **options: Unpack[t.Options],
    ) -> t.SectionsContext:
        """The context for a question, by any recipe whose result has sections.

        With `preview` nothing is stored; with `explain` the result has the ledger and the quality;
        with `messages` it has the pack as part of a request to that provider, in
        `assembly.messages`.
        """
        body = {"query": query, **wire.options(options)}
        result = self._build(
            recipe, body, explain=explain, preview=preview, messages=messages
        )
        return cast(t.SectionsContext, result)

    def build(
        self,
        thread_id: str | None,
        message: str,
        *,
        recipe: str = "prime",
        explain: bool = False,
        preview: bool = False,
        messages: t.MessageFormat | None = None,
        **options: Unpack[t.PrimeOptions],
    ) -> t.PrimeAnswer:
        """One ranked list over files and threads, for a message in a thread."""
        body = {
            **wire.options({"thread_id": thread_id}),
            "message": message,
            **wire.options(options),
        }
        result = self._build(
            recipe, body, explain=explain, preview=preview, messages=messages
        )
        return cast(t.PrimeAnswer, result)

    def assemble(
        self,
        query: str,
        *,
        recipe: str = "workspace",
        explain: bool = False,
        preview: bool = False,
        messages: t.MessageFormat | None = None,
        **options: Unpack[t.WorkspaceOptions],
    ) -> t.WorkspaceContext:
        """Blocks around what the user has in focus."""
        body = {"query": query, **wire.options(options)}
        result = self._build(
            recipe, body, explain=explain, preview=preview, messages=messages
        )
        return cast(t.WorkspaceContext, result)

    def assemble_context(
        self,
        current_context: str | None = None,
        situation: Mapping[str, Any] | None = None,
        *,
        recipe: str = "situation",
        explain: bool = False,
        preview: bool = False,
        messages: t.MessageFormat | None = None,
        **options: Unpack[t.SituationOptions],
    ) -> t.SituationContext:
        """Guidance for a situation, from inherited contexts and the rules that apply."""
        own = {"current_context": current_context, "situation": situation}
        body = {**wire.options(own), **wire.options(options)}
        result = self._build(
            recipe, body, explain=explain, preview=preview, messages=messages
        )
        return cast(t.SituationContext, result)

    def build_proposal_context(
        self,
        opportunity_id: str,
        user_prompt: str,
        *,
        recipe: str = "proposal",
        explain: bool = False,
        preview: bool = False,
        messages: t.MessageFormat | None = None,
        **options: Unpack[t.ProposalOptions],
    ) -> t.ProposalContext:
        """The material for a proposal for an opportunity."""
        body = {
            "opportunityId": opportunity_id,
            "userPrompt": user_prompt,
            **wire.options(options),
        }
        result = self._build(
            recipe, body, explain=explain, preview=preview, messages=messages
        )
        return cast(t.ProposalContext, result)

    def build_context(
        self,
        query: str,
        *,
        recipe: str = "memory",
        explain: bool = False,
        messages: t.MessageFormat | None = None,
        **options: Unpack[t.MemoryOptions],
    ) -> t.MemoryContext:
        """Memories for a message, ready for a prompt."""
        body = {"query": query, **wire.options(options)}
        result = self._build(recipe, body, explain=explain, preview=False, messages=messages)
        return cast(t.MemoryContext, result)

    def build_context_by_vector(
        self,
        vector: Sequence[float],
        *,
        recipe: str = "memory",
        explain: bool = False,
        messages: t.MessageFormat | None = None,
        **options: Unpack[t.MemoryOptions],
    ) -> t.MemoryContext:
        """The same for a vector of the workspace's own embedding model."""
        body = {"vector": list(vector), **wire.options(options)}
        result = self._build(recipe, body, explain=explain, preview=False, messages=messages)
        return cast(t.MemoryContext, result)

    def preview_context(
        self, query: str, *, recipe: str = "memory", **options: Unpack[t.MemoryOptions]
    ) -> t.MemoryPreview:
        """The result of `build_context` with its reasons. Nothing is stored."""
        body = {"query": query, **wire.options(options)}
        result = self._build(recipe, body, explain=False, preview=True)
        return cast(t.MemoryPreview, result)

    def stream_context(
        self,
        query: str = "",
        *,
        recipe: str = "everything",
        explain: bool = False,
        preview: bool = False,
        messages: t.MessageFormat | None = None,
        request: Mapping[str, Any] | None = None,
        **options: Unpack[t.Options],
    ) -> Iterator[wire.StreamEvent]:
        """The progress of a build: its stages, then its warnings, then its result.

        `request` is a recipe's own request in the form of the wire, added to the arguments. A build
        that fails raises its error. Closing the iterator cancels the build.
        """
        body = {**({"query": query} if query else {}), **wire.options(options), **(request or {})}
        path = self._base + wire.path("context", recipe)
        flags = {"explain": explain, "preview": preview, "messages": messages}
        for event in self._client._events(path, flags, body, self._viewer):
            yield event

    def frontier(
        self,
        query: str = "",
        budgets: Sequence[int] = (),
        *,
        recipe: str = "everything",
        request: Mapping[str, Any] | None = None,
        **options: Unpack[t.Options],
    ) -> t.Frontier:
        """The packs of other budgets. `request` is as for `stream_context`."""
        body = {**({"query": query} if query else {}), **wire.options(options), **(request or {})}
        frontier = {"request": body, "budgets": list(budgets)}
        result = self._read("frontier", recipe, body=frontier)
        return cast(t.Frontier, result)

    # --- Looking back ---

    def get_receipt(self, id: str) -> t.Receipt:
        """The receipt of a pack: its inputs and the outcome of each candidate."""
        return cast(t.Receipt, self._get("receipts", id))

    def replay(self, id: str) -> t.Replay:
        """Builds a pack again from its receipt: the same bytes, or the differences."""
        return cast(t.Replay, self._read("receipts", id, "replay", body=None))

    def diff(self, a: str, b: str) -> t.Difference:
        """The differences between two packs, and their causes."""
        return cast(t.Difference, self._get("receipts", a, "diff", b))

    def feedback(
        self,
        context_item_id: str,
        useful: bool,
        *,
        user: str | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        """Records whether an item was useful; it counts in later scores."""
        body = {
            "contextItemId": context_item_id,
            "useful": useful,
            **wire.options({"user": user}),
        }
        self._write("feedback", body=body, idempotency_key=idempotency_key)

    def citations(self, receipt: str, response: str) -> t.Citations:
        """The sources of a pack that a response used, and a block that names them."""
        body = {"receipt": receipt, "response": response}
        return cast(t.Citations, self._read("citations", body=body))

    # --- Templates, rankers and recipes ---

    def _names(self, collection: str) -> t.Names:
        path = self._base + wire.path(collection)
        return {"names": self._client._all(path, "names", self._viewer)}

    def list_templates(self) -> t.Names:
        """The names of the workspace's own templates."""
        return self._names("templates")

    def register_template(self, name: str, template: t.KeptTemplate) -> None:
        """Stores a template under a name."""
        self._put("templates", name, body=template)

    def get_template(self, name: str) -> t.KeptTemplate:
        """A template of the workspace."""
        return cast(t.KeptTemplate, self._get("templates", name))

    def remove_template(self, name: str) -> None:
        """Removes a template of the workspace."""
        self._delete("templates", name)

    def list_rankers(self) -> t.Names:
        """The names of the workspace's own rankers."""
        return self._names("rankers")

    def register_ranker(self, name: str, expression: str) -> None:
        """Stores a ranker, such as `semantic * 0.7 + recency * 0.3`, under a name."""
        self._put("rankers", name, body={"expression": expression})

    def get_ranker(self, name: str) -> t.RankerText:
        """A ranker of the workspace."""
        return cast(t.RankerText, self._get("rankers", name))

    def remove_ranker(self, name: str) -> None:
        """Removes a ranker of the workspace."""
        self._delete("rankers", name)

    def list_recipes(self) -> t.Names:
        """The names of all recipes, including the built-in ones."""
        return self._names("recipes")

    def put_recipe(self, name: str, source: str) -> None:
        """Stores a recipe, a TOML text, under a name."""
        self._put("recipes", name, body={"source": source})

    def get_recipe(self, name: str) -> t.RecipeText:
        """A recipe's text, as it would be used."""
        return cast(t.RecipeText, self._get("recipes", name))

    def remove_recipe(self, name: str) -> None:
        """Removes a recipe of the workspace; a built-in one of the same name applies again."""
        self._delete("recipes", name)

    # --- Counting and checking ---

    def estimate_tokens(
        self,
        text: str | Mapping[str, Any],
        *,
        model: str | None = None,
        tokenizer: str | None = None,
    ) -> t.Count:
        """Counts the tokens of a text, or of a result's final string."""
        if isinstance(text, str):
            what: dict[str, Any] = {"text": text}
        else:
            what = {"payload": {"context": text["context"]}}
        body = {**what, **wire.options({"model": model, "tokenizer": tokenizer})}
        return cast(t.Count, self._read("estimate", body=body))

    def validate(
        self,
        payload: t.WorkspaceContext,
        *,
        user: str | None = None,
        groups: Sequence[str] = (),
    ) -> t.WorkspaceValidation:
        """Checks that a result of `assemble` is within its budget, and holds nothing forbidden and
        no duplicates."""
        viewer = wire.options({"user": user, "groups": list(groups) or None})
        result = self._read("validate", body={"payload": payload, **viewer})
        return cast(t.WorkspaceValidation, result)

    # --- The same under the names of the applications' own documents ---

    buildContext = build_context
    buildContextByVector = build_context_by_vector
    previewContext = preview_context
    searchByVector = search_by_vector
    registerTemplate = register_template
    registerRanker = register_ranker
    buildPrimeContext = build
    estimateTokens = estimate_tokens
    assembleContext = assemble_context
