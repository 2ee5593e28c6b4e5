"""The shapes of requests and results, exactly as they are on the wire.

Results are the server's JSON as it came, so the names in them are the wire's. A test compares every
shape here with the server's OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired

Moment = Union[str, int, datetime, date]
"""RFC 3339, a day, Unix milliseconds, or Python's own. A `datetime` needs a time zone."""

Trust = Literal["external", "internal", "trusted"]
Way = Literal["text", "vector", "fuzzy"]
EventKind = Literal["viewed", "edited", "used", "useful", "not_useful"]
RequestType = Literal["assist", "chat", "search", "automate"]
MessageFormat = Literal["anthropic", "openai"]


# --- Workspaces and items ---


class Health(TypedDict):
    status: str
    version: NotRequired[str]


class WorkspaceName(TypedDict):
    name: str


class Workspaces(TypedDict):
    workspaces: list[WorkspaceName]
    next: NotRequired[str]


StateId = Union[int, str]
"""A state of a workspace: a number for callers who see everything, else a text of the caller's own
that changes with what they can read. Pass it back unread, as ``as_of={"revision": …}``."""


class WorkspaceState(TypedDict):
    name: str
    revision: StateId
    items: int


class NewItem(TypedDict):
    """An item to store. It replaces an item with the same id."""

    id: str
    kind: str
    title: NotRequired[str]
    body: NotRequired[str]
    fields: NotRequired[Mapping[str, Any]]
    path: NotRequired[str | None]
    parent: NotRequired[str | None]
    position: NotRequired[int]
    created: NotRequired[Moment | None]
    updated: NotRequired[Moment | None]
    confidence: NotRequired[float | None]
    readers: NotRequired[Sequence[str] | None]
    trust: NotRequired[Trust | None]
    active: NotRequired[bool]


class Item(TypedDict):
    id: str
    kind: str
    title: str
    body: str
    fields: dict[str, Any]
    path: NotRequired[str]
    parent: NotRequired[str]
    position: int
    created: NotRequired[str]
    updated: NotRequired[str]
    confidence: NotRequired[float]
    readers: NotRequired[list[str]]
    trust: str
    active: bool
    revision: StateId


class ItemPage(TypedDict):
    items: list[Item]
    next: NotRequired[str]


class Written(TypedDict):
    revision: StateId
    stored: int
    unchanged: int
    warnings: NotRequired[list[str]]


Link = TypedDict("Link", {"from": str, "to": str, "sort": str})
"""A link: its source, its target and its type."""


class Event(TypedDict):
    """An event: something that a user did with an item."""

    item: str
    happening: EventKind
    user: NotRequired[str | None]
    at: NotRequired[Moment | None]


# --- Memories ---


class NewMemory(TypedDict):
    content: str
    id: NotRequired[str | None]
    type: NotRequired[str | None]
    confidence: NotRequired[float | None]
    conversationId: NotRequired[str | None]
    createdAt: NotRequired[Moment | None]


class LeftOut(TypedDict):
    id: str
    reason: str
    of: list[str]


class Remembered(TypedDict):
    revision: StateId
    stored: list[str]
    leftOut: list[LeftOut]


class ExtractedMemory(TypedDict):
    id: str
    content: str
    type: str
    confidence: float
    turn: NotRequired[int]
    createdAt: int
    supersedes: list[str]


class ExtractedMemories(TypedDict):
    memories: list[ExtractedMemory]
    leftOut: list[LeftOut]
    stored: bool
    model: str


class Memory(TypedDict):
    id: str
    content: str
    type: str | None
    confidence: float | None
    created_at: str | None
    conversation: str | None


class Relationship(TypedDict):
    type: str
    direction: str
    source: str
    target: str


class MemoryRelated(TypedDict):
    memory: Memory
    relationship: Relationship
    depth: int


class MemorySearchResult(TypedDict):
    memory: Memory
    score: float
    rank: float
    note: str | None
    relationships: list[MemoryRelated]


class MemoryResults(TypedDict):
    results: list[list[MemorySearchResult]]


# --- Searching ---


class SearchHit(TypedDict):
    id: str
    chunk: int
    score: float
    ranks: dict[str, int]
    kind: str
    title: str
    path: NotRequired[str]
    headings: list[str]
    lines: list[int]
    pages: NotRequired[list[int]]
    excerpt: str
    hits: list[list[int]]


class SearchAnswer(TypedDict):
    found: list[SearchHit]
    notices: list[str]


# --- What requests are made of ---


class Focus(TypedDict, total=False):
    """What the user has in focus."""

    blockId: str | None
    pageId: str | None
    databaseId: str | None


class Turn(TypedDict):
    """What was said before."""

    role: str
    content: str
    timestamp: NotRequired[Moment | None]


class Range(TypedDict, total=False):
    start: Moment | None
    end: Moment | None


class Hints(TypedDict, total=False):
    """What else to consider, prefer or leave out."""

    prioritizeTypes: Sequence[str]
    timeRange: Range | None
    includeBlocks: Sequence[str]
    excludeBlocks: Sequence[str]
    maxDepth: int | None


class RankerExpression(TypedDict):
    expression: str


class Revision(TypedDict):
    revision: StateId


class Member(TypedDict):
    id: str
    groups: NotRequired[Sequence[str]]


Ranker = Union[str, RankerExpression]
"""A ranker by name, or as an expression over the components."""


class Options(TypedDict, total=False):
    """The options of every recipe. On the wire the names are in camelCase."""

    user: str | None
    groups: Sequence[str]
    type: str | None
    focus: Focus | None
    subjects: Mapping[str, str]
    thread_id: str | None
    opportunity_id: str | None
    current_context: str | None
    situation: Mapping[str, Any]
    intent: str | None
    conversation_history: Sequence[Turn]
    hints: Hints
    min_confidence: float | None
    fields: Mapping[str, Any]
    limit: int | None
    token_budget: int | None
    caps: Mapping[str, int]
    reserves: Mapping[str, int]
    priorities: Mapping[str, float]
    model: str | None
    tokenizer: str | None
    template: str | KeptTemplate | None
    include_metadata: bool
    ranker: Ranker | None
    ranking_options: RankingOptions | None
    vector: Sequence[float] | None
    previous: str | None
    now: Moment | None
    time_zone: str | None
    as_of: Moment | Revision | None
    degrade: bool | None
    cache: bool | None


class CommonOptions(TypedDict, total=False):
    """The options of every recipe, except those that an application has under its own names."""

    groups: Sequence[str]
    fields: Mapping[str, Any]
    caps: Mapping[str, int]
    reserves: Mapping[str, int]
    priorities: Mapping[str, float]
    model: str | None
    tokenizer: str | None
    previous: str | None
    now: Moment | None
    time_zone: str | None
    as_of: Moment | Revision | None
    degrade: bool | None
    cache: bool | None


class RankingOptions(TypedDict, total=False):
    """Weights of the ranker `default`, each from 0 to 1."""

    similarityWeight: float | None
    recencyWeight: float | None
    confidenceWeight: float | None


class MemoryOptions(CommonOptions, total=False):
    """The options of the recipe for memories."""

    user: str | None
    limit: int | None
    memory_types: Sequence[str]
    date_from: Moment | None
    date_to: Moment | None
    min_confidence: float | None
    conversation_id: str | None
    include_relationships: bool
    relationship_depth: int | None
    template: str | KeptTemplate | None
    token_budget: int | None
    ranker: Ranker | None
    ranking_options: RankingOptions | None
    include_metadata: bool


class PrimeOptions(CommonOptions, total=False):
    """The options beside a thread and a message."""

    user: str | None
    conversation_history: Sequence[Turn]
    hints: Hints
    limit: int | None
    token_budget: int | None
    template: str | None
    ranker: Ranker | None


class WorkspaceOptions(CommonOptions, total=False):
    """The options for pages and blocks."""

    focus: Focus | None
    type: RequestType | None
    user: str | Member | None
    conversation_history: Sequence[Turn]
    token_budget: int | Mapping[str, int] | None
    hints: Hints | None
    limit: int | None


class SituationOptions(CommonOptions, total=False):
    """The options beside a context and a situation."""

    user: str | None
    intent: str | None
    max_tokens: int | None
    conversation_history: Sequence[Turn]


class ProposalOptions(CommonOptions, total=False):
    """The options beside an opportunity and a prompt."""

    user: str | None
    target_budget: int | None
    system_prompt_tokens: int | None
    category_priorities: Mapping[str, float]
    hints: Hints


# --- What every result shares ---


class Layer(TypedDict):
    name: str
    title: str
    tokens: int
    wanted: int
    candidates: int
    items: int
    cut: int
    removed: int


class Notice(TypedDict):
    type: str
    code: str
    message: str
    details: NotRequired[Any]
    suggestions: NotRequired[list[str]]


class Time(TypedDict):
    text: str
    start: str
    end: str


class FieldFilter(TypedDict):
    field: str
    values: NotRequired[list[str]]
    start: NotRequired[str]
    end: NotRequired[str]


class Analysis(TypedDict):
    language: str
    keywords: list[str]
    phrases: list[str]
    paths: list[str]
    references: list[str]
    times: list[Time]
    filters: list[FieldFilter]
    understood: list[str]
    intent: str


class Delta(TypedDict):
    previous: str
    keptBytes: int
    context: str
    added: list[str]
    removed: list[str]


class Quality(TypedDict):
    relevance: NotRequired[float | None]
    coverage: float
    redundancy: float
    freshness: float
    budgetUse: float
    score: float


class LedgerLine(TypedDict):
    item: str
    chunk: NotRequired[int]
    layer: str
    kind: str
    found: dict[str, int]
    score: float
    parts: dict[str, list[float]]
    outcome: str
    why: NotRequired[str]
    code: NotRequired[str]
    wholeFrom: NotRequired[int]
    instead: NotRequired[str]
    tokens: int
    tokensWhole: int
    displacedBy: NotRequired[str]
    text: NotRequired[str]
    content: NotRequired[list[list[int] | str]]


class CacheControl(TypedDict):
    """A breakpoint of Anthropic's prompt cache."""

    type: str


class TextBlock(TypedDict):
    """A block of text, up to whose end a breakpoint caches."""

    type: str
    text: str
    cache_control: NotRequired[CacheControl | None]


class ProviderMessage(TypedDict):
    """A message of a conversation."""

    role: str
    content: str | list[TextBlock]


class AnthropicMessages(TypedDict):
    """Part of a body of Anthropic's Messages API."""

    system: NotRequired[list[TextBlock]]
    messages: list[ProviderMessage]


class OpenAiMessages(TypedDict):
    """Part of a body of OpenAI's chat API."""

    messages: list[ProviderMessage]
    prompt_cache_key: str


class DefaultModel(TypedDict):
    """The embedding model of new workspaces."""

    model: str


class ModelChange(TypedDict):
    """A change to another embedding model."""

    to: str
    done: int
    total: int
    failure: NotRequired[str | None]


class ModelAllowance(TypedDict):
    """A cap on what is used of models in a day, and what was used of it."""

    tokens: int
    tokensPerDay: NotRequired[int | None]
    cost: float
    costPerDay: NotRequired[float | None]
    until: str


class FilesAdded(TypedDict):
    stored: int
    unchanged: int
    deleted: int
    skipped: list[str]
    notices: list[str]


class WorkspaceModel(TypedDict):
    """The embedding model of a workspace."""

    model: str
    change: NotRequired[ModelChange | None]
    usage: NotRequired[ModelAllowance | None]
    keyUsage: NotRequired[ModelAllowance | None]


class ModelUsage(TypedDict):
    """What a pack used of a model from a provider."""

    calls: int
    failures: int
    refused: NotRequired[int]
    cacheHits: int
    tokensIn: int
    tokensOut: int
    ms: float
    cost: NotRequired[float | None]


class Assembly(TypedDict):
    """The part `assembly` of every result: what it was made from."""

    receipt: str
    recipe: str
    revision: StateId
    now: str
    tokenizer: str
    accuracy: str
    budget: int
    limit: int
    tokens: int
    layers: list[Layer]
    notices: list[Notice]
    degraded: bool
    query: Analysis
    timingsMs: dict[str, float]
    models: NotRequired[dict[str, ModelUsage]]
    providerTokens: NotRequired[int | None]
    messages: NotRequired[AnthropicMessages | OpenAiMessages | None]
    facts: NotRequired[dict[str, Any]]
    delta: NotRequired[Delta]
    quality: NotRequired[Quality]
    ledger: NotRequired[list[LedgerLine]]


# --- The results of recipes ---


class SectionsItem(TypedDict):
    id: str
    chunk: NotRequired[int]
    type: str
    content: str
    relevance: float
    citation: str
    tokens: int
    shortened: bool


class SectionsSection(TypedDict):
    name: str
    title: str
    tokenCount: int
    items: list[SectionsItem]


class Citation(TypedDict):
    id: str
    item: str
    title: NotRequired[str]
    path: NotRequired[str]
    breadcrumb: NotRequired[list[str]]
    lines: NotRequired[list[int]]
    pages: NotRequired[list[int]]
    spans: list[list[int]]


class SectionsContext(TypedDict):
    context: str
    tokenCount: int
    sections: list[SectionsSection]
    citations: list[Citation]
    assembly: Assembly


class MemoryContext(TypedDict):
    context: str
    tokenCount: int
    memories: list[MemorySearchResult]
    truncated: bool
    template: str
    assembly: Assembly


class MemoryPreview(MemoryContext):
    memoryIds: list[str]
    rankingScores: dict[str, float]
    budgetUsed: float


class PrimeMetadata(TypedDict):
    path: NotRequired[str]
    createdAt: NotRequired[str]
    matchedKeywords: list[str]
    searchRank: NotRequired[int]
    lines: NotRequired[list[int]]
    pages: NotRequired[list[int]]
    foundBy: list[str]


class PrimeItem(TypedDict):
    id: str
    type: str
    content: str
    excerpt: NotRequired[str]
    source: str
    relevance: float
    tokens: int
    metadata: PrimeMetadata


class PrimeCitation(TypedDict):
    id: str
    item: str
    source: str
    type: str
    path: NotRequired[str]
    excerpt: NotRequired[str]
    relevance: float
    usedInResponse: bool


class PrimeStats(TypedDict):
    explicitCount: int
    searchCount: int
    historyCount: int
    excludedCount: int


class PrimeContext(TypedDict):
    totalTokens: int
    items: list[PrimeItem]
    citations: list[PrimeCitation]
    stats: PrimeStats


class PrimeMeta(TypedDict):
    tokenUsage: int
    sourceCount: int
    citationCount: int


class PrimeAnswer(TypedDict):
    data: PrimeContext
    meta: PrimeMeta
    context: str
    assembly: Assembly


class WorkspaceItemMetadata(TypedDict):
    pageTitle: str | None
    path: list[str]
    lastModified: str | None


class WorkspaceItem(TypedDict):
    blockId: str
    blockType: str
    content: str
    relevance: float
    metadata: WorkspaceItemMetadata


class WorkspaceSection(TypedDict):
    type: str
    title: str
    items: list[WorkspaceItem]
    tokenCount: int


class WorkspaceMetadata(TypedDict):
    totalTokens: int
    focusBlockId: str | None
    focusPageId: str | None
    timestamp: str
    collectorsUsed: list[str]
    blocksIncluded: int
    blocksConsidered: int


class WorkspaceContext(TypedDict):
    sections: list[WorkspaceSection]
    metadata: WorkspaceMetadata
    serialized: str
    context: str
    assembly: Assembly


class WorkspaceValidation(TypedDict):
    valid: bool
    problems: list[str]


class SituationMetadata(TypedDict):
    currentContext: NotRequired[str]
    contextsLoaded: int
    assemblyTime: str


class SituationContext(TypedDict):
    context: str
    tokenCount: int
    contexts: list[SectionsItem]
    history: list[SectionsItem]
    rules: Any
    chain: Any
    metadata: SituationMetadata
    assembly: Assembly


class ProposalTruncationDetail(TypedDict):
    category: str
    originalTokens: int
    finalTokens: int
    itemsRemoved: int


class ProposalBudgetStatus(TypedDict):
    totalTokens: int
    budgetLimit: int
    isOverBudget: bool
    truncatedCategories: list[str]
    truncationDetails: list[ProposalTruncationDetail]


class ProposalRetrievalMetrics(TypedDict):
    dealContextItems: int
    productsRetrieved: int
    battlecardsRetrieved: int
    playbooksRetrieved: int


class ProposalContext(TypedDict):
    companyProfile: dict[str, Any] | None
    brandContext: dict[str, Any] | None
    dealContext: str
    products: list[dict[str, Any]]
    competitive: list[dict[str, Any]]
    playbooks: list[dict[str, Any]]
    historicalPatterns: list[dict[str, Any]]
    budgetStatus: ProposalBudgetStatus
    retrievalMetrics: ProposalRetrievalMetrics
    warnings: list[Notice]
    context: str
    assembly: Assembly


# --- Looking back ---


class FrontierPoint(TypedDict):
    budget: int
    tokens: int
    items: int
    value: float
    coverage: float


class Frontier(TypedDict):
    points: list[FrontierPoint]


class Receipt(TypedDict):
    format: int
    id: str
    packing: int
    recipe: str
    recipeHash: str
    request: dict[str, Any]
    viewer: NotRequired[list[str]]
    revision: StateId
    now: int
    tokenizer: str
    embedder: str
    reranker: NotRequired[str]
    budget: int
    limit: int
    tokens: int
    inputs: str
    text: str
    nonce: NotRequired[str]
    marks: list[list[Any]]
    ledger: list[LedgerLine]
    unlisted: int
    models: NotRequired[dict[str, Any]]


class Difference(TypedDict):
    """The differences between two packs: the causes, and the changes of each candidate."""

    same: bool
    causes: list[dict[str, Any]]
    candidates: dict[str, list[dict[str, Any]]]


class Replay(TypedDict):
    difference: Difference
    result: dict[str, Any]


class Citations(TypedDict):
    citations: list[PrimeCitation]
    sources: str


# --- What is kept under a name ---


class Names(TypedDict):
    names: list[str]
    next: NotRequired[str]


class KeptTemplate(TypedDict):
    name: NotRequired[str | None]
    item: str
    header: NotRequired[str]
    separator: NotRequired[str]
    footer: NotRequired[str]
    empty: NotRequired[str | None]
    includeMetadata: NotRequired[bool]


class RankerText(TypedDict):
    expression: str


class RecipeText(TypedDict):
    source: str


class Count(TypedDict):
    tokens: int
    tokenizer: str
    accuracy: str
