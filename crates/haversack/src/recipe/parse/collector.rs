//! Who finds a layer's texts: collectors, their kinds, settings and deadlines.

use std::time::Duration;

use haversack_core::item::Kind;
use toml::de::DeValue;

use super::LINE_BYTES_MAX;
use crate::collect::table;
use crate::recipe::read::{Bounds, Reader, Table, hint, number, type_of, whole};
use crate::recipe::{
    COLLECTORS_MAX, CollectorSpec, Known, LayerSpec, Setting, SettingSpec, SettingType, Settings,
    keys,
};

/// Most kinds or other words in a list.
const WORDS_MAX: usize = 256;
const DEADLINE: Duration = Duration::from_secs(1);

pub(super) fn apply(
    reader: &mut Reader<'_>,
    layer_table: &Table<'_>,
    known: &Known,
    layer: &mut LayerSpec,
) {
    if !layer_table.has("collect") {
        return;
    }
    let mut collect = Vec::new();
    for table in reader.tables(layer_table, "collect", COLLECTORS_MAX) {
        collect.extend(collector(reader, table, known));
    }
    layer.collect = collect;
}

fn collector(
    reader: &mut Reader<'_>,
    mut table: Table<'_>,
    known: &Known,
) -> Option<CollectorSpec> {
    if !table.has("by") {
        let names = known.collector_names().join(", ");
        reader.wrong_in(&table, "by", &format!("is missing; say who finds: {names}"));
    }
    let by = reader.text(&table, "by", LINE_BYTES_MAX);
    if let Some(by) = by {
        table.label = format!("{} ({by})", table.label);
    }
    let kinds = kinds(reader, &table);
    let deadline = reader.count(&table, "deadline_ms", Bounds(1, 60_000));
    let deadline = deadline.map_or(DEADLINE, Duration::from_millis);
    let by = by?;
    let settings = if known.collectors.contains(by) {
        any_settings(reader, &table)
    } else if let Some(doc) = table::find(by) {
        if by == "singleton" && kinds.is_empty() {
            reader.wrong_in(&table, "kinds", "is missing; a singleton is the one item of a kind");
        }
        checked_settings(reader, &table, doc.settings)
    } else {
        let hint = hint(by, &known.collector_names(), "there are");
        reader.wrong_in(&table, "by", &format!("is {by:?}, which is no collector{hint}"));
        return None;
    };
    Some(CollectorSpec { by: by.to_owned(), kinds, settings, deadline })
}

fn kinds(reader: &mut Reader<'_>, table: &Table<'_>) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (name, at) in words(reader, table, "kinds").unwrap_or_default() {
        match Kind::new(name) {
            Ok(kind) if kinds.contains(&kind) => {
                reader.wrong(at, format!("{}: kinds names {kind} twice", table.label));
            }
            Ok(kind) => kinds.push(kind),
            Err(error) => {
                reader.wrong(at, format!("{}: a kind cannot be used: {error}", table.label))
            }
        }
    }
    kinds
}

fn words<'t>(
    reader: &mut Reader<'_>,
    table: &Table<'t>,
    key: &str,
) -> Option<Vec<(&'t str, usize)>> {
    let mut words = reader.texts(table, key)?;
    if words.len() > WORDS_MAX {
        let message = format!("has {} entries, more than the limit of {WORDS_MAX}", words.len());
        reader.wrong_in(table, key, &message);
        words.truncate(WORDS_MAX);
    }
    Some(words)
}

/// Settings of a built-in collector: named, typed and bounded by its table.
fn checked_settings(reader: &mut Reader<'_>, table: &Table<'_>, specs: &[SettingSpec]) -> Settings {
    let common = keys::COLLECT.iter().map(|key| key.name);
    let names: Vec<&str> = common.chain(specs.iter().map(|spec| spec.name)).collect();
    reader.names(table, &names, "it can be told");
    let mut settings = Settings::defaults(specs);
    for spec in specs {
        let setting = match spec.value {
            SettingType::Count { min, max, .. } => {
                reader.count(table, spec.name, Bounds(min, max)).map(Setting::Count)
            }
            SettingType::Number { min, max, .. } => {
                reader.number(table, spec.name, Bounds(min, max)).map(Setting::Number)
            }
            SettingType::OneOf(allowed) => one_of(reader, table, spec.name, allowed),
            // Whether there is such a subject is seen when all are known.
            SettingType::Subject(_) => reader
                .text(table, spec.name, LINE_BYTES_MAX)
                .map(|text| Setting::Text(text.to_owned())),
            SettingType::Texts => texts(reader, table, spec.name),
            SettingType::Flag => reader.flag(table, spec.name).map(Setting::Flag),
        };
        if let Some(setting) = setting {
            settings.set(spec.name, setting);
        }
    }
    settings
}

fn one_of(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    key: &str,
    allowed: &[&str],
) -> Option<Setting> {
    let text = reader.text(table, key, LINE_BYTES_MAX)?;
    if allowed.contains(&text) {
        return Some(Setting::Text(text.to_owned()));
    }
    let hint = hint(text, allowed, "it must be one of");
    reader.wrong_in(table, key, &format!("is {text:?}{hint}"));
    None
}

fn texts(reader: &mut Reader<'_>, table: &Table<'_>, key: &str) -> Option<Setting> {
    let texts = words(reader, table, key)?;
    for &(text, at) in &texts {
        let names_a_value = text.split_once('=').is_some_and(|(name, _)| !name.trim().is_empty());
        if key == "with" && !names_a_value {
            let message =
                format!("{}: with holds {text:?}; it must be \"name=value\"", table.label);
            reader.wrong(at, message);
        }
    }
    Some(Setting::Texts(texts.into_iter().map(|(text, _)| text.to_owned()).collect()))
}

/// Settings of a collector of one's own: whatever has a usable type.
fn any_settings(reader: &mut Reader<'_>, table: &Table<'_>) -> Settings {
    let mut settings = Settings::default();
    for (name, at, value) in table.entries() {
        if keys::COLLECT.iter().any(|key| key.name == name) {
            continue;
        }
        let value = value.get_ref();
        let setting = match value {
            DeValue::String(text) => Some(Setting::Text(text.to_string())),
            DeValue::Boolean(flag) => Some(Setting::Flag(*flag)),
            DeValue::Array(_) => reader.texts(table, name).map(|texts| {
                Setting::Texts(texts.into_iter().map(|(text, _)| text.to_owned()).collect())
            }),
            DeValue::Integer(_) => match whole(value).and_then(|count| u64::try_from(count).ok()) {
                Some(count) => Some(Setting::Count(count)),
                None => number(value).map(Setting::Number),
            },
            DeValue::Float(_) => number(value).map(Setting::Number),
            DeValue::Datetime(_) | DeValue::Table(_) => None,
        };
        match setting {
            Some(setting) => settings.set(name, setting),
            None => {
                let found = type_of(value);
                let message =
                    format!("{}: {name} is {found}, which no setting can be", table.label);
                reader.wrong(at, message);
            }
        }
    }
    settings
}
