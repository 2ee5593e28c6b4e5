//! Resolves a request against its recipe: tokenizer, budget, layers and rankers.

use std::collections::BTreeMap;
use std::sync::Arc;

use haversack_core::assemble::Template;
use haversack_core::budget::Budget;
use haversack_core::layer::{Claim, Cut, Layer, Order};
use haversack_core::rank::{Component, Ranker, Scoring, WeightError};
use haversack_core::text::model;
use haversack_core::text::spelling;
use haversack_core::text::tokenizer::{CharacterEstimate, Encoding, Tokenizer};
use haversack_core::units::{Score, Share, Tokens};

use crate::condition::Facts;
use crate::engine::CompiledRecipe;
use crate::engine::ready::{expression_ranker, ranker_by_name};
use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{CountingSpec, LayerSpec, Shape};
use crate::request::{RankerChoice, Request, TemplateChoice};

/// Most tokens of a budget.
pub const BUDGET_MAX: u32 = 10_000_000;

/// Highest priority of a layer.
const PRIORITY_MAX: f64 = 100.0;

type Tokenizers = BTreeMap<String, Arc<dyn Tokenizer>>;

/// The wire field that holds the budget in requests of a shape.
const fn budget_field(shape: Shape) -> &'static str {
    match shape {
        Shape::Proposal => "targetBudget",
        Shape::Situation => "maxTokens",
        _ => "tokenBudget",
    }
}

/// The tokenizer, budget, layers and rankers of one request.
#[derive(Debug)]
pub(crate) struct ResolvedRequest {
    pub(crate) tokenizer: Arc<dyn Tokenizer>,
    pub(crate) budget: Budget,
    /// The layers of this request, in the recipe's order.
    pub(crate) layers: Vec<Layer>,
    pub(crate) rankers: Vec<Ranker>,
}

/// Resolves budget, layers and rankers from recipe, request and facts.
pub(crate) fn resolve_request(
    ready: &CompiledRecipe,
    request: &Request,
    facts: &Facts,
    absent: &[Component],
    notices: &mut Vec<Notice>,
) -> Result<ResolvedRequest, Error> {
    let recipe = &ready.recipe;
    let (tokenizer, most) = resolve_tokenizer(&recipe.counting, request, &ready.named_tokenizers)?;
    let mut plan = AdaptedBudget::new(ready);
    plan.apply_adaptations(ready, facts)?;
    let wanted = request.budget.unwrap_or(plan.total);
    if !(1..=BUDGET_MAX).contains(&wanted.get()) {
        let message = format!("{wanted} is not a number of tokens from 1 to {BUDGET_MAX}");
        return Err(Error::invalid(budget_field(recipe.shape), message));
    }
    let total = most.map_or(wanted, |most| most.min(wanted));
    if total < wanted {
        let model = request.model.as_deref().unwrap_or_default();
        let message = format!("{model} has room for {total} tokens of context, not {wanted}");
        notices.push(Notice::new(NoticeCode::BudgetCapped, message));
    }
    let budget = resolve_budget(recipe.budget.reserves.as_slice(), request, total)?;
    plan.apply_request(request)?;
    let template = requested_template(ready, request)?;
    let layers = recipe
        .layers
        .iter()
        .enumerate()
        .map(|(index, spec)| {
            let mut template = template.clone().unwrap_or_else(|| ready.templates[index].clone());
            if request.metadata {
                template = template.with_metadata();
            }
            let mut layer = make_layer(spec, &template, plan.shares[index], plan.caps[index]);
            if request.ranker.is_some() && layer.order == Order::Blocks {
                // The order of a requested ranker holds, not that of the best blocks.
                layer.order = Order::Rank;
            }
            layer
        })
        .collect();
    let without =
        |ranker: Ranker| absent.iter().fold(ranker, |ranker, &component| ranker.without(component));
    let rankers = resolve_rankers(ready, request)?.into_iter().map(without).collect();
    Ok(ResolvedRequest { tokenizer, budget, layers, rankers })
}

/// Resolves the tokenizer, and the model's context size when a model is named.
fn resolve_tokenizer(
    spec: &CountingSpec,
    request: &Request,
    own: &Tokenizers,
) -> Result<(Arc<dyn Tokenizer>, Option<Tokens>), Error> {
    let by_model = |name: &str| {
        let model =
            model::find(name).map_err(|error| Error::invalid("model", error.to_string()))?;
        Ok((model.tokenizer(), Some(model.context_max())))
    };
    let by_name = |name: &str| Ok((tokenizer_by_name(name, own)?, None));
    match (&request.model, &request.tokenizer, spec) {
        (Some(model), None, _) => by_model(model),
        (Some(model), Some(name), _) => {
            let (_, most): (Arc<dyn Tokenizer>, _) = by_model(model)?;
            Ok((tokenizer_by_name(name, own)?, most))
        }
        (None, Some(name), _) => by_name(name),
        (None, None, CountingSpec::Model(model)) => by_model(model),
        (None, None, CountingSpec::Tokenizer(name)) => by_name(name),
    }
}

/// Finds the tokenizer of a model or by name; `o200k_base` without either.
///
/// # Errors
/// When there is no such model or tokenizer.
pub(crate) fn find_tokenizer(
    model: Option<&str>,
    name: Option<&str>,
    own: &Tokenizers,
) -> Result<Arc<dyn Tokenizer>, Error> {
    match (model, name) {
        (_, Some(name)) => tokenizer_by_name(name, own),
        (Some(name), None) => {
            let model = model::find(name);
            Ok(model.map_err(|error| Error::invalid("model", error.to_string()))?.tokenizer())
        }
        (None, None) => Ok(Arc::new(Encoding::O200k)),
    }
}

/// Looks up a tokenizer by name: the application's own, or a built-in one.
fn tokenizer_by_name(name: &str, own: &Tokenizers) -> Result<Arc<dyn Tokenizer>, Error> {
    if let Some(tokenizer) = own.get(name) {
        return Ok(Arc::clone(tokenizer));
    }
    if let Some(encoding) = Encoding::by_name(name) {
        return Ok(Arc::new(encoding));
    }
    if name == CharacterEstimate.name() {
        return Ok(Arc::new(CharacterEstimate));
    }
    let mut names: Vec<&str> = own.keys().map(String::as_str).collect();
    names.extend(Encoding::ALL.iter().map(Encoding::name));
    names.push(CharacterEstimate.name());
    let message = format!("there is no tokenizer {name:?}; there are {}", names.join(", "));
    Err(Error::invalid("tokenizer", message))
}

fn resolve_budget(
    reserves: &[(String, Tokens)],
    request: &Request,
    total: Tokens,
) -> Result<Budget, Error> {
    for name in request.reserves.keys() {
        if !reserves.iter().any(|(known, _)| known == name) {
            let names = reserves.iter().map(|(name, _)| name.as_str());
            return Err(Error::invalid(
                format!("reserves.{name}"),
                unknown_name_message("reserve", name, names),
            ));
        }
    }
    let too_large = request.reserves.iter().find(|(_, size)| size.get() > BUDGET_MAX);
    if let Some((name, reserve)) = too_large {
        let message = format!("{reserve} tokens are over the limit, {BUDGET_MAX}");
        return Err(Error::invalid(format!("reserves.{name}"), message));
    }
    let size = |(name, tokens): &(String, Tokens)| {
        (name.clone(), *request.reserves.get(name).unwrap_or(tokens))
    };
    // Packing refuses reserves that leave too little: it knows the least budget that works.
    Ok(Budget::with_reserves(total, reserves.iter().map(size).collect()))
}

/// A recipe's budget, shares and caps, adapted to one request.
struct AdaptedBudget<'r> {
    specs: &'r [LayerSpec],
    total: Tokens,
    shares: Vec<Share>,
    caps: Vec<Option<Tokens>>,
}

impl<'r> AdaptedBudget<'r> {
    fn new(ready: &'r CompiledRecipe) -> AdaptedBudget<'r> {
        let specs = &ready.recipe.layers;
        AdaptedBudget {
            specs,
            total: ready.recipe.budget.total,
            shares: specs.iter().map(|layer| layer.share).collect(),
            caps: specs.iter().map(|layer| layer.cap).collect(),
        }
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.specs.iter().position(|layer| layer.name == name)
    }

    /// Applies every adaptation whose condition holds, in order (P17, W9).
    fn apply_adaptations(&mut self, ready: &CompiledRecipe, facts: &Facts) -> Result<(), Error> {
        let adaptations = ready.recipe.adaptations(facts);
        for adapt in adaptations.map_err(|error| Error::invalid("adapt", error.to_string()))? {
            self.total = adapt.total.unwrap_or(self.total);
            for (name, share) in &adapt.shares {
                if let Some(index) = self.index(name) {
                    self.shares[index] = *share;
                }
            }
            for (name, cap) in &adapt.caps {
                if let Some(index) = self.index(name) {
                    self.caps[index] = Some(*cap);
                }
            }
        }
        Ok(())
    }

    /// Applies the request's own caps and priorities.
    fn apply_request(&mut self, request: &Request) -> Result<(), Error> {
        for (name, cap) in &request.caps {
            let index = self.index_in_field("caps", name)?;
            self.caps[index] = Some(*cap);
        }
        let sum = |shares: &[Share]| -> f64 {
            shares.iter().map(|share| f64::from(share.millionths())).sum()
        };
        let before = sum(&self.shares);
        let mut wanted: Vec<f64> =
            self.shares.iter().map(|share| f64::from(share.millionths())).collect();
        let least = wanted.iter().copied().filter(|share| *share > 0.0).fold(f64::MAX, f64::min);
        for (name, &priority) in &request.priorities {
            let index = self.index_in_field("priorities", name)?;
            if !(0.0..=PRIORITY_MAX).contains(&priority) {
                let field = format!("priorities.{name}");
                let message = format!("{priority} is not a number from 0 to {PRIORITY_MAX}");
                return Err(Error::invalid(field, message));
            }
            #[expect(clippy::float_cmp, reason = "as usual is exactly one")]
            if self.specs[index].pinned && priority != 1.0 {
                let message = "is pinned and always whole: its priority can only be 1";
                return Err(Error::invalid(format!("priorities.{name}"), message));
            }
            if wanted[index] == 0.0 && before > 0.0 {
                // Without a share it gets what others leave; a priority above 1 gives it a share.
                wanted[index] = least * (priority - 1.0).max(0.0);
            } else {
                wanted[index] *= priority;
            }
            if priority == 0.0 {
                self.caps[index] = Some(Tokens::ZERO);
            }
        }
        let after: f64 = wanted.iter().sum();
        if !request.priorities.is_empty() && after > 0.0 {
            // The sum of all shares stays the same.
            for (share, wanted) in self.shares.iter_mut().zip(&wanted) {
                let part = (wanted / after * before).floor() / 1_000_000.0;
                *share = Share::fraction(part.clamp(0.0, 1.0)).unwrap_or(Share::ZERO);
            }
        }
        self.scale_shares_to_fit();
        Ok(())
    }

    /// Scales the shares down where adaptations together give out more than all.
    fn scale_shares_to_fit(&mut self) {
        let all = u64::from(Share::ALL.millionths());
        let sum: u64 = self.shares.iter().map(|share| u64::from(share.millionths())).sum();
        for share in self.shares.iter_mut().filter(|_| sum > all) {
            let part = u64::from(share.millionths()) * all / sum;
            let part = f64::from(u32::try_from(part).unwrap_or(0)) / 1_000_000.0;
            *share = Share::fraction(part).unwrap_or(Share::ZERO);
        }
    }

    fn index_in_field(&self, field: &str, name: &str) -> Result<usize, Error> {
        self.index(name).ok_or_else(|| {
            let names = self.specs.iter().map(|layer| layer.name.as_str());
            Error::invalid(format!("{field}.{name}"), unknown_name_message("layer", name, names))
        })
    }
}

/// Says that a name does not exist, with the nearest existing name or all of them.
fn unknown_name_message<'n>(
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'n str>,
) -> String {
    let names: Vec<&str> = names.collect();
    let pairs = names.iter().map(|name| (*name, *name));
    let near = spelling::nearest(name, pairs);
    match near.first() {
        Some(near) => format!("there is no {what} {name:?}; did you mean {near:?}?"),
        None => format!("there is no {what} {name:?}; there are {}", names.join(", ")),
    }
}

fn make_layer(spec: &LayerSpec, template: &Template, share: Share, cap: Option<Tokens>) -> Layer {
    Layer {
        name: spec.name.as_str().into(),
        title: spec.title.clone(),
        claim: if spec.pinned { Claim::Pinned } else { Claim::Share(share) },
        cap,
        spill: spec.spill,
        order: spec.order,
        cut: spec.cut.map(|strategy| Cut { strategy, least: spec.least }),
        arrangement: spec.arrange,
        stability: spec.stability,
        kind_cap: spec.kind_cap,
        fencing: spec.fencing,
        template: template.clone(),
    }
}

/// Returns the template that the request asks for, if any (M8).
fn requested_template(
    ready: &CompiledRecipe,
    request: &Request,
) -> Result<Option<Template>, Error> {
    Ok(match &request.template {
        None => None,
        Some(TemplateChoice::Named(name)) => Some(ready.named_templates.get(name)?.clone()),
        Some(TemplateChoice::Given { template, .. }) => Some(template.parse()?),
    })
}

/// Makes the ranker `default`: similarity, recency and confidence, with the request's weights if it
/// has any (M6).
fn default_ranker(request: &Request) -> Result<Ranker, Error> {
    let weights = request.ranking.unwrap_or_default();
    let weights = [
        (Component::Semantic, weights.similarity),
        (Component::Recency, weights.recency),
        (Component::Confidence, weights.confidence),
    ];
    let scoring = Scoring::new(Score::ZERO, &weights);
    let wrong = |error: WeightError| Error::invalid("rankingOptions", error.to_string());
    Ok(Ranker::Sum(scoring.map_err(wrong)?))
}

/// Returns each layer's ranker, or the one that the request asks for (M6).
fn resolve_rankers(ready: &CompiledRecipe, request: &Request) -> Result<Vec<Ranker>, Error> {
    let one = match &request.ranker {
        None => return Ok(ready.rankers.clone()),
        Some(RankerChoice::Given(ranker)) => ranker.clone(),
        Some(RankerChoice::Expression(source)) => expression_ranker(source, "ranker")?,
        Some(RankerChoice::Named(name)) => match name.as_str() {
            "default" => default_ranker(request)?,
            "bySimilarity" => Ranker::Sum(Scoring::by(Component::Semantic)),
            "byRecency" => Ranker::Sum(Scoring::by(Component::Recency)),
            "byConfidence" => Ranker::Sum(Scoring::by(Component::Confidence)),
            name => ranker_by_name(name, "ranker", &ready.named_rankers)?,
        },
    };
    Ok(vec![one; ready.rankers.len()])
}
