//! What a workspace packs by: recipes, templates and rankers, its own before the built-in ones, each
//! made ready once (P14, X6, M6, M8).

use std::collections::BTreeMap;
use std::sync::Arc;

use haversack_core::assemble::{Template, TemplateText, Templates};
use haversack_core::rank::Ranker;
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::item::{Record, Shelf};
use haversack_store::store::viewer::Viewer;
use serde::{Deserialize, Serialize};

use super::ready::expression;
use super::{Ready, Workspace};
use crate::error::Error;
use crate::recipe::{Known, Recipe};
use crate::request::TemplateChoice;

/// Most templates or rankers of a workspace.
const NAMED_MAX: usize = 1_000;

/// A template as a workspace keeps it, and as JSON has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Template"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeptTemplate {
    /// What an answer calls it, where a request brings it along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What stands before the items.
    #[serde(default)]
    pub header: String,
    /// One item, with `{{content}}` and the like; `memoryFormat` means the same.
    #[serde(alias = "memoryFormat")]
    pub item: String,
    /// What stands between two items.
    #[serde(default)]
    pub separator: String,
    /// What stands after the items.
    #[serde(default)]
    pub footer: String,
    /// What stands there when there are no items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
    /// Whether type, confidence and time stand behind a text when the item shows none of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_metadata: bool,
}

impl KeptTemplate {
    /// The template, parsed.
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

/// A template by name or written out (M8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TemplateOrName"))]
#[serde(untagged)]
pub enum WireTemplate {
    /// By name.
    Name(String),
    /// Written out.
    Given(KeptTemplate),
}

impl From<&str> for WireTemplate {
    fn from(name: &str) -> WireTemplate {
        WireTemplate::Name(name.to_owned())
    }
}

impl WireTemplate {
    pub(crate) fn choice(&self) -> TemplateChoice {
        match self {
            WireTemplate::Name(name) => TemplateChoice::Named(name.clone()),
            WireTemplate::Given(template) => {
                let name = template.name.clone().unwrap_or_else(|| "inline".to_owned());
                TemplateChoice::Given { name, template: template.clone() }
            }
        }
    }

    pub(crate) fn of(choice: &TemplateChoice) -> WireTemplate {
        match choice {
            TemplateChoice::Named(name) => WireTemplate::Name(name.clone()),
            TemplateChoice::Given { template, .. } => WireTemplate::Given(template.clone()),
        }
    }
}

impl Workspace {
    /// Keeps a recipe under a name; one that cannot be used is refused (X6).
    ///
    /// # Errors
    /// When the recipe has problems, all of which are named, or cannot be written.
    pub async fn put_recipe(&self, name: &str, source: &str) -> Result<(), Error> {
        let (templates, rankers) = self.named().await?;
        let known = self.known(name, source, &templates, &rankers).await?;
        let recipe = Recipe::parse(name, source, &known)?;
        Ready::new(recipe, templates, rankers)?;
        self.keep(Shelf::Recipe, name, source.to_owned()).await
    }

    /// Keeps a template under a name (M8).
    ///
    /// # Errors
    /// When it does not parse, its name will not do, or it cannot be written.
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
        self.keep_template(name, &kept).await
    }

    /// Keeps a template under a name, as JSON has it (M8).
    ///
    /// # Errors
    /// As [`Workspace::put_template`].
    pub async fn keep_template(&self, name: &str, kept: &KeptTemplate) -> Result<(), Error> {
        Templates::default().register(name, kept.parse()?)?;
        let json = serde_json::to_string(kept);
        let json = json.map_err(|error| Error::invalid("template", error.to_string()))?;
        self.keep(Shelf::Template, name, json).await
    }

    /// Keeps a ranker, an expression, under a name (M6).
    ///
    /// # Errors
    /// When it does not parse or cannot be written.
    pub async fn put_ranker(&self, name: &str, source: &str) -> Result<(), Error> {
        expression(source, "ranker")?;
        self.keep(Shelf::Ranker, name, source.to_owned()).await
    }

    async fn keep(&self, shelf: Shelf, name: &str, text: String) -> Result<(), Error> {
        let at = self.now();
        let record = Record { shelf, name: name.to_owned(), text, at };
        self.write(Batch::new(at, vec![Change::Write(record)])).await?;
        Ok(())
    }

    /// What a workspace keeps under a name, as it was kept: a recipe, template or ranker.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn kept(&self, shelf: Shelf, name: &str) -> Result<Option<String>, Error> {
        let snapshot = self.0.store.snapshot(&Viewer::anyone()).await?;
        Ok(snapshot.record(shelf, name).await?.map(|record| record.text))
    }

    /// The names under which a workspace keeps recipes, templates or rankers of its own.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn kept_names(&self, shelf: Shelf) -> Result<Vec<String>, Error> {
        let snapshot = self.0.store.snapshot(&Viewer::anyone()).await?;
        Ok(snapshot.records(shelf, None, NAMED_MAX).await?)
    }

    /// Removes what a workspace keeps under a name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn discard(&self, shelf: Shelf, name: &str) -> Result<(), Error> {
        self.write(Batch::new(self.now(), vec![Change::Remove(shelf, name.to_owned())])).await?;
        Ok(())
    }

    /// The names of the recipes that can be used here, in order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn recipes(&self) -> Result<Vec<String>, Error> {
        let snapshot = self.0.store.snapshot(&Viewer::anyone()).await?;
        let mut names = snapshot.records(Shelf::Recipe, None, NAMED_MAX).await?;
        names.extend(self.0.shared.recipes.keys().cloned());
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// A recipe's text, as it would be used.
    ///
    /// # Errors
    /// When there is no such recipe, or the store cannot be read.
    pub async fn recipe_source(&self, name: &str) -> Result<String, Error> {
        let snapshot = self.0.store.snapshot(&Viewer::anyone()).await?;
        if let Some(record) = snapshot.record(Shelf::Recipe, name).await? {
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

    /// Templates and rankers that can be named: those of the application and the workspace's own.
    async fn named(&self) -> Result<(Templates, BTreeMap<String, Ranker>), Error> {
        let snapshot = self.0.store.snapshot(&Viewer::anyone()).await?;
        let mut templates = self.0.shared.templates.clone();
        for name in snapshot.records(Shelf::Template, None, NAMED_MAX).await? {
            let Some(record) = snapshot.record(Shelf::Template, &name).await? else { continue };
            let kept: KeptTemplate = serde_json::from_str(&record.text)
                .map_err(|error| Error::invalid(format!("template {name}"), error.to_string()))?;
            templates.register(&name, kept.parse()?)?;
        }
        let mut rankers = self.0.shared.rankers.clone();
        for name in snapshot.records(Shelf::Ranker, None, NAMED_MAX).await? {
            let Some(record) = snapshot.record(Shelf::Ranker, &name).await? else { continue };
            rankers.insert(name.clone(), expression(&record.text, &format!("ranker {name}"))?);
        }
        Ok((templates, rankers))
    }

    /// What a recipe may name, with the sources of those it extends.
    async fn known(
        &self,
        name: &str,
        source: &str,
        templates: &Templates,
        rankers: &BTreeMap<String, Ranker>,
    ) -> Result<Known, Error> {
        let mut known = Known {
            collectors: self.0.shared.collectors.keys().cloned().collect(),
            templates: templates.names().map(str::to_owned).collect(),
            rankers: rankers.keys().cloned().collect(),
            recipes: BTreeMap::from([(name.to_owned(), source.to_owned())]),
        };
        for other in self.recipes().await? {
            if other != name {
                let source = self.recipe_source(&other).await?;
                known.recipes.insert(other, source);
            }
        }
        Ok(known)
    }

    pub(super) async fn ready(&self, name: &str) -> Result<Arc<Ready>, Error> {
        if let Some(ready) = self.0.ready.get(name) {
            return Ok(ready);
        }
        let source = self.recipe_source(name).await?;
        let (templates, rankers) = self.named().await?;
        let known = self.known(name, &source, &templates, &rankers).await?;
        let recipe = Recipe::parse(name, &source, &known)?;
        let mut ready = Ready::new(recipe, templates, rankers)?;
        ready.named_tokenizers.clone_from(&self.0.shared.tokenizers);
        let ready = Arc::new(ready);
        self.0.ready.insert(name.to_owned(), Arc::clone(&ready));
        Ok(ready)
    }
}
