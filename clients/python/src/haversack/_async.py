"""The asynchronous client. The synchronous one is made from this file by `make_sync.py`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union, cast

import httpx

from . import _wire as wire
from . import types as t
from .errors import HaversackError, Unreachable

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self, Unpack

Items = Union[Iterable[t.NewItem], AsyncIterable[t.NewItem]]


class AsyncHaversack:
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
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._retries = retries
        self._user = user
        self._viewer = wire.viewer_headers(user, groups)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._own = http is None
        self._http = http if http is not None else httpx.AsyncClient(timeout=timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections, unless `http` was given: then the caller closes them."""
        if self._own:
            await self._http.aclose()

    def workspace(
        self, name: str, *, user: str | None = None, groups: Sequence[str] | None = None
    ) -> AsyncWorkspace:
        """A workspace by name, for the client's user and groups unless others are given.

        Groups without a user are those of the client's user; a user without groups has none.
        Nothing is sent: `get` says whether the workspace exists.
        """
        if user is None and groups is None:
            return AsyncWorkspace(self, name, self._viewer)
        viewer = wire.named_viewer_headers(user if user is not None else self._user, groups or ())
        return AsyncWorkspace(self, name, viewer)

    async def livez(self) -> t.Health:
        """Whether the process runs."""
        return cast(t.Health, await self._json("GET", "/livez"))

    async def readyz(self) -> t.Health:
        """Whether the server takes requests."""
        return cast(t.Health, await self._json("GET", "/readyz"))

    async def healthz(self) -> t.Health:
        """Whether the server is healthy, with its version."""
        return cast(t.Health, await self._json("GET", "/healthz"))

    async def metrics(self) -> str:
        """The server's metrics in the format of Prometheus."""
        return (await self._send("GET", "/metrics")).text

    async def openapi(self) -> dict[str, Any]:
        """The OpenAPI document of the server."""
        return cast("dict[str, Any]", await self._json("GET", "/openapi.json"))

    async def list_workspaces(self) -> t.Workspaces:
        """All workspaces that the key may use, over all pages."""
        return {"workspaces": await self._all("/v1/workspaces", "workspaces", {})}

    async def create_workspace(
        self, name: str, *, idempotency_key: str | None = None
    ) -> t.WorkspaceName:
        """Creates a workspace."""
        result = await self._json(
            "POST", "/v1/workspaces", body={"name": name}, idempotency_key=idempotency_key
        )
        return cast(t.WorkspaceName, result)

    async def get_default_model(self) -> t.DefaultModel:
        """The embedding model of new workspaces."""
        return cast(t.DefaultModel, await self._json("GET", "/v1/model"))

    async def set_default_model(self, name: str) -> t.DefaultModel:
        """Creates new workspaces with this embedding model from now on."""
        result = await self._json("PUT", "/v1/model", body={"name": name})
        return cast(t.DefaultModel, result)

    async def _all(self, path: str, name: str, viewer: Mapping[str, str]) -> list[Any]:
        """All entries of a list, fetched page by page."""
        found: list[Any] = []
        query: dict[str, Any] = {"limit": wire.PAGE_MAX}
        while True:
            page = await self._json("GET", path, query=query, viewer=viewer)
            found += page[name]
            if "next" not in page:
                return found
            query["after"] = page["next"]

    async def _json(self, method: str, path: str, **more: Any) -> Any:
        return (await self._send(method, path, **more)).json()

    async def _send(
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
                response = await self._http.request(
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
            await self._pause(failure, attempt, repeatable)
            attempt += 1

    async def _pause(self, failure: HaversackError, attempt: int, repeatable: bool) -> None:
        """Waits before a retry, or raises the failure if there is none."""
        wait = wire.wait_seconds(attempt, failure.retry_after)
        again = repeatable and failure.status in wire.RETRIED
        if not again or wait is None or attempt >= self._retries:
            raise failure
        await asyncio.sleep(wait)

    async def _lines(self, path: str, items: Items, viewer: Mapping[str, str]) -> Any:
        """Streams lines. A stream is never retried, because the iterator is consumed."""
        headers = {**self._headers, **viewer, "Content-Type": "application/x-ndjson"}
        try:
            response = await self._http.post(
                self._url + path, content=line_batches(items), headers=headers
            )
        except httpx.TransportError as error:
            raise unreachable_error(self._url, error) from error
        if not response.is_success:
            raise wire.failure(response.status_code, response.content, response.headers)
        return response.json()

    async def _file(self, path: str, name: str, content: bytes, viewer: Mapping[str, str]) -> Any:
        """Sends a file, once."""
        headers = {**self._headers, **viewer, "Content-Type": "application/octet-stream"}
        try:
            response = await self._http.post(
                self._url + path, params={"name": name}, content=content, headers=headers
            )
        except httpx.TransportError as error:
            raise unreachable_error(self._url, error) from error
        if not response.is_success:
            raise wire.failure(response.status_code, response.content, response.headers)
        return response.json()

    async def _events(
        self, path: str, query: Mapping[str, Any], body: Any, viewer: Mapping[str, str]
    ) -> AsyncIterator[wire.StreamEvent]:
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
                async with self._http.stream(
                    "POST",
                    self._url + path,
                    params=wire.query(query),
                    content=wire.encode(body),
                    headers=headers,
                ) as response:
                    if response.is_success:
                        async for line in response.aiter_lines():
                            for event in reader.take(line):
                                ended = ended or isinstance(event, wire.ResultEvent)
                                yield event
                    else:
                        content = await response.aread()
                        failure = wire.failure(response.status_code, content, response.headers)
            except httpx.TransportError as error:
                raise unreachable_error(self._url, error) from error
            if failure is not None:
                await self._pause(failure, attempt, True)
                attempt += 1
            elif not ended:
                raise Unreachable("unreachable", 0, "the stream ended without a result")


def unreachable_error(url: str, error: Exception) -> HaversackError:
    """The error for a server that did not respond."""
    detail = str(error) or type(error).__name__
    return Unreachable("unreachable", 0, f"no answer from {url}: {detail}")


async def line_batches(items: Items) -> AsyncIterator[bytes]:
    """Encodes items as lines, in batches of about `wire.LINES_BYTES`."""
    batch = bytearray()
    async for item in wire.aeach(items):
        batch += wire.line(item)
        if len(batch) >= wire.LINES_BYTES:
            yield bytes(batch)
            batch.clear()
    if batch:
        yield bytes(batch)


class AsyncWorkspace:
    """A workspace, with a method for each operation of the server.

    Keyword arguments have Python's names (`token_budget`); keys of dictionaries have the names of
    the wire (`tokenBudget`). Writes are retried on 429 and 503 only with an `idempotency_key`.
    """

    def __init__(self, client: AsyncHaversack, name: str, viewer: Mapping[str, str]) -> None:
        self._client = client
        self._viewer = viewer
        self._base = wire.path("v1", "workspaces", name)
        self.name = name

    def as_user(self, user: str | None, groups: Sequence[str] = ()) -> AsyncWorkspace:
        """The same workspace on behalf of another viewer. This needs a trusted key."""
        return AsyncWorkspace(self._client, self.name, wire.named_viewer_headers(user, groups))

    def as_owner(self) -> AsyncWorkspace:
        """The same workspace without a viewer: a trusted key then sees everything in it."""
        return AsyncWorkspace(self._client, self.name, {})

    async def _get(self, *parts: str, query: Mapping[str, Any] | None = None) -> Any:
        path = self._base + (wire.path(*parts) if parts else "")
        return await self._client._json("GET", path, query=query, viewer=self._viewer)

    async def _read(self, *parts: str, body: Any, query: Mapping[str, Any] | None = None) -> Any:
        path = self._base + wire.path(*parts)
        return await self._client._json(
            "POST", path, query=query, body=body, viewer=self._viewer, reads=True
        )

    async def _write(self, *parts: str, body: Any, idempotency_key: str | None) -> Any:
        response = await self._client._send(
            "POST",
            self._base + wire.path(*parts),
            body=body,
            viewer=self._viewer,
            idempotency_key=idempotency_key,
        )
        return response.json() if response.content else None

    async def _put(self, *parts: str, body: Any) -> None:
        path = self._base + wire.path(*parts)
        await self._client._send("PUT", path, body=body, viewer=self._viewer)

    async def _delete(self, *parts: str, query: Mapping[str, Any] | None = None) -> httpx.Response:
        path = self._base + (wire.path(*parts) if parts else "")
        return await self._client._send("DELETE", path, query=query, viewer=self._viewer)

    # --- The workspace itself ---

    async def create(self, *, idempotency_key: str | None = None) -> t.WorkspaceName:
        """Creates the workspace."""
        return await self._client.create_workspace(self.name, idempotency_key=idempotency_key)

    async def get(self) -> t.WorkspaceState:
        """Its state, and the number of items that the viewer can read."""
        return cast(t.WorkspaceState, await self._get())

    async def get_model(self) -> t.WorkspaceModel:
        """Its embedding model, how far a change is, and what was used of models today."""
        return cast(t.WorkspaceModel, await self._get("model"))

    async def change_model(self, name: str) -> t.WorkspaceModel:
        """Starts to change it to another embedding model. It answers all the while."""
        path = self._base + wire.path("model")
        result = await self._client._json("PUT", path, body={"name": name}, viewer=self._viewer)
        return cast(t.WorkspaceModel, result)

    async def remove(self) -> None:
        """Removes the workspace with everything in it."""
        await self._delete()

    # --- Items, links and events ---

    async def put_items(
        self, items: Sequence[t.NewItem], *, idempotency_key: str | None = None
    ) -> t.Written:
        """Adds or replaces items, all or none."""
        result = await self._write("items", body=list(items), idempotency_key=idempotency_key)
        return cast(t.Written, result)

    async def ingest(self, items: Items) -> t.Written:
        """Adds any number of items from an iterator, written as they come.

        Only one batch is held in memory at a time. An invalid item ends the stream: the error has
        its `line` and the number of items `stored` before it. Items that are already stored in the
        same form are unchanged, so a stream can be sent again.
        """
        path = self._base + wire.path("items")
        return cast(t.Written, await self._client._lines(path, items, self._viewer))

    async def add_file(self, name: str, content: bytes) -> t.FilesAdded:
        """Reads a file of any known format. `name` is its path, with its extension."""
        path = self._base + wire.path("files")
        result = await self._client._file(path, name, content, self._viewer)
        return cast(t.FilesAdded, result)

    async def list_items(
        self,
        *,
        kind: str | None = None,
        parent: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> t.ItemPage:
        """One page of items by id. Pass `next` of a page as `after` to get the following one."""
        query = {"kind": kind, "parent": parent, "after": after, "limit": limit}
        return cast(t.ItemPage, await self._get("items", query=query))

    async def items(
        self, *, kind: str | None = None, parent: str | None = None, page: int = 1000
    ) -> AsyncIterator[t.Item]:
        """All items by id, a page at a time."""
        after: str | None = None
        while True:
            found = await self.list_items(kind=kind, parent=parent, after=after, limit=page)
            for item in found["items"]:
                yield item
            after = found.get("next")
            if after is None:
                return

    async def get_item(self, id: str) -> t.Item:
        """An item."""
        return cast(t.Item, await self._get("items", id))

    async def delete_item(self, id: str, *, purge: bool = False) -> t.Written:
        """Deletes an item and its descendants; with `purge`, also their history."""
        response = await self._delete("items", id, query={"purge": purge})
        return cast(t.Written, response.json())

    async def put_links(
        self,
        add: Sequence[t.Link] = (),
        remove: Sequence[t.Link] = (),
        *,
        idempotency_key: str | None = None,
    ) -> t.Written:
        """Adds and removes links between items."""
        body = {"add": list(add), "remove": list(remove)}
        result = await self._write("links", body=body, idempotency_key=idempotency_key)
        return cast(t.Written, result)

    async def put_events(
        self, events: Sequence[t.Event], *, idempotency_key: str | None = None
    ) -> t.Written:
        """Records events on items."""
        body = {"events": list(events)}
        result = await self._write("events", body=body, idempotency_key=idempotency_key)
        return cast(t.Written, result)

    # --- Memories ---

    async def add_memories(
        self,
        memories: Sequence[t.NewMemory],
        *,
        user: str | None = None,
        idempotency_key: str | None = None,
    ) -> t.Remembered:
        """Stores memories that say something new, and lists those that repeat known ones."""
        body = {**wire.options({"user": user}), "memories": list(memories)}
        result = await self._write("memories", body=body, idempotency_key=idempotency_key)
        return cast(t.Remembered, result)

    async def extract_memories(
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
        result = await self._write("memories", "extract", body=body, idempotency_key=None)
        return cast(t.ExtractedMemories, result)

    async def search_memories(
        self, query: str, **options: Unpack[t.MemoryOptions]
    ) -> list[t.MemorySearchResult]:
        """Memories that match a query, best first."""
        return await self._search_memory({"query": query, **wire.options(options)})

    async def search_by_vector(
        self, vector: Sequence[float], **options: Unpack[t.MemoryOptions]
    ) -> list[t.MemorySearchResult]:
        """Memories near a vector of the workspace's own embedding model, best first."""
        return await self._search_memory({"vector": list(vector), **wire.options(options)})

    async def _search_memory(self, search: Mapping[str, Any]) -> list[t.MemorySearchResult]:
        return (await self.search_memories_batch([search]))[0]

    async def search_memories_batch(
        self, searches: Sequence[Mapping[str, Any]]
    ) -> list[list[t.MemorySearchResult]]:
        """Several searches at once, in the form of the wire; results for each, in order."""
        result = await self._read("memories", "search", body={"searches": list(searches)})
        return cast(t.MemoryResults, result)["results"]

    # --- Searching ---

    async def search(
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
        result = await self._read("search", body={"query": query, **wire.options(options)})
        return cast(t.SearchAnswer, result)

    # --- Contexts ---

    async def _build(
        self,
        recipe: str,
        body: Mapping[str, Any],
        *,
        explain: bool,
        preview: bool,
        messages: t.MessageFormat | None = None,
    ) -> Any:
        query = {"explain": explain, "preview": preview, "messages": messages}
        return await self._read("context", recipe, body=body, query=query)

    async def build_any(
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
        result = await self._build(
            recipe, request, explain=explain, preview=preview, messages=messages
        )
        return cast("dict[str, Any]", result)

    async def pack(
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
        result = await self._build(
            recipe, body, explain=explain, preview=preview, messages=messages
        )
        return cast(t.SectionsContext, result)

    async def build(
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
        result = await self._build(
            recipe, body, explain=explain, preview=preview, messages=messages
        )
        return cast(t.PrimeAnswer, result)

    async def assemble(
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
        result = await self._build(
            recipe, body, explain=explain, preview=preview, messages=messages
        )
        return cast(t.WorkspaceContext, result)

    async def assemble_context(
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
        result = await self._build(
            recipe, body, explain=explain, preview=preview, messages=messages
        )
        return cast(t.SituationContext, result)

    async def build_proposal_context(
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
        result = await self._build(
            recipe, body, explain=explain, preview=preview, messages=messages
        )
        return cast(t.ProposalContext, result)

    async def build_context(
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
        result = await self._build(recipe, body, explain=explain, preview=False, messages=messages)
        return cast(t.MemoryContext, result)

    async def build_context_by_vector(
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
        result = await self._build(recipe, body, explain=explain, preview=False, messages=messages)
        return cast(t.MemoryContext, result)

    async def preview_context(
        self, query: str, *, recipe: str = "memory", **options: Unpack[t.MemoryOptions]
    ) -> t.MemoryPreview:
        """The result of `build_context` with its reasons. Nothing is stored."""
        body = {"query": query, **wire.options(options)}
        result = await self._build(recipe, body, explain=False, preview=True)
        return cast(t.MemoryPreview, result)

    async def stream_context(
        self,
        query: str = "",
        *,
        recipe: str = "everything",
        explain: bool = False,
        preview: bool = False,
        messages: t.MessageFormat | None = None,
        request: Mapping[str, Any] | None = None,
        **options: Unpack[t.Options],
    ) -> AsyncIterator[wire.StreamEvent]:
        """The progress of a build: its stages, then its warnings, then its result.

        `request` is a recipe's own request in the form of the wire, added to the arguments. A build
        that fails raises its error. Closing the iterator cancels the build.
        """
        body = {**({"query": query} if query else {}), **wire.options(options), **(request or {})}
        path = self._base + wire.path("context", recipe)
        flags = {"explain": explain, "preview": preview, "messages": messages}
        async for event in self._client._events(path, flags, body, self._viewer):
            yield event

    async def frontier(
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
        result = await self._read("frontier", recipe, body=frontier)
        return cast(t.Frontier, result)

    # --- Looking back ---

    async def get_receipt(self, id: str) -> t.Receipt:
        """The receipt of a pack: its inputs and the outcome of each candidate."""
        return cast(t.Receipt, await self._get("receipts", id))

    async def replay(self, id: str) -> t.Replay:
        """Builds a pack again from its receipt: the same bytes, or the differences."""
        return cast(t.Replay, await self._read("receipts", id, "replay", body=None))

    async def diff(self, a: str, b: str) -> t.Difference:
        """The differences between two packs, and their causes."""
        return cast(t.Difference, await self._get("receipts", a, "diff", b))

    async def feedback(
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
        await self._write("feedback", body=body, idempotency_key=idempotency_key)

    async def citations(self, receipt: str, response: str) -> t.Citations:
        """The sources of a pack that a response used, and a block that names them."""
        body = {"receipt": receipt, "response": response}
        return cast(t.Citations, await self._read("citations", body=body))

    # --- Templates, rankers and recipes ---

    async def _names(self, collection: str) -> t.Names:
        path = self._base + wire.path(collection)
        return {"names": await self._client._all(path, "names", self._viewer)}

    async def list_templates(self) -> t.Names:
        """The names of the workspace's own templates."""
        return await self._names("templates")

    async def register_template(self, name: str, template: t.KeptTemplate) -> None:
        """Stores a template under a name."""
        await self._put("templates", name, body=template)

    async def get_template(self, name: str) -> t.KeptTemplate:
        """A template of the workspace."""
        return cast(t.KeptTemplate, await self._get("templates", name))

    async def remove_template(self, name: str) -> None:
        """Removes a template of the workspace."""
        await self._delete("templates", name)

    async def list_rankers(self) -> t.Names:
        """The names of the workspace's own rankers."""
        return await self._names("rankers")

    async def register_ranker(self, name: str, expression: str) -> None:
        """Stores a ranker, such as `semantic * 0.7 + recency * 0.3`, under a name."""
        await self._put("rankers", name, body={"expression": expression})

    async def get_ranker(self, name: str) -> t.RankerText:
        """A ranker of the workspace."""
        return cast(t.RankerText, await self._get("rankers", name))

    async def remove_ranker(self, name: str) -> None:
        """Removes a ranker of the workspace."""
        await self._delete("rankers", name)

    async def list_recipes(self) -> t.Names:
        """The names of all recipes, including the built-in ones."""
        return await self._names("recipes")

    async def put_recipe(self, name: str, source: str) -> None:
        """Stores a recipe, a TOML text, under a name."""
        await self._put("recipes", name, body={"source": source})

    async def get_recipe(self, name: str) -> t.RecipeText:
        """A recipe's text, as it would be used."""
        return cast(t.RecipeText, await self._get("recipes", name))

    async def remove_recipe(self, name: str) -> None:
        """Removes a recipe of the workspace; a built-in one of the same name applies again."""
        await self._delete("recipes", name)

    # --- Counting and checking ---

    async def estimate_tokens(
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
        return cast(t.Count, await self._read("estimate", body=body))

    async def validate(
        self,
        payload: t.WorkspaceContext,
        *,
        user: str | None = None,
        groups: Sequence[str] = (),
    ) -> t.WorkspaceValidation:
        """Checks that a result of `assemble` is within its budget, and holds nothing forbidden and
        no duplicates."""
        viewer = wire.options({"user": user, "groups": list(groups) or None})
        result = await self._read("validate", body={"payload": payload, **viewer})
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
