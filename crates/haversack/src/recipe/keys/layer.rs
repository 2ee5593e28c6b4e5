//! Keys of layers and of the tables inside them.

use std::time::Duration;

use haversack_core::assemble::{TEMPLATE_BYTES_MAX, TemplateText};
use haversack_core::layer::{KindCap, Order, Stability};
use haversack_core::pack::CANDIDATES_MAX;
use haversack_core::rank::{Recency, Scoring};
use haversack_core::text::truncate::Truncation;
use haversack_core::units::{Score, Share};

use super::KeyDefault::{Required, Value, Words};
use super::KeyType::{Count, Flag, Number, OrNone, Other, Text, Tokens};
use super::document::read_inner;
use super::{FRACTION, Key, KeyReader, KeyType, key, set, toml_values};
use crate::recipe::parse::{collector, score, template};
use crate::recipe::read::is_none;
use crate::recipe::words::{self, CutWord, name_of};
use crate::recipe::write::{self, inline, list, number, or_none, quoted, share, tokens};
use crate::recipe::{CollectorSpec, LayerSpec, ScoreSpec};

/// The range of scores that a recipe can name.
const ANY_SCORE: KeyType = Number(-1_000_000.0, 1_000_000.0);

pub(in crate::recipe) const LAYER: &[Key<LayerSpec>] = &[
    key(
        "name",
        Other("a name"),
        Required,
        "unique in the recipe; on the wire where the shape has categories",
        // Read before the others, to find the layer that it names.
        |_, _| {},
        |layer| Some(quoted(&layer.name)),
    ),
    key(
        "title",
        Text,
        Words("made from the name"),
        "what its header calls it",
        |key, layer| set(&mut layer.title, key.line()),
        |layer| Some(quoted(&layer.title)),
    ),
    key(
        "pinned",
        Flag,
        Value,
        "all of it is always in, whole, before any other layer gets a token",
        read_pinned,
        |layer| Some(layer.pinned.to_string()),
    ),
    key(
        "share",
        FRACTION,
        Value,
        "what it is guaranteed of what pinned layers leave; shares add up to 1 at most",
        |key, layer| set(&mut layer.share, key.share()),
        |layer| (!layer.pinned).then(|| share(layer.share)),
    ),
    key(
        "cap",
        OrNone(&Tokens),
        Value,
        "the most it may take, whatever is left over",
        |key, layer| set(&mut layer.cap, key.or_none(KeyReader::tokens)),
        |layer| (!layer.pinned).then(|| or_none(layer.cap.map(tokens))),
    ),
    key(
        "spill",
        Count(0, 1_000_000),
        Words("after the layers before it"),
        "its place when leftovers are given away, lowest first; under pressure the highest is cut first",
        |key, layer| {
            let spill = key.count().map(|spill| u32::try_from(spill).unwrap_or(u32::MAX));
            set(&mut layer.spill, spill);
        },
        |layer| Some(layer.spill.to_string()),
    ),
    key(
        "order",
        Other("a word, see below"),
        Value,
        "in which order its texts are paid for",
        |key, layer| set(&mut layer.order, key.word(words::ORDERS)),
        |layer| Some(quoted(name_of(words::ORDERS, &layer.order))),
    ),
    key(
        "cut",
        Other("a word, see below"),
        Value,
        "how the text that does not fit is shortened",
        |key, layer| {
            if let Some(CutWord { cut, summarise }) = key.word(words::CUTS) {
                (layer.cut, layer.summarise) = (cut, summarise);
            }
        },
        |layer| {
            let cut = CutWord { cut: layer.cut, summarise: layer.summarise };
            Some(quoted(name_of(words::CUTS, &cut)))
        },
    ),
    key(
        "least",
        Tokens,
        Value,
        "the least of a text that is worth showing",
        |key, layer| set(&mut layer.least, key.tokens()),
        |layer| Some(tokens(layer.least)),
    ),
    key(
        "essential",
        Flag,
        Value,
        "whether reduced forms may stand for whole texts: a product's core, a context's goal",
        |key, layer| set(&mut layer.essential, key.flag()),
        |layer| Some(layer.essential.to_string()),
    ),
    key(
        "arrange",
        Other("a word, see below"),
        Value,
        "in which order the chosen stand",
        |key, layer| set(&mut layer.arrange, key.word(words::ARRANGEMENTS)),
        |layer| Some(quoted(name_of(words::ARRANGEMENTS, &layer.arrange))),
    ),
    key(
        "stability",
        Other("a word, see below"),
        Value,
        "how steady it is; steady sections stand first, which suits prompt caches",
        |key, layer| set(&mut layer.stability, key.word(words::STABILITIES)),
        |layer| Some(quoted(name_of(words::STABILITIES, &layer.stability))),
    ),
    key(
        "kind_cap",
        Other("a table or `\"none\"`"),
        Value,
        "the largest part of one kind while others wait",
        |key, layer| {
            let cap = key.or_none(|key| read_inner(key, KIND_CAP, DEFAULT_KIND_CAP));
            set(&mut layer.kind_cap, cap);
        },
        |layer| Some(or_none(layer.kind_cap.map(|cap| inline(toml_values(KIND_CAP, &cap))))),
    ),
    key(
        "fence",
        Other("a word as in `[output]`, or `\"none\"`"),
        Words("as `[output]` says"),
        "which of its texts are fenced off as data",
        |key, layer| set(&mut layer.fencing, key.or_none(|key| key.word(words::FENCES))),
        |layer| {
            let fence = layer.fencing.map(|fencing| quoted(name_of(words::FENCES, &fencing)));
            Some(or_none(fence))
        },
    ),
    key(
        "template",
        Other("a template's name or a table"),
        Value,
        "how it looks, see [Templates](#templates)",
        |key, layer| set(&mut layer.template, template::read(key)),
        |layer| Some(write::template(&layer.template)),
    ),
    key(
        "collect",
        Other("a list of tables"),
        Value,
        "what finds its texts, see [Collectors](#collectors)",
        collector::apply,
        // Written as tables after all other keys.
        |_| None,
    ),
    key(
        "score",
        Other("a table or an expression"),
        Value,
        "what a text is worth, see [Scores](#scores)",
        |key, layer| set(&mut layer.score, score::read(key)),
        |layer| Some(write::score(&layer.score)),
    ),
    key(
        "recency",
        Other("a word or a table, see [Scores](#scores)"),
        Value,
        "how age counts",
        |key, layer| set(&mut layer.recency, score::read_recency(key)),
        |layer| Some(write::recency(layer.recency)),
    ),
    key(
        "rerank",
        Count(1, 1_000),
        Value,
        "how many texts a reranker reads, best first, where `score` counts `rerank`",
        |key, layer| set(&mut layer.rerank, key.size()),
        |layer| Some(layer.rerank.to_string()),
    ),
    key(
        "minimum",
        OrNone(&ANY_SCORE),
        Value,
        "the least score that is considered",
        |key, layer| set(&mut layer.minimum, optional_score(key)),
        |layer| Some(score_or_none(layer.minimum)),
    ),
    key(
        "floor",
        OrNone(&ANY_SCORE),
        Value,
        "how likely the best candidate must be to have to do with the query, 0 to 1; below it the layer stays empty and the result says that nothing is relevant",
        |key, layer| set(&mut layer.floor, optional_score(key)),
        |layer| Some(score_or_none(layer.floor)),
    ),
    key(
        "relative_floor",
        OrNone(&FRACTION),
        Value,
        "the part of what the best candidate meets of the query's words that every other candidate must meet; those that were named, linked or followed are exempt",
        |key, layer| set(&mut layer.relative_floor, optional_score(key)),
        |layer| Some(score_or_none(layer.relative_floor)),
    ),
    key(
        "prefer_current",
        Flag,
        Value,
        "whether a fact that replaced another, by a link, its validity or a later date, stands before it; the other way round when the past is asked about",
        |key, layer| set(&mut layer.prefer_current, key.flag()),
        |layer| Some(layer.prefer_current.to_string()),
    ),
    key(
        "repeats",
        OrNone(&FRACTION),
        Value,
        "how alike two texts may be before the weaker one is left out as a repeat",
        |key, layer| set(&mut layer.repeats, optional_score(key)),
        |layer| Some(score_or_none(layer.repeats)),
    ),
    key(
        "diversity",
        OrNone(&FRACTION),
        Value,
        "how scores fall for texts that say the same: 1 not at all, 0 by nothing else",
        |key, layer| set(&mut layer.diversity, optional_score(key)),
        |layer| Some(score_or_none(layer.diversity)),
    ),
    key(
        "limit",
        OrNone(&Count(1, CANDIDATES_MAX as u64)),
        Value,
        "how many texts go on to selection, best first",
        |key, layer| set(&mut layer.limit, key.or_none(KeyReader::size)),
        |layer| Some(or_none(layer.limit.map(|limit| limit.to_string()))),
    ),
];

/// The cap on one kind when its table has no key set.
pub(in crate::recipe) const DEFAULT_KIND_CAP: KindCap =
    KindCap { share: Share::percent(70), after: 5 };

pub(in crate::recipe) const KIND_CAP: &[Key<KindCap>] = &[
    key(
        "share",
        FRACTION,
        Value,
        "the largest part of the chosen, by number",
        |key, cap| set(&mut cap.share, key.share()),
        |cap| Some(share(cap.share)),
    ),
    key(
        "after",
        Count(1, CANDIDATES_MAX as u64),
        Value,
        "how many may be chosen before the rule holds",
        |key, cap| set(&mut cap.after, key.size()),
        |cap| Some(cap.after.to_string()),
    ),
];

/// A template that is written out in the recipe.
pub(in crate::recipe) struct InlineTemplate {
    pub(in crate::recipe) header: String,
    pub(in crate::recipe) item: String,
    pub(in crate::recipe) separator: String,
    pub(in crate::recipe) footer: String,
    pub(in crate::recipe) empty: Option<String>,
}

impl Default for InlineTemplate {
    fn default() -> InlineTemplate {
        let TemplateText { header, item, separator, footer, .. } = TemplateText::PLAIN;
        let [header, item, separator, footer] =
            [header, item, separator, footer].map(str::to_owned);
        InlineTemplate { header, item, separator, footer, empty: None }
    }
}

pub(in crate::recipe) const TEMPLATE: &[Key<InlineTemplate>] = &[
    key(
        "header",
        Text,
        Value,
        "before the first text; may name `{{section}}` and `{{query}}`",
        |key, template| set(&mut template.header, read_part(key)),
        |template| Some(quoted(&template.header)),
    ),
    key(
        "item",
        Text,
        Required,
        "one text; names `{{content}}` once",
        |key, template| set(&mut template.item, read_part(key)),
        |template| Some(quoted(&template.item)),
    ),
    key(
        "separator",
        Text,
        Words("a blank line"),
        "between two texts",
        |key, template| set(&mut template.separator, read_part(key)),
        |template| Some(quoted(&template.separator)),
    ),
    key(
        "footer",
        Text,
        Words("a line break"),
        "after the last text; may name `{{section}}` and `{{query}}`",
        |key, template| set(&mut template.footer, read_part(key)),
        |template| Some(quoted(&template.footer)),
    ),
    key(
        "empty",
        Text,
        Words("the section is left out"),
        "what it says when nothing was found",
        |key, template| template.empty = read_part(key),
        |template| template.empty.as_deref().map(quoted),
    ),
];

pub(in crate::recipe) const COLLECT: &[Key<CollectorSpec>] = &[
    key(
        "by",
        Other("a collector's name"),
        Required,
        "the collector",
        |key, spec| set(&mut spec.by, collector::read_name(key)),
        |spec| Some(quoted(&spec.by)),
    ),
    key(
        "kinds",
        Other("a list of kinds"),
        Words("all kinds"),
        "among which kinds of items",
        |key, spec| spec.kinds = collector::read_kinds(key),
        |spec| Some(list(spec.kinds.iter().map(|kind| quoted(kind.as_str())))),
    ),
    key(
        "deadline_ms",
        Count(1, 60_000),
        Value,
        "how long it may take; a later result is left out with a notice",
        |key, spec| set(&mut spec.deadline, key.count().map(Duration::from_millis)),
        |spec| Some(spec.deadline.as_millis().to_string()),
    ),
];

pub(in crate::recipe) const SCORE: &[Key<ScoreSpec>] = &[
    key(
        "base",
        Number(-Scoring::WEIGHT_MAX, Scoring::WEIGHT_MAX),
        Value,
        "what every score starts at",
        |key, score| {
            if let ScoreSpec::Weights { base, .. } = score {
                set(base, key.number());
            }
        },
        |score| match score {
            ScoreSpec::Weights { base, .. } => Some(number(*base)),
            ScoreSpec::Expression(_) | ScoreSpec::Named(_) => None,
        },
    ),
    key(
        "ranker",
        Other("a ranker's name"),
        Value,
        "a ranker that was registered, instead of weights",
        |key, score| set(score, score::read_ranker(key)),
        |score| match score {
            ScoreSpec::Named(name) => Some(quoted(name)),
            ScoreSpec::Weights { .. } | ScoreSpec::Expression(_) => None,
        },
    ),
];

pub(in crate::recipe) const RECENCY: &[Key<Recency>] = &[
    key(
        "per_hour",
        Number(0.0, 1_000.0),
        Words(""),
        "e^(−rate · hours)",
        |key, recency| {
            let rate = key.number();
            set(recency, rate.map(|rate_per_hour| Recency::Exponential { rate_per_hour }));
        },
        |recency| match *recency {
            Recency::Exponential { rate_per_hour } => Some(number(rate_per_hour)),
            _ => None,
        },
    ),
    key(
        "over_hours",
        Number(0.001, 1_000_000.0),
        Words(""),
        "from 1 evenly down to 0 over so many hours",
        |key, recency| {
            set(recency, key.number().map(|span_hours| Recency::Linear { span_hours }));
        },
        |recency| match *recency {
            Recency::Linear { span_hours } => Some(number(span_hours)),
            _ => None,
        },
    ),
];

/// Reads `pinned`, which changes the defaults of other keys and makes some meaningless.
fn read_pinned(key: &mut KeyReader<'_, '_, '_>, layer: &mut LayerSpec) {
    match key.flag() {
        Some(true) if !layer.pinned => {
            layer.pinned = true;
            layer.share = Share::ZERO;
            layer.cap = None;
            layer.order = Order::Rank;
            layer.cut = None;
            layer.summarise = false;
            layer.stability = Stability::Foundational;
        }
        Some(false) if layer.pinned => {
            layer.pinned = false;
            layer.order = Order::Density;
            layer.cut = Some(Truncation::Extractive);
            layer.stability = Stability::Volatile;
        }
        _ => {}
    }
    if layer.pinned {
        for name in ["share", "cap", "cut"] {
            if key.table.has(name) && !is_none(key.table, name) {
                let message = "has no meaning: the layer is pinned, so all of it is in, whole";
                key.reader.report_key(key.table, name, message);
            }
        }
    }
}

fn optional_score(key: &mut KeyReader<'_, '_, '_>) -> Option<Option<Score>> {
    key.or_none(KeyReader::number).map(|number| number.and_then(Score::new))
}

fn score_or_none(score: Option<Score>) -> String {
    or_none(score.map(|score| number(score.get())))
}

fn read_part(key: &mut KeyReader<'_, '_, '_>) -> Option<String> {
    key.text(TEMPLATE_BYTES_MAX).map(str::to_owned)
}
