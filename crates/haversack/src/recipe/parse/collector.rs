//! Parses a layer's collectors: their kinds, settings and deadlines.

use std::time::Duration;

use haversack_core::item::Kind;
use toml::de::DeValue;

use crate::collect::table;
use crate::recipe::keys::{self, KeyReader, LINE_BYTES_MAX, read_values};
use crate::recipe::read::{Bounds, TomlReader, TomlTable, finite_number, hint, integer, type_name};
use crate::recipe::{
    COLLECTORS_MAX, CollectorSpec, LayerSpec, RecipeRegistry, Setting, SettingSpec, SettingType,
    Settings,
};

/// Most kinds or other words in a list.
const WORDS_MAX: usize = 256;

/// Applies a layer's collectors. They replace the whole list of the base.
pub(in crate::recipe) fn apply(key: &mut KeyReader<'_, '_, '_>, layer: &mut LayerSpec) {
    if !key.is_set() {
        return;
    }
    let mut collect = Vec::new();
    for table in key.reader.tables(key.table, key.name, COLLECTORS_MAX) {
        collect.extend(read_collector(key.reader, table, key.registry));
    }
    layer.collect = collect;
}

/// A collector with no key set.
pub(in crate::recipe) fn blank() -> CollectorSpec {
    CollectorSpec {
        by: String::new(),
        kinds: Vec::new(),
        settings: Settings::default(),
        deadline: Duration::from_secs(1),
    }
}

fn read_collector(
    reader: &mut TomlReader<'_>,
    mut table: TomlTable<'_>,
    registry: &RecipeRegistry,
) -> Option<CollectorSpec> {
    let name = table.get("by").and_then(|by| by.get_ref().as_str());
    if let Some(name) = name.filter(|name| name.len() <= LINE_BYTES_MAX) {
        table.label = format!("{} ({name})", table.label);
    }
    let mut spec = blank();
    read_values(reader, &table, registry, keys::COLLECT, &mut spec);
    if spec.by.is_empty() {
        return None;
    }
    if registry.collectors.contains(&spec.by) {
        spec.settings = read_custom_settings(reader, &table);
    } else {
        let built_in = table::find(&spec.by)?;
        if built_in.needs_kinds && spec.kinds.is_empty() {
            let message = format!("is missing; a {} is the one item of a kind", spec.by);
            reader.report_key(&table, "kinds", &message);
        }
        spec.settings = read_built_in_settings(reader, &table, built_in.settings);
    }
    Some(spec)
}

/// Reads the name of a collector that is built in or registered.
pub(in crate::recipe) fn read_name(key: &mut KeyReader<'_, '_, '_>) -> Option<String> {
    let names = key.registry.collector_names();
    if !key.is_set() {
        key.report(&format!("is missing; name a collector: {}", names.join(", ")));
    }
    let name = key.line()?;
    if names.contains(&&*name) {
        return Some(name);
    }
    let hint = hint(&name, &names, "there are");
    key.report(&format!("is {name:?}, which is no collector{hint}"));
    None
}

pub(in crate::recipe) fn read_kinds(key: &mut KeyReader<'_, '_, '_>) -> Vec<Kind> {
    let label = &key.table.label;
    let mut kinds = Vec::new();
    for (name, at) in bounded_texts(key.reader, key.table, key.name).unwrap_or_default() {
        match Kind::new(name) {
            Ok(kind) if kinds.contains(&kind) => {
                key.reader.report(at, format!("{label}: kinds names {kind} twice"));
            }
            Ok(kind) => kinds.push(kind),
            Err(error) => {
                key.reader.report(at, format!("{label}: a kind cannot be used: {error}"));
            }
        }
    }
    kinds
}

fn bounded_texts<'t>(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'t>,
    key: &str,
) -> Option<Vec<(&'t str, usize)>> {
    let mut words = reader.texts(table, key)?;
    if words.len() > WORDS_MAX {
        let message = format!("has {} entries, more than the limit of {WORDS_MAX}", words.len());
        reader.report_key(table, key, &message);
        words.truncate(WORDS_MAX);
    }
    Some(words)
}

/// Reads the settings of a built-in collector, whose names, types and bounds are declared.
fn read_built_in_settings(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'_>,
    specs: &[SettingSpec],
) -> Settings {
    let common = keys::names(keys::COLLECT).into_iter();
    let names: Vec<&str> = common.chain(specs.iter().map(|spec| spec.name)).collect();
    reader.check_keys(table, &names, "it can be told");
    let mut settings = Settings::defaults(specs);
    for spec in specs {
        let setting = match spec.value {
            SettingType::Count { min, max, .. } => {
                reader.count(table, spec.name, Bounds(min, max)).map(Setting::Count)
            }
            SettingType::Number { min, max, .. } => {
                reader.number(table, spec.name, Bounds(min, max)).map(Setting::Number)
            }
            SettingType::OneOf(allowed) => read_one_of(reader, table, spec.name, allowed),
            // Whether this subject exists is checked later, when all subjects are read.
            SettingType::Subject(_) => reader
                .text(table, spec.name, LINE_BYTES_MAX)
                .map(|text| Setting::Text(text.to_owned())),
            SettingType::Texts => read_texts(reader, table, spec.name),
            SettingType::Flag => reader.read_flag(table, spec.name).map(Setting::Flag),
        };
        if let Some(setting) = setting {
            settings.set(spec.name, setting);
        }
    }
    settings
}

fn read_one_of(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'_>,
    key: &str,
    allowed: &[&str],
) -> Option<Setting> {
    let text = reader.text(table, key, LINE_BYTES_MAX)?;
    if allowed.contains(&text) {
        return Some(Setting::Text(text.to_owned()));
    }
    let hint = hint(text, allowed, "it must be one of");
    reader.report_key(table, key, &format!("is {text:?}{hint}"));
    None
}

fn read_texts(reader: &mut TomlReader<'_>, table: &TomlTable<'_>, key: &str) -> Option<Setting> {
    let texts = bounded_texts(reader, table, key)?;
    for &(text, at) in &texts {
        let names_a_value = text.split_once('=').is_some_and(|(name, _)| !name.trim().is_empty());
        if key == "with" && !names_a_value {
            let message =
                format!("{}: with holds {text:?}; it must be \"name=value\"", table.label);
            reader.report(at, message);
        }
    }
    Some(Setting::Texts(texts.into_iter().map(|(text, _)| text.to_owned()).collect()))
}

/// Reads the settings of a custom collector: all values of a usable type.
fn read_custom_settings(reader: &mut TomlReader<'_>, table: &TomlTable<'_>) -> Settings {
    let mut settings = Settings::default();
    for (name, at, value) in table.entries() {
        if keys::names(keys::COLLECT).contains(&name) {
            continue;
        }
        let value = value.get_ref();
        let setting = match value {
            DeValue::String(text) => Some(Setting::Text(text.to_string())),
            DeValue::Boolean(flag) => Some(Setting::Flag(*flag)),
            DeValue::Array(_) => reader.texts(table, name).map(|texts| {
                Setting::Texts(texts.into_iter().map(|(text, _)| text.to_owned()).collect())
            }),
            DeValue::Integer(_) => match integer(value).and_then(|count| u64::try_from(count).ok())
            {
                Some(count) => Some(Setting::Count(count)),
                None => finite_number(value).map(Setting::Number),
            },
            DeValue::Float(_) => finite_number(value).map(Setting::Number),
            DeValue::Datetime(_) | DeValue::Table(_) => None,
        };
        match setting {
            Some(setting) => settings.set(name, setting),
            None => {
                let found = type_name(value);
                let message =
                    format!("{}: {name} is {found}, which no setting can be", table.label);
                reader.report(at, message);
            }
        }
    }
    settings
}
