//! Lints a recipe without any data: finds layers that are always empty, shares that leave a
//! remainder, budgets that cannot hold the pinned layers.
//!
//! A recipe with findings can be used; its author may have intended them.

mod budget;
mod collectors;
mod conditions;
mod layers;
mod range;
mod scores;

use std::fmt;
use std::sync::Arc;

use haversack_core::assemble::{Template, TemplateText, Templates};
use haversack_core::text::model;
use haversack_core::text::tokenizer::{CharacterEstimate, Encoding, Tokenizer};
use haversack_store::kinds::Kinds;

use super::{CountingSpec, LayerSpec, Places, Recipe, TemplateSpec};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Part of the recipe cannot work.
    Error,
    /// Part of the recipe probably does not do what it says.
    Warning,
    /// Useful to know.
    Remark,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
        })
    }
}

/// One finding about a recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipeFinding {
    /// How much it matters.
    pub severity: Severity,
    /// Line and column, both from 1, when it is about the recipe's own text.
    pub place: Option<(usize, usize)>,
    /// The finding.
    pub message: String,
    /// What the author can do; may be empty.
    pub help: String,
}

impl fmt::Display for RecipeFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "{line}:{column}: ")?;
        }
        write!(f, "{}: {}", self.severity, self.message)?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "; {}", self.help) }
    }
}

/// Returns all findings about a recipe, in the order of its lines.
///
/// `places` comes from [`Recipe::parse_with_places`] and may be empty. Checks of a template that is
/// not in `templates` are skipped.
#[must_use]
pub fn lint(
    recipe: &Recipe,
    places: &Places,
    templates: &Templates,
    kinds: &Kinds,
) -> Vec<RecipeFinding> {
    let mut lint = Lint { recipe, places, templates, kinds, findings: Vec::new() };
    budget::check(&mut lint);
    layers::check(&mut lint);
    collectors::check(&mut lint);
    scores::check(&mut lint);
    conditions::check(&mut lint);
    let Lint { mut findings, .. } = lint;
    findings.sort_by(|a, b| {
        let key =
            |finding: &RecipeFinding| (finding.place.is_none(), finding.place, finding.severity);
        key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
    });
    findings
}

struct Lint<'r> {
    recipe: &'r Recipe,
    places: &'r Places,
    templates: &'r Templates,
    kinds: &'r Kinds,
    findings: Vec<RecipeFinding>,
}

impl Lint<'_> {
    fn error(&mut self, path: &str, message: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Error, path, message.into(), help.into());
    }

    fn warn(&mut self, path: &str, message: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Warning, path, message.into(), help.into());
    }

    fn remark(&mut self, path: &str, message: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Remark, path, message.into(), help.into());
    }

    fn add(&mut self, severity: Severity, path: &str, message: String, help: String) {
        let place = self.places.find(path);
        self.findings.push(RecipeFinding { severity, place, message, help });
    }

    /// The template of a layer; `None` when it is not in the given templates.
    fn template(&self, layer: &LayerSpec) -> Option<Template> {
        match &layer.template {
            TemplateSpec::Named(name) => self.templates.get(name).ok().cloned(),
            TemplateSpec::Inline { header, item, separator, footer, empty } => {
                let empty = empty.as_deref();
                Template::new(TemplateText { header, item, separator, footer, empty }).ok()
            }
        }
    }

    /// The tokenizer that is used when the request does not name one.
    fn tokenizer(&self) -> Arc<dyn Tokenizer> {
        match &self.recipe.counting {
            CountingSpec::Model(name) => {
                model::find(name).map_or_else(|_| Arc::new(Encoding::O200k) as _, |m| m.tokenizer())
            }
            CountingSpec::Tokenizer(name) => match Encoding::by_name(name) {
                Some(encoding) => Arc::new(encoding),
                None => Arc::new(CharacterEstimate),
            },
        }
    }
}
