//! The keys of the format: which each table may hold, for checking and for the documentation.

/// One key of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    /// As it is written.
    pub(super) name: &'static str,
    /// What it may hold.
    pub(super) value: &'static str,
    /// What holds when it is not there.
    pub(super) default: &'static str,
    /// What it does.
    pub(super) about: &'static str,
}

const fn key(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    about: &'static str,
) -> Key {
    Key { name, value, default, about }
}

pub(super) const TOP: &[Key] = &[
    key("haversack", "`1`", "must be said", "the version of this format"),
    key("name", "a name", "the file's name", "what requests call the recipe"),
    key("description", "a text", "empty", "what it is for, in a line"),
    key("shape", "a word, see [Shapes](#shapes)", "`\"sections\"`", "the form of the result"),
    key(
        "extends",
        "a recipe's name",
        "none",
        "the recipe to start from, see [Extending](#extending)",
    ),
    key("remove", "a list of layer names", "none", "layers of the base that are left out"),
    key("budget", "a table", "", "what may be spent, see [`[budget]`](#budget)"),
    key("subject", "tables", "none", "what requests are about, see [`[[subject]]`](#subject)"),
    key("query", "a table", "", "what is looked for, see [`[query]`](#query)"),
    key("words", "a table", "", "words of questions about fields, see [`[words]`](#words)"),
    key(
        "cache",
        "a table or `\"none\"`",
        "no cache",
        "how long answers are given again, see [`[cache]`](#cache)",
    ),
    key("output", "a table", "", "the page around the layers, see [`[output]`](#output)"),
    key("layer", "tables", "at least one", "the sections of the pack, see [`[[layer]]`](#layer)"),
    key("adapt", "tables", "none", "what changes with the request, see [`[[adapt]]`](#adapt)"),
];

pub(super) const BUDGET: &[Key] = &[
    key("total", "tokens", "`4_000`", "all that may be spent, reserves included"),
    key(
        "reserve",
        "a table of names and tokens",
        "none",
        "what is kept free for others, such as the system prompt",
    ),
    key(
        "overflow",
        "a word, see below",
        "`\"refuse\"`",
        "what happens when pinned text alone is larger than the budget",
    ),
    key(
        "model",
        "a model's name",
        "none",
        "count as this model does; `haversack models` lists them",
    ),
    key(
        "tokenizer",
        "an encoding's name",
        "`\"o200k_base\"`",
        "count by this encoding; not beside `model`",
    ),
];

pub(super) const SUBJECT: &[Key] = &[
    key("name", "a name", "must be said", "what collectors and conditions call it"),
    key("kind", "a kind", "its name", "of which kind the item must be"),
    key("field", "a field's name", "its name and `Id`", "the field by which other items name it"),
    key("facts", "a list of field names", "none", "fields of it that conditions can name"),
    key(
        "implied",
        "true or false",
        "`false`",
        "whether it may be known by what names it alone, without an item of its own",
    ),
];

pub(super) const QUERY: &[Key] = &[key(
    "embed",
    "a list of words, see below",
    "`[\"query\"]`",
    "what the query's vector is made from",
)];

pub(super) const CACHE: &[Key] = &[
    key("entries", "1 to 1,000,000", "`100`", "how many answers are kept"),
    key("seconds", "1 to 86,400", "`30`", "how long after it was last asked for an answer is kept"),
];

pub(super) const OUTPUT: &[Key] = &[
    key("before", "a text", "empty", "what stands before the first section; may name `{{query}}`"),
    key("after", "a text", "empty", "what stands after the last section; may name `{{query}}`"),
    key("fence", "a word, see below", "`\"untrusted\"`", "which texts are fenced off as data"),
    key("selector", "a word, see below", "`\"greedy\"`", "how candidates are chosen"),
    key(
        "stop",
        "a table or `\"none\"`",
        "none",
        "enough is enough: `fill` is the part of the budget, `items` the number of texts; when both are reached, nothing more goes in",
    ),
    key(
        "degrade",
        "true or false",
        "`true`",
        "whether a pack made without a provider that failed is better than an error",
    ),
];

pub(super) const STOP: &[Key] = &[
    key("fill", "0 to 1", "must be said", "the part of the budget that must be spent"),
    key("items", "a whole number", "must be said", "how many texts must be in"),
];

pub(super) const LAYER: &[Key] = &[
    key(
        "name",
        "a name",
        "must be said",
        "unique in the recipe; on the wire where the shape has categories",
    ),
    key("title", "a text", "made from the name", "what its header calls it"),
    key(
        "pinned",
        "true or false",
        "`false`",
        "all of it is always in, whole, before any other layer gets a token",
    ),
    key(
        "share",
        "0 to 1",
        "`0`",
        "what it is guaranteed of what pinned layers leave; shares add up to 1 at most",
    ),
    key("cap", "tokens or `\"none\"`", "none", "the most it may take, whatever is left over"),
    key(
        "spill",
        "a whole number",
        "after the layers before it",
        "its place when leftovers are given away, lowest first; under pressure the highest is cut first",
    ),
    key("order", "a word, see below", "`\"density\"`", "in which order its texts are paid for"),
    key(
        "cut",
        "a word, see below",
        "`\"extractive\"`",
        "how the text that does not fit is shortened",
    ),
    key("least", "tokens", "`12`", "the least of a text that is worth showing"),
    key(
        "essential",
        "true or false",
        "`true`",
        "whether reduced forms may stand for whole texts: a product's core, a context's goal",
    ),
    key("arrange", "a word, see below", "`\"ranked\"`", "in which order the chosen stand"),
    key(
        "stability",
        "a word, see below",
        "`\"volatile\"`",
        "how steady it is; steady sections stand first, which prompt caches pay for",
    ),
    key(
        "kind_cap",
        "a table or `\"none\"`",
        "none",
        "the largest part of one kind while others wait",
    ),
    key(
        "fence",
        "a word as in `[output]`, or `\"none\"`",
        "as `[output]` says",
        "which of its texts are fenced off as data",
    ),
    key(
        "template",
        "a template's name or a table",
        "`\"section\"`",
        "how it looks, see [Templates](#templates)",
    ),
    key(
        "collect",
        "a list of tables",
        "none",
        "who finds its texts, see [Collectors](#collectors)",
    ),
    key(
        "score",
        "a table or an expression",
        "`{ collector = 1.0 }`",
        "what a text is worth, see [Scores](#scores)",
    ),
    key(
        "recency",
        "a word or a table, see [Scores](#scores)",
        "`\"over_month\"`",
        "how age counts",
    ),
    key(
        "rerank",
        "1 to 1,000",
        "`30`",
        "how many texts a reranker reads, best first, where `score` counts `rerank`",
    ),
    key("minimum", "a number or `\"none\"`", "none", "the least score that is considered"),
    key(
        "floor",
        "a number or `\"none\"`",
        "none",
        "how likely the finds must be to have to do with the query, 0 to 1, as measured by their best; below it the layer stays empty and the result says that nothing is relevant",
    ),
    key(
        "relative_floor",
        "0 to 1 or `\"none\"`",
        "none",
        "the part of what the best find meets of the query's words that every other find must meet; what was named, linked or followed is exempt",
    ),
    key(
        "prefer_current",
        "`true` or `false`",
        "`false`",
        "whether a fact that replaced another, by a link, its validity or a later date, stands before it; the other way round when the past is asked about",
    ),
    key(
        "repeats",
        "0 to 1 or `\"none\"`",
        "none",
        "how alike two texts may be before the weaker one is left out as a repeat",
    ),
    key(
        "diversity",
        "0 to 1 or `\"none\"`",
        "none",
        "how scores fall for texts that say the same: 1 not at all, 0 by nothing else",
    ),
    key(
        "limit",
        "1 to 100,000 or `\"none\"`",
        "none",
        "how many texts go on to selection, best first",
    ),
];

pub(super) const KIND_CAP: &[Key] = &[
    key("share", "0 to 1", "`0.7`", "the largest part of the chosen, by number"),
    key("after", "1 to 100,000", "`5`", "how many may be chosen before the rule holds"),
];

pub(super) const TEMPLATE: &[Key] = &[
    key(
        "header",
        "a text",
        "empty",
        "before the first text; may name `{{section}}` and `{{query}}`",
    ),
    key("item", "a text", "must be said", "one text; names `{{content}}` once"),
    key("separator", "a text", "a blank line", "between two texts"),
    key(
        "footer",
        "a text",
        "a line break",
        "after the last text; may name `{{section}}` and `{{query}}`",
    ),
    key("empty", "a text", "the section is left out", "what it says when nothing was found"),
];

pub(super) const COLLECT: &[Key] = &[
    key("by", "a collector's name", "must be said", "who finds"),
    key("kinds", "a list of kinds", "all kinds", "among which kinds of items"),
    key(
        "deadline_ms",
        "1 to 60,000",
        "`1_000`",
        "how long it may take; later answers are left out with a notice",
    ),
];

pub(super) const SCORE: &[Key] = &[
    key("base", "−1,000 to 1,000", "`0`", "what every score starts at"),
    key("ranker", "a ranker's name", "none", "a ranker that was registered, instead of weights"),
];

pub(super) const RECENCY: &[Key] = &[
    key("per_hour", "0 to 1,000", "", "e^(−rate · hours)"),
    key(
        "over_hours",
        "more than 0, at most 1,000,000",
        "",
        "from 1 evenly down to 0 over so many hours",
    ),
];

pub(super) const ADAPT: &[Key] = &[
    key("when", "a condition", "must be said", "when it is used; see [Conditions](#conditions)"),
    key("total", "tokens", "as it is", "the budget then"),
    key("shares", "a table of layers and shares", "as they are", "shares of layers then"),
    key("caps", "a table of layers and tokens", "as they are", "caps of layers then"),
];
