"""Every operation of the server, through both clients."""

from __future__ import annotations

import inspect
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

import haversack
from haversack import Haversack, ResultEvent, StageEvent, Workspace

METHODS = {
    "livez": "Haversack.livez",
    "readyz": "Haversack.readyz",
    "healthz": "Haversack.healthz",
    "metrics": "Haversack.metrics",
    "openapi": "Haversack.openapi",
    "listWorkspaces": "Haversack.list_workspaces",
    "createWorkspace": "Haversack.create_workspace",
    "getDefaultModel": "Haversack.get_default_model",
    "setDefaultModel": "Haversack.set_default_model",
    "getModel": "Workspace.get_model",
    "changeModel": "Workspace.change_model",
    "getWorkspace": "Workspace.get",
    "removeWorkspace": "Workspace.remove",
    "putItems": "Workspace.put_items",
    "addFiles": "Workspace.add_file",
    "listItems": "Workspace.list_items",
    "getItem": "Workspace.get_item",
    "deleteItem": "Workspace.delete_item",
    "putLinks": "Workspace.put_links",
    "putEvents": "Workspace.put_events",
    "addMemories": "Workspace.add_memories",
    "extractMemories": "Workspace.extract_memories",
    "searchMemories": "Workspace.search_memories",
    "search": "Workspace.search",
    "buildContext": "Workspace.build_any",
    "buildContextEverything": "Workspace.pack",
    "buildContextProposal": "Workspace.build_proposal_context",
    "buildContextPrime": "Workspace.build",
    "buildContextWorkspace": "Workspace.assemble",
    "buildContextSituation": "Workspace.assemble_context",
    "buildContextMemory": "Workspace.build_context",
    "frontier": "Workspace.frontier",
    "getReceipt": "Workspace.get_receipt",
    "replay": "Workspace.replay",
    "diff": "Workspace.diff",
    "feedback": "Workspace.feedback",
    "citations": "Workspace.citations",
    "listTemplates": "Workspace.list_templates",
    "registerTemplate": "Workspace.register_template",
    "getTemplate": "Workspace.get_template",
    "removeTemplate": "Workspace.remove_template",
    "listRankers": "Workspace.list_rankers",
    "registerRanker": "Workspace.register_ranker",
    "getRanker": "Workspace.get_ranker",
    "removeRanker": "Workspace.remove_ranker",
    "listRecipes": "Workspace.list_recipes",
    "putRecipe": "Workspace.put_recipe",
    "getRecipe": "Workspace.get_recipe",
    "removeRecipe": "Workspace.remove_recipe",
    "estimateTokens": "Workspace.estimate_tokens",
    "validate": "Workspace.validate",
}


def test_every_operation_has_a_method(client: Haversack) -> None:
    operations = {
        operation["operationId"]
        for path in client.openapi()["paths"].values()
        for operation in path.values()
    }
    # What is asked over MCP is asked by clients of MCP, who gives tokens by who looks for one, the
    # inspector by a browser, rows of databases are sent by `haversack sync`, and users are erased
    # by `haversack user erase`.
    others = {"mcp", "protectedResource", "protectedMcp", "inspector", "inspectorFile"}
    others |= {"getSource", "writeSource", "eraseUser"}
    assert operations - others == set(METHODS)
    for place in METHODS.values():
        owner, name = place.split(".")
        for prefix in ("", "Async"):
            assert callable(getattr(getattr(haversack, prefix + owner), name)), place


def test_a_file_is_read(ws: Workspace) -> None:
    added = ws.add_file("notes/well.md", b"# The well\n\nIt is dug in June.\n")
    assert (added["stored"], added["skipped"]) == (1, [])
    assert ws.get_item("notes/well.md")["title"] == "The well"
    assert ws.add_file("photo.png", b"\x89PNG\0\0")["skipped"][0].startswith("photo.png: ")


def test_aliases_are_the_methods_they_name() -> None:
    for name, method in [
        ("buildContext", "build_context"),
        ("buildContextByVector", "build_context_by_vector"),
        ("previewContext", "preview_context"),
        ("searchByVector", "search_by_vector"),
        ("registerTemplate", "register_template"),
        ("registerRanker", "register_ranker"),
        ("buildPrimeContext", "build"),
        ("estimateTokens", "estimate_tokens"),
        ("assembleContext", "assemble_context"),
    ]:
        assert getattr(Workspace, name) is getattr(Workspace, method)


def test_the_server_says_how_it_is(client: Haversack) -> None:
    assert client.livez() == {"status": "ok"}
    assert client.readyz() == {"status": "ok"}
    assert client.healthz()["version"]
    assert "haversack_http_requests_total" in client.metrics()


def test_workspaces_are_made_listed_and_removed(client: Haversack, ws: Workspace) -> None:
    assert {"name": ws.name} in client.list_workspaces()["workspaces"]
    state = ws.get()
    assert (state["name"], state["items"]) == (ws.name, 3)
    with pytest.raises(haversack.Conflict) as taken:
        client.create_workspace(ws.name)
    assert taken.value.code == "workspace_exists"
    ws.remove()
    with pytest.raises(haversack.NotFound):
        ws.get()


def test_items_are_written_listed_read_and_deleted(ws: Workspace) -> None:
    item = ws.get_item("launch")
    assert (item["kind"], item["title"], item["path"]) == ("note", "Launch", "handbook/launch.md")
    assert ws.get_item("salaries")["readers"] == ["group:board", "user:jonas"]
    first = ws.list_items(kind="note", limit=2)
    assert [item["id"] for item in first["items"]] == ["discounts", "launch"]
    assert [item["id"] for item in ws.list_items(after=first["next"])["items"]] == ["salaries"]
    assert [item["id"] for item in ws.items(page=1)] == ["discounts", "launch", "salaries"]
    again = ws.put_items([{"id": "launch", "kind": "note", "title": "Launch"}])
    assert (again["stored"], again["unchanged"]) == (1, 0)
    assert ws.delete_item("launch")["stored"] == 1
    assert ws.delete_item("salaries", purge=True)["stored"] == 1
    with pytest.raises(haversack.NotFound) as gone:
        ws.get_item("launch")
    assert gone.value.code == "item_not_found"


def test_ids_and_moments_of_any_form_arrive(ws: Workspace) -> None:
    made = datetime(2026, 5, 3, 9, 30, tzinfo=timezone(timedelta(hours=2)))
    ws.put_items(
        [
            {"id": "a/b ü?#%", "kind": "note", "body": "odd", "created": made},
            {"id": "day", "kind": "note", "body": "a day", "updated": date(2026, 5, 3)},
        ]
    )
    assert ws.get_item("a/b ü?#%")["created"].startswith("2026-05-03T07:30:00")
    assert ws.get_item("day")["updated"].startswith("2026-05-03")
    with pytest.raises(ValueError, match="time zone"):
        ws.put_items([{"id": "x", "kind": "note", "created": datetime(2026, 5, 3)}])


def test_links_and_events_are_written(ws: Workspace) -> None:
    link: haversack.types.Link = {"from": "launch", "to": "discounts", "sort": "link"}
    assert ws.put_links(add=[link])["stored"] == 1
    assert ws.put_links(remove=[link])["stored"] == 1
    written = ws.put_events([{"item": "launch", "happening": "viewed", "user": "anna"}])
    assert written["stored"] == 1


def test_a_stream_of_any_length_is_ingested(ws: Workspace) -> None:
    def many() -> Any:
        for n in range(3000):
            yield {"id": f"line-{n:05}", "kind": "note", "body": f"This is the line number {n}."}

    written = ws.ingest(many())
    assert (written["stored"], written["unchanged"]) == (3000, 0)
    assert ws.ingest(many())["unchanged"] == 3000
    assert sum(1 for _ in ws.items(page=500)) == 3003


def test_a_wrong_line_ends_a_stream_with_its_number(ws: Workspace) -> None:
    def lines() -> Any:
        for n in range(9):
            yield {"id": f"line-{n}", "kind": "" if n == 4 else "note", "body": "A line."}

    with pytest.raises(haversack.ValidationError) as wrong:
        ws.ingest(lines())
    assert (wrong.value.line, wrong.value.stored, wrong.value.field) == (5, 4, "kind")


def test_memories_are_added_searched_and_built(ws: Workspace) -> None:
    added = ws.add_memories(
        [
            {"content": "Anna drinks green tea, never coffee.", "type": "preference"},
            {"content": "Anna's birthday is on the third of March.", "type": "fact"},
            {"content": "Anna drinks green tea, never coffee.", "id": "again"},
        ]
    )
    assert len(added["stored"]) == 2
    assert [left["id"] for left in added["leftOut"]] == ["again"]
    found = ws.search_memories("what does Anna drink?", limit=1)
    assert "green tea" in found[0]["memory"]["content"]
    facts = ws.search_memories("Anna", memory_types=["fact"])
    assert [one["memory"].get("type") for one in facts] == ["fact"]
    both = ws.search_memories_batch([{"query": "tea"}, {"query": "birthday", "limit": 1}])
    assert len(both) == 2 and len(both[1]) == 1
    built = ws.build_context("what does Anna drink?", token_budget=200)
    assert "green tea" in built["context"] and built["tokenCount"] <= 200
    preview = ws.preview_context("what does Anna drink?", token_budget=200)
    assert preview["context"] == built["context"]
    assert set(preview["memoryIds"]) <= set(preview["rankingScores"])
    assert 0 < preview["budgetUsed"] <= 100


def dimensions(ws: Workspace) -> int:
    with pytest.raises(haversack.ValidationError) as wrong:
        ws.search_by_vector([1.0, 0.0])
    return max(int(word) for word in wrong.value.detail.replace(",", "").split() if word.isdigit())


def test_memories_are_found_by_vector(ws: Workspace) -> None:
    ws.add_memories([{"content": "Anna drinks green tea."}, {"content": "Bob runs at dawn."}])
    vector = [1.0] + [0.0] * (dimensions(ws) - 1)
    assert len(ws.search_by_vector(vector, limit=2)) == 2
    built = ws.build_context_by_vector(vector, token_budget=300)
    assert built["tokenCount"] <= 300


def test_search_finds_by_all_ways_or_one(ws: Workspace) -> None:
    answer = ws.search("who approves a discount?", limit=2, excerpt=40)
    best = answer["found"][0]
    assert (best["id"], best["path"]) == ("discounts", "handbook/discounts.md")
    assert len(best["excerpt"]) <= 40
    spelled = ws.search("dicsounts", way="fuzzy", kinds=["note"], path="handbook/", per_item=1)
    assert {hit["id"] for hit in spelled["found"]} <= {"discounts", "launch"}
    assert ws.search("discounts", under="launch", fields={"team": ["a", "b"]})["found"] == []


def test_the_model_of_a_workspace_is_shown(client: Haversack, ws: Workspace) -> None:
    model = ws.get_model()["model"]
    assert model == client.get_default_model()["model"]
    assert ws.change_model("built-in") == {"model": model}


def test_a_pack_comes_as_messages_for_a_provider(ws: Workspace) -> None:
    query = "who approves a discount?"
    plain = ws.pack(query, token_budget=600)
    assert "messages" not in plain["assembly"]
    pack = ws.pack(query, token_budget=600, messages="anthropic")
    messages = pack["assembly"]["messages"]
    assert messages is not None and messages["messages"][-1]["role"] == "user"
    pack = ws.pack(query, token_budget=600, messages="openai")
    messages = pack["assembly"]["messages"]
    assert messages is not None and "prompt_cache_key" in messages
    assert "Mara" in str(messages["messages"])
    events = list(ws.stream_context(query, token_budget=600, messages="openai"))
    assert "prompt_cache_key" in str(events[-1])


def test_a_pack_is_built_explained_and_looked_back_at(ws: Workspace) -> None:
    pack = ws.pack("who approves a discount?", token_budget=600, explain=True)
    assert "Mara" in pack["context"] and pack["tokenCount"] <= 600
    assert {line["outcome"] for line in pack["assembly"]["ledger"]} <= {
        "in",
        "cut",
        "essential",
        "out",
    }
    receipt = ws.get_receipt(pack["assembly"]["receipt"])
    assert receipt["tokens"] == pack["tokenCount"]
    replay = ws.replay(receipt["id"])
    assert replay["difference"]["same"]
    assert replay["result"]["context"] == pack["context"]
    other = ws.pack("when is the launch?", token_budget=600)
    difference = ws.diff(receipt["id"], other["assembly"]["receipt"])
    assert not difference["same"]
    assert "request" in {cause["cause"] for cause in difference["causes"]}
    same = ws.build_any("everything", {"query": "who approves a discount?", "tokenBudget": 600})
    assert same["context"] == pack["context"]


def test_a_preview_keeps_nothing(ws: Workspace) -> None:
    pack = ws.pack("who approves a discount?", preview=True)
    with pytest.raises(haversack.NotFound) as missing:
        ws.get_receipt(pack["assembly"]["receipt"])
    assert missing.value.code == "receipt_not_found"


def test_a_build_is_watched_as_it_goes(ws: Workspace) -> None:
    events = list(ws.stream_context("who approves a discount?", token_budget=600))
    assert all(isinstance(event, StageEvent) for event in events[:1])
    assert isinstance(events[-1], ResultEvent)
    plain = ws.pack("who approves a discount?", token_budget=600)
    assert events[-1].result["context"] == plain["context"]
    watched = list(ws.stream_context(recipe="prime", request={"message": "discounts?"}))
    assert isinstance(watched[-1], ResultEvent) and "data" in watched[-1].result


def test_a_watched_build_that_fails_raises(ws: Workspace) -> None:
    with pytest.raises(haversack.NotFound):
        list(ws.stream_context("x", recipe="no-such-recipe"))
    with pytest.raises(haversack.TemplateNotFound):
        list(ws.stream_context("discounts", template="no-such-template"))


def test_other_budgets_are_compared(ws: Workspace) -> None:
    points = ws.frontier("who approves a discount?", [300, 600])["points"]
    assert [point["budget"] for point in points] == [300, 600]
    assert points[0]["value"] <= points[1]["value"]
    assert ws.frontier(recipe="prime", request={"message": "discounts"})["points"]


def test_prime_gives_a_list_with_citations(ws: Workspace) -> None:
    ws.put_items([{"id": "f1", "kind": "file", "path": "p.md", "body": "Nightjar costs 22.90."}])
    answer = ws.build(None, "What does Nightjar cost?", token_budget=800)
    assert answer["meta"]["citationCount"] == len(answer["data"]["citations"]) > 0
    first = answer["data"]["citations"][0]
    cited = ws.citations(answer["assembly"]["receipt"], f"It costs 22.90 {first['id']}.")
    assert [one["id"] for one in cited["citations"] if one["usedInResponse"]] == [first["id"]]
    assert "p.md" in cited["sources"]
    ws.feedback(first["item"], True, user="anna", idempotency_key=f"feedback-{ws.name}")


def test_blocks_are_assembled_counted_and_checked(ws: Workspace) -> None:
    ws.put_items(
        [
            {"id": "move", "kind": "page", "title": "Moving the library"},
            {"id": "task", "kind": "todo", "parent": "move", "body": "Move the periodicals."},
            {"id": "like", "kind": "todo", "parent": "move", "body": "Move the maps: measure."},
        ]
    )
    payload = ws.assemble(
        "Break this task into subtasks",
        focus={"blockId": "task"},
        type="assist",
        user="mara",
        token_budget={"total": 2000, "focus": 800},
        hints={"excludeBlocks": ["launch"]},
    )
    assert payload["metadata"]["focusBlockId"] == "task"
    assert payload["serialized"] == payload["context"]
    count = ws.estimate_tokens(payload, tokenizer=payload["assembly"]["tokenizer"])
    assert count["tokens"] == payload["metadata"]["totalTokens"]
    assert ws.validate(payload, user="mara") == {"valid": True, "problems": []}
    payload["metadata"]["totalTokens"] += 1
    assert not ws.validate(payload)["valid"]


def test_tokens_are_counted_by_model(ws: Workspace) -> None:
    count = ws.estimate_tokens("How many tokens is this?", model="gpt-4o")
    assert count == {"tokens": 6, "tokenizer": "o200k_base", "accuracy": "exact"}


def test_a_situation_brings_in_what_its_rules_say(ws: Workspace) -> None:
    team = {
        "metadata": {"name": "Payments", "type": "team"},
        "injection_rules": [
            {
                "name": "production",
                "condition": 'situation.environment == "production"',
                "inject": ["guides/release"],
            }
        ],
    }
    guide = {
        "metadata": {"name": "Release guide", "type": "guide"},
        "behavior_rules": [{"trigger": "before a run", "action": "take a backup"}],
    }
    ws.put_items(
        [
            {"id": "team", "kind": "context", "fields": team},
            {"id": "guides/release", "kind": "context", "fields": guide},
        ]
    )
    context = ws.assemble_context("team", {"environment": "production"}, max_tokens=1000)
    assert "take a backup" in context["context"]
    calm = ws.assemble_context("team", {"environment": "test"})
    assert "take a backup" not in calm["context"]
    with pytest.raises(haversack.BudgetTooSmall) as small:
        ws.assemble_context("team", max_tokens=1)
    assert (small.value.code, small.value.status) == ("budget_too_small", 422)


def test_a_proposal_has_its_layers(ws: Workspace) -> None:
    ws.put_items(
        [
            {"id": "company", "kind": "company_profile", "fields": {"summary": "We keep it cold."}},
            {"id": "harrow", "kind": "opportunity", "fields": {"name": "Harrow Hospitals"}},
            {
                "id": "call",
                "kind": "deal_context_item",
                "fields": {"rawContent": "They lost a fridge.", "opportunityId": "harrow"},
            },
        ]
    )
    context = ws.build_proposal_context("harrow", "Write the summary", target_budget=8000)
    assert context["companyProfile"] is not None
    assert "lost a fridge" in context["dealContext"]
    assert not context["budgetStatus"]["isOverBudget"]


def test_templates_rankers_and_recipes_are_kept(ws: Workspace) -> None:
    ws.register_template("brief", {"header": "Memories:\n", "item": "- {{content}}\n"})
    assert ws.list_templates() == {"names": ["brief"]}
    assert ws.get_template("brief")["item"] == "- {{content}}\n"
    ws.register_ranker("fresh", "semantic * 0.7 + recency * 0.3")
    assert ws.list_rankers() == {"names": ["fresh"]}
    assert ws.get_ranker("fresh") == {"expression": "semantic * 0.7 + recency * 0.3"}
    ws.add_memories([{"content": "Anna drinks green tea."}])
    built = ws.build_context("Anna", template="brief", ranker="fresh")
    assert "Memories:" in built["context"] and built["template"] == "brief"
    ws.put_recipe("mine", 'haversack = 1\nname = "mine"\nextends = "memory"\n')
    assert "mine" in ws.list_recipes()["names"]
    assert "memory" in ws.get_recipe("mine")["source"]
    assert ws.build_context("Anna", recipe="mine")["assembly"]["recipe"] == "mine"
    ws.remove_recipe("mine")
    ws.remove_ranker("fresh")
    ws.remove_template("brief")
    with pytest.raises(haversack.TemplateNotFound):
        ws.get_template("brief")
    with pytest.raises(haversack.NotFound):
        ws.remove_ranker("fresh")


def test_lists_are_read_to_their_end(
    client: Haversack, ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["a", "b", "c", "d", "e"]
    for name in names:
        ws.register_ranker(name, "semantic")
        ws.register_template(name, {"item": "- {{content}}\n"})
    whole, recipes = client.list_workspaces(), ws.list_recipes()
    monkeypatch.setattr("haversack._wire.PAGE_MAX", 2)
    assert ws.list_rankers() == ws.list_templates() == {"names": names}
    assert ws.list_recipes() == recipes and len(recipes["names"]) > 2
    assert client.list_workspaces() == whole


def test_both_clients_have_the_same_methods() -> None:
    for name in ("Haversack", "Workspace"):
        waits, awaits = getattr(haversack, name), getattr(haversack, "Async" + name)
        names = {one for one, _ in inspect.getmembers(waits) if not one.startswith("_")}
        others = {one for one, _ in inspect.getmembers(awaits) if not one.startswith("_")}
        assert {"aclose" if one == "close" else one for one in names} == others
