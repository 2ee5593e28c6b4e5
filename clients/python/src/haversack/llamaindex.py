"""A LlamaIndex retriever: the passages of a pack as nodes with scores.

Needs the extra: `pip install "haversack[llamaindex]"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from ._async import AsyncWorkspace
from ._passages import Passage, passages
from ._sync import Workspace


class HaversackRetriever(BaseRetriever):
    """Builds a pack for the query and gives its passages, best first.

    `workspace` serves `retrieve`, `async_workspace` serves `aretrieve`; without it, `aretrieve`
    calls `retrieve`. A `token_budget` bounds all passages together, `similarity_top_k` their
    number.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        async_workspace: AsyncWorkspace | None = None,
        recipe: str = "everything",
        similarity_top_k: int | None = None,
        token_budget: int | None = None,
        request: Mapping[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._workspace = workspace
        self._async_workspace = async_workspace
        self._recipe = recipe
        self._top = similarity_top_k
        self._token_budget = token_budget
        self._request = dict(request or {})

    def _body(self, query: QueryBundle) -> dict[str, Any]:
        body = {"query": query.query_str, **self._request}
        if self._token_budget is not None:
            body["tokenBudget"] = self._token_budget
        if self._top is not None:
            body.setdefault("limit", max(self._top, 10))
        return body

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        result = self._workspace.build_any(self._recipe, self._body(query_bundle))
        return [node(passage) for passage in passages(result, self._workspace.name)[: self._top]]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._async_workspace is None:
            return self._retrieve(query_bundle)
        result = await self._async_workspace.build_any(self._recipe, self._body(query_bundle))
        name = self._async_workspace.name
        return [node(passage) for passage in passages(result, name)[: self._top]]


def node(passage: Passage) -> NodeWithScore:
    """A passage as a LlamaIndex node."""
    text = TextNode(text=passage.text, id_=passage.id, metadata=passage.metadata)
    return NodeWithScore(node=text, score=passage.score)
