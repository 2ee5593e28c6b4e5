"""Tools that get guidance for a situation, from the ticket "Context Assembly"."""

from __future__ import annotations

import json
import re
from typing import Any

not_yet: dict[str, str] = {}


class ContextAssembler:
    """The application's client: the document's `ContextAssembler`."""

    def __init__(self, api: Any) -> None:
        self.api = api

    def assemble_context(self, current: str, situation: Any, **more: Any) -> str:
        """`assembleContext(request)`: a text for the model."""
        return str(self.answer(current, situation, **more)["context"])

    def answer(self, current: str, situation: Any, **more: Any) -> Any:
        return self.api.post("context/situation", {"currentContext": current, "situation": situation, **more})


class State:
    def __init__(self, api: Any) -> None:
        self.api = api
        self.app = ContextAssembler(api)


def context(path: str, name: str, type: str, goal: str | None = None, intent: str | None = None, **more: Any) -> dict[str, Any]:
    """A context as the document has it, under its path."""
    fields: dict[str, Any] = {"metadata": {"name": name, "type": type}, **more}
    if goal or intent:
        fields["intent_context"] = {key: value for key, value in [("business_goal", goal), ("intent_type", intent)] if value}
    return {"id": path, "kind": "context", "fields": fields}


def prepare(api: Any) -> State:
    api.post(
        "items",
        [
            context(
                "company",
                "Company",
                "organization",
                "Keep customers' parcels moving",
                "govern",
                behavior_rules=[{"trigger": "customer data", "action": "never leaves the EU"}],
                injection_rules=[{"name": "security", "condition": "the tool is deploy", "inject": ["guides/change-freeze"]}],
            ),
            context(
                "teams/payments",
                "Payments team",
                "team",
                "Every payment is booked once",
                "operate",
                parent="company",
                behavior_rules=[{"trigger": "a refund above 500 euros", "action": "ask Ottilie before paying"}],
                injection_rules=[
                    {"name": "complexity_check", "condition": "task is complex", "inject": ["guides/complexity"]},
                    {"name": "always", "inject": ["guides/money"]},
                    {"name": "again", "inject": ["guides/money"]},
                    {"name": "gone", "inject": ["guides/does-not-exist"]},
                ],
            ),
            context(
                "services/ledger",
                "Ledger service",
                "service",
                "Books every payment within a second",
                "build",
                parent="teams/payments",
                adaptations="Uses integers for cents",
                behavior_rules=[{"trigger": "schema change", "action": "write the migration and its reverse"}],
            ),
            context("guides/complexity", "Complexity guide", "guide", "Cut large work into small steps", "advise"),
            context(
                "guides/money",
                "Money guide",
                "guide",
                "Amounts are integers of the smallest unit",
                "advise",
                behavior_rules=[{"trigger": "rounding", "action": "round half to even"}],
            ),
            context(
                "guides/change-freeze",
                "Change freeze",
                "guide",
                "Nothing is deployed after noon on Fridays",
                "restrict",
                behavior_rules=[{"trigger": "deploy on Friday", "action": "wait for Monday"}],
            ),
            context("bare", "Bare", "service"),
            context("default", "Default", "service", "Answer politely", "assist"),
            context("loop-a", "Loop A", "service", parent="loop-b"),
            context("loop-b", "Loop B", "service", parent="loop-a"),
            context("orphan", "Orphan", "service", parent="nowhere"),
            context(
                "critical",
                "Critical",
                "service",
                "Keep the lights on",
                "operate",
                injection_rules=[{"name": "all", "inject": ["small", "large"]}],
            ),
            context("small", "Small", "guide"),
            context(
                "large",
                "Large",
                "guide",
                "A" * 1000,
                behavior_rules=[{"trigger": f"signal {n}", "action": f"call the operator of line {n * 13} and note it"} for n in range(60)],
            ),
        ],
    )
    return State(api)


DEPLOY = {"tool": "deploy", "params": {"service": "ledger", "when": "Friday 15:00"}, "timestamp": 1790000000000}
BUILD = {"task": "Build distributed system"}


def block(text: str, name: str) -> str:
    """The text under one context's heading."""
    found = re.search(rf"^### {re.escape(name)} .*?(?=^##|\Z)", text, re.M | re.S)
    assert found, (name, text)
    return found.group()


def headings(text: str) -> list[str]:
    return re.findall(r"^### (.+?) \(", text, re.M)


def check_answer_is_a_text(state: State) -> None:
    answer = state.app.answer("services/ledger", DEPLOY)
    assert isinstance(answer["context"], str) and answer["context"]


def check_text_has_its_parts(state: State) -> None:
    text = state.app.assemble_context("services/ledger", DEPLOY)
    for title in ["## Current Situation", "## Active Contexts", "## Assembly Metadata"]:
        assert title in text, text


def check_situation_is_told(state: State) -> None:
    part = state.app.assemble_context("services/ledger", DEPLOY).split("## Current Situation")[1]
    for text in ["deploy", "ledger", "Friday 15:00", "1790000000000"]:
        assert text in part, part


def check_contexts_have_the_document_s_lines(state: State) -> None:
    text = state.app.assemble_context("services/ledger", DEPLOY)
    part = block(text, "Ledger service")
    assert part.startswith("### Ledger service (service)"), part
    # The wording of the labels is for a model to read; no program does.
    assert re.search(r"(?i)^- business goal: Books every payment within a second$", part, re.M), part
    assert re.search(r"(?i)^- intent( type)?: build$", part, re.M), part
    assert re.search(r"(?i)^- adaptations: Uses integers for cents$", part, re.M), part
    assert re.search(r"(?i)^- behaviou?r rules:$", part, re.M), part
    assert "  - schema change: write the migration and its reverse" in part, part


def check_what_is_missing_has_no_line(state: State) -> None:
    part = block(state.app.assemble_context("bare", {"tool": "read"}), "Bare")
    for word in ["rules", "adaptations", "null", "undefined"]:
        assert word not in part.lower(), part


def check_metadata_counts_the_contexts(state: State) -> None:
    answer = state.app.answer("services/ledger", DEPLOY)
    assert answer["metadata"]["contextsLoaded"] == len(headings(answer["context"])), answer["metadata"]
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", answer["metadata"]["assemblyTime"]), answer["metadata"]
    part = answer["context"].split("## Assembly Metadata")[1]
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", part), part


def check_current_context_comes_first(state: State) -> None:
    assert headings(state.app.assemble_context("services/ledger", DEPLOY))[0] == "Ledger service"


def check_rules_without_a_condition_apply(state: State) -> None:
    text = state.app.assemble_context("services/ledger", {"tool": "read"})
    assert "Money guide" in headings(text), headings(text)
    assert "round half to even" in text


def check_contexts_come_once(state: State) -> None:
    names = headings(state.app.assemble_context("services/ledger", DEPLOY))
    assert len(names) == len(set(names)), names


def check_rules_of_ancestors_are_evaluated(state: State) -> None:
    names = headings(state.app.assemble_context("services/ledger", DEPLOY))
    assert "Change freeze" in names, names


def check_condition_that_does_not_hold_adds_nothing(state: State) -> None:
    names = headings(state.app.assemble_context("services/ledger", {"tool": "read_invoice", "params": {"id": 7}}))
    assert "Change freeze" not in names, names


def check_inheritance_is_resolved(state: State) -> None:
    """What holds for the company and the team holds for the service."""
    text = state.app.assemble_context("services/ledger", {"tool": "read"})
    assert "a refund above 500 euros: ask Ottilie before paying" in text, text
    assert "customer data: never leaves the EU" in text, text


def check_plain_condition_is_judged(state: State) -> None:
    """The document's unit test; its judge is a language model, ours may say that it is not sure."""
    answer = state.app.answer("teams/payments", BUILD)
    said = json.dumps(answer)
    assert "complexity_check" in said and "task is complex" in said, answer


def check_missing_context_is_a_warning(state: State) -> None:
    answer = state.app.answer("services/ledger", {"tool": "read"})
    assert "guides/does-not-exist" in json.dumps(answer["assembly"]["notices"]), answer["assembly"]["notices"]


def check_limit_of_the_document_s_test(state: State) -> None:
    """A limit of 500 tokens: the critical context first, the large one reduced to its essentials."""
    answer = state.app.answer("critical", {"tool": "read"}, maxTokens=500)
    text = answer["context"]
    assert headings(text)[0] == "Critical", headings(text)
    assert "call the operator of line" not in text, text
    tokens = state.api.post("estimate", {"text": text})["tokens"]
    assert tokens <= 500, tokens


def check_default_limit_is_4000(state: State) -> None:
    long = {"tool": "read", "params": {"lines": [f"line {n} of the parcel list for route {n % 17}" for n in range(900)]}}
    answer = state.app.answer("services/ledger", long)
    assert state.api.post("estimate", {"text": answer["context"]})["tokens"] <= 4000
    assert "Ledger service" in headings(answer["context"]), answer["context"][:2000]


def check_long_argument_keeps_the_tool(state: State) -> None:
    """Prose, and what has no sentences: numbers that were measured, a file as Base64."""
    for value in ["Parcels wait in the yard. " * 800, "17 4 23 8 " * 2000, "UGFyY2VscyB3YWl0" * 1200]:
        long = {"tool": "write_file", "params": {"path": "/notes/a.md", "text": value}}
        text = state.app.assemble_context("default", long)
        assert "## Current Situation" in text and "write_file" in text, (value[:20], text)
        assert "/notes/a.md" in text, (value[:20], text)


def check_intent_is_taken(state: State) -> None:
    assert state.app.assemble_context("services/ledger", DEPLOY, intent="release the ledger service")
    assert state.app.assemble_context("services/ledger", DEPLOY, intent=None)


def check_situation_of_a_tool_call(state: State) -> None:
    """`createContextAwareTools`: the tool, its parameters and the time; the context is `default`."""
    params = {"path": "/invoices/7", "intent": "look up"}
    situation = {"tool": "read_file", "params": params, "timestamp": 1790000000000}
    text = state.app.assemble_context("default", situation, intent=params["intent"])
    assert "Answer politely" in text and "/invoices/7" in text, text


def check_unknown_context_is_said(state: State) -> None:
    refused = state.api.refusal("context/situation", {"currentContext": "services/unknown", "situation": DEPLOY})
    assert 400 <= refused.status < 500 and "services/unknown" in str(refused.body), refused.body


def check_cycle_is_said(state: State) -> None:
    refused = state.api.refusal("context/situation", {"currentContext": "loop-a", "situation": DEPLOY})
    assert 400 <= refused.status < 500, refused.status
    assert "loop-a" in str(refused.body) and "loop-b" in str(refused.body), refused.body


def check_missing_parent_is_said(state: State) -> None:
    refused = state.api.refusal("context/situation", {"currentContext": "orphan", "situation": DEPLOY})
    assert 400 <= refused.status < 500 and "nowhere" in str(refused.body) and "orphan" in str(refused.body), refused.body


def check_same_situation_same_text(state: State) -> None:
    first, second = (state.app.assemble_context("services/ledger", DEPLOY) for _ in range(2))
    moment = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
    assert moment.sub("", first) == moment.sub("", second)
