//! Item kinds: the fields of each, their meaning, and how they are rendered.
//!
//! A kind is described by its definition ([`KindSpec`]), and definitions are data: those of the
//! five applications are in `built_in/`, an application's own come from a file of the same format.
//! A kind without a definition is a plain document, whose fields are only bounded in size. Fields
//! that a definition does not name are kept but not rendered; short texts among them are searched
//! ([`Kinds::byline`]).

mod bounds;
mod check;
mod facts;
mod parse;
mod problem;
mod relations;
mod spec;
mod text;

pub use bounds::{DEPTH_MAX, JSON_BYTES_MAX, KEY_BYTES_MAX, VALUES_MAX};
pub use check::moment;
pub use facts::{Fact, FactValue, author_facts};
pub use parse::{
    DEFINITION_BYTES_MAX, DefinitionError, KIND_FIELDS_MAX, KINDS_MAX, REFERENCES_MAX,
};
pub use problem::{
    FieldErrors, FieldFault, FieldProblem, FieldWarning, Limit, PROBLEMS_MAX, StandIn,
};
pub use relations::{Relation, RelationFamily};
pub use spec::{FieldDisplay, FieldMeaning, FieldSpec, KindSpec, Type};

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

use haversack_core::item::{Kind, Trust};
use haversack_core::query::FieldRole;
use haversack_core::units::Timestamp;
use serde_json::Value;

/// The fields of an item, typed by its kind, in the order in which they were written.
pub type Fields = serde_json::Map<String, Value>;

/// The definitions that come with Haversack, application by application.
const BUILT_IN: [&str; 5] = [
    include_str!("built_in/proposal.toml"),
    include_str!("built_in/prime.toml"),
    include_str!("built_in/workspace.toml"),
    include_str!("built_in/situation.toml"),
    include_str!("built_in/names.toml"),
];

/// The kinds that a workspace knows.
#[derive(Clone, PartialEq)]
pub struct Kinds {
    specs: Vec<KindSpec>,
    /// The number of built-in kinds.
    n_built_in: usize,
    /// Field names with a known role in items of any kind.
    names: Vec<(String, FieldRole)>,
    /// Status values that mean done.
    done: BTreeSet<String>,
    /// The distinct names of reference fields.
    references: Vec<String>,
    /// A hash that identifies these definitions.
    fingerprint: String,
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kinds").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

impl Kinds {
    /// The kinds that come with Haversack.
    #[must_use]
    pub fn built_in() -> &'static Arc<Kinds> {
        static KINDS: LazyLock<Arc<Kinds>> = LazyLock::new(|| {
            let mut kinds = Kinds {
                specs: Vec::new(),
                n_built_in: 0,
                names: Vec::new(),
                done: BTreeSet::new(),
                references: Vec::new(),
                fingerprint: String::new(),
            };
            for source in BUILT_IN {
                kinds.add(source).expect("a test reads every built-in definition");
            }
            kinds.n_built_in = kinds.specs.len();
            Arc::new(kinds)
        });
        &KINDS
    }

    /// The built-in kinds and those that an application defines in TOML.
    ///
    /// # Errors
    /// What is wrong with the definitions, by line or by kind and field.
    pub fn with(source: &str) -> Result<Kinds, DefinitionError> {
        let mut kinds = Kinds::clone(Kinds::built_in());
        kinds.add(source)?;
        Ok(kinds)
    }

    fn add(&mut self, source: &str) -> Result<(), DefinitionError> {
        let mut definitions = parse::read(source)?;
        for spec in definitions.kinds()? {
            if self.specs.iter().any(|known| known.name == spec.name) {
                let message = format!("kind.{}: there is a built-in kind of that name", spec.name);
                return Err(DefinitionError(message));
            }
            self.specs.push(spec);
        }
        for (fact, names) in definitions.fields {
            self.names.extend(names.iter().map(|name| (facts::normalise_name(name), fact.role())));
        }
        self.done.extend(definitions.states.done.iter().map(|state| state.trim().to_lowercase()));
        let reference = |field: &&FieldSpec| field.value == Type::Reference;
        let names = self.specs.iter().flat_map(|spec| &spec.fields).filter(reference);
        let references: BTreeSet<String> = names.map(|field| field.name.clone()).collect();
        if references.len() > REFERENCES_MAX {
            let count = references.len();
            let message = format!(
                "{count} names of fields of type reference, the built-in ones included, are over the \
                 limit of {REFERENCES_MAX}: give the same name to fields that say the same"
            );
            return Err(DefinitionError(message));
        }
        self.references = references.into_iter().collect();
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.fingerprint.as_bytes()).update(source.as_bytes());
        self.fingerprint = hasher.finalize().to_hex()[..16].to_owned();
        Ok(())
    }

    /// Every defined kind, the built-in ones first.
    #[must_use]
    pub fn all(&self) -> &[KindSpec] {
        &self.specs
    }

    /// The kinds that an application defined.
    #[must_use]
    pub fn own(&self) -> &[KindSpec] {
        &self.specs[self.n_built_in..]
    }

    /// The definition of a kind; `None` for a plain document.
    #[must_use]
    pub fn find(&self, kind: &Kind) -> Option<&KindSpec> {
        self.specs.iter().find(|spec| spec.name == kind.as_str())
    }

    fn fields_of(&self, kind: &Kind) -> &[FieldSpec] {
        self.find(kind).map_or(&[], |spec| &spec.fields)
    }

    /// The reference fields of all kinds, such as `threadId`. They are indexed.
    #[must_use]
    pub fn references(&self) -> &[String] {
        &self.references
    }

    /// A hash that identifies these definitions.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether a workspace has at most one item of this kind (P5, P6).
    #[must_use]
    pub fn single(&self, kind: &Kind) -> bool {
        self.find(kind).is_some_and(|spec| spec.single)
    }

    /// The subtype of an item, for kinds with a type field.
    #[must_use]
    pub fn subtype<'f>(&self, kind: &Kind, fields: &'f Fields) -> Option<&'f str> {
        let by_role = |field: &&FieldSpec| field.role == Some(FieldMeaning::Fact(FieldRole::Type));
        let specs = self.fields_of(kind);
        let field = specs.iter().find(by_role).or_else(|| self.find(kind)?.field("type"))?;
        fields.get(&field.name)?.as_str().filter(|subtype| !subtype.trim().is_empty())
    }

    /// Whether items of this kind give instructions to the model (X11).
    #[must_use]
    pub fn guides(&self, kind: &Kind) -> bool {
        self.find(kind).is_some_and(|spec| spec.guidance)
    }

    /// Whether only trusted writers may write items of this kind: those that instruct models, and those that
    /// the engine makes itself (X11).
    #[must_use]
    pub fn needs_trusted_writer(&self, kind: &Kind) -> bool {
        self.find(kind).is_some_and(|spec| spec.guidance || spec.generated)
    }

    /// Whether items of a kind describe one moment, so that they age from their creation.
    #[must_use]
    pub fn is_said_once(&self, kind: &Kind) -> bool {
        self.find(kind).is_some_and(|spec| spec.said_once)
    }

    /// The default trust of an item from a trusted writer.
    #[must_use]
    pub fn usual_trust(&self, kind: &Kind) -> Trust {
        if self.guides(kind) { Trust::Trusted } else { Trust::Internal }
    }

    /// Reads item properties from the fields. Values of the wrong type are ignored.
    #[must_use]
    pub fn implied(&self, kind: &Kind, fields: &Fields) -> Implied {
        let mut implied = Implied::default();
        for field in self.fields_of(kind) {
            let (Some(role), Some(value)) = (field.role, fields.get(&field.name)) else { continue };
            match role {
                FieldMeaning::Name | FieldMeaning::Fact(_) => {}
                FieldMeaning::Active => implied.active = value.as_bool(),
                FieldMeaning::Created => implied.created = moment(value),
                FieldMeaning::Updated => implied.updated = moment(value),
                FieldMeaning::Confidence => {
                    implied.confidence = value.as_f64().filter(|value| (0.0..=1.0).contains(value));
                }
            }
        }
        implied
    }
}

/// Item properties that were read from fields.
///
/// They are applied on write, so that `isActive: false` hides a battlecard (P9).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Implied {
    /// Whether it may appear.
    pub active: Option<bool>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When it was last changed.
    pub updated: Option<Timestamp>,
    /// The confidence in its content, from 0 to 1.
    pub confidence: Option<f64>,
}

#[cfg(test)]
mod tests;
