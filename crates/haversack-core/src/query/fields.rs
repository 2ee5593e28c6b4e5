//! Questions about fields: "which of my tasks are overdue?" asks for a due date, a tick and a name,
//! not for texts that say "overdue".
//!
//! What is understood are phrases of a table, in English and German, and values that the workspace
//! has: the name of a person, a column, a status. A question in which much else is asked is left to
//! the searches.

use std::collections::BTreeSet;

use super::TimeRange;
use crate::text::terms::{self, Language};
use crate::units::Timestamp;

/// A typed property of an item, whatever its kind calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldRole {
    /// When it has to be done.
    Due,
    /// Whether it is done.
    Done,
    /// Who has to do it.
    Assignee,
    /// How much it matters.
    Priority,
    /// Its state, column or stage.
    Status,
    /// Who wrote it.
    Author,
    /// What sort of thing it is, within its kind.
    Type,
}

impl FieldRole {
    /// Every role.
    pub const ALL: [FieldRole; 7] = [
        FieldRole::Due,
        FieldRole::Done,
        FieldRole::Assignee,
        FieldRole::Priority,
        FieldRole::Status,
        FieldRole::Author,
        FieldRole::Type,
    ];

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
        }
    }
}

/// What a question asks of items' fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldQuery {
    /// The due date lies in this range, the end not included.
    pub due: Option<(Timestamp, Timestamp)>,
    /// It is done, or it is not.
    pub done: Option<bool>,
    /// The last change lies in this range.
    pub changed: Option<(Timestamp, Timestamp)>,
    /// It came to be in this range.
    pub created: Option<(Timestamp, Timestamp)>,
    /// A field has one of these values.
    pub values: Vec<(FieldRole, Vec<String>)>,
    /// Only things that can be done.
    pub tasks: bool,
    /// Only these kinds.
    pub kinds: Vec<String>,
    /// The words that were understood, for people.
    pub understood: Vec<String>,
}

impl FieldQuery {
    /// Whether the present day matters to the answer.
    #[must_use]
    pub const fn is_about_dates(&self) -> bool {
        self.due.is_some() || self.changed.is_some() || self.created.is_some()
    }
}

/// What a workspace knows that a question may name.
pub trait KnownValues {
    /// Whether some readable item has this value, in lower case, in a field of that role.
    fn has(&self, role: FieldRole, value: &str) -> bool;

    /// The name under which the asker is known, in lower case.
    fn asker(&self) -> Option<&str>;
}

/// What phrases ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cue {
    Overdue,
    Due,
    Open,
    Done,
    Mine,
    Task,
    Changed,
    Created,
    High,
    Medium,
    Low,
    By,
    Assigned,
    Column,
    Are,
}

/// Phrases and what they ask for; longer ones before their own beginnings.
#[rustfmt::skip]
const PHRASES: &[(Cue, &[&str])] = &[
    (Cue::Overdue, &[
        "overdue", "past due", "past their due date", "past the due date", "behind schedule",
        "past its deadline", "past their deadline", "past the deadline", "missed its deadline",
        "missed their deadline", "frist abgelaufen", "überfällig", "überfällige", "überfälligen", "in verzug",
    ]),
    (Cue::Open, &[
        "not done", "not yet done", "not finished", "not completed", "still open", "unfinished",
        "incomplete", "outstanding", "open", "nicht erledigt", "noch offen", "unerledigt",
        "unerledigte", "unerledigten", "offen", "offene", "offenen",
    ]),
    (Cue::Done, &[
        "done", "completed", "finished", "closed", "erledigt", "erledigte", "erledigten",
        "abgeschlossen", "abgeschlossene", "abgeschlossenen", "fertig",
    ]),
    (Cue::Mine, &[
        "assigned to me", "my", "mine", "mir zugewiesen", "meine", "meinen", "habe ich", "muss ich",
    ]),
    (Cue::Task, &[
        "task", "tasks", "todo", "todos", "to-do", "to-dos", "card", "cards", "ticket", "tickets",
        "action items", "aufgabe", "aufgaben", "karten", "karte",
    ]),
    (Cue::High, &[
        "high priority", "top priority", "highest priority", "high-priority", "urgent",
        "hohe priorität", "hoher priorität", "höchste priorität", "dringend", "dringende",
        "dringenden",
    ]),
    (Cue::Medium, &["medium priority", "normal priority", "mittlere priorität"]),
    (Cue::Low, &["low priority", "low-priority", "niedrige priorität", "niedriger priorität"]),
    (Cue::Changed, &[
        "changed", "edited", "updated", "modified", "geändert", "bearbeitet", "aktualisiert",
    ]),
    (Cue::Created, &[
        "created", "added", "told", "told you", "written down", "noted", "decided", "angelegt", "erstellt",
        "erzählt", "notiert", "entschieden",
    ]),
    (Cue::Assigned, &["assigned to", "responsible", "zugewiesen an", "zuständig"]),
    (Cue::By, &["written by", "authored by", "by", "geschrieben von", "von"]),
    (Cue::Column, &["column", "lane", "list", "stage", "status", "state", "spalte", "phase"]),
    (Cue::Due, &["due", "deadline", "deadlines", "fällig", "fällige", "fälligen"]),
    (Cue::Are, &["are", "is", "sind", "ist"]),
];

/// Words that ask and say nothing else. Stop words are left out anyway.
#[rustfmt::skip]
const ASKING: &[&str] = &[
    "which", "what", "who", "show", "list", "give", "tell", "find", "all", "any", "anything",
    "everything", "need", "left", "things", "thing", "items", "item", "please", "currently", "now",
    "still", "yet", "get", "got", "items", "stuff", "priority", "column", "board", "date", "dates",
    "week", "day", "today", "there", "have", "has", "assigned", "date", "ones", "one", "us",
    "welche", "welcher", "welches", "zeige", "zeig", "liste", "alle", "alles", "gibt", "noch",
    "bitte", "priorität", "spalte", "board", "heute", "woche", "wurde", "wurden", "hat", "haben",
    "steht", "stehen", "in", "an", "auf", "bei", "und", "with", "for", "from", "was", "were", "since",
];

/// Kinds by the words that people have for many of them; one of them is no question about a kind.
#[rustfmt::skip]
const KINDS: &[(&str, &[&str])] = &[
    ("file", &["files", "dateien"]),
    ("page", &["pages", "seiten"]),
    ("code", &["code blocks", "codeblöcke"]),
    ("text", &["notes", "notizen"]),
];

/// A word of the question.
struct Word<'t> {
    lower: String,
    /// Its bytes, to tell whether a time covers it.
    text: &'t str,
    start: usize,
    taken: bool,
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '-' | '\'' | '’' | '_' | '.');
    let mut rest = 0;
    while let Some(from) = text[rest..].find(is_inside) {
        let start = rest + from;
        let end = text[start..].find(|c| !is_inside(c)).map_or(text.len(), |end| start + end);
        let shown = text[start..end].trim_end_matches(['.', '\'', '’', '-']);
        if !shown.is_empty() {
            let lower = shown.to_lowercase().replace('’', "'");
            words.push(Word { lower, text: shown, start, taken: false });
        }
        rest = end;
    }
    words
}

/// Reads what a question asks of fields; `None` when it asks for something else.
pub fn understand(
    text: &str,
    times: &[TimeRange],
    now: Timestamp,
    language: Language,
    known: &dyn KnownValues,
) -> Option<FieldQuery> {
    let mut reader = Reader { words: words(text), cues: Vec::new() };
    reader.take_times(text, times);
    reader.find_cues();
    let mut asked = FieldQuery::default();
    reader.values(known, &mut asked);
    reader.apply(times, now, known, &mut asked);
    let left = reader.left(language);
    // Fields alone must say what is asked: one word more may name what is looked for, and several
    // are a question about texts.
    let is_strong = asked.due.is_some()
        || asked.changed.is_some()
        || asked.created.is_some()
        || !asked.values.is_empty()
        || asked.done.is_some() && asked.tasks
        || !asked.kinds.is_empty() && left == 0 && reader.wants_all();
    (is_strong && left <= 1).then_some(asked)
}

struct Reader<'t> {
    words: Vec<Word<'t>>,
    /// Cues with the place of their first word.
    cues: Vec<(Cue, usize, usize)>,
}

impl Reader<'_> {
    /// Words of times are understood already.
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

    fn is_phrase(&self, at: usize, phrase: &str) -> Option<usize> {
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
            let all = PHRASES.iter().flat_map(|(cue, phrases)| phrases.iter().map(|p| (*cue, *p)));
            let found = all.filter_map(|(cue, phrase)| Some((self.is_phrase(at, phrase)?, cue)));
            // The longest that stands here; of equals the first of the table.
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

    fn take(&mut self, at: usize, length: usize) {
        for word in self.words.iter_mut().skip(at).take(length) {
            word.taken = true;
        }
    }

    /// Takes the words of a cue, wherever it stands.
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
            self.take(*at, *length);
        }
        !found.is_empty()
    }

    /// Names, columns and states that the workspace knows, where the question names them as such.
    fn values(&mut self, known: &dyn KnownValues, asked: &mut FieldQuery) {
        let is_about_tasks = self.has(Cue::Task)
            || self.has(Cue::Overdue)
            || self.has(Cue::Due)
            || self.has(Cue::Open)
            || self.has(Cue::Done);
        for at in 0..self.words.len() {
            if self.words[at].taken {
                continue;
            }
            if let Some((role, value)) = self.value(at, is_about_tasks, known) {
                asked.values.push((role, vec![value]));
                self.note(at, asked);
            }
        }
        for (kind, names) in KINDS {
            for at in 0..self.words.len() {
                let length = names.iter().filter_map(|name| self.is_phrase(at, name)).max();
                if let Some(length) = length {
                    asked.kinds.push((*kind).to_owned());
                    self.take(at, length);
                }
            }
        }
        asked.kinds.dedup();
    }

    /// The value that a word names, by what stands around it.
    fn value(
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
            let person = match before {
                "by" => author(),
                "von" => found(FieldRole::Assignee).filter(|_| is_about_tasks).or_else(author),
                _ => found(FieldRole::Assignee).filter(|_| is_about_tasks),
            };
            if person.is_some() {
                return person;
            }
        }
        let is_state = matches!(before, "are" | "is" | "sind" | "ist" | "auf") && !is_cue(word);
        if is_state || is_column(after) || is_column(before) {
            return found(FieldRole::Status);
        }
        let sort = singular(word, |one| known.has(FieldRole::Type, one))?;
        Some((FieldRole::Type, sort))
    }

    fn note(&mut self, at: usize, asked: &mut FieldQuery) {
        asked.understood.push(self.words[at].text.to_owned());
        self.take(at, 1);
    }

    fn apply(
        &mut self,
        times: &[TimeRange],
        now: Timestamp,
        known: &dyn KnownValues,
        asked: &mut FieldQuery,
    ) {
        asked.tasks = self.take_cue(Cue::Task, asked);
        let is_late = !times.is_empty() || asked.tasks;
        if self.take_cue(Cue::Overdue, asked) || is_late && self.says_late(asked) {
            let today = midnight(now);
            asked.due = Some((TimeRange::EARLIEST, today));
            asked.done = Some(false);
        }
        let time = times.first();
        if let Some(time) = time {
            if self.take_cue(Cue::Due, asked) {
                let (from, to) = time.coming.unwrap_or((time.from, time.to));
                // What is over is overdue, and asked for as such.
                let from = if from == TimeRange::EARLIEST { midnight(now) } else { from };
                asked.due = Some((from, to));
                asked.understood.push(time.text.clone());
            } else if self.take_cue(Cue::Changed, asked) {
                asked.changed = Some((time.from, time.to));
                asked.understood.push(time.text.clone());
            } else if self.take_cue(Cue::Created, asked) || !asked.values.is_empty() {
                asked.created = Some((time.from, time.to));
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
        let levels: [(Cue, &[&str]); 3] = [
            (Cue::High, &["high", "highest", "urgent", "critical", "hoch", "p0", "p1"]),
            (Cue::Medium, &["medium", "normal", "mittel", "p2"]),
            (Cue::Low, &["low", "lowest", "niedrig", "p3", "p4"]),
        ];
        for (cue, values) in levels {
            if self.take_cue(cue, asked) {
                let values = values.iter().map(|value| (*value).to_owned()).collect();
                asked.values.push((FieldRole::Priority, values));
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
        // What is due or mine and is not said to be done is still to do.
        if asked.done.is_none() && asked.due.is_some() {
            asked.done = Some(false);
        }
        for cue in [Cue::Assigned, Cue::By, Cue::Column] {
            if !asked.values.is_empty() {
                self.take_cue(cue, asked);
            }
        }
    }

    /// "Late" is a word for many things; of tasks it means overdue.
    fn says_late(&mut self, asked: &mut FieldQuery) -> bool {
        let is_late = |word: &Word<'_>| matches!(&*word.lower, "late" | "verspätet");
        let Some(at) = self.words.iter().position(is_late).filter(|_| asked.tasks) else {
            return false;
        };
        self.note(at, asked);
        true
    }

    /// Whether everything of a sort is asked for.
    fn wants_all(&self) -> bool {
        let is_all = |word: &Word<'_>| matches!(&*word.lower, "all" | "every" | "alle" | "list");
        self.words.iter().any(is_all)
    }

    /// How many words were not understood, of those that say something.
    fn left(&self, language: Language) -> usize {
        let is_left = |word: &&Word<'_>| {
            !word.taken
                && !ASKING.contains(&&*word.lower)
                && !is_cue(&word.lower)
                && !terms::keywords(&word.lower, language).is_empty()
                && !terms::keywords(&word.lower, Language::English).is_empty()
        };
        let left: BTreeSet<&str> =
            self.words.iter().filter(is_left).map(|word| &*word.lower).collect();
        left.len()
    }
}

fn is_column(word: &str) -> bool {
    PHRASES.iter().any(|(cue, phrases)| *cue == Cue::Column && phrases.contains(&word))
}

fn is_cue(word: &str) -> bool {
    PHRASES.iter().any(|(_, phrases)| phrases.contains(&word))
}

/// The known word of which another is the plural, or which it is itself.
fn singular(word: &str, is_known: impl Fn(&str) -> bool) -> Option<String> {
    let stem = |ending: &str, more: &str| Some(format!("{}{more}", word.strip_suffix(ending)?));
    // The singular itself names a thing and not all of a sort.
    [stem("ies", "y"), stem("es", ""), stem("s", ""), stem("en", ""), stem("n", "")]
        .into_iter()
        .flatten()
        .find(|one| one.len() > 2 && is_known(one))
}

/// The first moment of a day in UTC.
fn midnight(now: Timestamp) -> Timestamp {
    const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;
    Timestamp::from_millis(now.as_millis() - now.as_millis().rem_euclid(DAY_MILLIS))
}

#[cfg(test)]
mod tests {
    use super::super::analyse;
    use super::*;

    /// 2026-11-16, a Monday, 09:00.
    const NOW: Timestamp = Timestamp::from_millis(1_794_819_600_000);

    struct Known;

    impl KnownValues for Known {
        fn has(&self, role: FieldRole, value: &str) -> bool {
            match role {
                FieldRole::Assignee | FieldRole::Author => matches!(value, "selma" | "dario"),
                FieldRole::Status => matches!(value, "review" | "blocked"),
                FieldRole::Type => value == "decision",
                _ => false,
            }
        }

        fn asker(&self) -> Option<&str> {
            Some("dario")
        }
    }

    fn read(text: &str) -> Option<FieldQuery> {
        let analysis = analyse(text, NOW);
        understand(text, &analysis.times, NOW, analysis.language, &Known)
    }

    fn shown(text: &str) -> String {
        let Some(asked) = read(text) else { return "nothing".to_owned() };
        let day = |at: Timestamp| match at {
            TimeRange::EARLIEST => "…".to_owned(),
            TimeRange::LATEST => "…".to_owned(),
            at => at.to_string()[..10].to_owned(),
        };
        let mut parts = Vec::new();
        let ranges = [("due", asked.due), ("changed", asked.changed), ("created", asked.created)];
        for (name, range) in ranges {
            parts.extend(range.map(|(from, to)| format!("{name} {}–{}", day(from), day(to))));
        }
        parts.extend(asked.done.map(|done| if done { "done" } else { "open" }.to_owned()));
        parts.extend(asked.tasks.then(|| "tasks".to_owned()));
        for (role, values) in &asked.values {
            parts.push(format!("{}={}", role.as_str(), values[0]));
        }
        parts.extend(asked.kinds);
        parts.join(", ")
    }

    #[test]
    fn questions_about_fields_are_understood_x10() {
        for (text, expected) in [
            ("What tasks are overdue?", "due …–2026-11-16, open, tasks"),
            ("Which forms are overdue?", "due …–2026-11-16, open"),
            ("Show my late tasks", "due …–2026-11-16, open, tasks, assignee=dario"),
            ("Past due and assigned to Selma", "due …–2026-11-16, open, assignee=selma"),
            ("Welche Aufgaben sind überfällig?", "due …–2026-11-16, open, tasks"),
            ("What is due today?", "due 2026-11-16–2026-11-17, open"),
            ("Which open tasks are due this week?", "due 2026-11-16–2026-11-23, open, tasks"),
            ("Was ist diese Woche fällig?", "due 2026-11-16–2026-11-23, open"),
            ("open tasks due before 27 November", "due 2026-11-16–2026-11-27, open, tasks"),
            ("What is due by Friday?", "due 2026-11-16–2026-11-21, open"),
            ("Was ist bis Freitag fällig?", "due 2026-11-16–2026-11-21, open"),
            ("Which high priority tasks are still open?", "open, tasks, priority=high"),
            ("Dario's done tasks", "done, tasks, assignee=dario"),
            ("What is in the Review column?", "status=review"),
            ("Which routes are blocked?", "status=blocked"),
            ("Which files changed last week?", "changed 2026-11-09–2026-11-16, file"),
            ("Was wurde seit gestern geändert?", "changed 2026-11-15–2026-11-16"),
            ("notes written by Selma", "author=selma, text"),
            (
                "Which decisions did we make in October 2026?",
                "created 2026-10-01–2026-11-01, type=decision",
            ),
            ("all decisions of October 2026", "created 2026-10-01–2026-11-01, type=decision"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn questions_about_texts_are_left_alone() {
        for text in [
            "How do I close a late invoice?",
            "What does the due diligence report say about rent?",
            "Is the migration of the mail server done?",
            "What did Selma say about the signage on the quay?",
            "What do we do with overdue library books of children?",
            "Summarise this page",
            "Why is the pump open?",
            "What is my allergy?",
            "What is the code?",
            "What is on this page?",
            "zzzz qqqq",
        ] {
            assert_eq!(shown(text), "nothing", "{text}");
        }
    }
}
