//! Settings of collectors: names with types, bounds and defaults. The parser, its messages and the
//! documentation all use the same tables.

use std::collections::BTreeMap;

/// The type of a setting, with bounds and default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingType {
    /// A whole number, bounds included.
    Count {
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
        /// The default.
        default: u64,
    },
    /// A number, bounds included.
    Number {
        /// The minimum.
        min: f64,
        /// The maximum.
        max: f64,
        /// The default.
        default: f64,
    },
    /// One of these words. The first is the default.
    OneOf(&'static [&'static str]),
    /// A subject of the recipe, or one of these words. The first subject is the default.
    Subject(&'static [&'static str]),
    /// A list of words; empty by default.
    Texts,
    /// A flag; false by default.
    Flag,
}

/// One setting of a collector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SettingSpec {
    /// Its name in a recipe.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Its type.
    pub value: SettingType,
}

/// A setting's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A word.
    Text(String),
    /// Words.
    Texts(Vec<String>),
    /// A flag.
    Flag(bool),
}

/// The settings of a collector, with defaults filled in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings(BTreeMap<String, Setting>);

impl Settings {
    /// The defaults of a collector's settings.
    #[must_use]
    pub fn defaults(specs: &[SettingSpec]) -> Settings {
        let of = |spec: &SettingSpec| match spec.value {
            SettingType::Count { default, .. } => Setting::Count(default),
            SettingType::Number { default, .. } => Setting::Number(default),
            SettingType::OneOf(words) => {
                Setting::Text(words.first().copied().unwrap_or_default().to_owned())
            }
            SettingType::Subject(_) => Setting::Text(String::new()),
            SettingType::Texts => Setting::Texts(Vec::new()),
            SettingType::Flag => Setting::Flag(false),
        };
        Settings(specs.iter().map(|spec| (spec.name.to_owned(), of(spec))).collect())
    }

    /// Sets a setting.
    pub fn set(&mut self, name: &str, value: Setting) {
        self.0.insert(name.to_owned(), value);
    }

    /// Every setting, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The setting of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.0.get(name)
    }

    /// A whole number; zero when there is no such setting.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        match self.0.get(name) {
            Some(Setting::Count(count)) => usize::try_from(*count).unwrap_or(usize::MAX),
            _ => 0,
        }
    }

    /// A number; zero when there is no such setting.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        match self.0.get(name) {
            Some(Setting::Number(number)) => *number,
            Some(Setting::Count(count)) => u32::try_from(*count).map_or(f64::MAX, f64::from),
            _ => 0.0,
        }
    }

    /// A word; empty when there is no such setting.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(Setting::Text(text)) => text,
            _ => "",
        }
    }

    /// Words; none when there is no such setting.
    #[must_use]
    pub fn texts(&self, name: &str) -> &[String] {
        match self.0.get(name) {
            Some(Setting::Texts(texts)) => texts,
            _ => &[],
        }
    }

    /// A flag; false when there is no such setting.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Setting::Flag(true)))
    }
}
