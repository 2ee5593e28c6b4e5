//! The model that judges the demo's situation, if the user has one: from their settings, but nothing else of them.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use haversack_provider::{ModelSet, ModelsConfig};
use serde_json::Value;

use crate::args::{DemoArgs, StoreLocation};
use crate::input::read_text;
use crate::output::say;

/// The judge, and settings that name no other model.
pub(super) struct DemoJudge {
    pub(super) name: String,
    pub(super) models: Arc<ModelSet>,
}

/// Opens the judge of the settings that were given, else of the user's data folder. `folder` is where the demo's
/// own data is.
pub(super) fn open(
    location: &StoreLocation,
    args: &DemoArgs,
    folder: &Path,
) -> Result<Option<DemoJudge>> {
    if let Some(file) = &args.models {
        let config = ModelsConfig::parse(&read_text(file)?)?;
        anyhow::ensure!(
            config.models.judge.is_some(),
            "{}: models.judge is not set",
            file.display()
        );
        return open_judge(&config, folder);
    }
    // A demo has to work whatever else is on the machine.
    let Ok(data) = location.folder() else { return Ok(None) };
    let opened = ModelSet::read_config(&data)
        .map_err(anyhow::Error::from)
        .and_then(|config| open_judge(&config, folder));
    Ok(opened.unwrap_or_else(|error| {
        say(&format!("note: the situation is judged locally: {error:#}"));
        None
    }))
}

fn open_judge(config: &ModelsConfig, folder: &Path) -> Result<Option<DemoJudge>> {
    let Some(judge) = &config.models.judge else { return Ok(None) };
    let mut only = ModelsConfig::default();
    let provider = config.providers.get(&judge.provider);
    only.providers.extend(provider.map(|found| (judge.provider.clone(), found.clone())));
    only.models.judge = Some(judge.clone());
    let models = ModelSet::open(only, Some(folder), &|name| std::env::var(name).ok())?;
    let name = format!("{}@{}", judge.model, judge.provider);
    Ok(Some(DemoJudge { name, models: Arc::new(models) }))
}

/// The model of a provider among the judges of these rules, if one decided.
pub(super) fn model_among(rules: &[Value]) -> Option<&str> {
    let mut judges = rules.iter().filter_map(|rule| rule.get("judge").and_then(Value::as_str));
    // Only these have the name of their provider.
    judges.find(|judge| judge.contains('@'))
}
