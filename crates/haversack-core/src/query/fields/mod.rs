//! Questions about fields: "which of my tasks are overdue?" asks for a due date, a completion state
//! and an assignee, not for texts that say "overdue".
//!
//! Recognised are phrases of a [`Vocabulary`] and values that occur in the workspace: a person's
//! name, a column, a status. A question with several other words is left to full-text search.

mod vocabulary;

use std::collections::BTreeSet;

use vocabulary::Cue;
pub use vocabulary::{PHRASE_BYTES_MAX, PHRASES_MAX, Vocabulary};

use super::TimeRange;
use crate::text::terms::{self, Language};
use crate::units::Timestamp;
use crate::zone::Zone;

/// The role of a typed field, independent of its name in each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldRole {
    /// The due date.
    Due,
    /// The completion state.
    Done,
    /// The person responsible.
    Assignee,
    /// The priority.
    Priority,
    /// The state, column or stage.
    Status,
    /// The author.
    Author,
    /// The subtype within its kind.
    Type,
    /// A reference to another item by id.
    Relation,
}

impl FieldRole {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            FieldRole::Due => "due",
            FieldRole::Done => "done",
            FieldRole::Assignee => "assignee",
            FieldRole::Priority => "priority",
            FieldRole::Status => "status",
            FieldRole::Author => "author",
            FieldRole::Type => "type",
            FieldRole::Relation => "relation",
        }
    }
}

/// The field filter of a question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldQuery {
    /// The due date lies in this range, the end not included.
    pub due: Option<(Timestamp, Timestamp)>,
    /// Only overdue items: past the due day, or the due time if there is one.
    pub overdue: bool,
    /// Only done items, or only open ones.
    pub done: Option<bool>,
    /// The last change lies in this range.
    pub changed: Option<(Timestamp, Timestamp)>,
    /// The creation date lies in this range.
    pub created: Option<(Timestamp, Timestamp)>,
    /// A field has one of these values.
    pub values: Vec<(FieldRole, Vec<String>)>,
    /// Only tasks.
    pub tasks: bool,
    /// Only these kinds.
    pub kinds: Vec<String>,
    /// The recognised words, for people.
    pub understood: Vec<String>,
}

impl FieldQuery {
    /// Whether the answer depends on the current day.
    #[must_use]
    pub const fn is_about_dates(&self) -> bool {
        self.due.is_some() || self.changed.is_some() || self.created.is_some()
    }
}

/// Values in a workspace that a question may name.
pub trait KnownValues {
    /// Whether a visible item has this lower-case value in a field of that role.
    fn has(&self, role: FieldRole, value: &str) -> bool;

    /// The asker's name, in lower case.
    fn asker(&self) -> Option<&str>;
}

/// A word of the question.
struct QueryWord<'t> {
    lower: String,
    /// The word as written.
    text: &'t str,
    start: usize,
    taken: bool,
}

fn words(text: &str) -> Vec<QueryWord<'_>> {
    let mut words = Vec::new();
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '-' | '\'' | '’' | '_' | '.');
    let mut rest = 0;
    while let Some(from) = text[rest..].find(is_inside) {
        let start = rest + from;
        let end = text[start..].find(|c| !is_inside(c)).map_or(text.len(), |end| start + end);
        let shown = text[start..end].trim_end_matches(['.', '\'', '’', '-']);
        if !shown.is_empty() {
            let lower = shown.to_lowercase().replace('’', "'");
            words.push(QueryWord { lower, text: shown, start, taken: false });
        }
        rest = end;
    }
    words
}

/// The context in which a question is interpreted.
#[derive(Debug, Clone, Copy)]
pub struct QuestionContext<'q> {
    /// The time ranges in the question.
    pub times: &'q [TimeRange],
    /// The current time.
    pub now: Timestamp,
    /// The asker's time zone.
    pub zone: &'q Zone,
    /// The question's language.
    pub language: Language,
}

/// Extracts the field filter of a question; `None` when it asks for something else.
pub fn understand(
    text: &str,
    reading: &QuestionContext<'_>,
    vocabulary: &Vocabulary,
    known: &dyn KnownValues,
) -> Option<FieldQuery> {
    let QuestionContext { times, now, zone, language } = *reading;
    let mut reader = FieldReader { words: words(text), cues: Vec::new(), vocabulary };
    reader.take_times(text, times);
    reader.find_cues();
    let mut asked = FieldQuery::default();
    reader.take_values(known, &mut asked);
    reader.apply_cues(times, zone.midnight(now), known, &mut asked);
    let left = reader.n_unrecognised(language);
    // At most one word may be unrecognised: with more, it is a question about texts.
    let is_strong = asked.due.is_some()
        || asked.changed.is_some()
        || asked.created.is_some()
        || !asked.values.is_empty()
        || asked.done.is_some() && asked.tasks
        || !asked.kinds.is_empty() && left == 0 && reader.wants_all();
    (is_strong && left <= 1).then_some(asked)
}

struct FieldReader<'t> {
    words: Vec<QueryWord<'t>>,
    /// Cues with the index of their first word and their length.
    cues: Vec<(Cue, usize, usize)>,
    vocabulary: &'t Vocabulary,
}

impl FieldReader<'_> {
    /// Marks the words of time expressions as taken.
    fn take_times(&mut self, text: &str, times: &[TimeRange]) {
        let mut from = 0;
        for time in times {
            let Some(at) = text[from..].find(&time.text).map(|at| at + from) else { continue };
            let range = at..at + time.text.len();
            for word in self.words.iter_mut().filter(|word| range.contains(&word.start)) {
                word.taken = true;
            }
            from = range.end;
        }
    }

    fn phrase_length_at(&self, at: usize, phrase: &str) -> Option<usize> {
        let mut next = at;
        for part in phrase.split(' ') {
            let word = self.words.get(next).filter(|word| !word.taken)?;
            if word.lower != part {
                return None;
            }
            next += 1;
        }
        Some(next - at)
    }

    fn find_cues(&mut self) {
        let mut at = 0;
        while at < self.words.len() {
            let all = self.vocabulary.phrases();
            let found =
                all.filter_map(|(cue, phrase)| Some((self.phrase_length_at(at, phrase)?, cue)));
            // The longest phrase wins; on a tie the first in the table.
            let longest = found.reduce(|best, one| if one.0 > best.0 { one } else { best });
            match longest {
                Some((length, cue)) => {
                    self.cues.push((cue, at, length));
                    at += length;
                }
                None => at += 1,
            }
        }
    }

    fn has(&self, cue: Cue) -> bool {
        self.cues.iter().any(|(found, ..)| *found == cue)
    }

    fn take_words(&mut self, at: usize, length: usize) {
        for word in self.words.iter_mut().skip(at).take(length) {
            word.taken = true;
        }
    }

    /// Takes the words of all occurrences of a cue.
    fn take_cue(&mut self, cue: Cue, asked: &mut FieldQuery) -> bool {
        let found: Vec<(usize, usize)> = self
            .cues
            .iter()
            .filter(|(found, ..)| *found == cue)
            .map(|(_, at, length)| (*at, *length))
            .collect();
        for (at, length) in &found {
            let said: Vec<&str> =
                self.words[*at..at + length].iter().map(|word| word.text).collect();
            asked.understood.push(said.join(" "));
            self.take_words(*at, *length);
        }
        !found.is_empty()
    }

    /// Takes names, columns and states that occur in the workspace.
    fn take_values(&mut self, known: &dyn KnownValues, asked: &mut FieldQuery) {
        let is_about_tasks = self.has(Cue::Tasks)
            || self.has(Cue::Overdue)
            || self.has(Cue::Due)
            || self.has(Cue::Open)
            || self.has(Cue::Done);
        for at in 0..self.words.len() {
            if self.words[at].taken {
                continue;
            }
            if let Some((role, value)) = self.value_at(at, is_about_tasks, known) {
                asked.values.push((role, vec![value]));
                self.take_value_word(at, asked);
            }
        }
        let vocabulary = self.vocabulary;
        for (kind, name) in vocabulary.kinds() {
            for at in 0..self.words.len() {
                if let Some(length) = self.phrase_length_at(at, name) {
                    if !asked.kinds.iter().any(|known| known == kind) {
                        asked.kinds.push(kind.to_owned());
                    }
                    let said = &self.words[at..at + length];
                    asked.understood.extend(said.iter().map(|word| word.text.to_owned()));
                    self.take_words(at, length);
                }
            }
        }
    }

    /// The value that a word names, given its context.
    fn value_at(
        &self,
        at: usize,
        is_about_tasks: bool,
        known: &dyn KnownValues,
    ) -> Option<(FieldRole, String)> {
        let word = &*self.words[at].lower;
        let name = word.strip_suffix("'s").or_else(|| word.strip_suffix('\'')).unwrap_or(word);
        let before = at.checked_sub(1).map_or("", |at| &*self.words[at].lower);
        let after = self.words.get(at + 1).map_or("", |word| &*word.lower);
        let found = |role: FieldRole| known.has(role, name).then(|| (role, name.to_owned()));
        if self.words[at].text.starts_with(char::is_uppercase) {
            let author = || found(FieldRole::Author);
            let person = match (self.follows(at, Cue::By), self.follows(at, Cue::Of)) {
                _ if self.precedes(at, Cue::Wrote) => author(),
                (true, _) => author(),
                (_, true) => found(FieldRole::Assignee).filter(|_| is_about_tasks).or_else(author),
                _ => found(FieldRole::Assignee).filter(|_| is_about_tasks),
            };
            if person.is_some() {
                return person;
            }
        }
        let vocabulary = self.vocabulary;
        let is_state = vocabulary.says(Cue::Is, before) && !vocabulary.is_cue(word);
        let is_column = |word: &str| vocabulary.says(Cue::Column, word);
        if is_state || is_column(after) || is_column(before) {
            return found(FieldRole::Status);
        }
        let sort = singular(word, |one| known.has(FieldRole::Type, one))?;
        Some((FieldRole::Type, sort))
    }

    /// Whether a phrase of a cue begins right after a word.
    fn precedes(&self, at: usize, cue: Cue) -> bool {
        self.cues.iter().any(|(known, from, _)| *known == cue && *from == at + 1)
    }

    /// Whether a phrase of a cue ends right before a word.
    fn follows(&self, at: usize, cue: Cue) -> bool {
        self.cues.iter().any(|(known, from, length)| *known == cue && from + length == at)
    }

    fn take_value_word(&mut self, at: usize, asked: &mut FieldQuery) {
        asked.understood.push(self.words[at].text.to_owned());
        self.take_words(at, 1);
    }

    fn apply_cues(
        &mut self,
        times: &[TimeRange],
        today: Timestamp,
        known: &dyn KnownValues,
        asked: &mut FieldQuery,
    ) {
        asked.tasks = self.take_cue(Cue::Tasks, asked);
        // "Late" has many meanings; for tasks it means overdue.
        let is_late = asked.tasks && self.has(Cue::Late);
        if self.take_cue(Cue::Overdue, asked) || is_late && self.take_cue(Cue::Late, asked) {
            asked.due = Some((TimeRange::EARLIEST, today));
            asked.overdue = true;
            asked.done = Some(false);
        }
        let time = times.first();
        if let Some(time) = time {
            if self.take_cue(Cue::Due, asked) {
                let (from, to) = time.coming.unwrap_or((time.from, time.to));
                // Past days are covered by the overdue cue.
                let from = if from == TimeRange::EARLIEST { today } else { from };
                asked.due = Some((from, to));
                asked.understood.push(time.text.clone());
            } else if self.take_cue(Cue::Changed, asked) {
                asked.changed = Some(time.past.unwrap_or((time.from, time.to)));
                asked.understood.push(time.text.clone());
            } else if self.take_cue(Cue::Created, asked) || !asked.values.is_empty() {
                asked.created = Some(time.past.unwrap_or((time.from, time.to)));
                asked.understood.push(time.text.clone());
            }
        }
        if self.take_cue(Cue::Open, asked) {
            asked.done = Some(false);
        } else if (asked.tasks || !asked.values.is_empty() || asked.due.is_some())
            && self.take_cue(Cue::Done, asked)
        {
            asked.done = Some(true);
        }
        for level in [Cue::High, Cue::Medium, Cue::Low] {
            if self.take_cue(level, asked) {
                asked.values.push((FieldRole::Priority, self.vocabulary.values(level)));
            }
        }
        let is_personal = asked.tasks || asked.due.is_some() || asked.done.is_some();
        if is_personal
            && self.has(Cue::Mine)
            && let Some(asker) = known.asker()
        {
            self.take_cue(Cue::Mine, asked);
            asked.values.push((FieldRole::Assignee, vec![asker.to_owned()]));
        }
        // Due items are meant to be open unless stated otherwise.
        if asked.done.is_none() && asked.due.is_some() {
            asked.done = Some(false);
        }
        for cue in [Cue::Assigned, Cue::By, Cue::Of, Cue::Wrote, Cue::Column] {
            if !asked.values.is_empty() {
                self.take_cue(cue, asked);
            }
        }
    }

    /// Whether the question asks for all of a kind.
    fn wants_all(&self) -> bool {
        self.words.iter().any(|word| self.vocabulary.says(Cue::All, &word.lower))
    }

    /// The number of unrecognised words, ignoring stop words.
    fn n_unrecognised(&self, language: Language) -> usize {
        let is_left = |word: &&QueryWord<'_>| {
            !word.taken
                && !self.vocabulary.is_asking(&word.lower)
                && !self.vocabulary.is_cue(&word.lower)
                && !terms::keywords(&word.lower, language).is_empty()
                && !terms::keywords(&word.lower, Language::English).is_empty()
        };
        let left: BTreeSet<&str> =
            self.words.iter().filter(is_left).map(|word| &*word.lower).collect();
        left.len()
    }
}

/// The known singular of a plural word.
fn singular(word: &str, is_known: impl Fn(&str) -> bool) -> Option<String> {
    let stem = |ending: &str, more: &str| Some(format!("{}{more}", word.strip_suffix(ending)?));
    // The singular itself is not accepted: it names one thing, not all of a type.
    [stem("ies", "y"), stem("es", ""), stem("s", ""), stem("en", ""), stem("n", "")]
        .into_iter()
        .flatten()
        .find(|one| one.len() > 2 && is_known(one))
}

#[cfg(test)]
mod tests;
