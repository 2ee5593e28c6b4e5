"""The retrievers, against the real server and with LangChain's own tests."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Server
from langchain_core.documents import Document
from langchain_tests.integration_tests import RetrieversIntegrationTests
from llama_index.core.schema import QueryBundle

import haversack
from haversack import AsyncHaversack, Haversack, Workspace
from haversack.langchain import HaversackRetriever
from haversack.llamaindex import HaversackRetriever as LlamaRetriever

NOTES = [
    "Mara approves every discount above ten percent.",
    "Discounts below ten percent are decided by sales.",
    "A discount for staff is entered by payroll.",
    "Discount codes end on the last day of a month.",
    "The launch of the new roaster is on the third of May.",
]


@pytest.fixture(scope="module")
def shop(server: Server) -> Workspace:
    """A workspace that all tests here read."""
    workspace = Haversack(server.url).workspace("shop")
    workspace.create()
    workspace.put_items(
        [
            {"id": f"n{n}", "kind": "note", "title": f"Note {n}", "body": note, "path": f"n{n}.md"}
            for n, note in enumerate(NOTES)
        ]
    )
    workspace.put_items(
        [{"id": "f", "kind": "file", "path": "f.md", "body": "Anna has a discount."}]
    )
    workspace.add_memories([{"content": "Anna drinks green tea."}])
    return workspace


class TestLangChain(RetrieversIntegrationTests):
    """What LangChain expects of a retriever."""

    @pytest.fixture(autouse=True)
    def _shop(self, shop: Workspace) -> None:
        TestLangChain.workspace = shop  # type: ignore[attr-defined]

    @property
    def retriever_constructor(self) -> type[HaversackRetriever]:
        return HaversackRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"workspace": TestLangChain.workspace}  # type: ignore[attr-defined]

    @property
    def retriever_query_example(self) -> str:
        return "who approves a discount?"


def test_documents_say_where_they_come_from(shop: Workspace) -> None:
    retriever = HaversackRetriever(workspace=shop, k=2, token_budget=400)
    documents = retriever.invoke("who approves a discount?")
    assert len(documents) == 2
    best = documents[0]
    assert isinstance(best, Document) and best.page_content == NOTES[0]
    said = best.metadata
    assert (said["item"], said["path"], said["title"]) == ("n0", "n0.md", "Note 0")
    assert said["workspace"] == "shop" and said["recipe"] == "everything"
    assert said["score"] >= documents[1].metadata["score"]
    assert shop.get_receipt(said["receipt"])["id"] == said["receipt"]


async def test_documents_come_asynchronously(server: Server, shop: Workspace) -> None:
    async with AsyncHaversack(server.url) as client:
        workspace = client.workspace("shop")
        retriever = HaversackRetriever(workspace=shop, async_workspace=workspace)
        documents = await retriever.ainvoke("who approves a discount?", k=1)
    assert [one.page_content for one in documents] == [NOTES[0]]
    on_a_thread = await HaversackRetriever(workspace=shop).ainvoke("roaster", k=1)
    assert [one.page_content for one in on_a_thread] == [NOTES[4]]


@pytest.mark.parametrize("recipe", ["everything", "memory", "prime", "workspace", "situation"])
def test_any_recipe_with_passages_will_do(shop: Workspace, recipe: str) -> None:
    documents = HaversackRetriever(workspace=shop, recipe=recipe).invoke("Anna discount")
    assert documents or recipe == "situation"
    assert all(one.metadata["recipe"] == recipe for one in documents)


def test_a_recipe_without_passages_is_refused(server: Server) -> None:
    deals = Haversack(server.url).workspace("deals")
    deals.create()
    deals.put_items([{"id": "deal", "kind": "opportunity", "title": "Deal"}])
    request = {"opportunityId": "deal"}
    retriever = HaversackRetriever(workspace=deals, recipe="proposal", request=request)
    with pytest.raises(ValueError, match="passages"):
        retriever.invoke("x")


def test_errors_of_the_server_come_through(shop: Workspace) -> None:
    with pytest.raises(haversack.NotFound):
        HaversackRetriever(workspace=shop, recipe="nowhere").invoke("x")


def test_nodes_have_scores_and_places(shop: Workspace) -> None:
    retriever = LlamaRetriever(shop, similarity_top_k=2, token_budget=400)
    nodes = retriever.retrieve("who approves a discount?")
    assert [node.node.get_content() for node in nodes][:1] == [NOTES[0]]
    assert len(nodes) == 2 and (nodes[0].score or 0) >= (nodes[1].score or 0) > 0
    assert nodes[0].node.metadata["path"] == "n0.md"


async def test_nodes_come_asynchronously(server: Server, shop: Workspace) -> None:
    async with AsyncHaversack(server.url) as client:
        retriever = LlamaRetriever(shop, async_workspace=client.workspace("shop"))
        nodes = await retriever.aretrieve(QueryBundle("who approves a discount?"))
    assert nodes[0].node.get_content() == NOTES[0]
    assert await LlamaRetriever(shop, similarity_top_k=1).aretrieve("roaster")
