//! Runs the steps in order, up to the point where only packing is left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haversack_core::assemble::Pattern;
use haversack_core::candidate::Candidate;
use haversack_core::embed::{EmbedError, Embedder, Vector};
use haversack_core::ids::ItemId;
use haversack_core::layer::Order as PaymentOrder;
use haversack_core::pack::{Frame, PackRequest, Previous};
use haversack_core::query::{Analysis, FieldQuery, analyse_in};
use haversack_core::rank::{Component, Ranker};
use haversack_core::text::tokenizer::{Accuracy, Tokenizer};
use haversack_core::units::{Score, Timestamp, Tokens};
use haversack_store::store::Snapshot;
use haversack_store::store::error::error_chain;
use serde_json::{Value, json};

use super::assembled::Timings;
use super::carry::add_carried;
use super::collecting::{Collection, collect};
use super::currency::Currency;
use super::documents::make_documents;
use super::features::FeatureReader;
use super::fields::find_matches;
use super::hints::{buy_in_rank_order, check_hints};
use super::interaction::Interaction;
use super::measure::measure_signals;
use super::outline::order_outlines;
use super::ranking::{RankedLayers, rank_layers};
use super::reranking::rerank;
use super::resolve::{ResolvedRequest, resolve_request};
use super::subjects;
use crate::collect::{
    FocusQuery, Outline, Question, SearchCache, Subjects, focus_text, has_no_subject,
    is_about_focus, plan_searches, retain_field_matches,
};
use crate::condition::Facts;
use crate::engine::{CompiledRecipe, Shared, checkpoint, current_cancel_flag};
use crate::error::Error;
use crate::models::{MissingSummaries, ModelRecord, PackModels, add_summaries};
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{LayerSpec, QueryPart, Recipe, default_facts};
use crate::request::Request;

/// How many of the last turns go into the query's vector.
const EMBEDDED_TURNS_MAX: usize = 4;

/// How likely it is that candidates are relevant to the query.
#[derive(Debug, Default)]
struct Relevance {
    /// For each layer, where relevance decides whether it is shown.
    of_layers: Vec<Option<Score>>,
    /// For the best of all layers, where it was measured.
    of_query: Option<Score>,
}

/// How many texts of a layer are measured when only the pack's quality needs it.
const QUALITY_SAMPLE: usize = 5;

/// Everything that packing needs, with what the answer reports about it.
#[derive(Debug, Clone)]
pub(crate) struct PreparedPack {
    pub(crate) core: PackRequest,
    pub(crate) ready: Arc<CompiledRecipe>,
    pub(crate) question: Question,
    pub(crate) used: Vec<String>,
    pub(crate) facts: std::collections::BTreeMap<String, Value>,
    pub(crate) notices: Vec<Notice>,
    /// Pages and databases whose blocks were read.
    pub(crate) outlines: Vec<Outline>,
    /// The reranker's name, where one was used.
    pub(crate) reranker: Option<String>,
    /// How likely it is that the candidates are relevant to the query, where it was measured.
    pub(crate) relevance: Option<Score>,
    pub(crate) timings: Timings,
    /// What remote models answered, and what that used.
    pub(crate) models: Arc<ModelRecord>,
}

/// The inputs of a preparation.
pub(crate) struct PackInputs {
    pub(crate) ready: Arc<CompiledRecipe>,
    pub(crate) snapshot: Arc<dyn Snapshot>,
    pub(crate) request: Request,
    pub(crate) now: Timestamp,
    /// The seed of the fences' nonce.
    pub(crate) seed: String,
    pub(crate) previous: Option<Previous>,
    pub(crate) observer: Option<StageObserver>,
    pub(crate) models: PackModels,
}

/// Is called after each stage with its name and duration.
pub type StageObserver = Arc<dyn Fn(&'static str, Duration) + Send + Sync>;

/// Times consecutive stages.
struct StageTimer {
    since: Instant,
    observer: Option<StageObserver>,
}

impl StageTimer {
    fn finish_stage(&mut self, step: &'static str) -> Duration {
        let took = std::mem::replace(&mut self.since, Instant::now()).elapsed();
        if let Some(observer) = &self.observer {
            observer(step, took);
        }
        took
    }
}

/// Resolves, analyses, collects, measures and ranks. Runs on a blocking thread.
///
/// # Errors
/// When the request is not valid, or something fails that the pack cannot do without.
pub(crate) async fn prepare(shared: &Shared, inputs: PackInputs) -> Result<PreparedPack, Error> {
    let PackInputs { ready, snapshot, mut request, now, seed, previous, observer, models } = inputs;
    let mut notices = Vec::new();
    let mut timings = Timings::default();
    let mut timer = StageTimer { since: Instant::now(), observer };
    check_time_range(&request)?;
    let recipe = Arc::clone(&ready.recipe);
    let degrade = request.degrade.unwrap_or(recipe.degrade);
    let analysis = analyse_in(&request.query, now, &request.time_zone);
    notices.extend(check_request_names(&*snapshot, &request, &analysis).await?);
    let subjects = subjects::look_up_subjects(&*snapshot, &recipe, &request).await?;
    notices.extend(subjects::unused_subject_notices(&recipe, &request));
    let facts = request_facts(&recipe, &request, &subjects);
    let unavailable = unavailable_components(&models, &analysis);
    let mut resolved = resolve_request(&ready, &request, &facts, &unavailable, &mut notices)?;
    buy_in_rank_order(&request, &mut resolved.layers, &resolved.rankers);
    timings.analyse = timer.finish_stage("analyse");
    let texts = texts_to_embed(&recipe.embed, &request, &subjects);
    let vector = query_vector(&*models.embedder, &texts, &request, degrade, &mut notices)?;
    timings.embed = timer.finish_stage("embed");
    // Collectors read the request only, so it carries the recipe's choice while they run (M11).
    let own_choice = request.degrade.replace(degrade);
    let stated = (request, snapshot, now, analysis);
    let mut question = build_question(&models, &ready, stated, vector, subjects).await?;
    let collection = collect(shared, &recipe, &question, degrade).await?;
    question.request.degrade = own_choice;
    let Collection { mut layers, notices: more, facts, used, outlines } = collection;
    notices.extend(more);
    retain_field_matches(&question, &mut layers);
    timings.collect = timer.finish_stage("collect");
    let shows_trails = ready.shows_trails(resolved.layers.iter().map(|layer| &layer.template));
    let from = (previous.as_ref(), shows_trails);
    complete_candidates(&question, &recipe.layers, from, &mut layers).await?;
    let reader = FeatureReader::new(&shared.features, &*resolved.tokenizer);
    let (mut interaction, relevance) =
        measure_relevance(&question, &recipe, &resolved.rankers, reader, &mut layers).await?;
    timings.measure = timer.finish_stage("measure");
    let reranker = models.reranker.as_deref().filter(|_| uses_rerank(&resolved.rankers));
    if let Some(reranker) = reranker {
        let (query, specs) = (&question.request.query, &recipe.layers);
        notices.extend(rerank(reranker, query, specs, &resolved.rankers, &mut layers, degrade)?);
    }
    let currency = Currency::find(&question, &recipe.layers, &mut layers).await?;
    let (specs, earlier, layers) =
        (&recipe.layers, previous.as_ref(), (layers, &*relevance.of_layers));
    let request = &question.request;
    let mut order = rank_layers(specs, &resolved.rankers, layers, (request, &currency), earlier)?;
    notices.extend(order.nothing_relevant_notice(specs).filter(|_| !is_for_focus(&question)));
    order_outlines(&question, &mut interaction, &outlines, &mut order.layers);
    let (snapshot, found) = (&*question.snapshot, &mut order);
    let earlier = (earlier, &*question.request.exclude);
    notices.extend(make_documents(snapshot, &mut interaction, specs, found, earlier).await?);
    timings.rank = timer.finish_stage("rank");
    notices.extend(limitation_notices(
        &recipe,
        &*resolved.tokenizer,
        models.missing_summaries.as_ref(),
    ));
    let core = pack_request(&ready, &question, resolved, order, (seed, previous))?;
    let reranker = reranker.map(|reranker| reranker.name().to_owned());
    let relevance = relevance.of_query;
    #[rustfmt::skip]
    let prepared = PreparedPack {
        core, ready, question, used, facts, notices, outlines, reranker, relevance, timings,
        models: models.record,
    };
    Ok(prepared)
}

/// Adds what an earlier pack showed, the titles of ancestors, and the reduced forms that the layers use.
async fn complete_candidates(
    question: &Question,
    specs: &[LayerSpec],
    (previous, shows_trails): (Option<&Previous>, bool),
    layers: &mut [Vec<Candidate>],
) -> Result<(), Error> {
    let snapshot = &*question.snapshot;
    if let Some(previous) = previous {
        add_carried(snapshot, previous, specs, layers).await?;
    }
    if shows_trails {
        add_trails(snapshot, layers).await?;
    }
    drop_essentials(specs, layers);
    if let Some(missing) = &question.missing_summaries {
        add_summaries(snapshot, missing, specs, layers).await?;
    }
    Ok(())
}

/// Checks the items that the request names, and returns notices about missing ones and a query that
/// is too long.
async fn check_request_names(
    snapshot: &dyn Snapshot,
    request: &Request,
    analysis: &Analysis,
) -> Result<Vec<Notice>, Error> {
    let mut notices = check_hints(snapshot, request).await?;
    if analysis.truncated {
        let message = "only the first 16 KiB of the query were analysed";
        notices.push(Notice::new(NoticeCode::QueryTruncated, message));
    }
    Ok(notices)
}

/// Builds the question that collectors answer.
async fn build_question(
    models: &PackModels,
    ready: &CompiledRecipe,
    (request, snapshot, now, mut analysis): (Request, Arc<dyn Snapshot>, Timestamp, Analysis),
    vector: Option<Vector>,
    subjects: Subjects,
) -> Result<Question, Error> {
    let recipe = &ready.recipe;
    let matches = match recipe.collects("matching") {
        true => find_matches(&*snapshot, &request, &mut analysis, (now, &ready.vocabulary)).await?,
        false => None,
    };
    // A query about fields is not extended by items similar to the focus.
    let is_about_focus = matches.is_none() && is_about_focus(&request.query, &analysis);
    let focus_query = match recipe.collects("similar") && is_about_focus {
        true => focus_search(models, &*snapshot, &request).await?,
        false => None,
    };
    let mut question = Question {
        request,
        snapshot,
        now,
        analysis,
        vector,
        subjects,
        judge: Arc::clone(&models.judge),
        search_cache: SearchCache::default(),
        matches,
        focus_query,
        missing_summaries: models.missing_summaries.clone(),
    };
    question.search_cache = plan_searches(&question, &recipe.layers);
    Ok(question)
}

/// Builds the request to core's packing.
fn pack_request(
    ready: &CompiledRecipe,
    question: &Question,
    resolved: ResolvedRequest,
    order: RankedLayers,
    (seed, previous): (String, Option<Previous>),
) -> Result<PackRequest, Error> {
    let recipe = &ready.recipe;
    Ok(PackRequest {
        query: question.request.query.clone(),
        query_terms: question.analysis.terms.clone(),
        overflow: recipe.budget.overflow,
        layers: resolved.layers.into_iter().zip(order.layers).collect(),
        dropped: order.dropped,
        frame: frame(ready, question)?,
        fencing: recipe.fencing,
        seed,
        selector: recipe.selector,
        stop: recipe.stop,
        previous,
        cancel: current_cancel_flag(),
        ..PackRequest::new(resolved.tokenizer, resolved.budget)
    })
}

/// Builds the text around the sections, with today's date where the query is about dates.
fn frame(ready: &CompiledRecipe, question: &Question) -> Result<Frame, Error> {
    let mut frame = ready.frame.clone();
    if question.analysis.fields.as_ref().is_some_and(FieldQuery::is_about_dates) {
        let today = question.request.time_zone.day(question.now);
        let before = format!("{}Today is {today}.\n\n", ready.recipe.frame.before);
        frame.before = Pattern::frame(&before)?;
    }
    Ok(frame)
}

/// Measures all signals, and the late interaction with the query in layers that use it. Returns how
/// relevant the best candidates of those layers are.
async fn measure_relevance<'r>(
    question: &Question,
    recipe: &Recipe,
    rankers: &[Ranker],
    reader: FeatureReader<'r>,
    layers: &mut [Vec<Candidate>],
) -> Result<(Interaction<'r>, Relevance), Error> {
    let specs = &recipe.layers;
    measure_signals(question, specs, rankers, layers).await?;
    let by_words = |(spec, ranker): (&LayerSpec, &Ranker)| {
        let has_floor = spec.floor.is_some() || spec.relative_floor.is_some();
        has_floor || ranker.uses(Component::MaxSim)
    };
    let in_blocks = |spec: &LayerSpec| spec.order == PaymentOrder::Blocks;
    let is_for_focus = is_for_focus(question);
    let is_wanted = specs.iter().any(in_blocks) || specs.iter().zip(rankers).any(by_words);
    if !is_wanted {
        let relevance = Relevance { of_layers: vec![None; layers.len()], of_query: None };
        return Ok((Interaction::without_query(reader), relevance));
    }
    let is_for_subject = recipe.embed.contains(&QueryPart::Subject);
    let subject_says_enough =
        is_for_subject && question.subjects.main().is_some_and(subjects::is_searchable);
    let mut interaction = Interaction::new(question, reader).await?;
    let mut relevance = Relevance::default();
    for (layer, of) in layers.iter_mut().zip(specs.iter().zip(rankers)) {
        checkpoint().await;
        // Relevance by words decides nothing for a query about fields, whose matches may use other
        // words, nor for a subject with enough text to search by, whose matches need not be about
        // the prompt.
        let decides = question.matches.is_none() && !subject_says_enough;
        // Where relevance decides nothing, the first few are measured for the pack's quality.
        let ranks = of.1.uses(Component::MaxSim) || in_blocks(of.0);
        let measured = match by_words(of) {
            true if decides || ranks => interaction.measure(layer),
            true => interaction.measure(first_n(layer, QUALITY_SAMPLE)),
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

/// Returns the first `count` entries of a list, or all.
fn first_n<T>(list: &mut [T], count: usize) -> &mut [T] {
    let count = count.min(list.len());
    &mut list[..count]
}

/// Whether the query only says what to do with the focus.
fn is_for_focus(question: &Question) -> bool {
    question.focus_query.is_some() && has_no_subject(&question.analysis)
}

/// Whether any layer's score uses the reranker.
fn uses_rerank(rankers: &[Ranker]) -> bool {
    rankers.iter().any(|ranker| ranker.uses(Component::Rerank))
}

/// Returns notices about what the recipe or the tokenizer cannot do here.
fn limitation_notices(
    recipe: &Recipe,
    tokenizer: &dyn Tokenizer,
    missing: Option<&MissingSummaries>,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    match missing.map(MissingSummaries::count) {
        None if recipe.layers.iter().any(|layer| layer.summarise) => {
            let message =
                "there is no model that summarises: the most important sentences are kept instead";
            notices.push(Notice::new(NoticeCode::NotSummarised, message));
        }
        Some(count) if count > 0 => {
            let (summaries, are) =
                if count == 1 { ("summary", "is") } else { ("summaries", "are") };
            let message = format!("{count} {summaries} {are} not made yet; the pack does without");
            notices.push(Notice::new(NoticeCode::NotSummarised, message));
        }
        _ => {}
    }
    if tokenizer.accuracy() != Accuracy::Exact {
        let message = format!("tokens are an estimate by {}", tokenizer.name());
        notices.push(Notice::new(NoticeCode::EstimatedTokens, message));
    }
    notices
}

impl PreparedPack {
    /// Returns the same candidates with another budget. Budget and layers are resolved anew;
    /// nothing is collected again.
    ///
    /// # Errors
    /// When the budget is over the limit, or less than its reserves.
    pub(crate) fn with_budget(&self, total: Tokens) -> Result<PreparedPack, Error> {
        let mut other = self.clone();
        other.question.request.budget = Some(total);
        other.notices.retain(|notice| notice.code != NoticeCode::BudgetCapped);
        let question = &other.question;
        let facts = request_facts(&other.ready.recipe, &question.request, &question.subjects);
        let resolved =
            resolve_request(&other.ready, &question.request, &facts, &[], &mut other.notices)?;
        other.core.budget = resolved.budget;
        for (place, layer) in other.core.layers.iter_mut().zip(resolved.layers) {
            place.0 = layer;
        }
        Ok(other)
    }
}

/// Refuses a time range that ends before it starts.
fn check_time_range(request: &Request) -> Result<(), Error> {
    if let (Some(start), Some(end)) = request.time
        && start >= end
    {
        let message = format!("the range starts at {start} and ends at {end}, before it starts");
        return Err(Error::invalid("timeRange", message));
    }
    Ok(())
}

/// Collects the facts that a recipe's conditions can use (P17, W9).
fn request_facts(recipe: &Recipe, request: &Request, subjects: &Subjects) -> Facts {
    let text = |text: &Option<String>| json!(text.as_deref().unwrap_or_default());
    let id = |id: &Option<ItemId>| json!(id.as_ref().map_or("", ItemId::as_str));
    let mut facts = default_facts(&recipe.subjects)
        .with("type", text(&request.request_type))
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

/// Embeds texts into the query's vector, unless the request brings one.
fn query_vector(
    embedder: &dyn Embedder,
    texts: &[String],
    request: &Request,
    degrade: bool,
    notices: &mut Vec<Notice>,
) -> Result<Option<Vector>, Error> {
    if let Some(vector) = &request.vector {
        let model = embedder.model();
        let (given, dimensions) = (vector.as_slice().len(), model.dimensions);
        if given != dimensions {
            let message = format!("has {given} numbers; {model} makes {dimensions}");
            return Err(Error::invalid("vector", message));
        }
        return Ok(Some(vector.clone()));
    }
    let vectors: Result<Vec<Vector>, EmbedError> =
        texts.iter().map(|text| embedder.embed_query(text)).collect();
    let error = match vectors {
        Ok(vectors) => return Ok(mean_direction(vectors)),
        Err(error) if degrade => error_chain(&error),
        Err(error) => return Err(error.into()),
    };
    let message = format!("the query could not be embedded, so only text search was used: {error}");
    notices.push(Notice::new(NoticeCode::Degraded, message));
    Ok(None)
}

/// Returns the text and vector of the focus, to search by. Without a vector only its words are
/// searched; the failure is reported with the query's own vector.
async fn focus_search(
    models: &PackModels,
    snapshot: &dyn Snapshot,
    request: &Request,
) -> Result<Option<FocusQuery>, Error> {
    let text = focus_text(snapshot, request).await?;
    Ok(text.map(|text| FocusQuery { vector: models.embedder.embed_query(&text).ok(), text }))
}

/// Averages the directions of vectors, so that the lengths of their texts do not matter.
fn mean_direction(mut vectors: Vec<Vector>) -> Option<Vector> {
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

/// Returns the texts to embed: the query with its context, and the subject. Both count the same, so
/// that a long subject does not drown the prompt.
fn texts_to_embed(parts: &[QueryPart], request: &Request, subjects: &Subjects) -> Vec<String> {
    let (mut asked, mut about): (Vec<String>, Option<String>) = (Vec::new(), None);
    for part in parts {
        match part {
            QueryPart::Query => asked.push(request.query.clone()),
            QueryPart::Subject => about = subjects.main().map(subjects::subject_text),
            QueryPart::Situation => {
                asked.extend(request.intent.clone());
                if !request.situation.is_empty() {
                    asked.push(Value::Object(request.situation.clone()).to_string());
                }
            }
            QueryPart::History => {
                let turns = request.history.iter().rev().take(EMBEDDED_TURNS_MAX).rev();
                asked.extend(turns.map(|turn| turn.content.clone()));
            }
        }
    }
    asked.retain(|text| !text.trim().is_empty());
    let texts = std::iter::once(asked.join("\n")).chain(about);
    texts.filter(|text| !text.trim().is_empty()).collect()
}

/// Returns the components that cannot be measured for any candidate. They would be 0 in every score
/// and only fill the ledger.
fn unavailable_components(models: &PackModels, analysis: &Analysis) -> Vec<Component> {
    let none = [
        (Component::Rerank, models.reranker.is_none()),
        (Component::Timing, analysis.times.is_empty()),
    ];
    none.into_iter().filter(|(_, none)| *none).map(|(component, _)| component).collect()
}

/// Removes essential forms in layers that do not use them.
fn drop_essentials(specs: &[LayerSpec], layers: &mut [Vec<Candidate>]) {
    for (_, layer) in specs.iter().zip(layers).filter(|(spec, _)| !spec.essential) {
        layer.iter_mut().for_each(|candidate| candidate.essential = None);
    }
}

/// Puts the titles of a candidate's ancestors, and its own, before its headings (W10).
async fn add_trails(snapshot: &dyn Snapshot, layers: &mut [Vec<Candidate>]) -> Result<(), Error> {
    let mut items: Vec<ItemId> =
        layers.iter().flatten().map(|candidate| candidate.id.item.clone()).collect();
    items.sort_unstable();
    items.dedup();
    let trails = snapshot.breadcrumbs(&items).await?;
    for candidate in layers.iter_mut().flatten() {
        let Ok(at) = items.binary_search(&candidate.id.item) else { continue };
        let titles = trails[at].iter().map(|crumb| &crumb.title).chain(&candidate.place.title);
        let titles: Vec<String> =
            titles.filter(|title| !title.trim().is_empty()).cloned().collect();
        candidate.place.breadcrumb.splice(0..0, titles);
    }
    Ok(())
}
