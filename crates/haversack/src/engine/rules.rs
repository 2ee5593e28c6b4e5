//! A workspace's recipes, templates and rankers: its own before the built-in ones, each compiled
//! once (P14, X6, M6, M8).

use std::collections::BTreeMap;
use std::sync::Arc;

use haversack_core::assemble::{Template, TemplateText, Templates};
use haversack_core::rank::Ranker;
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::item::{DocumentKind, Record};
use haversack_store::store::viewer::Viewer;
use serde::{Deserialize, Serialize};

use super::ready::expression_ranker;
use super::{CompiledRecipe, Workspace};
use crate::error::Error;
use crate::recipe::{Recipe, RecipeRegistry};
use crate::request::TemplateChoice;

/// Most templates or rankers that a workspace may store.
const NAMED_MAX: usize = 1_000;

/// A template, as it is stored and as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Template"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeptTemplate {
    /// The name under which the answer reports the template of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Text before the items.
    #[serde(default)]
    pub header: String,
    /// The form of one item, with variables such as `{{content}}`. `memoryFormat` is an alias.
    #[serde(alias = "memoryFormat")]
    pub item: String,
    /// Text between two items.
    #[serde(default)]
    pub separator: String,
    /// Text after the items.
    #[serde(default)]
    pub footer: String,
    /// Text that replaces the whole section when there are no items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
    /// Whether type, confidence and time are added after a text whose template shows none of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_metadata: bool,
}

impl KeptTemplate {
    /// Parses the template.
    ///
    /// # Errors
    /// When a part does not parse.
    pub fn parse(&self) -> Result<Template, Error> {
        let template = Template::new(self.text())?;
        Ok(if self.include_metadata { template.with_metadata() } else { template })
    }

    /// The template's parts.
    #[must_use]
    pub fn text(&self) -> TemplateText<'_> {
        TemplateText {
            header: &self.header,
            item: &self.item,
            separator: &self.separator,
            footer: &self.footer,
            empty: self.empty.as_deref(),
        }
    }
}

/// A template: the name of a registered one, or the template itself (M8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TemplateOrName"))]
#[serde(untagged)]
pub enum WireTemplate {
    /// The name of a built-in or registered template.
    Name(String),
    /// The template itself.
    Given(KeptTemplate),
}

impl From<&str> for WireTemplate {
    fn from(name: &str) -> WireTemplate {
        WireTemplate::Name(name.to_owned())
    }
}

impl WireTemplate {
    pub(crate) fn to_choice(&self) -> TemplateChoice {
        match self {
            WireTemplate::Name(name) => TemplateChoice::Named(name.clone()),
            WireTemplate::Given(template) => {
                let name = template.name.clone().unwrap_or_else(|| "inline".to_owned());
                TemplateChoice::Given { name, template: template.clone() }
            }
        }
    }

    pub(crate) fn from_choice(choice: &TemplateChoice) -> WireTemplate {
        match choice {
            TemplateChoice::Named(name) => WireTemplate::Name(name.clone()),
            TemplateChoice::Given { template, .. } => WireTemplate::Given(template.clone()),
        }
    }
}

impl Workspace {
    /// Stores a recipe under a name, if it can be used (X6).
    ///
    /// # Errors
    /// When the recipe has problems, which are all listed, or cannot be written.
    pub async fn put_recipe(&self, name: &str, source: &str) -> Result<(), Error> {
        let (templates, rankers) = self.named_templates_and_rankers().await?;
        let registry = self.names_for_recipe(name, source, &templates, &rankers).await?;
        let recipe = Recipe::parse(name, source, &registry)?;
        CompiledRecipe::new(recipe, templates, rankers)?;
        self.write_document(DocumentKind::Recipe, name, source.to_owned()).await
    }

    /// Stores a template under a name (M8).
    ///
    /// # Errors
    /// When it does not parse, its name is not valid, or it cannot be written.
    pub async fn put_template(&self, name: &str, text: TemplateText<'_>) -> Result<(), Error> {
        let kept = KeptTemplate {
            name: None,
            header: text.header.to_owned(),
            item: text.item.to_owned(),
            separator: text.separator.to_owned(),
            footer: text.footer.to_owned(),
            empty: text.empty.map(str::to_owned),
            include_metadata: false,
        };
        self.put_stored_template(name, &kept).await
    }

    /// Stores a template in its JSON form under a name (M8).
    ///
    /// # Errors
    /// As [`Workspace::put_template`].
    pub async fn put_stored_template(&self, name: &str, kept: &KeptTemplate) -> Result<(), Error> {
        Templates::default().register(name, kept.parse()?)?;
        let json = serde_json::to_string(kept);
        let json = json.map_err(|error| Error::invalid("template", error.to_string()))?;
        self.write_document(DocumentKind::Template, name, json).await
    }

    /// Stores a ranker, an expression, under a name (M6).
    ///
    /// # Errors
    /// When it does not parse or cannot be written.
    pub async fn put_ranker(&self, name: &str, source: &str) -> Result<(), Error> {
        expression_ranker(source, "ranker")?;
        self.write_document(DocumentKind::Ranker, name, source.to_owned()).await
    }

    async fn write_document(
        &self,
        document_kind: DocumentKind,
        name: &str,
        text: String,
    ) -> Result<(), Error> {
        let at = self.now();
        let record = Record { document_kind, name: name.to_owned(), text, at };
        self.write(Batch::new(at, vec![Change::PutRecord(record)])).await?;
        Ok(())
    }

    /// Returns the text of a stored recipe, template or ranker.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn stored_document(
        &self,
        document_kind: DocumentKind,
        name: &str,
    ) -> Result<Option<String>, Error> {
        let snapshot = self.store().snapshot(&Viewer::anyone()).await?;
        Ok(snapshot.record(document_kind, name).await?.map(|record| record.text))
    }

    /// Lists the names of the workspace's own recipes, templates or rankers.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn stored_names(&self, document_kind: DocumentKind) -> Result<Vec<String>, Error> {
        let snapshot = self.store().snapshot(&Viewer::anyone()).await?;
        Ok(snapshot.records(document_kind, None, NAMED_MAX).await?)
    }

    /// Removes a stored recipe, template or ranker.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn remove_document(
        &self,
        document_kind: DocumentKind,
        name: &str,
    ) -> Result<(), Error> {
        self.write(Batch::new(
            self.now(),
            vec![Change::RemoveRecord(document_kind, name.to_owned())],
        ))
        .await?;
        Ok(())
    }

    /// Lists the names of the recipes that can be used here, sorted.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn recipes(&self) -> Result<Vec<String>, Error> {
        let snapshot = self.store().snapshot(&Viewer::anyone()).await?;
        let mut names = snapshot.records(DocumentKind::Recipe, None, NAMED_MAX).await?;
        names.extend(self.0.shared.recipes.keys().cloned());
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Returns a recipe's source, as a request would use it.
    ///
    /// # Errors
    /// When there is no such recipe, or the store cannot be read.
    pub async fn recipe_source(&self, name: &str) -> Result<String, Error> {
        let snapshot = self.store().snapshot(&Viewer::anyone()).await?;
        if let Some(record) = snapshot.record(DocumentKind::Recipe, name).await? {
            return Ok(record.text);
        }
        match self.0.shared.recipes.get(name) {
            Some(source) => Ok(source.clone()),
            None => {
                let available = self.recipes().await?;
                Err(Error::NoRecipe { name: name.to_owned(), available })
            }
        }
    }

    /// Collects the templates and rankers that can be named: the application's and the workspace's own.
    async fn named_templates_and_rankers(
        &self,
    ) -> Result<(Templates, BTreeMap<String, Ranker>), Error> {
        let snapshot = self.store().snapshot(&Viewer::anyone()).await?;
        let mut templates = self.0.shared.templates.clone();
        for name in snapshot.records(DocumentKind::Template, None, NAMED_MAX).await? {
            let Some(record) = snapshot.record(DocumentKind::Template, &name).await? else {
                continue;
            };
            let kept: KeptTemplate = serde_json::from_str(&record.text)
                .map_err(|error| Error::invalid(format!("template {name}"), error.to_string()))?;
            templates.register(&name, kept.parse()?)?;
        }
        let mut rankers = self.0.shared.rankers.clone();
        for name in snapshot.records(DocumentKind::Ranker, None, NAMED_MAX).await? {
            let Some(record) = snapshot.record(DocumentKind::Ranker, &name).await? else {
                continue;
            };
            rankers
                .insert(name.clone(), expression_ranker(&record.text, &format!("ranker {name}"))?);
        }
        Ok((templates, rankers))
    }

    /// Collects the names that a recipe may use, and the sources of the recipes it may extend.
    async fn names_for_recipe(
        &self,
        name: &str,
        source: &str,
        templates: &Templates,
        rankers: &BTreeMap<String, Ranker>,
    ) -> Result<RecipeRegistry, Error> {
        let mut registry = RecipeRegistry {
            collectors: self.0.shared.collectors.keys().cloned().collect(),
            templates: templates.names().map(str::to_owned).collect(),
            rankers: rankers.keys().cloned().collect(),
            recipes: BTreeMap::from([(name.to_owned(), source.to_owned())]),
        };
        for other in self.recipes().await? {
            if other != name {
                let source = self.recipe_source(&other).await?;
                registry.recipes.insert(other, source);
            }
        }
        Ok(registry)
    }

    pub(super) async fn compiled_recipe(&self, name: &str) -> Result<Arc<CompiledRecipe>, Error> {
        // Read before the rules are: a recipe of older ones is not found under newer ones.
        let rules = self.rules();
        if let Some(ready) = self.0.caches.compiled(rules, name) {
            return Ok(ready);
        }
        let source = self.recipe_source(name).await?;
        let (templates, rankers) = self.named_templates_and_rankers().await?;
        let registry = self.names_for_recipe(name, &source, &templates, &rankers).await?;
        let recipe = Recipe::parse(name, &source, &registry)?;
        let mut ready = CompiledRecipe::new(recipe, templates, rankers)?;
        ready.named_tokenizers.clone_from(&self.0.shared.tokenizers);
        let ready = Arc::new(ready);
        self.0.caches.add_compiled(rules, name, Arc::clone(&ready));
        Ok(ready)
    }
}
