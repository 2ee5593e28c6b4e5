"""An agent over a person's files and chat threads, from the document "Context Assembly Integration"."""

from __future__ import annotations

import re
from typing import Any

not_yet: dict[str, str] = {
    "files_of_another_owner_stay_out": "ownerUserId does not bound who finds a file; readers do",
}

USER = "u-ines"
FILES = [
    (
        "f-rollout",
        "plans/rollout-2027.md",
        "# Rollout 2027\n\nThe new billing service goes live in three waves. Wave one is Portugal on 12 January, "
        "wave two is Spain on 2 February, wave three is France on 9 March. Rui owns the migration script.",
    ),
    (
        "f-cost",
        "finance/cost-model.csv.md",
        "Hosting costs 4,200 euros a month today. With the new billing service it falls to 3,100 euros because the "
        "nightly batch disappears.",
    ),
    (
        "f-postmortem",
        "ops/postmortem-august.md",
        "On 14 August the migration script locked the invoices table for 41 minutes. We agreed to run it in batches of 500 rows.",
    ),
    ("f-recipes", "private/soup.md", "Leek and potato soup: three leeks, four potatoes, half a litre of stock."),
    ("f-style", "docs/style-guide.md", "Write dates as day, month, year. Use short sentences. Never write in capitals."),
    ("f-interview", "hr/interview-notes.md", "Candidate Lena knows Kafka and Postgres well; she asked about remote work."),
    ("f-vendors", "finance/vendors.md", "Stripe charges 1.4 percent. Adyen offered 1.1 percent plus 10 cents for each payment."),
]
MESSAGES = [
    ("user", "Ines", "Who owns the migration script?"),
    ("assistant", "Agent", "Rui owns the migration script, according to the rollout plan."),
    ("user", "Ines", "And what went wrong with it in August?"),
    ("assistant", "Agent", "It locked the invoices table for 41 minutes."),
    ("user", "Ines", "Right. Portugal wants to move its date by a week because of the tax deadline."),
]
QUESTION = "When does the billing service go live in Portugal and who owns the migration script?"


class Agent:
    """The application's client: the two routes of `routes/context.ts`."""

    def __init__(self, api: Any) -> None:
        self.api = api

    def build(self, thread: str, message: str, **more: Any) -> Any:
        """`POST /build`: the user is known from the login, which here is a field."""
        return self.api.post("context/prime", {"threadId": thread, "message": message, "userId": USER, **more})

    def feedback(self, context_item: str, useful: bool) -> Any:
        """`POST /feedback`."""
        return self.api.post("feedback", {"contextItemId": context_item, "useful": useful})


class State:
    def __init__(self, api: Any) -> None:
        self.api = api
        self.app = Agent(api)
        self.answer = None


def item(id: str, kind: str, **rest: Any) -> dict[str, Any]:
    names = {"title", "path", "parent", "position", "readers"}
    outer = {key: value for key, value in rest.items() if key in names}
    return {"id": id, "kind": kind, **outer, "fields": {key: value for key, value in rest.items() if key not in names}}


def thread(id: str, messages: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """A thread and its messages, five minutes apart."""
    items = [item(id, "thread", title=f"Thread {id}", ownerUserId=USER)]
    for n, (role, author, text) in enumerate(messages):
        items.append(
            item(
                f"{id}-m{n}",
                "message",
                parent=id,
                position=n,
                threadId=id,
                role=role,
                author=author,
                content=text,
                createdAt=f"2026-11-16T{9 + n // 12:02}:{n % 12 * 5:02}:00Z",
            )
        )
    return items


def prepare(api: Any) -> State:
    items = [
        item(id, "file", path=path, content=text, ownerUserId=USER, contentType="text/markdown", createdAt="2026-11-10T10:00:00Z")
        for id, path, text in FILES
    ]
    items.append(
        item(
            "f-theirs",
            "file",
            path="plans/portugal-secret.md",
            ownerUserId="u-boris",
            content="Boris thinks that the billing service in Portugal goes live on 1 April.",
            readers=["user:u-boris"],
        )
    )
    items.append(
        item(
            "f-owned",
            "file",
            path="plans/portugal-draft.md",
            ownerUserId="u-boris",
            content="A draft by Boris: the billing service goes live in Portugal in summer.",
        )
    )
    items += thread("t-rollout", MESSAGES)
    items.append(
        item(
            "r-postmortem",
            "reference",
            parent="t-rollout",
            threadId="t-rollout",
            targetId="f-postmortem",
            source="ops/postmortem-august.md",
        )
    )
    long = [("user" if n % 2 == 0 else "assistant", "Ines", f"Remark {n} on the vendor contract, paragraph {n * 3}.") for n in range(25)]
    items += thread("t-long", long)
    api.post("items", items)
    return State(api)


def build(state: State) -> Any:
    """The usual answer, asked for once."""
    if state.answer is None:
        state.answer = state.app.build("t-rollout", QUESTION)
    return state.answer


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_answer_is_data_and_meta(state: State) -> None:
    answer = build(state)
    data, meta = answer["data"], answer["meta"]
    assert is_count(data["totalTokens"]) and data["items"] and data["citations"]
    assert meta["tokenUsage"] == data["totalTokens"], meta
    assert meta["sourceCount"] == len(data["items"]), meta
    assert meta["citationCount"] == len(data["citations"]), meta


def check_items_have_their_fields(state: State) -> None:
    for entry in build(state)["data"]["items"]:
        assert isinstance(entry["id"], str) and entry["id"], entry
        assert entry["type"] in {"file", "chunk", "message", "reference"}, entry
        assert isinstance(entry["content"], str) and entry["content"], entry
        assert isinstance(entry.get("excerpt", ""), str), entry
        assert isinstance(entry["source"], str) and entry["source"], entry
        assert is_number(entry["relevance"]) and 0 <= entry["relevance"] <= 1, entry
        assert is_count(entry["tokens"]) and entry["tokens"] > 0, entry
        assert isinstance(entry["metadata"], dict), entry


def check_metadata_of_a_file(state: State) -> None:
    [entry] = [entry for entry in build(state)["data"]["items"] if entry["id"] == "f-rollout"]
    assert entry["type"] == "file", entry
    assert entry["source"] == "plans/rollout-2027.md", entry
    metadata = entry["metadata"]
    assert metadata["path"] == "plans/rollout-2027.md", metadata
    assert metadata["createdAt"].startswith("2026-11-10T10:00:00"), metadata
    assert "portugal" in [word.lower() for word in metadata["matchedKeywords"]], metadata
    assert is_number(metadata["searchRank"]), metadata


def check_content_is_the_text_alone(state: State) -> None:
    texts = {id: text for id, _, text in FILES}
    texts |= {f"t-rollout-m{n}": text for n, (_, _, text) in enumerate(MESSAGES)}
    for entry in build(state)["data"]["items"]:
        if entry["id"] in texts:
            assert entry["content"] in texts[entry["id"]], entry


def check_excerpt_marks_the_hits(state: State) -> None:
    [entry] = [entry for entry in build(state)["data"]["items"] if entry["id"] == "f-rollout"]
    assert re.search(r"<<<\w+>>>", entry["excerpt"]), entry["excerpt"]


def check_stats(state: State) -> None:
    data = build(state)["data"]
    stats = data["stats"]
    assert set(stats) >= {"explicitCount", "searchCount", "historyCount", "excludedCount"}, stats
    assert all(is_count(stats[name]) for name in ["explicitCount", "searchCount", "historyCount", "excludedCount"]), stats
    assert stats["explicitCount"] == 1, stats
    assert stats["historyCount"] == 5, stats
    assert 1 <= stats["searchCount"] <= 9, stats


def check_history_is_the_last_twenty(state: State) -> None:
    data = state.app.build("t-long", "What was said on the vendor contract?")["data"]
    assert data["stats"]["historyCount"] == 20, data["stats"]
    said = [entry["id"] for entry in data["items"] if entry["type"] == "message"]
    assert said and not {f"t-long-m{n}" for n in range(5)} & set(said), said


def check_citations_have_their_fields(state: State) -> None:
    data = build(state)["data"]
    assert len(data["citations"]) == len(data["items"])
    for citation in data["citations"]:
        assert re.fullmatch(r"\[[a-z]{3}-[0-9a-z]+\]", citation["id"]), citation
        assert isinstance(citation["source"], str) and citation["source"], citation
        assert citation["type"] in {"file", "document", "message"}, citation
        assert is_number(citation["relevance"]), citation
        assert citation["usedInResponse"] is False, citation
    assert len({citation["id"] for citation in data["citations"]}) == len(data["citations"])


def check_citation_of_a_file_has_path_and_excerpt(state: State) -> None:
    [citation] = [entry for entry in build(state)["data"]["citations"] if entry.get("path") == "plans/rollout-2027.md"]
    assert citation["type"] == "file" and citation["source"] == "plans/rollout-2027.md", citation
    assert isinstance(citation["excerpt"], str) and citation["excerpt"], citation


def check_citation_ids_are_stable(state: State) -> None:
    again = state.app.build("t-rollout", QUESTION + " Please be brief.")["data"]
    ids = {entry["source"]: entry["id"] for entry in build(state)["data"]["citations"]}
    for entry in again["citations"]:
        assert ids.get(entry["source"], entry["id"]) == entry["id"], (ids, entry)


def check_citation_ids_stand_in_the_context(state: State) -> None:
    answer = build(state)
    for citation in answer["data"]["citations"]:
        assert citation["id"] in answer["context"], (citation, answer["context"])


def check_used_citations_make_the_sources(state: State) -> None:
    """`markAsUsed` and `formatCitationsForResponse`: the response goes in, the block comes out."""
    answer = build(state)
    [cited] = [entry for entry in answer["data"]["citations"] if entry.get("path") == "plans/rollout-2027.md"]
    said = state.api.post(
        "citations",
        {
            "receipt": answer["assembly"]["receipt"],
            "response": f"Portugal goes live on 12 January {cited['id']}.",
        },
    )
    used = [entry["id"] for entry in said["citations"] if entry["usedInResponse"]]
    assert used == [cited["id"]], said
    block = [value for value in said.values() if isinstance(value, str)]
    assert len(block) == 1 and block[0].startswith("\n\n---\nSources:\n"), said
    line = f"{cited['id']}: plans/rollout-2027.md - "
    assert line in block[0] and block[0].rstrip().endswith("..."), block[0]
    assert "postmortem" not in block[0], block[0]


def check_no_sources_when_none_is_used(state: State) -> None:
    said = state.api.post("citations", {"receipt": build(state)["assembly"]["receipt"], "response": "I do not know."})
    assert not any(entry["usedInResponse"] for entry in said["citations"]), said
    assert [value for value in said.values() if isinstance(value, str)] == [""], said


def check_feedback_says_success(state: State) -> None:
    said = state.app.feedback("f-vendors", True)
    assert said == {"success": True}, said


def check_feedback_raises_later_scores(state: State) -> None:
    ask = ("t-long", "What does Stripe charge?")
    before = {entry["id"]: entry["relevance"] for entry in state.app.build(*ask)["data"]["items"]}
    for _ in range(5):
        state.app.feedback("f-vendors", True)
    after = {entry["id"]: entry["relevance"] for entry in state.app.build(*ask)["data"]["items"]}
    assert after["f-vendors"] > before["f-vendors"], (before, after)


def check_feedback_on_nothing_is_said(state: State) -> None:
    refused = state.api.refusal("feedback", {"contextItemId": "f-nowhere", "useful": True})
    assert 400 <= refused.status < 500 and "f-nowhere" in str(refused.body), refused.body


def check_explicit_reference_scores_highest(state: State) -> None:
    """The document's unit test: a reference and a file with the same text."""
    api = state.api.within("prime-unit")
    api.post(
        "items",
        [
            item("t-1", "thread", title="T"),
            item("f-a", "file", path="a.md", content="a test of the brakes"),
            item("f-b", "file", path="b.md", content="a test of the brakes"),
            item("r-b", "reference", parent="t-1", threadId="t-1", targetId="f-b"),
        ],
    )
    data = Agent(api).build("t-1", "test")["data"]
    reference = [entry for entry in data["items"] if entry["type"] == "reference"]
    files = [entry for entry in data["items"] if entry["type"] == "file"]
    assert len(reference) == 1, data["items"]
    assert all(reference[0]["relevance"] > entry["relevance"] for entry in files), data["items"]


def check_reference_of_the_thread_is_in(state: State) -> None:
    data = state.app.build("t-rollout", "What do you suggest?")["data"]
    found = [entry for entry in data["items"] if "41 minutes" in entry["content"] and entry["type"] == "reference"]
    assert found, [(entry["id"], entry["type"]) for entry in data["items"]]


def check_budget_of_the_document_holds(state: State) -> None:
    """20 items of 100 tokens each: the default takes 3,500 at most, a small budget gives at least one."""
    api = state.api.within("prime-budget")
    words = ["harbour", "crane", "invoice", "winter", "pallet", "ledger", "signal", "copper", "meadow", "lantern"]
    api.post(
        "items",
        [item("t-1", "thread", title="T")]
        + [
            item(
                f"f-{n}",
                "file",
                path=f"notes/{n}.md",
                content=" ".join(f"The {words[(n + k) % 10]} number {n * 7 + k} was checked." for k in range(14)),
            )
            for n in range(20)
        ],
    )
    agent = Agent(api)
    assert agent.build("t-1", "Which harbour crane was checked?")["data"]["totalTokens"] <= 3_500
    for budget in [560, 1000]:
        data = agent.build("t-1", "Which harbour crane was checked?", tokenBudget=budget)["data"]
        assert data["items"] and data["totalTokens"] <= budget, data


def check_two_messages_of_a_thread_differ(state: State) -> None:
    """The document caches by thread alone; one message's context must never be another's."""
    other = state.app.build("t-rollout", "How do I make leek soup?")["data"]
    assert "f-recipes" in [entry["id"] for entry in other["items"]]
    assert "f-recipes" not in [entry["id"] for entry in build(state)["data"]["items"]]


def check_same_request_same_answer(state: State) -> None:
    first, second = (state.app.build("t-long", "Which vendor is cheaper?")["data"] for _ in range(2))
    assert first == second


def check_readers_hold(state: State) -> None:
    assert "1 April" not in str(build(state)) and "f-theirs" not in str(build(state))


def check_files_of_another_owner_stay_out(state: State) -> None:
    assert "f-owned" not in [entry["id"] for entry in build(state)["data"]["items"]]


def check_user_may_be_left_out(state: State) -> None:
    """The route itself takes a thread and a message alone."""
    answer = state.api.post("context/prime", {"threadId": "t-rollout", "message": QUESTION})
    assert answer["data"]["items"]


def check_unknown_thread_is_said(state: State) -> None:
    try:
        answer = state.app.build("t-nowhere", QUESTION)
    except Exception as refused:
        assert "t-nowhere" in str(refused), refused
    else:
        assert "t-nowhere" in str(answer["assembly"].get("notices")), answer["assembly"]


def check_missing_message_is_said(state: State) -> None:
    refused = state.api.refusal("context/prime", {"threadId": "t-rollout"})
    assert refused.status == 400 and "message" in str(refused.body), refused.body


def check_nothing_relevant_gives_an_empty_answer(state: State) -> None:
    api = state.api.within("prime-nothing")
    api.post("items", [item("t-1", "thread", title="T"), item("f-a", "file", path="a.md", content="Leeks and potatoes.")])
    answer = Agent(api).build("t-1", "zzzz qqqq")
    assert answer["data"]["items"] == [] and answer["data"]["citations"] == [], answer["data"]
    assert answer["meta"]["sourceCount"] == 0 and answer["meta"]["citationCount"] == 0


def check_thread_is_one_block_in_order(state: State) -> None:
    context = build(state)["context"]
    places = [context.find(text) for _, _, text in MESSAGES]
    assert min(places) >= 0 and places == sorted(places), (places, context)


def check_pack_can_be_answered_from(state: State) -> None:
    context = build(state)["context"]
    assert "12 January" in context and "Rui owns" in context, context
    assert "soup" not in context, context
