//! `haversack pack`: from files to a context, without a store.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use haversack_core::assemble::{Fencing, Template, TemplateText};
use haversack_core::budget::Budget;
use haversack_core::candidate::{Candidate, Found as FoundBy, Place};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::Kind;
use haversack_core::layer::{Layer, Order};
use haversack_core::ledger::{Dropped, Reason};
use haversack_core::pack::{Plan, Request};
use haversack_core::query::{Analysis, analyse};
use haversack_core::rank::{
    Component, Corpus, Ranked, Ranker, Scoring, drop_repeats, keyword_match, rank,
};
use haversack_core::select::Selector;
use haversack_core::text::chunk::{ChunkLimits, Format, chunk};
use haversack_core::text::clean::clean;
use haversack_core::text::model;
use haversack_core::text::terms::terms;
use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::{Score, Tokens};
use serde_json::Value;

use super::show;
use crate::args;
use crate::input::{now, read_text, tokenizer};
use crate::output::{Found, grouped, print, say};

/// What a chunk should have, and may have at most.
const CHUNK_TOKENS: (u32, u32) = (200, 400);
/// Texts that share this much of their word triples say the same.
const REPEAT: f64 = 0.85;
const LAYER: &str = "files";

/// One text to answer from.
struct Document {
    id: ItemId,
    place: Place,
    text: String,
    format: Format,
}

pub(crate) fn run(args: &args::Pack) -> Result<Found> {
    let tokenizer = tokenizer(&args.counting)?;
    let budget = within_window(args)?;
    let documents = documents(&args.files)?;
    let analysis = analyse(&args.query, now());
    let request = request(args, budget, &documents, &analysis, tokenizer)?;
    let plan = Plan::new(&request)?;
    if args.view.frontier {
        print(&show::frontier(&plan)?)?;
        return Ok(Found::Something);
    }
    let pack = plan.pack()?;
    let nothing = pack.citations.is_empty();
    match (args.view.json, args.view.explain) {
        (true, _) => print(&show::json(&pack))?,
        (_, true) => print(&show::ledger(&pack))?,
        _ if nothing => {}
        _ => print(&pack.text)?,
    }
    if nothing {
        let found = request.layers.iter().any(|(_, ranked)| !ranked.is_empty());
        say(if found { "nothing fits this budget" } else { "nothing matches this query" });
    }
    say(&show::summary(&pack));
    Ok(if nothing { Found::Nothing } else { Found::Something })
}

/// The budget that was asked for, or what the model has room for (P3).
fn within_window(args: &args::Pack) -> Result<Tokens> {
    let wanted = Tokens::new(args.budget);
    let Some(name) = &args.counting.model else { return Ok(wanted) };
    let most = model::find(name)?.context_max();
    if wanted > most {
        say(&format!("{name} has room for {} tokens of context; packing that many", grouped(most)));
    }
    Ok(wanted.min(most))
}

fn documents(files: &[PathBuf]) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    for file in files {
        let text = read_text(file)?;
        let name = file.display().to_string();
        let is_jsonl =
            file.extension().is_some_and(|ending| ending == "jsonl" || ending == "ndjson");
        if is_jsonl {
            for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
                if !line.trim().is_empty() {
                    let document = from_json(line, &name, number)
                        .with_context(|| format!("{name}, line {number}"))?;
                    documents.push(document);
                }
            }
        } else {
            let id = ItemId::new(&name).with_context(|| format!("the file name {name:?}"))?;
            let place = Place { path: Some(name.clone()), ..Place::default() };
            let format = Format::of_path(&name);
            documents.push(Document { id, place, text, format });
        }
    }
    let mut ids: Vec<&ItemId> = documents.iter().map(|document| &document.id).collect();
    ids.sort_unstable();
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("{} is given twice: give each text an id of its own", pair[0]);
    }
    Ok(documents)
}

/// A line of `{"text": …, "id"?: …, "title"?: …}`.
fn from_json(line: &str, file: &str, number: u32) -> Result<Document> {
    let value: Value = serde_json::from_str(line).map_err(|error| {
        // The parser's own words for this are about escapes; what people have is broken text.
        let escape = error.to_string();
        let half = escape.contains("hex escape") || escape.contains("surrogate");
        let hint = if half { " (half of a surrogate pair is not text)" } else { "" };
        anyhow::anyhow!("{error}{hint}")
    })?;
    let field = |name: &str| match value.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let Some(text) = field("text") else { bail!("there is no string \"text\"") };
    let id = field("id").unwrap_or_else(|| format!("{file}:{number}"));
    let place = Place { title: field("title"), path: Some(id.clone()), ..Place::default() };
    let format = Format::of_path(&id);
    Ok(Document { id: ItemId::new(&id)?, place, text, format })
}

fn request(
    args: &args::Pack,
    budget: Tokens,
    documents: &[Document],
    analysis: &Analysis,
    tokenizer: Arc<dyn Tokenizer>,
) -> Result<Request> {
    let template = Template::new(TemplateText {
        item: "{{citation}} {{source}}\n{{content}}",
        ..TemplateText::PLAIN
    })?;
    let candidates = candidates(documents, &*tokenizer)?;
    let (ranked, dropped) = order(candidates, analysis)?;
    // People read a list from its top: the best first, whole, and the last one cut to fit.
    let layer = Layer { order: Order::Rank, ..Layer::new(LAYER, template) };
    Ok(Request {
        query: args.query.clone(),
        query_terms: analysis.terms.clone(),
        layers: vec![(layer, ranked)],
        dropped,
        fencing: if args.no_fence { Fencing::Off } else { Fencing::Untrusted },
        selector: if args.exact { Selector::Exact } else { Selector::Greedy },
        ..Request::new(tokenizer, Budget::new(budget))
    })
}

fn candidates(documents: &[Document], tokenizer: &dyn Tokenizer) -> Result<Vec<Candidate>> {
    let (target, max) = CHUNK_TOKENS;
    let limits = ChunkLimits::new(Tokens::new(target), Tokens::new(max))?;
    let kind = Kind::new("file")?;
    let mut candidates = Vec::new();
    for document in documents {
        // The text is split as it is, so that lines and bytes are those of the file, and cleaned
        // on its way out.
        let mut hidden = 0;
        let chunks = chunk(&document.text, document.format, tokenizer, limits);
        for (chunk, index) in chunks.into_iter().zip(0..) {
            let cleaned = clean(chunk.span.slice(&document.text).unwrap_or_default());
            let findings = cleaned.findings.iter().filter(|finding| finding.kind.is_hidden());
            hidden += findings.map(|finding| finding.count).sum::<usize>();
            let id = CandidateId::chunk(document.id.clone(), index);
            candidates.push(Candidate {
                place: Place {
                    breadcrumb: chunk.headings,
                    lines: Some(chunk.lines),
                    ..document.place.clone()
                },
                span: chunk.span,
                found: vec![FoundBy { collector: LAYER.into(), rank: index + 1 }],
                ..Candidate::new(id, kind.clone(), &cleaned.text)
            });
        }
        if hidden > 0 {
            say(&format!("{}: left out {hidden} hidden characters", document.id));
        }
    }
    Ok(candidates)
}

/// Candidates by shared words, best first, and what has none or only repeats others.
fn order(
    mut candidates: Vec<Candidate>,
    analysis: &Analysis,
) -> Result<(Vec<Ranked>, Vec<Dropped>)> {
    let language = analysis.language;
    let corpus = Corpus::of(candidates.iter().map(|candidate| &*candidate.text), language);
    let query = corpus.weigh(&analysis.terms);
    for candidate in &mut candidates {
        let place = candidate.place.breadcrumb.join(" ");
        let text = format!(
            "{} {place} {}",
            candidate.place.title.as_deref().unwrap_or_default(),
            candidate.text
        );
        let similarity = corpus.cosine(&query, &corpus.weigh(&terms(&text, language)));
        let matched = keyword_match(&analysis.keywords, &text, language);
        candidate.signals.set(Component::TextSimilarity, similarity);
        candidate.signals.set(Component::KeywordMatch, matched);
    }
    let weights = [(Component::TextSimilarity, 0.6), (Component::KeywordMatch, 0.4)];
    let ranked = rank(candidates, &Ranker::Sum(Scoring::new(Score::ZERO, &weights)?))?;
    let layer: Arc<str> = LAYER.into();
    let (matching, strangers): (Vec<_>, Vec<_>) =
        ranked.into_iter().partition(|ranked| ranked.score > Score::ZERO);
    let (kept, repeats) = drop_repeats(matching, Score::unit(REPEAT));
    let strangers = strangers
        .into_iter()
        .map(|ranked| (ranked, Reason::BelowMinimum { minimum: Score::unit(f64::MIN_POSITIVE) }));
    let repeats = repeats.into_iter().map(|(ranked, of): (Ranked, usize)| {
        (ranked, Reason::Repeats { of: kept[of].candidate.id.clone() })
    });
    let dropped = strangers
        .chain(repeats)
        .map(|(ranked, reason)| Dropped { layer: layer.clone(), ranked, reason })
        .collect();
    Ok((kept, dropped))
}
