//! A recipe made ready: its templates, rankers and conditions parsed once, for many requests.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use haversack_core::assemble::{Pattern, Template, TemplateText, Templates, Variable};
use haversack_core::pack::Frame;
use haversack_core::query::Vocabulary;
use haversack_core::rank::{Expression, Ranker, Scoring};
use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::Score;

use crate::error::Error;
use crate::recipe::words::RANKERS;
use crate::recipe::{Recipe, ScoreSpec, Shape, TemplateSpec};

/// A recipe with everything in it parsed.
pub(crate) struct Ready {
    pub(crate) recipe: Arc<Recipe>,
    /// A hash of all that makes the recipe what it is, templates and rankers included.
    pub(crate) hash: String,
    /// One for each layer.
    pub(crate) templates: Vec<Template>,
    /// One for each layer.
    pub(crate) rankers: Vec<Ranker>,
    pub(crate) frame: Frame,
    /// The words by which questions about fields are read.
    pub(crate) vocabulary: Vocabulary,
    /// Whether the recipe shows what items hang under.
    wants_trails: bool,
    /// All that requests may name.
    pub(crate) named_templates: Templates,
    pub(crate) named_rankers: BTreeMap<String, Ranker>,
    /// Tokenizers of the application's own.
    pub(crate) named_tokenizers: BTreeMap<String, Arc<dyn Tokenizer>>,
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").field("recipe", &self.recipe.name).finish_non_exhaustive()
    }
}

impl Ready {
    /// Parses what the recipe holds.
    ///
    /// # Errors
    /// When a template, ranker or condition is missing or does not parse.
    pub(crate) fn new(
        recipe: Recipe,
        named_templates: Templates,
        named_rankers: BTreeMap<String, Ranker>,
    ) -> Result<Ready, Error> {
        let mut templates = Vec::with_capacity(recipe.layers.len());
        let mut rankers = Vec::with_capacity(recipe.layers.len());
        for (layer, index) in recipe.layers.iter().zip(0..) {
            let field = format!("layer[{index}].score");
            templates.push(template(&layer.template, &named_templates)?);
            rankers.push(ranker(&layer.score, &field, &named_rankers)?);
        }
        let frame = Frame {
            before: Pattern::frame(&recipe.frame.before)?,
            after: Pattern::frame(&recipe.frame.after)?,
        };
        // The blocks of a workspace are told with their paths (W10).
        let wants_trails =
            recipe.shape == Shape::Workspace || templates.iter().any(shows_breadcrumbs);
        let hash = hash(&recipe, &templates, &rankers);
        let mut vocabulary = Vocabulary::default();
        for (name, phrases) in &recipe.words {
            for phrase in phrases {
                if !vocabulary.add(name, phrase) {
                    let message = format!("there is no room for {phrase:?}");
                    return Err(Error::invalid(format!("words.{name}"), message));
                }
            }
        }
        let recipe = Arc::new(recipe);
        Ok(Ready {
            recipe,
            hash,
            templates,
            rankers,
            frame,
            vocabulary,
            wants_trails,
            named_templates,
            named_rankers,
            named_tokenizers: BTreeMap::new(),
        })
    }

    /// Whether what items hang under is shown, by the recipe's templates or by those that a request
    /// has in their place.
    pub(crate) fn wants_trails<'t>(
        &self,
        mut templates: impl Iterator<Item = &'t Template>,
    ) -> bool {
        self.wants_trails || templates.any(shows_breadcrumbs)
    }
}

fn shows_breadcrumbs(template: &Template) -> bool {
    template.shows(Variable::Breadcrumb)
}

/// Every field of a recipe shows in its `Debug` form, and so do those of its templates.
fn hash(recipe: &Recipe, templates: &[Template], rankers: &[Ranker]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        // With its length, so that no two lists of texts are the same bytes.
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    };
    add(&recipe.to_toml());
    templates.iter().flat_map(Template::sources).for_each(|part| add(&part));
    rankers.iter().for_each(|ranker| add(&ranker.source()));
    hasher.finalize().to_hex()[..16].to_owned()
}

fn template(spec: &TemplateSpec, named: &Templates) -> Result<Template, Error> {
    Ok(match spec {
        TemplateSpec::Named(name) => named.get(name)?.clone(),
        TemplateSpec::Inline { header, item, separator, footer, empty } => {
            let empty = empty.as_deref();
            Template::new(TemplateText { header, item, separator, footer, empty })?
        }
    })
}

fn ranker(
    spec: &ScoreSpec,
    field: &str,
    named: &BTreeMap<String, Ranker>,
) -> Result<Ranker, Error> {
    match spec {
        ScoreSpec::Weights { base, weights } => {
            let base = Score::new(*base).unwrap_or(Score::ZERO);
            let scoring = Scoring::new(base, weights);
            Ok(Ranker::Sum(scoring.map_err(|error| Error::invalid(field, error.to_string()))?))
        }
        ScoreSpec::Expression(source) => expression(source, field),
        ScoreSpec::Named(name) => named_ranker(name, field, named),
    }
}

/// A ranker made from an expression.
pub(crate) fn expression(source: &str, field: &str) -> Result<Ranker, Error> {
    let parsed = Expression::new(source);
    Ok(Ranker::Expression(parsed.map_err(|error| Error::invalid(field, error.to_string()))?))
}

/// A ranker by its name.
pub(crate) fn named_ranker(
    name: &str,
    field: &str,
    named: &BTreeMap<String, Ranker>,
) -> Result<Ranker, Error> {
    named.get(name).cloned().ok_or_else(|| {
        let own = named.keys().map(String::as_str);
        let names: Vec<&str> = RANKERS.iter().map(|(name, _)| *name).chain(own).collect();
        let there = names.join(", ");
        Error::invalid(field, format!("there is no ranker {name:?}; there are {there}"))
    })
}
