//! The words of questions about fields, as data: a built-in table in English and German, and what a
//! recipe adds for other languages and kinds.

use std::collections::BTreeSet;

/// The built-in words.
const BUILT_IN: &str = include_str!("words.txt");

/// Most phrases of a vocabulary, those of the built-in table included.
pub const PHRASES_MAX: usize = 4_096;

/// Longest phrase, in bytes.
pub const PHRASE_BYTES_MAX: usize = 128;

/// The meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cue {
    Overdue,
    Late,
    Due,
    Open,
    Done,
    Mine,
    Tasks,
    Changed,
    Created,
    High,
    Medium,
    Low,
    By,
    Of,
    Wrote,
    Assigned,
    Column,
    Is,
    All,
}

impl Cue {
    const NAMES: [(&'static str, Cue); 19] = [
        ("overdue", Cue::Overdue),
        ("late", Cue::Late),
        ("due", Cue::Due),
        ("open", Cue::Open),
        ("done", Cue::Done),
        ("mine", Cue::Mine),
        ("tasks", Cue::Tasks),
        ("changed", Cue::Changed),
        ("created", Cue::Created),
        ("high", Cue::High),
        ("medium", Cue::Medium),
        ("low", Cue::Low),
        ("by", Cue::By),
        ("of", Cue::Of),
        ("wrote", Cue::Wrote),
        ("assigned", Cue::Assigned),
        ("column", Cue::Column),
        ("is", Cue::Is),
        ("all", Cue::All),
    ];
}

/// The words by which questions about fields are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vocabulary {
    phrases: Vec<(Cue, String)>,
    /// Words that ask and say nothing else.
    asking: BTreeSet<String>,
    /// Kinds, with the words that people have for many of them.
    kinds: Vec<(String, String)>,
    /// Values of priority fields by the level that they are.
    levels: Vec<(Cue, String)>,
}

impl Default for Vocabulary {
    fn default() -> Vocabulary {
        let (phrases, asking, kinds, levels) = Default::default();
        let mut vocabulary = Vocabulary { phrases, asking, kinds, levels };
        let lines = BUILT_IN.lines().filter(|line| !line.starts_with('#'));
        for (name, phrases) in lines.filter_map(|line| line.split_once(':')) {
            let is_known = phrases.split(',').all(|phrase| vocabulary.add(name, phrase));
            debug_assert!(is_known, "{name} is no name of the table");
        }
        vocabulary
    }
}

impl Vocabulary {
    /// The names under which phrases are added, and what each says of a question.
    pub const NAMES: [(&'static str, &'static str); 23] = [
        ("overdue", "its day is over and it is not done"),
        ("late", "overdue, when said of tasks"),
        ("due", "it has to be done at the time that the question names"),
        ("open", "it is not done"),
        ("done", "it is done"),
        ("mine", "the asker has to do it"),
        ("tasks", "something that can be done"),
        ("changed", "its last change lies in the time that the question names"),
        ("created", "it came to be in the time that the question names"),
        ("high", "its priority is high"),
        ("medium", "its priority is medium"),
        ("low", "its priority is low"),
        ("by", "before a name: who wrote it"),
        ("of", "before a name: whose task it is, or who wrote it"),
        ("wrote", "after a name: who wrote it"),
        ("assigned", "who has to do it"),
        ("column", "beside a state or a column"),
        ("is", "before a state"),
        ("all", "all of a kind are asked for"),
        ("asking", "words that ask and say nothing else"),
        ("high_values", "values of a priority field that are high"),
        ("medium_values", "values of a priority field that are medium"),
        ("low_values", "values of a priority field that are low"),
    ];

    /// Adds a phrase under one of [`Vocabulary::NAMES`], or under `kind NAME`; says whether there
    /// is such a name and room for it.
    pub fn add(&mut self, name: &str, phrase: &str) -> bool {
        let phrase = phrase.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let count = self.phrases.len() + self.asking.len() + self.kinds.len() + self.levels.len();
        if phrase.is_empty() || phrase.len() > PHRASE_BYTES_MAX || count >= PHRASES_MAX {
            return false;
        }
        if let Some(kind) = name.strip_prefix("kind ") {
            self.kinds.push((kind.to_owned(), phrase));
            return true;
        }
        let cue = Cue::NAMES.iter().find(|(known, _)| *known == name).map(|(_, cue)| *cue);
        match (name, cue) {
            (_, Some(cue)) => self.phrases.push((cue, phrase)),
            ("asking", _) => {
                self.asking.insert(phrase);
            }
            ("high_values", _) => self.levels.push((Cue::High, phrase)),
            ("medium_values", _) => self.levels.push((Cue::Medium, phrase)),
            ("low_values", _) => self.levels.push((Cue::Low, phrase)),
            _ => return false,
        }
        true
    }

    pub(super) fn phrases(&self) -> impl Iterator<Item = (Cue, &str)> {
        self.phrases.iter().map(|(cue, phrase)| (*cue, phrase.as_str()))
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        self.kinds.iter().map(|(kind, phrase)| (kind.as_str(), phrase.as_str()))
    }

    pub(super) fn is_asking(&self, word: &str) -> bool {
        self.asking.contains(word)
    }

    /// Whether a single word is a cue.
    pub(super) fn is_cue(&self, word: &str) -> bool {
        self.phrases.iter().any(|(_, phrase)| phrase == word)
    }

    pub(super) fn says(&self, cue: Cue, word: &str) -> bool {
        self.phrases.iter().any(|(known, phrase)| *known == cue && phrase == word)
    }

    /// The values of a level of priority.
    pub(super) fn values(&self, level: Cue) -> Vec<String> {
        let own = self.levels.iter().filter(|(known, _)| *known == level);
        own.map(|(_, value)| value.clone()).collect()
    }
}
