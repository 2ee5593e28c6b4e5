"""A LangChain retriever: the passages of a pack as documents, with where they come from.

Needs the extra: `pip install "haversack[langchain]"`.
"""

from __future__ import annotations

from typing import Any, Optional

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from pydantic import ConfigDict, Field

from ._async import AsyncWorkspace
from ._passages import Passage, passages
from ._sync import Workspace


class HaversackRetriever(BaseRetriever):
    """Builds a pack for the query and gives its passages, best first.

    `workspace` serves `invoke`, `async_workspace` serves `ainvoke`; without it, `ainvoke` runs
    `invoke` on a thread. A `token_budget` bounds all passages together, `k` their number.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    workspace: Workspace
    async_workspace: Optional[AsyncWorkspace] = None  # noqa: UP045
    recipe: str = "everything"
    k: Optional[int] = None  # noqa: UP045
    token_budget: Optional[int] = None  # noqa: UP045
    request: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the recipe's request, in the form of the wire."""

    def _body(self, query: str, k: int | None) -> dict[str, Any]:
        body = {"query": query, **self.request}
        if self.token_budget is not None:
            body["tokenBudget"] = self.token_budget
        if k is not None:
            body.setdefault("limit", max(k, 10))
        return body

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        k = self.k if k is None else k
        result = self.workspace.build_any(self.recipe, self._body(query, k))
        return [document(passage) for passage in passages(result, self.workspace.name)[:k]]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        if self.async_workspace is None:
            manager = run_manager.get_sync()
            return await run_in_executor(
                None, self._get_relevant_documents, query, run_manager=manager, k=k
            )
        k = self.k if k is None else k
        result = await self.async_workspace.build_any(self.recipe, self._body(query, k))
        return [document(passage) for passage in passages(result, self.async_workspace.name)[:k]]


def document(passage: Passage) -> Document:
    """A passage as a LangChain document."""
    metadata = {**passage.metadata, "score": passage.score}
    return Document(page_content=passage.text, id=passage.id, metadata=metadata)
