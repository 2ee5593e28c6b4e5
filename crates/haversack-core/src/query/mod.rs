//! Query analysis: language, keywords, quotes, paths, references, times and intent.
//!
//! Analysis never fails: any string is a query.

mod fields;
mod intent;
mod literal;
pub mod mention;
mod path;
mod time;

pub use fields::{
    FieldQuery, FieldRole, KnownValues, PHRASE_BYTES_MAX, PHRASES_MAX, QuestionContext, Vocabulary,
    understand,
};
pub use intent::{Intent, intent_type_match};
pub use time::TimeRange;

use std::ops::Range;

use crate::text::terms::{self, Language};
use crate::units::Timestamp;
use crate::zone::Zone;

/// Maximum length that is analysed. The rest of a longer query is usually pasted material.
pub const QUERY_BYTES_MAX: usize = 16 * 1_024;

/// The result of query analysis (K1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analysis {
    /// The language it is written in.
    pub language: Language,
    /// Its words as written, lower-cased, distinct, without stop words.
    pub keywords: Vec<String>,
    /// Its terms, comparable with the terms of texts; repeats included.
    pub terms: Vec<String>,
    /// Quoted phrases, without the quotes.
    pub phrases: Vec<String>,
    /// File paths and names.
    pub paths: Vec<String>,
    /// Addresses with a scheme, or beginning with `www.`.
    pub urls: Vec<String>,
    /// References such as `@name`, `@"a name"` or `@path/to/file`, without the sign.
    pub references: Vec<String>,
    /// Times, resolved to ranges.
    pub times: Vec<TimeRange>,
    /// The field filter, set once the known values have been looked up.
    pub fields: Option<FieldQuery>,
    /// The intent.
    pub intent: Intent,
    /// Whether the query was longer than [`QUERY_BYTES_MAX`] and truncated.
    pub truncated: bool,
}

/// Analyses a query as asked at `now`, in UTC.
#[must_use]
pub fn analyse(text: &str, now: Timestamp) -> Analysis {
    analyse_in(text, now, &Zone::UTC)
}

/// Analyses a query as asked at `now`, with its times on the calendar of a zone.
#[must_use]
pub fn analyse_in(text: &str, now: Timestamp, zone: &Zone) -> Analysis {
    let truncated = text.len() > QUERY_BYTES_MAX;
    let text = &text[..text.floor_char_boundary(QUERY_BYTES_MAX)];
    let language = Language::detect(text);
    let urls = literal::urls(text);
    let references = literal::references(text, &urls);
    let phrases = literal::phrases(text, &references);
    let mut taken = [urls.as_slice(), &references].concat();
    taken.sort_unstable_by_key(|range| range.start);
    Analysis {
        language,
        keywords: terms::keywords(text, language),
        terms: terms::terms(text, language),
        paths: path::paths(text, &taken, &phrases),
        phrases: literal::texts(text, &phrases),
        urls: literal::texts(text, &urls),
        references: literal::names(text, &references),
        times: time::find(text, now, zone, language),
        fields: None,
        intent: intent::classify_intent(text),
        truncated,
    }
}

/// The ranges of quoted phrases in a text, trimmed, in order: see [`Analysis::phrases`].
#[must_use]
pub fn quoted(text: &str) -> Vec<Range<usize>> {
    let urls = literal::urls(text);
    literal::phrases(text, &literal::references(text, &urls))
}

#[cfg(test)]
mod tests;
