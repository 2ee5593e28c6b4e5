//! The collector of items that are similar to the focus, for questions about the focus.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::Candidate;
use haversack_core::embed::{Vector, pieces};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::Analysis;
use haversack_core::rank::{Component, Signals, Topic};
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use haversack_store::store::query::{Effort, LIMIT_MAX, TextSearch, VectorSearch};

use super::candidates::{candidates_from_passages, collector_output};
use super::item_filter::ItemFilter;
use super::{Collector, CollectorOutput, Question};
use crate::recipe::CollectorSpec;
use crate::search::{SearchMethod, fuse_hits, fusion_depth};

/// Most bytes of the focus that are searched by words.
const WORDS_BYTES_MAX: usize = 400;

/// Words that point at the focus.
#[rustfmt::skip]
const POINTING_WORDS: &[&str] = &[
    "this", "these", "that", "those", "it", "its", "here", "above", "below", "same", "similar",
    "dies", "diese", "diesem", "diesen", "dieser", "dieses", "hier", "davon", "daraus", "dazu",
    "darin", "dafür", "darüber", "oben", "unten", "ähnlich", "ähnliche", "ähnlichen",
];

/// Words that say what to do or in which form, and that name no subject.
#[rustfmt::skip]
const INSTRUCTION_WORDS: &[&str] = &[
    "action", "add", "advice", "break", "breakdown", "bullet", "bullets", "change", "check", "checklist",
    "clarify", "complete", "continue", "create", "describe", "details", "divide", "do", "draft",
    "estimate", "expand", "explain", "feedback", "fill", "finish", "fix", "format", "give", "help",
    "idea", "ideas", "improve", "item", "items", "know", "list", "make", "missing", "more", "need",
    "needed", "next", "outline", "overview", "plan", "points", "prepare", "proofread", "propose",
    "recap", "rephrase", "review", "rewrite", "shorten", "shorter", "should", "split", "start",
    "step", "steps", "subtask", "subtasks", "suggest", "suggestions", "summarise", "summarize",
    "summary", "task", "tasks", "text", "title", "todo", "todos", "translate", "turn", "write",
    "block", "page", "row", "card", "note", "database", "document", "paragraph", "section",
    "aufgabe", "aufgaben", "aufteilen", "beginnen", "beschreibe", "erkläre", "erstelle", "ergänze",
    "fasse", "fehlt", "formuliere", "gib", "hilf", "idee", "ideen", "karte", "kürze", "liste",
    "mach", "mache", "machen", "nächste", "nächsten", "plane", "prüfe", "schlage", "schreib",
    "schreibe", "schritt", "schritte", "seite", "teile", "teilaufgaben", "teilschritte", "text",
    "tun", "übersetze", "überarbeite", "überblick", "unteraufgaben", "verbessere", "vorschläge",
    "weiter", "wissen", "zeile", "zerlege", "zusammen", "zusammenfassung",
];

/// A question with at most this many keywords among other words is taken to be about the focus.
const KEYWORDS_MAX: usize = 2;

/// The focus as a query: what the user looks at, to search for similar items.
#[derive(Debug, Clone)]
pub struct FocusQuery {
    /// The text of the focus and of the blocks under it.
    pub text: String,
    /// The text's vector; `None` if it could not be made.
    pub vector: Option<Vector>,
}

/// Whether a question has no subject of its own and only says what to do with the focus.
pub(crate) fn has_no_subject(analysis: &Analysis) -> bool {
    analysis
        .keywords
        .iter()
        .all(|word| INSTRUCTION_WORDS.contains(&word.as_str()) || is_pointing(word))
}

fn is_pointing(word: &str) -> bool {
    POINTING_WORDS.contains(&word)
}

/// Whether a question is about the focus, so that similar items matter to it.
pub(crate) fn is_about_focus(query: &str, analysis: &Analysis) -> bool {
    let lower = query.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_short = analysis.keywords.len() <= KEYWORDS_MAX && words.len() > analysis.keywords.len();
    has_no_subject(analysis) || is_short || words.iter().any(|word| is_pointing(word))
}

/// Collects items that are similar to the focus (W3, W15).
pub(super) struct SimilarCollector;

impl Collector for SimilarCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let Some(focus_query) = &question.focus_query else {
                return Ok(CollectorOutput::default());
            };
            let filter = ItemFilter::for_search(question, spec)?;
            let limit = spec.settings.count("limit");
            let depth = fusion_depth(limit).min(LIMIT_MAX);
            let ids = search_by_focus(question, focus_query, &filter, depth).await?;
            let own = items_in_focus(question, &ids).await?;
            let topic = Topic::new(&focus_query.text, 0.0, 1);
            let least = Score::unit(spec.settings.number("minimum"));
            let kinds = focus_kinds(question).await?;
            let ids: Vec<CandidateId> =
                ids.into_iter().filter(|id| !own.contains(&id.item)).take(limit * 2).collect();
            let mut picked = Vec::new();
            for passage in question.snapshot.passages(&ids).await?.into_iter().flatten() {
                let item = &passage.stored.item;
                let title = pieces(&item.title);
                let likeness = topic.likeness(title.iter().chain(&pieces(&passage.text)));
                if picked.len() >= limit || likeness < least || !filter.accepts(&passage.stored) {
                    continue;
                }
                let mut signals = Signals::default().with(Component::Semantic, likeness);
                signals.set(Component::Collector, likeness);
                // For TypeMatch, being of the focus's kind counts, whether a task is done or not.
                if kinds.contains(&item.kind) {
                    signals.set(Component::TypeMatch, Score::ONE);
                }
                picked.push((passage, signals));
            }
            let mut candidates = candidates_from_passages(question, &picked).await?;
            for (candidate, (_, signals)) in candidates.iter_mut().zip(&picked) {
                candidate.signals.strengthen(signals);
            }
            Ok(collector_output(spec, candidates))
        }
        .boxed()
    }
}

/// Searches for items similar to the focus, by its words and its meaning; each item once, best
/// first.
async fn search_by_focus(
    question: &Question,
    focus_query: &FocusQuery,
    filter: &ItemFilter<'_>,
    limit: usize,
) -> Result<Vec<CandidateId>, ReadError> {
    let (snapshot, filter) = (&question.snapshot, filter.store_filter());
    let words = &focus_query.text[..focus_query.text.floor_char_boundary(WORDS_BYTES_MAX)];
    let words = TextSearch {
        query: words.replace(['"', '*'], " "),
        unfinished: false,
        all_words: false,
        filter: filter.clone(),
        limit,
    };
    let mut lists = Vec::new();
    match snapshot.search_text(&words).await {
        Ok(hits) => lists.push((SearchMethod::Text, hits)),
        // The search by the question reports this.
        Err(ReadError::Rebuilding) if question.request.degrade != Some(false) => {}
        Err(error) => return Err(error),
    }
    if let Some(vector) = focus_query.vector.clone() {
        let search = VectorSearch { vector, effort: Effort::Fast, filter, limit };
        match snapshot.search_vectors(&search).await {
            Ok(hits) => lists.push((SearchMethod::Vector, hits)),
            // The search by the question reports this.
            Err(ReadError::Stale(_)) if question.request.degrade != Some(false) => {}
            Err(error) => return Err(error),
        }
    }
    let mut seen = BTreeSet::new();
    let ids = fuse_hits(&lists, SearchMethod::weight).into_iter().map(|fused| fused.hit.id);
    Ok(ids.filter(|id| seen.insert(id.item.clone())).collect())
}

/// Returns the items that are the focus itself or under it.
async fn items_in_focus(
    question: &Question,
    ids: &[CandidateId],
) -> Result<BTreeSet<ItemId>, ReadError> {
    let request = &question.request;
    let roots: Vec<&ItemId> =
        [&request.focus, &request.page, &request.database].into_iter().flatten().collect();
    let items: Vec<ItemId> = ids.iter().map(|id| id.item.clone()).collect();
    let trails = question.snapshot.breadcrumbs(&items).await?;
    let is_own = |item: &ItemId, trail: &[haversack_store::store::item::Breadcrumb]| {
        roots.contains(&item) || trail.iter().any(|crumb| roots.contains(&&crumb.id))
    };
    let own = items.iter().zip(&trails).filter(|(item, trail)| is_own(item, trail));
    Ok(own.map(|(item, _)| item.clone()).collect())
}

/// Returns the kinds of the focused items.
async fn focus_kinds(question: &Question) -> Result<Vec<haversack_core::item::Kind>, ReadError> {
    let roots = super::tree::focused_items(question).await?;
    Ok(roots.into_iter().map(|root| root.item.kind).collect())
}

#[cfg(test)]
mod tests {
    use haversack_core::query::analyse;
    use haversack_core::units::Timestamp;

    use super::*;

    #[test]
    fn questions_about_the_focus_are_told_from_others_w3() {
        let about = |query: &str| is_about_focus(query, &analyse(query, Timestamp::from_millis(0)));
        for query in [
            "Break this task into subtasks",
            "Suggest subtasks",
            "What could go wrong?",
            "Zerlege die Aufgabe in Teilschritte",
            "Was fehlt hier noch?",
        ] {
            assert!(about(query), "{query}");
        }
        for query in [
            "Who painted the ceiling of the Sistine Chapel?",
            "blorptang vexquil zzzz",
            "How do we roll back if the payment test fails?",
            "boarding scanners",
        ] {
            assert!(!about(query), "{query}");
        }
        let page = analyse("Summarize this page", Timestamp::from_millis(0));
        assert!(has_no_subject(&page));
        let refunds = analyse("What does this page say of refunds?", Timestamp::from_millis(0));
        assert!(!has_no_subject(&refunds));
    }
}
