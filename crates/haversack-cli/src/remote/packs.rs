//! Packs made by a server, and their receipts.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use haversack::Receipt;
use haversack::messages::Format;
use haversack::receipt::Difference;
use haversack::recipe::{Recipe, RecipeRegistry, builtin};
use haversack_serve::ApiCall;
use serde_json::{Map, Value, json};

use super::{RemoteWorkspace, text};
use crate::args::IdentityArgs;
use crate::commands::frontier::BudgetPoint;
use crate::commands::show::item_label;

/// Most candidates whose items are fetched for their names; the rest go by their ids.
const LABELS_MAX: usize = 500;

/// A pack that was made again.
pub(crate) struct RemoteReplay {
    pub(crate) difference: Difference,
    /// The pack in the shape of its recipe.
    pub(crate) result: Value,
}

/// How a server is to make a pack, and what its response includes.
#[derive(Clone, Copy)]
pub(crate) struct RemotePackOptions {
    /// Whether nothing is kept.
    pub(crate) preview: bool,
    /// Whether the ledger is included.
    pub(crate) explain: bool,
    /// The format in which the pack is included as messages.
    pub(crate) messages: Option<Format>,
}

impl RemoteWorkspace {
    /// The recipe that the server uses under a name.
    pub(crate) fn recipe(&self, name: &str) -> Result<Recipe> {
        let source = self.recipe_source(name)?;
        let mut registry = RecipeRegistry::default();
        if builtin(name) != Some(source.as_str()) {
            let names = |list: &str| {
                self.names(&self.path(&[list]), |page| {
                    Some(page["names"].as_array()?.iter().filter_map(text).collect())
                })
            };
            for other in names("recipes")?.into_iter().filter(|other| other != name) {
                let source = self.recipe_source(&other)?;
                registry.recipes.insert(other, source);
            }
            registry.templates.extend(names("templates")?);
            registry.rankers.extend(names("rankers")?);
        }
        Ok(Recipe::parse(name, &source, &registry)?)
    }

    fn recipe_source(&self, name: &str) -> Result<String> {
        let found = self.send(ApiCall::get(&self.path(&["recipes", name])))?;
        text(&found["source"]).context("the server's recipe has no text")
    }

    /// Makes a pack; the result is in the shape of the recipe.
    pub(crate) fn pack(
        &self,
        recipe: &str,
        fields: Map<String, Value>,
        options: RemotePackOptions,
    ) -> Result<Value> {
        let path = self.path(&["context", recipe]);
        let mut call = ApiCall::post(&path, Value::Object(fields))
            .with("preview", options.preview.to_string())
            .with("explain", options.explain.to_string());
        if let Some(format) = options.messages {
            call = call.with("messages", format.as_str());
        }
        Ok(self.send(call)?)
    }

    /// What other budgets would give.
    pub(crate) fn frontier(
        &self,
        recipe: &str,
        fields: &Map<String, Value>,
        budgets: &[u32],
    ) -> Result<Vec<BudgetPoint>> {
        let body = json!({ "request": fields, "budgets": budgets });
        let found = self.send(ApiCall::post(&self.path(&["frontier", recipe]), body))?;
        let points = found["points"].as_array().context("the server's response has no points")?;
        let points: Option<Vec<BudgetPoint>> = points.iter().map(point).collect();
        points.context("a point of the server cannot be read")
    }

    /// The receipt of this id.
    pub(crate) fn receipt(&self, id: &str) -> Result<Receipt> {
        let found = self.send(ApiCall::get(&self.path(&["receipts", id])));
        let found = found.with_context(|| format!("receipt {id}"))?;
        serde_json::from_value(found).context("the server's receipt cannot be read")
    }

    /// Makes a pack again from its receipt.
    pub(crate) fn replay(&self, id: &str) -> Result<RemoteReplay> {
        let path = self.path(&["receipts", id, "replay"]);
        let mut found = self.send(ApiCall::post(&path, json!({})))?;
        let difference = serde_json::from_value(found["difference"].take());
        let difference = difference.context("the server's difference cannot be read")?;
        Ok(RemoteReplay { difference, result: found["result"].take() })
    }

    /// What differs between two packs.
    pub(crate) fn diff(&self, before: &str, after: &str) -> Result<Difference> {
        let path = self.path(&["receipts", before, "diff", after]);
        let found = self.send(ApiCall::get(&path))?;
        serde_json::from_value(found).context("the server's difference cannot be read")
    }

    /// Titles or paths of these items, as far as the server still has them.
    pub(crate) fn labels<'i>(
        &self,
        items: impl Iterator<Item = &'i str>,
    ) -> Result<BTreeMap<String, String>> {
        let mut labels = BTreeMap::new();
        for id in items.take(LABELS_MAX) {
            if labels.contains_key(id) {
                continue;
            }
            let Some(item) = self.item(id, &IdentityArgs::owner())? else { continue };
            let field = |name: &str| item[name].as_str().unwrap_or_default();
            let label = item_label(field("path"), field("kind"), field("title"), field("body"));
            labels.insert(id.to_owned(), label);
        }
        Ok(labels)
    }
}

fn point(value: &Value) -> Option<BudgetPoint> {
    let number = |name: &str| u32::try_from(value[name].as_u64()?).ok();
    Some(BudgetPoint {
        budget: number("budget")?,
        tokens: number("tokens")?,
        items: usize::try_from(value["items"].as_u64()?).ok()?,
        value: value["value"].as_f64()?,
        bound: None,
        coverage: value["coverage"].as_f64()?,
    })
}
