"""A chat assistant that remembers, from the document "Context Engine Design"."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

not_yet: dict[str, str] = {
    "rankers_of_the_document": "bySimilarity does not sort by the score that it tells",
    "default_ranking_is_the_formula": "the score is not the weighted sum of the document",
}

NOW = datetime.now(UTC).replace(microsecond=0)
HEADER = "Relevant context from past conversations:\n\n"


def ago(days: int) -> str:
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


# id, content, type, confidence, days ago, conversation
MEMORIES = [
    ("m-deadline", "The project timeline ends on 30 January, when the museum opens.", "fact", 0.95, 3, "c-museum"),
    ("m-decide", "We decided to move the lighting test of the project timeline to 8 January.", "decision", 0.9, 2, "c-museum"),
    ("m-guess", "The project timeline may slip if the glass arrives late.", "speculation", 0.4, 1, "c-museum"),
    ("m-old", "The first project timeline had the opening in autumn.", "fact", 0.8, 200, "c-early"),
    ("m-nuts", "Jasper is allergic to hazelnuts.", "fact", 0.99, 40, "c-lunch"),
    ("m-tea", "Jasper prefers green tea to coffee.", "preference", 0.7, 20, "c-lunch"),
    ("m-glass", "The glass for the display cases comes from Murano Vetri.", "fact", 0.85, 5, "c-museum"),
    ("m-budget", "The budget for the display cases is 64,000 euros.", "fact", 0.9, 6, "c-museum"),
    ("m-violin", "Jasper takes violin lessons on Tuesdays.", "fact", 0.8, 10, "c-lunch"),
    ("m-python", "The ticket printer is driven by print_ticket(visitor, hall).", "code", 0.9, 12, "c-code"),
    ("m-hall", "Hall 3 is closed for painting until December.", "fact", 0.9, 8, "c-museum"),
    ("m-name", "The curator's name is Odile Ferrand.", "fact", 0.97, 60, "c-early"),
]
LINKS = {
    "m-deadline": [{"target": "m-glass", "type": "depends_on"}],
    "m-glass": [{"target": "m-budget", "type": "paid_from"}],
}
TEXTS = {id: text for id, text, *_ in MEMORIES}
QUERY = "What did we discuss about the project timeline?"


class ContextEngine:
    """The application's client: the document's `ContextEngine`."""

    def __init__(self, api: Any) -> None:
        self.api = api

    def build_context(self, query: str, **options: Any) -> Any:
        """`buildContext(query, workspaceId, options)`; the workspace is in the path."""
        return self.api.post("context/memory", {"query": query, **options})

    def preview_context(self, query: str, **options: Any) -> Any:
        """`previewContext(query, workspaceId, options)`."""
        return self.api.post("context/memory?preview=true", {"query": query, **options})

    def register_template(self, name: str, template: dict[str, Any]) -> None:
        """`registerTemplate(name, template)`."""
        self.api.put(f"templates/{name}", template)

    def register_ranker(self, name: str, expression: str) -> None:
        """`registerRanker(name, ranker)`: over the wire a function is an expression."""
        self.api.put(f"rankers/{name}", {"expression": expression})


class State:
    def __init__(self, api: Any) -> None:
        self.api = api
        self.app = ContextEngine(api)


def memory(id: str, text: str, type: str, confidence: float, days: int, conversation: str) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "content": text,
        "type": type,
        "confidence": confidence,
        "created_at": ago(days),
        "conversation": conversation,
    }
    if id in LINKS:
        fields["relationships"] = LINKS[id]
    return {"id": id, "kind": "memory", "fields": fields}


def prepare(api: Any) -> State:
    api.post("items", [memory(*entry) for entry in MEMORIES])
    return State(api)


def ids(answer: Any) -> list[str]:
    return [result["memory"]["id"] for result in answer["memories"]]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_answer_has_every_field(state: State) -> None:
    answer = state.app.build_context(QUERY)
    assert isinstance(answer["context"], str) and answer["context"]
    assert isinstance(answer["tokenCount"], int) and 0 < answer["tokenCount"] <= 2000, answer["tokenCount"]
    assert answer["truncated"] is False, answer["truncated"]
    assert answer["template"] == "chat", answer["template"]
    assert answer["memories"], answer


def check_results_have_their_fields(state: State) -> None:
    for result in state.app.build_context(QUERY)["memories"]:
        remembered = result["memory"]
        assert remembered["content"] == TEXTS[remembered["id"]], result
        stored = next(entry for entry in MEMORIES if entry[0] == remembered["id"])
        assert remembered["type"] == stored[2] and remembered["confidence"] == stored[3], result
        at = datetime.fromisoformat(remembered["created_at"].replace("Z", "+00:00"))
        assert at == NOW - timedelta(days=stored[4]), result
        assert is_number(result["score"]) and 0 <= result["score"] <= 1, result
        assert is_number(result["rank"]), result


def check_no_relationships_unless_asked(state: State) -> None:
    for result in state.app.build_context(QUERY)["memories"]:
        assert not result.get("relationships"), result


def check_relevant_memories_are_found(state: State) -> None:
    found = ids(state.app.build_context(QUERY))
    assert {"m-deadline", "m-decide"} <= set(found[:3]), found
    assert "m-violin" not in found, found


def check_chat_template(state: State) -> None:
    answer = state.app.build_context(QUERY, template="chat", tokenBudget=1500)
    lines = "\n".join(f"- {TEXTS[id]}" for id in ids(answer))
    assert answer["context"] == f"{HEADER}{lines}\n", answer["context"]


def check_detailed_template(state: State) -> None:
    answer = state.app.build_context(QUERY, template="detailed")
    assert answer["template"] == "detailed"
    assert answer["context"].startswith("Relevant memories:\n\n") and answer["context"].endswith("\n"), answer["context"]
    parts = answer["context"].removeprefix("Relevant memories:\n\n").removesuffix("\n").split("\n\n")
    assert len(parts) == len(answer["memories"]), answer["context"]
    for part, result in zip(parts, answer["memories"], strict=True):
        remembered = result["memory"]
        start = f"[{remembered['type']}] {remembered['content']} (confidence: "
        assert part.startswith(start) and re.search(r"\d{4}-\d\d-\d\d.*\)$", part), part
        assert float(part.removeprefix(start).split(",")[0]) == remembered["confidence"], part


def check_summary_template(state: State) -> None:
    answer = state.app.build_context(QUERY, template="summary")
    assert answer["context"] == "Key information:\n" + " | ".join(TEXTS[id] for id in ids(answer)), answer["context"]


def check_own_template(state: State) -> None:
    """The document's example, word for word as it is registered there."""
    state.app.register_template(
        "code-focused",
        {
            "name": "code-focused",
            "header": "# Relevant Code Context\n\n",
            "memoryFormat": "## {{type}}\n```\n{{content}}\n```\n",
            "separator": "\n",
            "footer": "\n---\n",
            "includeMetadata": True,
        },
    )
    answer = state.app.build_context("How is the ticket printer driven?", template="code-focused")
    assert answer["template"] == "code-focused", answer["template"]
    assert answer["context"].startswith("# Relevant Code Context\n\n") and answer["context"].endswith("\n---\n"), answer["context"]
    assert f"## code\n```\n{TEXTS['m-python']}\n```\n" in answer["context"], answer["context"]


def check_template_without_header_and_footer(state: State) -> None:
    state.app.register_template(
        "plain", {"name": "plain", "memoryFormat": "* {{content}} ({{score}})", "separator": "\n", "includeMetadata": False}
    )
    answer = state.app.build_context(QUERY, template="plain", limit=2)
    first = answer["memories"][0]
    found = re.match(r"\* (.*) \(([0-9.]+)\)$", answer["context"].split("\n")[0])
    assert found and found.group(1) == first["memory"]["content"], answer["context"]
    assert abs(float(found.group(2)) - first["score"]) < 0.01, (answer["context"], first)


def check_text_of_a_memory_is_no_template(state: State) -> None:
    api = state.api.within("memory-forged")
    api.post("items", [memory("m-1", "Write {{confidence}} on the badge of the curator.", "fact", 0.5, 1, "c-1")])
    answer = ContextEngine(api).build_context("What goes on the badge of the curator?")
    assert "{{confidence}}" in answer["context"], answer["context"]


def check_unknown_template(state: State) -> None:
    refused = state.api.refusal("context/memory", {"query": QUERY, "template": "nope"})
    body = refused.body
    assert "template_not_found" in (body.get("type"), body.get("code")), body
    assert body["template"] == "nope", body
    assert {"chat", "detailed", "summary"} <= set(body["available"]), body


def check_error_has_type_and_message(state: State) -> None:
    for asked, type in [({"template": "nope"}, "template_not_found"), ({"minConfidence": "high"}, "validation_error")]:
        body = state.api.refusal("context/memory", {"query": QUERY, **asked}).body
        assert body.get("type") == type, body
        assert type == "template_not_found" or body.get("message"), body


def check_validation_error_names_the_field(state: State) -> None:
    for asked in [
        {"minConfidence": 7},
        {"limit": 0},
        {"limit": "many"},
        {"dateFrom": "soon"},
        {"relationshipDepth": -1},
        {"minConfidnce": 0.5},
    ]:
        body = state.api.refusal("context/memory", {"query": QUERY, **asked}).body
        assert body.get("code") == "validation_error" and next(iter(asked)) in str(body), body


def check_metadata_in_the_output(state: State) -> None:
    answer = state.app.build_context("What is Jasper allergic to?", includeMetadata=True)
    line = next(line for line in answer["context"].splitlines() if "hazelnuts" in line)
    assert "fact" in line and "0.99" in line and ago(40)[:10] in line, answer["context"]
    plain = state.app.build_context("What is Jasper allergic to?", includeMetadata=False)
    assert "0.99" not in plain["context"], plain["context"]


def check_limit(state: State) -> None:
    answer = state.app.build_context(QUERY, limit=2)
    assert len(answer["memories"]) == 2, ids(answer)


def check_memory_types(state: State) -> None:
    answer = state.app.build_context(QUERY, limit=5, memoryTypes=["fact", "decision"])
    assert answer["memories"]
    assert {result["memory"]["type"] for result in answer["memories"]} <= {"fact", "decision"}, ids(answer)


def check_date_range(state: State) -> None:
    recent = ids(state.app.build_context(QUERY, dateFrom=ago(30)))
    assert recent and "m-old" not in recent, recent
    early = ids(state.app.build_context(QUERY, dateTo=ago(30)))
    assert "m-old" in early and "m-deadline" not in early, early


def check_min_confidence(state: State) -> None:
    found = ids(state.app.build_context(QUERY, minConfidence=0.9))
    assert "m-deadline" in found and "m-guess" not in found and "m-old" not in found, found


def check_conversation(state: State) -> None:
    found = ids(state.app.build_context(QUERY, conversationId="c-early"))
    assert "m-old" in found and set(found) <= {"m-old", "m-name"}, found


def check_options_in_an_object_of_their_own(state: State) -> None:
    """`buildContext(query, workspaceId, options)`: a caller may keep them together."""
    answer = state.api.post("context/memory", {"query": QUERY, "options": {"template": "summary", "limit": 1}})
    assert answer["template"] == "summary" and len(answer["memories"]) == 1, answer


def check_relationships(state: State) -> None:
    answer = state.app.build_context(QUERY, includeRelationships=True, relationshipDepth=1, tokenBudget=1500, template="chat")
    [result] = [entry for entry in answer["memories"] if entry["memory"]["id"] == "m-deadline"]
    related = result["relationships"]
    assert isinstance(related, list), result
    [glass] = [entry for entry in related if entry["memory"]["id"] == "m-glass"]
    assert glass["depth"] == 1 and glass["memory"]["content"] == TEXTS["m-glass"], glass
    assert "depends_on" in str(glass["relationship"]), glass
    assert "m-budget" not in [entry["memory"]["id"] for entry in related], related


def check_relationship_depth(state: State) -> None:
    answer = state.app.build_context("When does the museum open?", includeRelationships=True, relationshipDepth=2, limit=1)
    [result] = [entry for entry in answer["memories"] if entry["memory"]["id"] == "m-deadline"]
    depths = {entry["memory"]["id"]: entry["depth"] for entry in result["relationships"]}
    assert depths == {"m-glass": 1, "m-budget": 2}, depths


def check_every_result_has_relationships_when_asked(state: State) -> None:
    answer = state.app.build_context(QUERY, includeRelationships=True)
    assert all(isinstance(result["relationships"], list) for result in answer["memories"]), answer["memories"]


def check_preview_equals_the_build(state: State) -> None:
    options = {"template": "detailed", "tokenBudget": 2000}
    preview = state.app.preview_context(QUERY, **options)
    answer = state.app.build_context(QUERY, **options)
    for name in ["context", "tokenCount", "truncated", "template"]:
        assert preview[name] == answer[name], (name, preview[name], answer[name])
    assert preview["memoryIds"] == ids(answer), preview["memoryIds"]
    assert set(preview["rankingScores"]) == set(preview["memoryIds"]), preview["rankingScores"]
    assert all(is_number(score) for score in preview["rankingScores"].values())
    used = 100 * preview["tokenCount"] / 2000
    assert abs(preview["budgetUsed"] - used) <= 1, (preview["budgetUsed"], used)


def check_ranking_holds(state: State) -> None:
    preview = state.app.preview_context(QUERY)
    scores = [preview["rankingScores"][id] for id in preview["memoryIds"]]
    assert scores == sorted(scores, reverse=True), preview["rankingScores"]


def check_rankers_of_the_document(state: State) -> None:
    known = {entry[0]: entry for entry in MEMORIES}
    by_confidence = [known[id][3] for id in ids(state.app.build_context(QUERY, ranker="byConfidence"))]
    assert by_confidence == sorted(by_confidence, reverse=True), by_confidence
    by_recency = [known[id][4] for id in ids(state.app.build_context(QUERY, ranker="byRecency"))]
    assert by_recency == sorted(by_recency), by_recency
    by_similarity = [result["score"] for result in state.app.build_context(QUERY, ranker="bySimilarity")["memories"]]
    assert by_similarity == sorted(by_similarity, reverse=True), by_similarity
    assert ids(state.app.build_context(QUERY, ranker="default")) == ids(state.app.build_context(QUERY))


def check_default_ranking_is_the_formula(state: State) -> None:
    """Similarity, 1 / (1 + days) and confidence, each times its weight: one set of weights fits all results."""
    answer = state.app.build_context(QUERY)
    known = {entry[0]: entry for entry in MEMORIES}
    rows = [(r["score"], 1 / (1 + known[r["memory"]["id"]][4]), known[r["memory"]["id"]][3], r["rank"]) for r in answer["memories"]]
    assert len(rows) >= 4, rows
    steps = [n / 20 for n in range(21)]
    fits = [(s, t, c) for s in steps for t in steps for c in steps if all(abs(s * a + t * b + c * d - e) < 0.02 for a, b, d, e in rows)]
    assert fits, rows


def check_own_ranker(state: State) -> None:
    state.app.register_ranker("recent-only", "recency")
    known = {entry[0]: entry for entry in MEMORIES}
    days = [known[id][4] for id in ids(state.app.build_context(QUERY, ranker="recent-only"))]
    assert days and days == sorted(days), days


def check_unknown_ranker_is_said(state: State) -> None:
    refused = state.api.refusal("context/memory", {"query": QUERY, "ranker": "best"})
    assert 400 <= refused.status < 500 and "best" in str(refused.body) and "byRecency" in str(refused.body), refused.body


def check_budget_truncates(state: State) -> None:
    whole = state.app.build_context(QUERY)
    answer = state.app.build_context(QUERY, tokenBudget=40)
    assert answer["truncated"] is True and answer["tokenCount"] <= 40, answer
    assert 0 < len(answer["memories"]) < len(whole["memories"]), ids(answer)
    assert ids(answer)[0] == ids(whole)[0], (ids(answer), ids(whole))
    assert state.api.post("estimate", {"text": answer["context"]})["tokens"] == answer["tokenCount"]


def check_nothing_found(state: State) -> None:
    answer = state.app.build_context("zzzz qqqq")
    assert answer["memories"] == [] and answer["truncated"] is False, answer
    assert not any(text in answer["context"] for text in TEXTS.values()), answer["context"]


def check_missing_query_is_said(state: State) -> None:
    body = state.api.refusal("context/memory", {"template": "chat"}).body
    assert body.get("code") == "validation_error" and "query" in str(body), body


def check_wrong_dimensions_are_said(state: State) -> None:
    refused = state.api.refusal("context/memory", {"vector": [0.1, 0.2, 0.3]})
    assert 400 <= refused.status < 500 and "3" in str(refused.body), refused.body


def check_search(state: State) -> None:
    """`search(query, workspaceId, options)` gives results, ten at most."""
    said = state.api.post("memories/search", {"searches": [{"query": QUERY, "limit": 5, "memoryTypes": ["fact", "decision"]}]})
    found = said["results"][0] if "results" in said else said
    results = found if isinstance(found, list) else found["memories"]
    assert 0 < len(results) <= 5
    for result in results:
        assert result["memory"]["type"] in {"fact", "decision"} and 0 <= result["score"] <= 1, result


def check_safety_stands_first(state: State) -> None:
    found = ids(state.app.build_context("What may Jasper eat for lunch?"))
    assert found and found[0] == "m-nuts", found


def check_prompt_of_the_example(state: State) -> None:
    answer = state.app.build_context(
        "What is Jasper allergic to?", template="chat", tokenBudget=1500, includeRelationships=True, relationshipDepth=1
    )
    prompt = f"{answer['context']}\n\nUser: What is Jasper allergic to?\nAssistant:"
    assert "Jasper is allergic to hazelnuts." in prompt
