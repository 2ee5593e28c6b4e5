"""An assistant inside a workspace of blocks, from the document "Context Builder Specification"."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

not_yet: dict[str, str] = {
    "serialized_has_the_document_s_sections": "a section with a cap of 0 is not told at all",
    "links_both_ways_are_connected_items": "a backlink that the search finds too stands in the semantic section",
}

NOW = datetime.now(UTC)
USER = {"id": "u-anna", "name": "Anna Lind"}
SECTIONS = {"focus", "semantic", "relations", "activity", "history", "system"}
PAGE = [
    ("b-h1", "heading", "Goals"),
    ("b-goal", "text", "The booking site opens for winter guests on 5 December with at least 40 cabins."),
    ("b-h2", "heading", "Risks"),
    ("b-risk", "text", "Photos of the northern cabins are missing, and the payment contract is not signed."),
    ("b-h3", "heading", "Costs"),
    ("b-cost", "text", "The photographer asks 1,900 euros. Hosting is 120 euros a month."),
    ("b-quote", "quote", "If guests cannot pay by card we should not open at all, said Henrik."),
]
SUMMARISE = {"total": 3000, "focus": 2500, "semantic": 200, "relations": 200, "activity": 0, "history": 0, "system": 100}
OVERDUE = {"total": 4000, "focus": 0, "semantic": 2500, "relations": 500, "activity": 500, "history": 300, "system": 200}
BREAK_DOWN = {"total": 2000, "focus": 1200, "semantic": 500, "relations": 200, "activity": 0, "history": 0, "system": 100}


class ContextBuilder:
    """The application's client: the document's `ContextBuilder`."""

    def __init__(self, api: Any) -> None:
        self.api = api

    def build(self, query: str, type: str, budget: dict[str, int], **more: Any) -> Any:
        """`build(request)`, with the document's `ContextRequest`."""
        asked = {"query": query, "type": type, "user": USER, "tokenBudget": budget, **more}
        return self.api.post("context/workspace", asked)

    def estimate_tokens(self, payload: Any) -> Any:
        """`estimateTokens(payload)`."""
        return self.api.post("estimate", {"payload": payload})

    def validate(self, payload: Any) -> Any:
        """`validate(payload)`."""
        return self.api.post("validate", {"payload": payload, "user": USER})


class State:
    def __init__(self, api: Any) -> None:
        self.api = api
        self.app = ContextBuilder(api)


def block(id: str, kind: str, parent: str | None = None, position: int = 0, title: str | None = None, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"id": id, "kind": kind, "position": position, "fields": fields}
    if parent:
        made["parent"] = parent
    if title:
        made["title"] = title
    return made


def day(offset: int) -> str:
    return (NOW + timedelta(days=offset)).date().isoformat()


def moment(hours: int) -> str:
    return (NOW + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def prepare(api: Any) -> State:
    old = moment(-400)
    blocks = [
        block("page-123", "page", title="Winter launch", updatedAt=old),
        block("page-tasks", "page", title="Tasks", updatedAt=old),
        block("page-secret", "page", title="Salaries of the crew", updatedAt=old) | {"readers": ["user:u-jonas"]},
        block("b-secret", "text", "page-secret", content="The winter launch team earns 3,100 euros each.", updatedAt=old)
        | {"readers": ["user:u-jonas"]},
        block(
            "todo-photos",
            "todo",
            "page-tasks",
            0,
            content="Hire a photographer for the northern cabins",
            completed=False,
            dueDate=day(-6),
            assignee="u-anna",
            updatedAt=old,
        ),
        block(
            "todo-contract",
            "todo",
            "page-tasks",
            1,
            content="Sign the payment contract",
            completed=False,
            dueDate=day(-2),
            assignee="u-henrik",
            updatedAt=old,
        ),
        block(
            "todo-done", "todo", "page-tasks", 2, content="Order new keys for the cabins", completed=True, dueDate=day(-9), updatedAt=old
        ),
        block(
            "todo-later",
            "todo",
            "page-tasks",
            3,
            content="Write the newsletter for spring",
            completed=False,
            dueDate=day(30),
            updatedAt=old,
        ),
        block(
            "card-insurance",
            "kanban_card",
            "page-tasks",
            4,
            content="Renew the fire insurance",
            column="Doing",
            dueDate=day(-1),
            updatedAt=old,
        ),
        block("note-overdue", "text", "page-tasks", 5, content="Remember that overdue tasks annoy Henrik.", updatedAt=old),
        block(
            "task-456",
            "todo",
            "page-tasks",
            6,
            content="Prepare cabin 17 for the first winter guests",
            completed=False,
            dueDate=day(10),
            updatedAt=old,
        ),
        block(
            "task-similar",
            "todo",
            "page-tasks",
            7,
            updatedAt=old,
            completed=True,
            content="Prepare cabin 12 for winter guests: check the stove, lay out linen, clear the path, test the lock",
        ),
        block("sub-1", "todo", "task-456", 0, content="Check the stove of cabin 17", completed=False, updatedAt=old),
        block(
            "db-cabins",
            "database",
            title="Cabins",
            updatedAt=old,
            schema=[{"name": "Name", "type": "text"}, {"name": "Beds", "type": "number"}],
        ),
        block(
            "row-17",
            "db_row",
            "db-cabins",
            0,
            title="Cabin 17",
            properties={"Name": "Cabin 17", "Beds": 6},
            relations=[{"name": "Owner", "targetIds": ["row-owner"]}],
            updatedAt=old,
        ),
        block(
            "row-owner",
            "db_row",
            "db-cabins",
            1,
            title="Sunniva Berg",
            properties={"Name": "Sunniva Berg", "Phone": "555 0142"},
            updatedAt=old,
        ),
        block("page-menu", "page", title="Restaurant menu", updatedAt=old),
        block("b-menu", "text", "page-menu", content="Reindeer stew with lingonberries costs 24 euros.", updatedAt=old),
        block("b-draft", "text", "page-menu", content="Anna noted that the sauna needs new birch wood.", updatedAt=moment(-3)),
    ]
    blocks += [block(id, kind, "page-123", n, content=text, updatedAt=old) for n, (id, kind, text) in enumerate(PAGE)]
    api.post("items", blocks)
    api.post(
        "links",
        {
            "add": [
                {"from": "task-456", "to": "row-17", "sort": "link"},
                {"from": "b-quote", "to": "task-456", "sort": "link"},
            ]
        },
    )
    api.post(
        "events",
        {
            "events": [
                {"item": "b-draft", "happening": "edited", "user": "u-anna", "at": moment(-3)},
                {"item": "page-menu", "happening": "viewed", "user": "u-anna", "at": moment(-2)},
            ]
        },
    )
    return State(api)


def summarise(state: State, **more: Any) -> Any:
    return state.app.build("Summarize this page", "assist", SUMMARISE, focus={"pageId": "page-123"}, **more)


def overdue(state: State, **more: Any) -> Any:
    hints = {"prioritizeTypes": ["todo", "kanban_card"], **more.pop("hints", {})}
    return state.app.build("What tasks are overdue?", "chat", OVERDUE, hints=hints, **more)


def break_down(state: State, **more: Any) -> Any:
    return state.app.build("Break this task into subtasks", "assist", BREAK_DOWN, focus={"blockId": "task-456"}, **more)


def section(payload: Any, name: str) -> dict[str, Any]:
    found = [entry for entry in payload["sections"] if entry["type"] == name]
    assert len(found) <= 1, found
    return found[0] if found else {"items": [], "tokenCount": 0}


def ids(payload: Any, name: str | None = None) -> list[str]:
    chosen = payload["sections"] if name is None else [section(payload, name)]
    return [entry["blockId"] for part in chosen for entry in part["items"]]


def document_shape(payload: Any) -> dict[str, Any]:
    """A payload with the document's fields and no others."""
    return {
        "sections": [
            {
                **{key: part[key] for key in ["type", "title", "tokenCount"]},
                "items": [
                    {key: entry[key] for key in ["blockId", "blockType", "content", "relevance", "metadata"] if key in entry}
                    for entry in part["items"]
                ],
            }
            for part in payload["sections"]
        ],
        "metadata": {
            key: value
            for key, value in payload["metadata"].items()
            if key in {"totalTokens", "focusBlockId", "focusPageId", "timestamp", "collectorsUsed", "blocksIncluded", "blocksConsidered"}
        },
        "serialized": payload["serialized"],
    }


def check_payload_has_every_field(state: State) -> None:
    for payload in [summarise(state), overdue(state), break_down(state)]:
        assert isinstance(payload["serialized"], str) and payload["serialized"]
        assert isinstance(payload["sections"], list) and payload["sections"]
        for part in payload["sections"]:
            assert part["type"] in SECTIONS, part["type"]
            assert isinstance(part["title"], str) and part["title"], part
            assert isinstance(part["tokenCount"], int) and part["tokenCount"] >= 0, part
            assert isinstance(part["items"], list), part


def check_items_have_their_fields(state: State) -> None:
    for payload in [summarise(state), overdue(state), break_down(state)]:
        for part in payload["sections"]:
            for entry in part["items"]:
                assert isinstance(entry["blockId"], str) and entry["blockId"], entry
                assert isinstance(entry["blockType"], str) and entry["blockType"], entry
                assert isinstance(entry["content"], str), entry
                assert 0 <= entry["relevance"] <= 1, entry
                about = entry.get("metadata", {})
                assert isinstance(about.get("pageTitle", ""), str), entry
                assert all(isinstance(step, str) for step in about.get("path", [])), entry
                assert isinstance(about.get("lastModified", ""), str), entry


def check_item_knows_its_page_and_path(state: State) -> None:
    [entry] = [entry for part in overdue(state)["sections"] for entry in part["items"] if entry["blockId"] == "todo-photos"]
    assert entry["blockType"] == "todo", entry
    assert entry["metadata"]["pageTitle"] == "Tasks", entry
    assert "Tasks" in entry["metadata"]["path"], entry
    assert entry["metadata"]["lastModified"].startswith(moment(-400)[:10]), entry


def check_content_is_the_text_alone(state: State) -> None:
    payload = summarise(state)
    texts = {id: text for id, _, text in PAGE}
    for entry in section(payload, "focus")["items"]:
        if entry["blockId"] in texts:
            assert entry["content"] == texts[entry["blockId"]], entry


def check_metadata(state: State) -> None:
    payload = summarise(state)
    about = payload["metadata"]
    assert isinstance(about["totalTokens"], int) and 0 < about["totalTokens"] <= 3000, about
    assert about["focusPageId"] == "page-123", about
    assert about.get("focusBlockId") is None, about
    assert abs((datetime.fromisoformat(about["timestamp"].replace("Z", "+00:00")) - NOW).total_seconds()) < 600, about
    assert about["collectorsUsed"] and all(isinstance(name, str) for name in about["collectorsUsed"]), about
    included = {entry["blockId"] for part in payload["sections"] for entry in part["items"]}
    assert about["blocksIncluded"] == len(included), (about, included)
    assert about["blocksConsidered"] >= about["blocksIncluded"], about


def check_focus_block_is_named(state: State) -> None:
    about = break_down(state)["metadata"]
    assert about["focusBlockId"] == "task-456" and about.get("focusPageId") is None, about


def check_collectors_used_are_those_that_found(state: State) -> None:
    assert "focus" not in overdue(state)["metadata"]["collectorsUsed"]
    assert "focus" in break_down(state)["metadata"]["collectorsUsed"]


def check_serialized_has_the_document_s_sections(state: State) -> None:
    for payload, query in [(summarise(state), "Summarize this page"), (overdue(state), "What tasks are overdue?")]:
        text = payload["serialized"]
        places = [text.find(title) for title in ["Focused Content", "Related Content", "Connected Items", "Recent Activity"]]
        assert min(places) >= 0 and places == sorted(places), (places, text)
        assert "## Current Context" in text, text
        assert f"User Query: {query}" in text and text.find(query) > places[-1], text


def check_titles_stand_in_serialized(state: State) -> None:
    payload = break_down(state)
    for part in payload["sections"]:
        assert part["title"] in payload["serialized"], (part["title"], payload["serialized"])


def check_empty_section_says_so(state: State) -> None:
    assert "_No relevant content found._" in overdue(state)["serialized"], overdue(state)["serialized"]


def check_items_have_type_tags(state: State) -> None:
    text = overdue(state)["serialized"]
    assert "[todo]" in text and "[kanban_card]" in text, text


def check_page_in_focus_is_given_in_its_order(state: State) -> None:
    payload = summarise(state)
    found = [id for id in ids(payload, "focus") if id in {id for id, _, _ in PAGE}]
    assert found == [id for id, _, _ in PAGE], found
    places = [payload["serialized"].find(text) for _, _, text in PAGE]
    assert min(places) >= 0 and places == sorted(places), (places, payload["serialized"])


def check_summary_is_weighted_toward_the_page(state: State) -> None:
    payload = summarise(state)
    focus = section(payload, "focus")["tokenCount"]
    others = sum(part["tokenCount"] for part in payload["sections"] if part["type"] not in {"focus", "system"})
    assert focus > others, payload["sections"]


def check_overdue_tasks_are_all_in(state: State) -> None:
    found = set(ids(overdue(state)))
    assert {"todo-photos", "todo-contract", "card-insurance"} <= found, found
    assert not {"todo-done", "todo-later"} & found, found


def check_overdue_tasks_are_in_the_semantic_section(state: State) -> None:
    payload = overdue(state)
    assert {"todo-photos", "todo-contract", "card-insurance"} <= set(ids(payload, "semantic")), payload["sections"]


def check_break_down_has_the_task_and_similar_ones(state: State) -> None:
    payload = break_down(state)
    focus = section(payload, "focus")["items"]
    assert "task-456" in [entry["blockId"] for entry in focus], focus
    assert "sub-1" in [entry["blockId"] for entry in focus], focus
    assert "page-tasks" in [entry["blockId"] for entry in focus], focus
    assert "task-similar" in ids(payload), ids(payload)
    best = max(focus, key=lambda entry: entry["relevance"])
    assert best["blockId"] == "task-456", focus


def check_links_both_ways_are_connected_items(state: State) -> None:
    found = ids(break_down(state), "relations")
    assert "row-17" in found and "b-quote" in found, found


def check_related_rows_are_connected_items(state: State) -> None:
    payload = state.app.build("Who is the owner?", "chat", BREAK_DOWN, focus={"blockId": "row-17"})
    assert "row-owner" in ids(payload, "relations") + ids(payload, "focus"), ids(payload)
    assert "555 0142" in payload["serialized"], payload["serialized"]


def check_database_in_focus_has_its_rows(state: State) -> None:
    payload = state.app.build("Which cabins are there?", "assist", SUMMARISE, focus={"databaseId": "db-cabins"})
    assert {"row-17", "row-owner"} <= set(ids(payload, "focus")), ids(payload)


def check_recent_edits_are_activity(state: State) -> None:
    payload = state.app.build("What did I work on?", "chat", OVERDUE)
    assert "b-draft" in ids(payload, "activity") + ids(payload, "semantic"), payload["sections"]
    assert "birch wood" in payload["serialized"]


def check_cap_of_nothing_gives_nothing(state: State) -> None:
    assert ids(summarise(state), "activity") == [] and ids(break_down(state), "activity") == []
    assert ids(overdue(state), "focus") == []


def check_caps_and_total_hold(state: State) -> None:
    for payload, budget in [(summarise(state), SUMMARISE), (overdue(state), OVERDUE), (break_down(state), BREAK_DOWN)]:
        assert payload["metadata"]["totalTokens"] <= budget["total"], payload["metadata"]
        for part in payload["sections"]:
            assert part["tokenCount"] <= budget[part["type"]], (part["type"], part["tokenCount"])


def check_budget_without_activity_is_taken(state: State) -> None:
    """The interface has six numbers, the examples have a seventh."""
    budget = {key: value for key, value in OVERDUE.items() if key != "activity"}
    assert state.app.build("What tasks are overdue?", "chat", budget)["sections"]


def check_focus_may_be_null(state: State) -> None:
    payload = overdue(state, focus=None, conversationHistory=None)
    assert {"todo-photos", "todo-contract"} <= set(ids(payload))


def check_conversation_history_is_a_section(state: State) -> None:
    history = [
        {"role": "user", "content": "Which cabins have no photos yet?"},
        {"role": "assistant", "content": "The northern cabins 14 to 19 have none."},
    ]
    payload = overdue(state, conversationHistory=history)
    part = section(payload, "history")
    assert "northern cabins 14 to 19" in payload["serialized"], payload["serialized"]
    assert part["tokenCount"] > 0, payload["sections"]


def check_include_and_exclude_blocks(state: State) -> None:
    payload = overdue(state, hints={"includeBlocks": ["b-menu"], "excludeBlocks": ["todo-contract"]})
    assert "b-menu" in ids(payload), ids(payload)
    assert "lingonberries" in payload["serialized"]
    assert "todo-contract" not in ids(payload) and "Sign the payment contract" not in payload["serialized"]


def check_time_range(state: State) -> None:
    hints = {"timeRange": {"start": moment(-24), "end": moment(1)}}
    payload = state.app.build("What is new about the sauna and the stew?", "search", OVERDUE, hints=hints)
    assert "b-draft" in ids(payload) and "b-menu" not in ids(payload), ids(payload)


def check_max_depth(state: State) -> None:
    payload = break_down(state, hints={"maxDepth": 0})
    assert "task-456" in ids(payload, "focus") and "sub-1" not in ids(payload, "focus"), ids(payload)


def check_permissions_hold(state: State) -> None:
    for query in ["What does the winter launch team earn?", "Salaries of the crew"]:
        said = str(state.app.build(query, "search", OVERDUE))
        assert "3,100" not in said and "b-secret" not in said and "page-secret" not in said
    refused_or_empty = ""
    try:
        refused_or_empty = str(state.app.build("Summarize this page", "assist", SUMMARISE, focus={"pageId": "page-secret"}))
    except Exception as refused:
        assert "Salaries" not in str(refused)
    assert "3,100" not in refused_or_empty and "Salaries of the crew" not in refused_or_empty


def check_unknown_focus_is_said(state: State) -> None:
    try:
        payload = state.app.build("Summarize this page", "assist", SUMMARISE, focus={"pageId": "page-nowhere"})
    except Exception as refused:
        assert "page-nowhere" in str(refused), refused
    else:
        assert "page-nowhere" in str(payload["assembly"].get("notices")), payload["assembly"]


def check_wrong_type_is_said(state: State) -> None:
    refused = state.api.refusal("context/workspace", {"query": "x", "type": "guess", "user": USER, "tokenBudget": OVERDUE})
    assert refused.status == 400 and "guess" in str(refused.body), refused.body


def check_missing_query_is_said(state: State) -> None:
    refused = state.api.refusal("context/workspace", {"type": "chat", "user": USER, "tokenBudget": OVERDUE})
    assert refused.status == 400 and "query" in str(refused.body), refused.body


def check_estimate_of_a_payload(state: State) -> None:
    payload = overdue(state)
    said = state.app.estimate_tokens(payload)
    tokens = said if isinstance(said, int) else said["tokens"]
    assert tokens == payload["metadata"]["totalTokens"], (said, payload["metadata"])


def check_estimate_of_the_document_s_shape(state: State) -> None:
    payload = overdue(state)
    said = state.app.estimate_tokens(document_shape(payload))
    tokens = said if isinstance(said, int) else said["tokens"]
    assert tokens == payload["metadata"]["totalTokens"], (said, payload["metadata"])


def check_validate_of_a_payload(state: State) -> None:
    for payload in [overdue(state), summarise(state), break_down(state)]:
        assert state.app.validate(payload)["valid"] is True, state.app.validate(payload)


def check_validate_of_the_document_s_shape(state: State) -> None:
    said = state.app.validate(document_shape(overdue(state)))
    assert said["valid"] is True, said


def check_validate_finds_what_was_altered(state: State) -> None:
    payload = document_shape(overdue(state))
    longer = {**payload, "serialized": payload["serialized"] + "\n\nAll tasks are done."}
    assert state.app.validate(longer)["valid"] is False
    counted = {**payload, "metadata": {**payload["metadata"], "blocksIncluded": 99}}
    assert state.app.validate(counted)["valid"] is False
    first = next(part for part in payload["sections"] if part["items"])
    twice = {**first, "items": first["items"] + first["items"][:1]}
    doubled = {**payload, "sections": [twice if part is first else part for part in payload["sections"]]}
    assert state.app.validate(doubled)["valid"] is False


def check_validate_finds_forbidden_blocks(state: State) -> None:
    payload = document_shape(overdue(state))
    first = next(part for part in payload["sections"] if part["items"])
    secret = {**first["items"][0], "blockId": "b-secret"}
    forged = {**first, "items": [secret, *first["items"][1:]]}
    said = state.app.validate({**payload, "sections": [forged if part is first else part for part in payload["sections"]]})
    assert said["valid"] is False, said


def check_nothing_relevant_is_said(state: State) -> None:
    payload = state.app.build("zzzz qqqq", "search", {**OVERDUE, "activity": 0})
    assert ids(payload) == [], ids(payload)
    assert "_No relevant content found._" in payload["serialized"], payload["serialized"]
