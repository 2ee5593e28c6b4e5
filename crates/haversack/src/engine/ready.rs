//! A compiled recipe: its templates, rankers and conditions are parsed once for many requests.

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
pub(crate) struct CompiledRecipe {
    pub(crate) recipe: Arc<Recipe>,
    /// A hash of the recipe's source, its templates and rankers included.
    pub(crate) hash: String,
    /// The template of each layer.
    pub(crate) templates: Vec<Template>,
    /// The ranker of each layer.
    pub(crate) rankers: Vec<Ranker>,
    pub(crate) frame: Frame,
    /// The words that queries about fields use.
    pub(crate) vocabulary: Vocabulary,
    /// Whether the recipe shows breadcrumbs.
    shows_trails: bool,
    /// The templates that requests may name.
    pub(crate) named_templates: Templates,
    pub(crate) named_rankers: BTreeMap<String, Ranker>,
    /// The application's own tokenizers.
    pub(crate) named_tokenizers: BTreeMap<String, Arc<dyn Tokenizer>>,
}

impl fmt::Debug for CompiledRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledRecipe").field("recipe", &self.recipe.name).finish_non_exhaustive()
    }
}

impl CompiledRecipe {
    /// Parses the recipe's templates, rankers and frame.
    ///
    /// # Errors
    /// When a template, ranker or condition is missing or does not parse.
    pub(crate) fn new(
        recipe: Recipe,
        named_templates: Templates,
        named_rankers: BTreeMap<String, Ranker>,
    ) -> Result<CompiledRecipe, Error> {
        let mut templates = Vec::with_capacity(recipe.layers.len());
        let mut rankers = Vec::with_capacity(recipe.layers.len());
        for (layer, index) in recipe.layers.iter().zip(0..) {
            let field = format!("layer[{index}].score");
            templates.push(resolve_template(&layer.template, &named_templates)?);
            rankers.push(resolve_ranker(&layer.score, &field, &named_rankers)?);
        }
        let frame = Frame {
            before: Pattern::frame(&recipe.frame.before)?,
            after: Pattern::frame(&recipe.frame.after)?,
        };
        // A workspace's blocks are listed with their breadcrumbs (W10).
        let shows_trails =
            recipe.shape == Shape::Workspace || templates.iter().any(shows_breadcrumbs);
        let hash = recipe_hash(&recipe, &templates, &rankers);
        let mut vocabulary = Vocabulary::default();
        for (name, phrases) in &recipe.words {
            for phrase in phrases {
                if !vocabulary.add(name, phrase) {
                    let message = format!("the vocabulary has no room for {phrase:?}");
                    return Err(Error::invalid(format!("words.{name}"), message));
                }
            }
        }
        let recipe = Arc::new(recipe);
        Ok(CompiledRecipe {
            recipe,
            hash,
            templates,
            rankers,
            frame,
            vocabulary,
            shows_trails,
            named_templates,
            named_rankers,
            named_tokenizers: BTreeMap::new(),
        })
    }

    /// Whether the recipe's templates, or those that a request uses instead, show breadcrumbs.
    pub(crate) fn shows_trails<'t>(
        &self,
        mut templates: impl Iterator<Item = &'t Template>,
    ) -> bool {
        self.shows_trails || templates.any(shows_breadcrumbs)
    }
}

fn shows_breadcrumbs(template: &Template) -> bool {
    template.shows(Variable::Breadcrumb)
}

/// Hashes the recipe's TOML form with the sources of its templates and rankers.
fn recipe_hash(recipe: &Recipe, templates: &[Template], rankers: &[Ranker]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        // The length keeps different lists of texts from having the same bytes.
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    };
    add(&recipe.to_toml());
    templates.iter().flat_map(Template::sources).for_each(|part| add(&part));
    rankers.iter().for_each(|ranker| add(&ranker.source()));
    hasher.finalize().to_hex()[..16].to_owned()
}

fn resolve_template(spec: &TemplateSpec, named: &Templates) -> Result<Template, Error> {
    Ok(match spec {
        TemplateSpec::Named(name) => named.get(name)?.clone(),
        TemplateSpec::Inline { header, item, separator, footer, empty } => {
            let empty = empty.as_deref();
            Template::new(TemplateText { header, item, separator, footer, empty })?
        }
    })
}

fn resolve_ranker(
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
        ScoreSpec::Expression(source) => expression_ranker(source, field),
        ScoreSpec::Named(name) => ranker_by_name(name, field, named),
    }
}

/// Parses an expression into a ranker.
pub(crate) fn expression_ranker(source: &str, field: &str) -> Result<Ranker, Error> {
    let parsed = Expression::new(source);
    Ok(Ranker::Expression(parsed.map_err(|error| Error::invalid(field, error.to_string()))?))
}

/// Looks up a ranker by its name.
pub(crate) fn ranker_by_name(
    name: &str,
    field: &str,
    named: &BTreeMap<String, Ranker>,
) -> Result<Ranker, Error> {
    named.get(name).cloned().ok_or_else(|| {
        let registered = named.keys().map(String::as_str);
        let names: Vec<&str> = RANKERS.iter().map(|(name, _)| *name).chain(registered).collect();
        let names = names.join(", ");
        Error::invalid(field, format!("there is no ranker {name:?}; there are {names}"))
    })
}
