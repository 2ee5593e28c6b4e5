//! What is like that which the asker looks at, for questions that are about it.

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

use super::make::{collected, from_passages};
use super::sieve::Sieve;
use super::{Collected, Collector, Question};
use crate::recipe::CollectorSpec;
use crate::search::{Way, depth, fused};

/// How much of the focus is searched by words, in bytes.
const WORDS_BYTES_MAX: usize = 400;

/// Words that point at what the asker looks at.
#[rustfmt::skip]
const POINTING: &[&str] = &[
    "this", "these", "that", "those", "it", "its", "here", "above", "below", "same", "similar",
    "dies", "diese", "diesem", "diesen", "dieser", "dieses", "hier", "davon", "daraus", "dazu",
    "darin", "dafür", "darüber", "oben", "unten", "ähnlich", "ähnliche", "ähnlichen",
];

/// Words that say what to do or in which form, and nothing of a subject.
#[rustfmt::skip]
const FORM: &[&str] = &[
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

/// With so few words of its own a question that has others, too, is taken to be about the focus.
const FEW_WORDS: usize = 2;

/// What the asker looks at, as something to search by.
#[derive(Debug, Clone)]
pub struct Looked {
    /// Its text, and those of what hangs under it.
    pub text: String,
    /// The text's vector; `None` when there is none to be had.
    pub vector: Option<Vector>,
}

/// Whether a question has no subject of its own: it says what to do with what the asker looks at.
pub(crate) fn has_no_subject(analysis: &Analysis) -> bool {
    analysis.keywords.iter().all(|word| FORM.contains(&word.as_str()) || is_pointing(word))
}

fn is_pointing(word: &str) -> bool {
    POINTING.contains(&word)
}

/// Whether a question is about what the asker looks at, and so about what is like it.
pub(crate) fn is_about_focus(query: &str, analysis: &Analysis) -> bool {
    let lower = query.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_short = analysis.keywords.len() <= FEW_WORDS && words.len() > analysis.keywords.len();
    has_no_subject(analysis) || is_short || words.iter().any(|word| is_pointing(word))
}

/// What is like the focus (W3, W15).
pub(super) struct Similar;

impl Collector for Similar {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let Some(looked) = &question.looked else { return Ok(Collected::default()) };
            let sieve = Sieve::searching(question, spec)?;
            let limit = spec.settings.count("limit");
            let ids = search(question, looked, &sieve, depth(limit).min(LIMIT_MAX)).await?;
            let own = own(question, &ids).await?;
            let topic = Topic::new(&looked.text, 0.0, 1);
            let least = Score::unit(spec.settings.number("minimum"));
            let kinds = focus_kinds(question).await?;
            let ids: Vec<CandidateId> =
                ids.into_iter().filter(|id| !own.contains(&id.item)).take(limit * 2).collect();
            let mut picked = Vec::new();
            for passage in question.snapshot.passages(&ids).await?.into_iter().flatten() {
                let item = &passage.stored.item;
                let named = pieces(&item.title);
                let likeness = topic.likeness(named.iter().chain(&pieces(&passage.text)));
                if picked.len() >= limit || likeness < least || !sieve.passes(&passage.stored) {
                    continue;
                }
                let mut signals = Signals::default().with(Component::Semantic, likeness);
                signals.set(Component::Collector, likeness);
                // Something of the same kind, done or not, is what is looked for.
                if kinds.contains(&item.kind) {
                    signals.set(Component::TypeMatch, Score::ONE);
                }
                picked.push((passage, signals));
            }
            let mut candidates = from_passages(question, &picked).await?;
            for (candidate, (_, signals)) in candidates.iter_mut().zip(&picked) {
                candidate.signals.strengthen(signals);
            }
            Ok(collected(spec, candidates))
        }
        .boxed()
    }
}

/// What is nearest to the focus by its words and by its meaning, each item once, best first.
async fn search(
    question: &Question,
    looked: &Looked,
    sieve: &Sieve<'_>,
    limit: usize,
) -> Result<Vec<CandidateId>, ReadError> {
    let (snapshot, filter) = (&question.snapshot, sieve.filter());
    let words = &looked.text[..looked.text.floor_char_boundary(WORDS_BYTES_MAX)];
    let words = TextSearch {
        query: words.replace(['"', '*'], " "),
        unfinished: false,
        all_words: false,
        filter: filter.clone(),
        limit,
    };
    let mut lists = vec![(Way::Text, snapshot.text(&words).await?)];
    if let Some(vector) = looked.vector.clone() {
        let search = VectorSearch { vector, effort: Effort::Fast, filter, limit };
        match snapshot.vector(&search).await {
            Ok(hits) => lists.push((Way::Vector, hits)),
            // The search by the question says so.
            Err(ReadError::Stale(_)) if question.request.degrade != Some(false) => {}
            Err(error) => return Err(error),
        }
    }
    let mut seen = BTreeSet::new();
    let ids = fused(&lists, Way::weight).into_iter().map(|fused| fused.hit.id);
    Ok(ids.filter(|id| seen.insert(id.item.clone())).collect())
}

/// What of these is the focus itself or stands in it.
async fn own(question: &Question, ids: &[CandidateId]) -> Result<BTreeSet<ItemId>, ReadError> {
    let request = &question.request;
    let roots: Vec<&ItemId> =
        [&request.focus, &request.page, &request.database].into_iter().flatten().collect();
    let items: Vec<ItemId> = ids.iter().map(|id| id.item.clone()).collect();
    let trails = question.snapshot.trails(&items).await?;
    let is_own = |item: &ItemId, trail: &[haversack_store::store::item::Crumb]| {
        roots.contains(&item) || trail.iter().any(|crumb| roots.contains(&&crumb.id))
    };
    let own = items.iter().zip(&trails).filter(|(item, trail)| is_own(item, trail));
    Ok(own.map(|(item, _)| item.clone()).collect())
}

async fn focus_kinds(question: &Question) -> Result<Vec<haversack_core::item::Kind>, ReadError> {
    let roots = super::tree::roots(question).await?;
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
