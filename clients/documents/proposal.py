"""A writer of sales proposals, from the document "Context Assembly Engine Architecture"."""

from __future__ import annotations

import itertools
from typing import Any

not_yet: dict[str, str] = {}

COMPANY = {
    "summary": "Brightwell Logistics Software plans and tracks refrigerated freight.",
    "companyOverview": "Founded in 2011 in Rotterdam, 240 people, 310 carriers as customers.",
    "valueProposition": "Fewer spoiled loads: dispatchers see a warming trailer before the cargo suffers.",
    "targetCustomers": "Carriers and grocers with 50 to 2,000 refrigerated trailers.",
    "keyDifferentiators": ["predicts spoilage two hours ahead", "works with any sensor brand"],
    "industry": "logistics software",
    "isVerified": True,
}
BRAND = {
    "tone": "consultative",
    "formality": "formal",
    "keyMessages": ["No load lost unseen.", "Your sensors, our eyes."],
    "contentStyle": "outcome_focused",
    "competitivePositioning": "premium",
}
DEAL = [
    (
        "call-1",
        "2026-10-02T09:00:00Z",
        "call_note",
        "First call with Marit Solheim, head of fleet at Nordfrost. They lost three loads of salmon this summer "
        "because alarms reached the night desk too late. Budget is about 180,000 euros a year.",
    ),
    (
        "mail-1",
        "2026-10-09T14:30:00Z",
        "email",
        "From: Marit Solheim. Our trailers carry Thermo-Kray sensors. We do not want to replace them. Can you read them?",
    ),
    (
        "meeting-1",
        "2026-10-20T12:00:00Z",
        "meeting_summary",
        "Meeting in Bergen. The CFO, Per Aune, asked for a payback below 14 months. FrostTrack has offered them a "
        "pilot for free. Decision is due on 12 December.",
    ),
    (
        "mail-2",
        "2026-11-03T08:15:00Z",
        "email",
        "From: Per Aune. Please include a price for 420 trailers and say what the roll-out would cost.",
    ),
    (
        "call-2",
        "2026-11-10T16:00:00Z",
        "call_note",
        "Marit confirmed that IT security wants single sign-on and data kept in Norway or the EU.",
    ),
]
PRODUCTS = [
    ("sentinel", "Load Sentinel", "Warns of spoilage two hours ahead from any temperature sensor.", "22 euros a trailer and month"),
    ("nightdesk", "Night Desk", "Alarms by phone call with escalation when nobody answers.", "900 euros a month"),
    ("bridge", "Sensor Bridge", "Reads Thermo-Kray, Carril and Euroscan sensors without new hardware.", "6 euros a trailer and month"),
    ("route", "Route Planner", "Plans tours of refrigerated trucks around delivery windows.", "35 euros a truck and month"),
    ("yard", "Yard Board", "Shows which trailer stands at which door.", "400 euros a site and month"),
    ("claims", "Claims File", "Collects the temperature record that an insurer asks for.", "3 euros a load"),
    ("identity", "Identity Link", "Single sign-on with SAML and OpenID Connect.", "included from 200 trailers"),
    ("residency", "Home Region", "Keeps all data in a chosen region: Norway, the EU or the UK.", "8 percent on top"),
    ("driver", "Driver App", "Checklists and door alarms on the driver's telephone.", "4 euros a driver and month"),
    ("fuel", "Fuel Watch", "Compares the diesel use of cooling units.", "5 euros a trailer and month"),
    ("carbon", "Carbon Report", "Emissions by load for customers who ask for them.", "250 euros a month"),
    ("rollout", "Roll-out Service", "Two of our people on site until every trailer reports.", "1,400 euros a day"),
]


class Proposals:
    """The application's client: what `lib/ai/context.ts` of the document gives."""

    def __init__(self, api: Any) -> None:
        self.api = api

    def request(self, opportunity: str, prompt: str, options: dict[str, Any] | None) -> dict[str, Any]:
        """The arguments of `assembleContext`, by their names."""
        asked: dict[str, Any] = {
            "opportunityId": opportunity,
            "organizationId": self.api.workspace,
            "userPrompt": prompt,
        }
        return asked if options is None else {**asked, "options": options}

    def assemble_context(self, opportunity: str, prompt: str, options: dict[str, Any] | None = None) -> Any:
        """`assembleContext(opportunityId, organizationId, userPrompt, options)`."""
        return self.api.post("context/proposal", self.request(opportunity, prompt, options))

    def assemble_stream(self, opportunity: str, prompt: str, options: dict[str, Any] | None = None) -> Any:
        """The same as a stream, on which warnings come before the result."""
        return self.api.stream("context/proposal", self.request(opportunity, prompt, options))


class State:
    """Three organisations: a usual one, one with far too much text, one that has set nothing."""

    def __init__(self, api: Any) -> None:
        self.app = Proposals(api)
        self.large = Proposals(api.within("proposal-large"))
        self.empty = Proposals(api.within("proposal-empty"))


def item(id: str, kind: str, **fields: Any) -> dict[str, Any]:
    """An item as the server takes it."""
    return {"id": id, "kind": kind, "fields": fields}


def usual_items() -> list[dict[str, Any]]:
    """What the organisation has in its tables."""
    items = [
        item("company", "company_profile", **COMPANY),
        item("brand", "brand_settings", **BRAND),
        item(
            "opp-nordfrost",
            "opportunity",
            name="Nordfrost fleet",
            customer="Nordfrost AS",
            stage="proposal",
            vertical="seafood",
            summary="Monitoring for 420 trailers",
            value=180000,
            closeDate="2026-12-12",
        ),
        item("opp-other", "opportunity", name="Albion Dairies", customer="Albion Dairies", vertical="dairy"),
        item(
            "other-1",
            "deal_context_item",
            rawContent="Albion wants milk tankers covered before Easter.",
            opportunityId="opp-other",
            createdAt="2026-11-11T10:00:00Z",
        ),
        item("product-old", "product", name="Load Sentinel Classic", description="Warns of spoilage. No longer sold.", isActive=False),
        item(
            "card-frosttrack",
            "battlecard",
            competitorName="FrostTrack",
            winThemes=["we need no new sensors"],
            differentiators=["two hours of warning, they have none"],
            strengths=["a free pilot"],
            weaknesses=["only their own sensors"],
            isActive=True,
        ),
        item("card-coldview", "battlecard", competitorName="ColdView", winThemes=["alarms reach a person"], isActive=True),
        item("card-gone", "battlecard", competitorName="Glacio", winThemes=["they closed in 2024"], isActive=False),
        item(
            "play-seafood",
            "playbook",
            name="Selling to seafood carriers",
            vertical="seafood",
            content="Ask first what one lost load of salmon costs. Bring the payback sheet to the second meeting.",
        ),
        item(
            "play-pharma",
            "playbook",
            name="Selling to pharma carriers",
            vertical="pharma",
            content="Ask for the audit calendar first. Qualification papers decide.",
        ),
        item(
            "play-any",
            "playbook",
            name="When the CFO asks for payback",
            content="Compare the yearly price with two lost loads, never with other software.",
        ),
    ]
    items += [
        item(id, "deal_context_item", rawContent=text, type=sort, opportunityId="opp-nordfrost", createdAt=at)
        for id, at, sort, text in DEAL
    ]
    items += [
        item(
            f"product-{id}",
            "product",
            name=name,
            description=text,
            pricing=price,
            isActive=True,
            features=[f"{name} can be tried for 30 days"],
            useCases=["refrigerated freight"],
        )
        for id, name, text, price in PRODUCTS
    ]
    return items


def long_text(topic: str, sentences: int) -> str:
    """Text of many sentences, no two of them alike."""
    who = ["Marit", "Per", "the night desk", "IT security", "the workshop", "Bergen harbour", "the insurer"]
    what = ["asked about", "measured", "complained of", "wrote down", "compared", "wants to see", "tested"]
    which = [
        "door openings",
        "the alarm chain",
        "salmon prices",
        "sensor batteries",
        "trailer ages",
        "the spring contract",
        "driver training",
        "data residency",
        "cooling units",
    ]
    told = itertools.cycle(itertools.product(who, what, which))
    start = sum(map(ord, topic)) % 400
    chosen = itertools.islice(told, start, start + sentences)
    return " ".join(f"On {topic} day {n}, {a} {b} {c}." for n, (a, b, c) in enumerate(chosen, 1))


def large_items() -> list[dict[str, Any]]:
    """An organisation whose texts do not fit into 5,000 tokens."""
    items = [
        item("company", "company_profile", **COMPANY),
        item("brand", "brand_settings", **BRAND),
        item("opp-1", "opportunity", name="Nordfrost fleet", vertical="seafood"),
    ]
    for n in range(8):
        items.append(
            item(
                f"deal-{n}",
                "deal_context_item",
                opportunityId="opp-1",
                createdAt=f"2026-11-0{n + 1}T10:00:00Z",
                rawContent=long_text(f"call {n}", 60),
            )
        )
    for n, (_, name, text, price) in enumerate(PRODUCTS[:8]):
        items.append(item(f"product-{n}", "product", name=name, pricing=price, isActive=True, description=f"{text} {long_text(name, 25)}"))
    for n, name in enumerate(["FrostTrack", "ColdView", "Glacio"]):
        items.append(
            item(
                f"card-{n}",
                "battlecard",
                competitorName=name,
                isActive=True,
                winThemes=[f"We beat {name} on warnings of spoilage."],
                strengths=[long_text(name, 60)],
            )
        )
    for n in range(4):
        items.append(item(f"play-{n}", "playbook", name=f"Playbook {n} for spoilage alarms", content=long_text(f"playbook {n}", 60)))
    return items


def prepare(api: Any) -> State:
    """Fills the organisations."""
    state = State(api)
    api.post("items", usual_items())
    state.large.api.post("items", large_items())
    state.empty.api.post("items", [item("opp-1", "opportunity", name="First customer")])
    return state


PROMPT = "Write the section on spoilage alarms and what the Sensor Bridge costs for 420 trailers"
LARGE = "Write about alarms that warn of spoilage, for FrostTrack and ColdView customers"


def usual(state: State, **options: Any) -> Any:
    return state.app.assemble_context("opp-nordfrost", PROMPT, options or None)


def large(state: State, budget: int) -> Any:
    return state.large.assemble_context("opp-1", LARGE, {"targetBudget": budget})


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def check_answer_has_every_field(state: State) -> None:
    answer = usual(state)
    assert isinstance(answer["companyProfile"], dict)
    assert isinstance(answer["brandContext"], dict)
    assert isinstance(answer["dealContext"], str)
    for name in ["products", "competitive", "playbooks"]:
        assert isinstance(answer[name], list) and answer[name], name
        assert all(isinstance(entry, dict) for entry in answer[name]), answer[name]
    assert isinstance(answer["budgetStatus"], dict)
    assert isinstance(answer["retrievalMetrics"], dict)


def check_fields_are_there_when_nothing_is(state: State) -> None:
    answer = state.empty.assemble_context("opp-1", "Write an introduction")
    assert "companyProfile" in answer and answer["companyProfile"] is None, answer.get("companyProfile", "absent")
    assert "brandContext" in answer and answer["brandContext"] is None, answer.get("brandContext", "absent")
    assert answer["dealContext"] == "", answer.get("dealContext")
    assert answer["products"] == [] and answer["competitive"] == [] and answer["playbooks"] == []
    status = answer["budgetStatus"]
    assert status["isOverBudget"] is False
    assert status["truncatedCategories"] == [] and status["truncationDetails"] == []
    names = ["dealContextItems", "productsRetrieved", "battlecardsRetrieved", "playbooksRetrieved"]
    assert [answer["retrievalMetrics"][name] for name in names] == [0, 0, 0, 0]


def check_what_is_not_set_has_no_placeholder(state: State) -> None:
    context = state.empty.assemble_context("opp-1", "Write an introduction")["context"].lower()
    for word in ["company profile", "brand", "null", "n/a", "none"]:
        assert word not in context, context


def check_company_profile_is_what_was_stored(state: State) -> None:
    assert usual(state)["companyProfile"] == COMPANY, usual(state)["companyProfile"]


def check_brand_context_is_what_was_stored(state: State) -> None:
    assert usual(state)["brandContext"] == BRAND, usual(state)["brandContext"]


def check_a_field_of_the_profile_that_is_not_set_is_null(state: State) -> None:
    api = state.app.api.within("proposal-sparse")
    api.post(
        "items",
        [
            item("company", "company_profile", summary="A bakery."),
            item("brand", "brand_settings", tone="friendly"),
            item("opp-1", "opportunity", name="Cafés"),
        ],
    )
    answer = Proposals(api).assemble_context("opp-1", "Write an introduction")
    assert answer["companyProfile"] == {
        "summary": "A bakery.",
        "companyOverview": None,
        "valueProposition": None,
        "targetCustomers": None,
        "keyDifferentiators": [],
        "industry": None,
        "isVerified": False,
    }, answer["companyProfile"]
    assert answer["brandContext"] == {
        "tone": "friendly",
        "formality": None,
        "keyMessages": [],
        "contentStyle": None,
        "competitivePositioning": None,
    }, answer["brandContext"]


def check_budget_status(state: State) -> None:
    status = usual(state)["budgetStatus"]
    assert status["budgetLimit"] == 32_000, status
    assert is_count(status["totalTokens"]) and 0 < status["totalTokens"] <= 32_000, status
    assert status["isOverBudget"] is False, status
    assert status["truncatedCategories"] == [] and status["truncationDetails"] == [], status


def check_retrieval_metrics(state: State) -> None:
    answer = usual(state)
    metrics = answer["retrievalMetrics"]
    assert metrics["dealContextItems"] == 5, metrics
    assert metrics["productsRetrieved"] == len(answer["products"]) <= 10, metrics
    assert metrics["battlecardsRetrieved"] == len(answer["competitive"]), metrics
    assert metrics["playbooksRetrieved"] == len(answer["playbooks"]), metrics


def check_deal_context_is_all_of_the_deal_newest_first(state: State) -> None:
    deal = usual(state)["dealContext"]
    places = [deal.find(text) for _, _, _, text in reversed(DEAL)]
    assert min(places) >= 0, (places, deal)
    assert places == sorted(places), (places, deal)
    assert "Albion" not in deal


def check_deal_context_is_the_raw_texts_alone(state: State) -> None:
    deal = usual(state)["dealContext"]
    assert deal == "\n\n".join(text for _, _, _, text in reversed(DEAL)), deal


def check_products_are_active_and_named(state: State) -> None:
    products = usual(state)["products"]
    assert 0 < len(products) <= 10
    names = [product["name"] for product in products]
    assert "Load Sentinel Classic" not in names
    assert "Sensor Bridge" in names and "Load Sentinel" in names, names
    bridge = products[names.index("Sensor Bridge")]
    assert bridge["description"] == PRODUCTS[2][2], bridge
    assert bridge["pricing"] == PRODUCTS[2][3], bridge
    assert bridge["features"] == ["Sensor Bridge can be tried for 30 days"], bridge
    assert bridge["useCases"] == ["refrigerated freight"], bridge


def check_mentioned_competitor_comes_first(state: State) -> None:
    names = [card["competitorName"] for card in usual(state)["competitive"]]
    assert names and names[0] == "FrostTrack", names
    assert "Glacio" not in names
    assert len(names) == len(set(names))


def check_playbooks_fit_the_vertical(state: State) -> None:
    names = [playbook["name"] for playbook in usual(state)["playbooks"]]
    assert "Selling to seafood carriers" in names and "Selling to pharma carriers" not in names, names


def check_small_budget_keeps_the_foundation_whole(state: State) -> None:
    """The document's first unit test, with its figure."""
    for app, opportunity in [(state.app, "opp-nordfrost"), (state.large, "opp-1")]:
        answer = app.assemble_context(opportunity, PROMPT, {"targetBudget": 1000})
        assert answer["companyProfile"] == COMPANY and answer["brandContext"] == BRAND
        cut = answer["budgetStatus"]["truncatedCategories"]
        assert not {"businessModel", "companyProfile", "brandContext"} & set(cut), cut
        assert answer["budgetStatus"]["budgetLimit"] == 1000
        for text in [COMPANY["summary"], COMPANY["valueProposition"], BRAND["keyMessages"][1]]:
            assert text in answer["context"], answer["context"]


def check_playbooks_are_cut_before_the_deal(state: State) -> None:
    """The document's second unit test, with its figure."""
    status = large(state, 5000)["budgetStatus"]
    assert status["isOverBudget"] is True, status
    order = status["truncatedCategories"]
    assert "playbooks" in order, order
    if "dealContext" in order:
        assert order.index("playbooks") < order.index("dealContext"), order
    assert set(order) <= {"playbooks", "competitive", "products", "dealContext"}, order


def check_budget_holds(state: State) -> None:
    for budget in [2_000, 5_000, 9_000]:
        status = large(state, budget)["budgetStatus"]
        assert status["totalTokens"] <= status["budgetLimit"] == budget, status


def check_truncation_details(state: State) -> None:
    status = large(state, 5000)["budgetStatus"]
    details = status["truncationDetails"]
    assert [entry["category"] for entry in details] == status["truncatedCategories"], status
    for entry in details:
        assert is_count(entry["originalTokens"]) and is_count(entry["finalTokens"]), entry
        assert entry["finalTokens"] < entry["originalTokens"], entry
        assert is_count(entry["itemsRemoved"]), entry


def check_over_budget_means_truncated(state: State) -> None:
    for budget in [5_000, 32_000]:
        status = large(state, budget)["budgetStatus"]
        assert status["isOverBudget"] == bool(status["truncatedCategories"]), status


def check_warning_on_the_stream(state: State) -> None:
    events = state.large.assemble_stream("opp-1", LARGE, {"targetBudget": 5000})
    warnings = [data for _, data in events if isinstance(data, dict) and data.get("code") == "CONTEXT_TRUNCATED"]
    assert len(warnings) == 1, warnings
    [warning] = warnings
    assert warning["type"] == "warning", warning
    assert isinstance(warning["message"], str) and warning["message"], warning
    assert warning["suggestions"] and all(isinstance(text, str) for text in warning["suggestions"]), warning
    results = [data for name, data in events if name == "result"]
    assert len(results) == 1 and events[-1][0] == "result", [name for name, _ in events]
    assert warning["details"] == results[0]["budgetStatus"]["truncationDetails"], (warning, results[0]["budgetStatus"])


def check_no_warning_when_nothing_is_cut(state: State) -> None:
    events = state.app.assemble_stream("opp-nordfrost", PROMPT)
    assert not [data for _, data in events if isinstance(data, dict) and data.get("code") == "CONTEXT_TRUNCATED"]


def check_log_line(state: State) -> None:
    status = usual(state)["budgetStatus"]
    lines = [line for line in state.app.api.log() if "context_assembled" in line.values()]
    lines = [line for line in lines if line.get("opportunityId") == "opp-nordfrost"]
    assert lines, state.app.api.log()[-1:]
    line = lines[-1]
    assert line["event"] == "context_assembled"
    assert line["organizationId"] == state.app.api.workspace, line
    assert line["totalTokens"] == status["totalTokens"] and line["budgetLimit"] == 32_000, line
    assert line["truncated"] is False, line
    assert isinstance(line["latencyMs"], (int, float)), line
    assert is_count(line["foundationalTokens"]) and is_count(line["ragTokens"]), line
    assert line["foundationalTokens"] + line["ragTokens"] == line["totalTokens"], line
    categories = line["categories"]
    assert isinstance(categories, dict), line
    assert "businessModel" in categories or "companyProfile" in categories, categories
    for name in ["brandContext", "dealContext", "products", "competitive", "playbooks"]:
        assert is_count(categories[name]), categories


def check_unknown_opportunity_is_said(state: State) -> None:
    refused = state.app.api.refusal("context/proposal", state.app.request("opp-nowhere", PROMPT, None))
    assert 400 <= refused.status < 500 and "opp-nowhere" in str(refused.body), refused.body


def check_another_kind_of_id_is_said(state: State) -> None:
    refused = state.app.api.refusal("context/proposal", state.app.request("product-bridge", PROMPT, None))
    assert 400 <= refused.status < 500 and "product-bridge" in str(refused.body), refused.body


def check_missing_prompt_is_said(state: State) -> None:
    refused = state.app.api.refusal("context/proposal", {"opportunityId": "opp-nordfrost", "organizationId": "x"})
    assert refused.status == 400 and "userPrompt" in str(refused.body), refused.body


def check_unknown_option_is_said(state: State) -> None:
    refused = state.app.api.refusal("context/proposal", state.app.request("opp-nordfrost", PROMPT, {"targetBuget": 5000}))
    assert refused.status == 400 and "targetBuget" in str(refused.body), refused.body


def check_wrong_brand_value_is_said(state: State) -> None:
    api = state.app.api.within("proposal-wrong-brand")
    refused = api.refusal("items", [item("brand", "brand_settings", tone="sarcastic")])
    assert refused.status == 400 and "sarcastic" in str(refused.body) and "tone" in str(refused.body), refused.body


def check_wrong_profile_field_is_said(state: State) -> None:
    api = state.app.api.within("proposal-wrong-profile")
    refused = api.refusal("items", [item("company", "company_profile", sumary="A bakery.")])
    assert refused.status == 400 and "sumary" in str(refused.body), refused.body


def check_pack_can_be_answered_from(state: State) -> None:
    context = usual(state)["context"]
    for text in ["Nordfrost AS", "420 trailers", "6 euros a trailer and month", "FrostTrack", "12 December", "payback"]:
        assert text in context, (text, context)
