//! The order of the steps, up to the point where only packing is left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haversack_core::assemble::Pattern;
use haversack_core::candidate::Candidate;
use haversack_core::embed::{EmbedError, Vector};
use haversack_core::ids::ItemId;
use haversack_core::layer::Order as PaymentOrder;
use haversack_core::pack::{Frame, Previous, Request as PackRequest};
use haversack_core::query::{Analysis, FieldQuery, analyse_in};
use haversack_core::rank::{Component, Ranker};
use haversack_core::text::tokenizer::{Accuracy, Tokenizer};
use haversack_core::units::{Score, Timestamp, Tokens};
use haversack_store::store::Snapshot;
use haversack_store::store::error::chain;
use serde_json::{Value, json};

use super::assembled::Timings;
use super::carry::carry;
use super::collecting::{Finds, collect};
use super::currency::Currency;
use super::documents::make_documents;
use super::features::FeatureReader;
use super::fields::matches;
use super::hints::{check_hints, pay_by_rank};
use super::interaction::Interaction;
use super::measure::measure;
use super::outline::order_outlines;
use super::ranking::{Order, order};
use super::reranking::rerank;
use super::resolve::{Means, means};
use super::subjects;
use crate::collect::{
    Looked, Outline, Question, Searches, Subjects, focus_text, has_no_subject, is_about_focus,
    keep_matching, plan,
};
use crate::engine::{Ready, Shared};
use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{Facts, LayerSpec, QueryPart, Recipe};
use crate::request::Request;

/// How many of the last turns go into the query's vector.
const TURNS: usize = 4;

/// How likely it is that finds have to do with the query.
#[derive(Debug, Default)]
struct Relevance {
    /// Of each layer, where that decides whether it is shown.
    of_layers: Vec<Option<Score>>,
    /// Of the best of them all, where it was measured.
    of_query: Option<Score>,
}

/// How many texts of a layer are measured when that is for the pack's quality alone.
const SAMPLE: usize = 5;

/// Everything that decides a pack, and what else is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) core: PackRequest,
    pub(crate) ready: Arc<Ready>,
    pub(crate) question: Question,
    pub(crate) used: Vec<String>,
    pub(crate) facts: std::collections::BTreeMap<String, Value>,
    pub(crate) notices: Vec<Notice>,
    /// Pages and databases whose blocks were read.
    pub(crate) outlines: Vec<Outline>,
    /// Who read the best once more, where somebody does.
    pub(crate) reranker: Option<String>,
    /// How likely it is that what was found has to do with the query, where it was measured.
    pub(crate) relevance: Option<Score>,
    pub(crate) timings: Timings,
}

/// What a preparation starts from.
pub(crate) struct Start {
    pub(crate) ready: Arc<Ready>,
    pub(crate) snapshot: Arc<dyn Snapshot>,
    pub(crate) request: Request,
    pub(crate) now: Timestamp,
    /// What the fences' nonce is made from.
    pub(crate) seed: String,
    pub(crate) previous: Option<Previous>,
    pub(crate) watch: Option<Watch>,
}

/// Who is told of each step when it is done, with its name and how long it took.
pub type Watch = Arc<dyn Fn(&'static str, Duration) + Send + Sync>;

/// Times the steps, one after another.
struct Laps {
    since: Instant,
    watch: Option<Watch>,
}

impl Laps {
    fn end(&mut self, step: &'static str) -> Duration {
        let took = std::mem::replace(&mut self.since, Instant::now()).elapsed();
        if let Some(watch) = &self.watch {
            watch(step, took);
        }
        took
    }
}

/// Resolves, analyses, collects, measures and ranks, on a thread that may block.
///
/// # Errors
/// When the request is wrong or what it cannot do without fails.
pub(crate) async fn prepare(shared: &Shared, start: Start) -> Result<Prepared, Error> {
    let Start { ready, snapshot, mut request, now, seed, previous, watch } = start;
    let mut notices = Vec::new();
    let mut timings = Timings::default();
    let mut laps = Laps { since: Instant::now(), watch };
    check(&request)?;
    let recipe = Arc::clone(&ready.recipe);
    let degrade = request.degrade.unwrap_or(recipe.degrade);
    let analysis = analyse_in(&request.query, now, &request.time_zone);
    notices.extend(check_named(&*snapshot, &request, &analysis).await?);
    let subjects = subjects::subjects(&*snapshot, &recipe, &request).await?;
    notices.extend(subjects::unused(&recipe, &request));
    let facts = request_facts(&recipe, &request, &subjects);
    let mut means = means(&ready, &request, &facts, &absent(shared, &analysis), &mut notices)?;
    pay_by_rank(&request, &mut means.layers, &means.rankers);
    timings.analyse = laps.end("analyse");
    let vector = vector(shared, &recipe.embed, &request, &subjects, degrade, &mut notices)?;
    timings.embed = laps.end("embed");
    // Collectors know the request alone, and the recipe may have decided in its place (M11).
    let asked = request.degrade.replace(degrade);
    let stated = (request, snapshot, now, analysis);
    let mut question = question(shared, &ready, stated, vector, subjects).await?;
    let finds = collect(shared, &recipe, &question, degrade).await?;
    question.request.degrade = asked;
    let Finds { mut layers, notices: more, facts, used, outlines } = finds;
    notices.extend(more);
    keep_matching(&question, &mut layers);
    timings.collect = laps.end("collect");
    if let Some(previous) = &previous {
        carry(&*question.snapshot, previous, &recipe.layers, &mut layers).await?;
    }
    if ready.wants_trails(means.layers.iter().map(|layer| &layer.template)) {
        add_trails(&*question.snapshot, &mut layers).await?;
    }
    drop_essentials(&recipe.layers, &mut layers);
    let reader = FeatureReader::new(&shared.features, &*means.tokenizer);
    let (mut interaction, relevance) =
        weigh(&question, &recipe, &means.rankers, reader, &mut layers).await?;
    timings.measure = laps.end("measure");
    let reranker = shared.reranker.as_deref().filter(|_| counts_rerank(&means.rankers));
    if let Some(reranker) = reranker {
        let (query, specs) = (&question.request.query, &recipe.layers);
        notices.extend(rerank(reranker, query, specs, &means.rankers, &mut layers, degrade)?);
    }
    let currency = Currency::of(&question, &recipe.layers, &mut layers).await?;
    let (specs, earlier, layers) =
        (&recipe.layers, previous.as_ref(), (layers, &*relevance.of_layers));
    let request = &question.request;
    let mut order = order(specs, &means.rankers, layers, (request, &currency), earlier)?;
    notices.extend(order.irrelevance(specs).filter(|_| !is_for_focus(&question)));
    order_outlines(&question, &mut interaction, &outlines, &mut order.layers);
    let (snapshot, found) = (&*question.snapshot, &mut order);
    let earlier = (earlier, &*question.request.exclude);
    notices.extend(make_documents(snapshot, &mut interaction, specs, found, earlier).await?);
    timings.rank = laps.end("rank");
    notices.extend(caveats(&recipe, &*means.tokenizer));
    let core = pack_request(&ready, &question, means, order, (seed, previous))?;
    let reranker = reranker.map(|reranker| reranker.name().to_owned());
    let relevance = relevance.of_query;
    #[rustfmt::skip]
    let prepared = Prepared {
        core, ready, question, used, facts, notices, outlines, reranker, relevance, timings,
    };
    Ok(prepared)
}

/// Checks what the request names, and tells what of it is not there or was not read.
async fn check_named(
    snapshot: &dyn Snapshot,
    request: &Request,
    analysis: &Analysis,
) -> Result<Vec<Notice>, Error> {
    let mut notices = check_hints(snapshot, request).await?;
    if analysis.truncated {
        let message = "only the first 16 KiB of the query were looked at";
        notices.push(Notice::new(NoticeCode::QueryTruncated, message));
    }
    Ok(notices)
}

/// A request as it stands when collecting begins.
async fn question(
    shared: &Shared,
    ready: &Ready,
    (request, snapshot, now, mut analysis): (Request, Arc<dyn Snapshot>, Timestamp, Analysis),
    vector: Option<Vector>,
    subjects: Subjects,
) -> Result<Question, Error> {
    let recipe = &ready.recipe;
    let matches = match recipe.collects("matching") {
        true => matches(&*snapshot, &request, &mut analysis, (now, &ready.vocabulary)).await?,
        false => None,
    };
    // What fields say is not added to by what is like the focus.
    let is_about_focus = matches.is_none() && is_about_focus(&request.query, &analysis);
    let looked = match recipe.collects("similar") && is_about_focus {
        true => looked(shared, &*snapshot, &request).await?,
        false => None,
    };
    let mut question = Question {
        request,
        snapshot,
        now,
        analysis,
        vector,
        subjects,
        judge: Arc::clone(&shared.judge),
        searches: Searches::default(),
        matches,
        looked,
    };
    question.searches = plan(&question, &recipe.layers);
    Ok(question)
}

/// What is packed, and how.
fn pack_request(
    ready: &Ready,
    question: &Question,
    means: Means,
    order: Order,
    (seed, previous): (String, Option<Previous>),
) -> Result<PackRequest, Error> {
    let recipe = &ready.recipe;
    Ok(PackRequest {
        query: question.request.query.clone(),
        query_terms: question.analysis.terms.clone(),
        overflow: recipe.budget.overflow,
        layers: means.layers.into_iter().zip(order.layers).collect(),
        dropped: order.dropped,
        frame: frame(ready, question)?,
        fencing: recipe.fencing,
        seed,
        selector: recipe.selector,
        stop: recipe.stop,
        previous,
        ..PackRequest::new(means.tokenizer, means.budget)
    })
}

/// What stands around the sections; the date of today, too, where dates were asked for.
fn frame(ready: &Ready, question: &Question) -> Result<Frame, Error> {
    let mut frame = ready.frame.clone();
    if question.analysis.fields.as_ref().is_some_and(FieldQuery::is_about_dates) {
        let today = question.request.time_zone.day(question.now);
        let before = format!("{}Today is {today}.\n\n", ready.recipe.frame.before);
        frame.before = Pattern::frame(&before)?;
    }
    Ok(frame)
}

/// Measures candidates, and holds those of layers that want it against each word of the query; says
/// how relevant the best of each such layer is.
async fn weigh<'r>(
    question: &Question,
    recipe: &Recipe,
    rankers: &[Ranker],
    reader: FeatureReader<'r>,
    layers: &mut [Vec<Candidate>],
) -> Result<(Interaction<'r>, Relevance), Error> {
    let specs = &recipe.layers;
    measure(question, specs, rankers, layers).await?;
    let by_words = |(spec, ranker): (&LayerSpec, &Ranker)| {
        let has_floor = spec.floor.is_some() || spec.relative_floor.is_some();
        has_floor || ranker.uses(Component::MaxSim)
    };
    let in_blocks = |spec: &LayerSpec| spec.order == PaymentOrder::Blocks;
    let is_for_focus = is_for_focus(question);
    let is_wanted = specs.iter().any(in_blocks) || specs.iter().zip(rankers).any(by_words);
    if !is_wanted {
        let relevance = Relevance { of_layers: vec![None; layers.len()], of_query: None };
        return Ok((Interaction::idle(reader), relevance));
    }
    let is_for_subject = recipe.embed.contains(&QueryPart::Subject);
    let subject_says_enough =
        is_for_subject && question.subjects.main().is_some_and(subjects::says_enough);
    let mut interaction = Interaction::new(question, reader).await?;
    let mut relevance = Relevance::default();
    for (layer, of) in layers.iter_mut().zip(specs.iter().zip(rankers)) {
        // What fields say is not less relevant for having other words, and what is found for a
        // subject need not have to do with the prompt; what was found by words that say nothing of
        // a subject has to do with none.
        let decides = question.matches.is_none() && !subject_says_enough;
        // Where it decides nothing, the first few tell how good the pack is.
        let ranks = of.1.uses(Component::MaxSim) || in_blocks(of.0);
        let measured = match by_words(of) {
            true if decides || ranks => interaction.measure(layer),
            true => interaction.measure(first(layer, SAMPLE)),
            false => None,
        };
        relevance.of_query = relevance.of_query.max(measured);
        relevance.of_layers.push(match is_for_focus {
            true => Some(Score::ZERO),
            false => measured.filter(|_| decides),
        });
    }
    Ok((interaction, relevance))
}

/// The first few of a list.
fn first<T>(list: &mut [T], count: usize) -> &mut [T] {
    let count = count.min(list.len());
    &mut list[..count]
}

/// Whether a question only says what to do with what the asker looks at.
fn is_for_focus(question: &Question) -> bool {
    question.looked.is_some() && has_no_subject(&question.analysis)
}

/// Whether any layer's score counts what a reranker says.
fn counts_rerank(rankers: &[Ranker]) -> bool {
    rankers.iter().any(|ranker| ranker.uses(Component::Rerank))
}

/// What a recipe or a tokenizer cannot do here.
fn caveats(recipe: &Recipe, tokenizer: &dyn Tokenizer) -> Vec<Notice> {
    let mut notices = Vec::new();
    if recipe.layers.iter().any(|layer| layer.summarise) {
        let message = "no model summarises here: the most important sentences are kept instead";
        notices.push(Notice::new(NoticeCode::NotSummarised, message));
    }
    if tokenizer.accuracy() != Accuracy::Exact {
        let message = format!("tokens are an estimate by {}", tokenizer.name());
        notices.push(Notice::new(NoticeCode::EstimatedTokens, message));
    }
    notices
}

impl Prepared {
    /// The same finds within another budget: what the recipe and the model make of that budget is
    /// worked out anew, and nothing is looked for again.
    ///
    /// # Errors
    /// When the budget is more than there may be, or less than its reserves.
    pub(crate) fn within(&self, total: Tokens) -> Result<Prepared, Error> {
        let mut other = self.clone();
        other.question.request.budget = Some(total);
        other.notices.retain(|notice| notice.code != NoticeCode::BudgetCapped);
        let question = &other.question;
        let facts = request_facts(&other.ready.recipe, &question.request, &question.subjects);
        let means = means(&other.ready, &question.request, &facts, &[], &mut other.notices)?;
        other.core.budget = means.budget;
        for (place, layer) in other.core.layers.iter_mut().zip(means.layers) {
            place.0 = layer;
        }
        Ok(other)
    }
}

/// What no recipe can make sense of.
fn check(request: &Request) -> Result<(), Error> {
    if let (Some(start), Some(end)) = request.time
        && start >= end
    {
        let message = format!("the range starts at {start} and ends at {end}, before it starts");
        return Err(Error::invalid("timeRange", message));
    }
    Ok(())
}

/// What a recipe's conditions can ask about (P17, W9).
fn request_facts(recipe: &Recipe, request: &Request, subjects: &Subjects) -> Facts {
    let text = |text: &Option<String>| json!(text.as_deref().unwrap_or_default());
    let id = |id: &Option<ItemId>| json!(id.as_ref().map_or("", ItemId::as_str));
    let mut facts = Facts::without(&recipe.subjects)
        .with("type", text(&request.sort))
        .with("query", json!(request.query))
        .with("words", json!(request.query.split_whitespace().count()))
        .with("turns", json!(request.history.len()))
        .with("included", json!(request.include.len()))
        .with("user", text(&request.user))
        .with("intent", text(&request.intent))
        .with("model", text(&request.model))
        .with("budget", json!(request.budget.map_or(0, Tokens::get)))
        .with("focus", id(&request.focus))
        .with("page", id(&request.page))
        .with("database", id(&request.database))
        .with("context", id(&request.context))
        .with("situation", Value::Object(request.situation.clone()));
    subjects::add_facts(&mut facts, subjects);
    facts
}

/// The query's vector, from what the recipe says it is made of.
fn vector(
    shared: &Shared,
    parts: &[QueryPart],
    request: &Request,
    subjects: &Subjects,
    degrade: bool,
    notices: &mut Vec<Notice>,
) -> Result<Option<Vector>, Error> {
    if let Some(vector) = &request.vector {
        let dimensions = shared.embedder.model().dimensions;
        let given = vector.as_slice().len();
        if given != dimensions {
            let model = shared.embedder.model();
            let message = format!("has {given} numbers; {model} makes {dimensions}");
            return Err(Error::invalid("vector", message));
        }
        return Ok(Some(vector.clone()));
    }
    let texts = embedded_texts(parts, request, subjects);
    let vectors: Result<Vec<Vector>, EmbedError> =
        texts.iter().map(|text| shared.embedder.embed_query(text)).collect();
    let error = match vectors {
        Ok(vectors) => return Ok(mean(vectors)),
        Err(error) if degrade => chain(&error),
        Err(error) => return Err(error.into()),
    };
    let message = format!("the query could not be embedded, so words answer alone: {error}");
    notices.push(Notice::new(NoticeCode::Degraded, message));
    Ok(None)
}

/// What the asker looks at, to be searched by. Without its vector its words are searched alone; the
/// question's own says so when there is none to be had.
async fn looked(
    shared: &Shared,
    snapshot: &dyn Snapshot,
    request: &Request,
) -> Result<Option<Looked>, Error> {
    let text = focus_text(snapshot, request).await?;
    Ok(text.map(|text| Looked { vector: shared.embedder.embed_query(&text).ok(), text }))
}

/// The middle of vectors, each of which counts the same however long its text is.
fn mean(mut vectors: Vec<Vector>) -> Option<Vector> {
    if vectors.len() < 2 {
        return vectors.pop();
    }
    let mut sum = vec![0.0_f32; vectors[0].as_slice().len()];
    for vector in &vectors {
        let numbers = vector.as_slice();
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        if length > 0.0 {
            sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number / length);
        }
    }
    Vector::new(sum).ok()
}

/// The texts of which the query's vector is made: what is asked, and the subject. They count the
/// same: a subject of many words must not drown the prompt.
fn embedded_texts(parts: &[QueryPart], request: &Request, subjects: &Subjects) -> Vec<String> {
    let (mut asked, mut about): (Vec<String>, Option<String>) = (Vec::new(), None);
    for part in parts {
        match part {
            QueryPart::Query => asked.push(request.query.clone()),
            QueryPart::Subject => about = subjects.main().map(subjects::text),
            QueryPart::Situation => {
                asked.extend(request.intent.clone());
                if !request.situation.is_empty() {
                    asked.push(Value::Object(request.situation.clone()).to_string());
                }
            }
            QueryPart::History => {
                let turns = request.history.iter().rev().take(TURNS).rev();
                asked.extend(turns.map(|turn| turn.content.clone()));
            }
        }
    }
    asked.retain(|text| !text.trim().is_empty());
    let texts = std::iter::once(asked.join("\n")).chain(about);
    texts.filter(|text| !text.trim().is_empty()).collect()
}

/// What can be measured of nobody here. In a score it would be nothing for all, and would only stand in
/// every ledger.
fn absent(shared: &Shared, analysis: &Analysis) -> Vec<Component> {
    let none = [
        (Component::Rerank, shared.reranker.is_none()),
        (Component::Timing, analysis.times.is_empty()),
    ];
    none.into_iter().filter(|(_, none)| *none).map(|(component, _)| component).collect()
}

/// Takes reduced forms away where a layer shows none.
fn drop_essentials(specs: &[LayerSpec], layers: &mut [Vec<Candidate>]) {
    for (_, layer) in specs.iter().zip(layers).filter(|(spec, _)| !spec.essential) {
        layer.iter_mut().for_each(|candidate| candidate.essential = None);
    }
}

/// Puts the titles of what a candidate hangs under, and its own, before its headings (W10).
async fn add_trails(snapshot: &dyn Snapshot, layers: &mut [Vec<Candidate>]) -> Result<(), Error> {
    let mut items: Vec<ItemId> =
        layers.iter().flatten().map(|candidate| candidate.id.item.clone()).collect();
    items.sort_unstable();
    items.dedup();
    let trails = snapshot.trails(&items).await?;
    for candidate in layers.iter_mut().flatten() {
        let Ok(at) = items.binary_search(&candidate.id.item) else { continue };
        let titles = trails[at].iter().map(|crumb| &crumb.title).chain(&candidate.place.title);
        let titles: Vec<String> =
            titles.filter(|title| !title.trim().is_empty()).cloned().collect();
        candidate.place.breadcrumb.splice(0..0, titles);
    }
    Ok(())
}
