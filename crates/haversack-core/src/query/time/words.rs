//! The words for times in English, German, French and Spanish, and for a few in Chinese and
//! Japanese.
//!
//! Every word says which languages it belongs to: the words of one expression must share one, or
//! "this an" would be a year and "last tag" a day.

use std::ops::BitAnd;

use super::calendar::{CalendarUnit, Season};
use crate::text::terms::Language;

/// A set of the four languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LanguageSet(u8);

impl LanguageSet {
    pub(super) const EN: LanguageSet = LanguageSet(1);
    pub(super) const DE: LanguageSet = LanguageSet(2);
    pub(super) const FR: LanguageSet = LanguageSet(4);
    pub(super) const ES: LanguageSet = LanguageSet(8);
    pub(super) const ALL: LanguageSet = LanguageSet(15);
    const NONE: LanguageSet = LanguageSet(0);

    pub(super) const fn from_language(language: Language) -> LanguageSet {
        match language {
            Language::English => LanguageSet::EN,
            Language::German => LanguageSet::DE,
            Language::French => LanguageSet::FR,
            Language::Spanish => LanguageSet::ES,
            _ => LanguageSet::NONE,
        }
    }

    pub(super) const fn or(self, other: LanguageSet) -> LanguageSet {
        LanguageSet(self.0 | other.0)
    }

    pub(super) fn is_empty(self) -> bool {
        self == LanguageSet::NONE
    }
}

impl BitAnd for LanguageSet {
    type Output = LanguageSet;

    fn bitand(self, other: LanguageSet) -> LanguageSet {
        LanguageSet(self.0 & other.0)
    }
}

const EN: LanguageSet = LanguageSet::EN;
const DE: LanguageSet = LanguageSet::DE;
const FR: LanguageSet = LanguageSet::FR;
const ES: LanguageSet = LanguageSet::ES;

/// Words by meaning and language. A word may stand in several rows of one meaning.
type WordTable<T> = &'static [(T, LanguageSet, &'static [&'static str])];

/// Looks up the meaning and languages of a word.
fn look_up<T: Copy>(table: WordTable<T>, word: &str) -> Option<(T, LanguageSet)> {
    let mut rows = table.iter().filter(|(.., words)| words.contains(&word));
    let &(meaning, languages, _) = rows.next()?;
    Some((meaning, rows.fold(languages, |languages, row| languages.or(row.1))))
}

/// Words of other languages that are also English.
pub(super) const ENGLISH_TOO: &[&str] =
    &["a", "am", "an", "ans", "ce", "dia", "dos", "in", "la", "mar", "mars", "once", "tag"];

/// Whole expressions that name a period: words, their language, the period's unit, and how many
/// units from now.
///
/// Longer ones come before their own beginnings.
#[rustfmt::skip]
pub(super) const PERIODS: &[(&[&str], LanguageSet, CalendarUnit, i64)] = &[
    (&["the", "day", "before", "yesterday"], EN, CalendarUnit::Day, -2),
    (&["day", "before", "yesterday"], EN, CalendarUnit::Day, -2),
    (&["the", "day", "after", "tomorrow"], EN, CalendarUnit::Day, 2),
    (&["day", "after", "tomorrow"], EN, CalendarUnit::Day, 2),
    (&["today"], EN, CalendarUnit::Day, 0), (&["tonight"], EN, CalendarUnit::Day, 0),
    (&["end", "of", "day"], EN, CalendarUnit::Day, 0),
    (&["yesterday"], EN, CalendarUnit::Day, -1), (&["tomorrow"], EN, CalendarUnit::Day, 1),
    (&["heute"], DE, CalendarUnit::Day, 0), (&["gestern"], DE, CalendarUnit::Day, -1),
    (&["vorgestern"], DE, CalendarUnit::Day, -2),
    (&["morgen"], DE, CalendarUnit::Day, 1), (&["übermorgen"], DE, CalendarUnit::Day, 2),
    (&["aujourd'hui"], FR, CalendarUnit::Day, 0), (&["avant", "-", "hier"], FR, CalendarUnit::Day, -2),
    (&["hier"], FR, CalendarUnit::Day, -1), (&["après", "-", "demain"], FR, CalendarUnit::Day, 2),
    (&["demain"], FR, CalendarUnit::Day, 1),
    (&["hoy"], ES, CalendarUnit::Day, 0), (&["ayer"], ES, CalendarUnit::Day, -1),
    (&["anteayer"], ES, CalendarUnit::Day, -2),
    (&["pasado", "mañana"], ES, CalendarUnit::Day, 2), (&["mañana"], ES, CalendarUnit::Day, 1),
];

/// Expressions of scripts without spaces, longer ones before their own beginnings.
#[rustfmt::skip]
pub(super) const UNSPACED_PERIODS: &[(&str, CalendarUnit, i64)] = &[
    ("今天", CalendarUnit::Day, 0), ("昨天", CalendarUnit::Day, -1), ("前天", CalendarUnit::Day, -2),
    ("明天", CalendarUnit::Day, 1), ("后天", CalendarUnit::Day, 2), ("今日", CalendarUnit::Day, 0),
    ("昨日", CalendarUnit::Day, -1), ("明日", CalendarUnit::Day, 1),
    ("上个星期", CalendarUnit::Week, -1), ("上星期", CalendarUnit::Week, -1), ("上周", CalendarUnit::Week, -1),
    ("这个星期", CalendarUnit::Week, 0), ("本周", CalendarUnit::Week, 0), ("这周", CalendarUnit::Week, 0),
    ("下个星期", CalendarUnit::Week, 1), ("下星期", CalendarUnit::Week, 1), ("下周", CalendarUnit::Week, 1),
    ("先週", CalendarUnit::Week, -1), ("今週", CalendarUnit::Week, 0), ("来週", CalendarUnit::Week, 1),
    ("上个月", CalendarUnit::Month, -1), ("上月", CalendarUnit::Month, -1), ("这个月", CalendarUnit::Month, 0),
    ("本月", CalendarUnit::Month, 0), ("下个月", CalendarUnit::Month, 1), ("下月", CalendarUnit::Month, 1),
    ("先月", CalendarUnit::Month, -1), ("今月", CalendarUnit::Month, 0), ("来月", CalendarUnit::Month, 1),
    ("上个季度", CalendarUnit::Quarter, -1), ("上季度", CalendarUnit::Quarter, -1), ("本季度", CalendarUnit::Quarter, 0),
    ("去年", CalendarUnit::Year, -1), ("昨年", CalendarUnit::Year, -1), ("今年", CalendarUnit::Year, 0),
    ("明年", CalendarUnit::Year, 1), ("来年", CalendarUnit::Year, 1),
];

#[rustfmt::skip]
const UNITS: WordTable<CalendarUnit> = &[
    (CalendarUnit::Minute, EN, &["minute", "minutes", "min", "mins"]),
    (CalendarUnit::Minute, DE, &["minute", "minuten", "min"]),
    (CalendarUnit::Minute, FR, &["minute", "minutes", "min"]),
    (CalendarUnit::Minute, ES, &["minuto", "minutos", "min"]),
    (CalendarUnit::Hour, EN, &["hour", "hours", "hrs"]),
    (CalendarUnit::Hour, DE, &["stunde", "stunden"]),
    (CalendarUnit::Hour, FR, &["heure", "heures"]),
    (CalendarUnit::Hour, ES, &["hora", "horas"]),
    (CalendarUnit::Day, EN, &["day", "days"]),
    (CalendarUnit::Day, DE, &["tag", "tage", "tagen"]),
    (CalendarUnit::Day, FR, &["jour", "jours"]),
    (CalendarUnit::Day, ES, &["día", "días", "dia", "dias"]),
    (CalendarUnit::Week, EN, &["week", "weeks"]),
    (CalendarUnit::Week, DE, &["woche", "wochen"]),
    (CalendarUnit::Week, FR, &["semaine", "semaines"]),
    (CalendarUnit::Week, ES, &["semana", "semanas"]),
    (CalendarUnit::Month, EN, &["month", "months"]),
    (CalendarUnit::Month, DE, &["monat", "monate", "monats", "monaten"]),
    (CalendarUnit::Month, FR, &["mois"]),
    (CalendarUnit::Month, ES, &["mes", "meses"]),
    (CalendarUnit::Quarter, EN, &["quarter", "quarters"]),
    (CalendarUnit::Quarter, DE, &["quartal", "quartale", "quartalen"]),
    (CalendarUnit::Quarter, FR, &["trimestre", "trimestres"]),
    (CalendarUnit::Quarter, ES, &["trimestre", "trimestres"]),
    (CalendarUnit::Year, EN, &["year", "years"]),
    (CalendarUnit::Year, DE, &["jahr", "jahre", "jahres", "jahren"]),
    (CalendarUnit::Year, FR, &["année", "années", "an", "ans"]),
    (CalendarUnit::Year, ES, &["año", "años"]),
];

pub(super) fn unit(word: &str) -> Option<(CalendarUnit, LanguageSet)> {
    look_up(UNITS, word)
}

#[rustfmt::skip]
const LEADING_SHIFTS: WordTable<i64> = &[
    (-1, EN, &["last", "previous", "past"]),
    (-1, DE, &[
        "letzte", "letzten", "letzter", "letztes", "letztem", "vorige", "vorigen", "voriger",
        "voriges", "vergangene", "vergangenen", "vergangener", "vergangenes",
    ]),
    (-1, ES, &["último", "última"]),
    (0, EN, &["this", "current"]),
    (0, DE, &["diese", "diesen", "dieser", "dieses", "diesem", "aktuelle", "aktuellen"]),
    (0, FR, &["ce", "cet", "cette"]),
    (0, ES, &["este", "esta"]),
    (1, EN, &["next", "coming", "upcoming"]),
    (1, DE, &[
        "nächste", "nächsten", "nächster", "nächstes", "nächstem", "kommende", "kommenden",
        "kommendes",
    ]),
    (1, ES, &["próximo", "próxima"]),
];

/// "Last", "this" and "next" as they stand before a unit, a weekday or a month.
pub(super) fn leading_shift(word: &str) -> Option<(i64, LanguageSet)> {
    look_up(LEADING_SHIFTS, word)
}

#[rustfmt::skip]
const TRAILING_SHIFTS: WordTable<i64> = &[
    (-1, FR, &["dernier", "dernière", "passé", "passée", "précédent", "précédente"]),
    (-1, ES, &["pasado", "pasada"]),
    (1, FR, &["prochain", "prochaine"]),
    (1, ES, &["próximo", "próxima"]),
];

/// "Last" and "next" as they stand after a unit, a weekday or a month in French and Spanish.
pub(super) fn trailing_shift(word: &str) -> Option<(i64, LanguageSet)> {
    look_up(TRAILING_SHIFTS, word)
}

#[rustfmt::skip]
const LAST_MANY: WordTable<()> = &[
    ((), EN, &["last", "past", "previous"]), ((), DE, &["letzten", "vergangenen"]),
    ((), FR, &["derniers", "dernières"]), ((), ES, &["últimos", "últimas"]),
];

/// "Last" or "past" before a number of units: the time up to now.
pub(super) fn last_many(word: &str) -> Option<LanguageSet> {
    look_up(LAST_MANY, word).map(|(_, languages)| languages)
}

#[rustfmt::skip]
const NEXT_MANY: WordTable<()> = &[
    ((), EN, &["next", "coming"]), ((), DE, &["nächsten", "kommenden"]),
    ((), FR, &["prochains", "prochaines"]), ((), ES, &["próximos", "próximas"]),
];

/// "Next" before a number of units: the time from now on.
pub(super) fn next_many(word: &str) -> Option<LanguageSet> {
    look_up(NEXT_MANY, word).map(|(_, languages)| languages)
}

#[rustfmt::skip]
const NUMBERS: WordTable<i64> = &[
    (1, EN, &["a", "an", "one"]), (1, DE, &["ein", "eine", "einem", "einer", "einen"]),
    (1, FR, &["un", "une"]), (1, ES, &["un", "una"]),
    (2, EN, &["two"]), (2, DE, &["zwei"]), (2, FR, &["deux"]), (2, ES, &["dos"]),
    (3, EN, &["three"]), (3, DE, &["drei"]), (3, FR, &["trois"]), (3, ES, &["tres"]),
    (4, EN, &["four"]), (4, DE, &["vier"]), (4, FR, &["quatre"]), (4, ES, &["cuatro"]),
    (5, EN, &["five"]), (5, DE, &["fünf"]), (5, FR, &["cinq"]), (5, ES, &["cinco"]),
    (6, EN, &["six"]), (6, DE, &["sechs"]), (6, FR, &["six"]), (6, ES, &["seis"]),
    (7, EN, &["seven"]), (7, DE, &["sieben"]), (7, FR, &["sept"]), (7, ES, &["siete"]),
    (8, EN, &["eight"]), (8, DE, &["acht"]), (8, FR, &["huit"]), (8, ES, &["ocho"]),
    (9, EN, &["nine"]), (9, DE, &["neun"]), (9, FR, &["neuf"]), (9, ES, &["nueve"]),
    (10, EN, &["ten"]), (10, DE, &["zehn"]), (10, FR, &["dix"]), (10, ES, &["diez"]),
    (11, EN, &["eleven"]), (11, DE, &["elf"]), (11, FR, &["onze"]), (11, ES, &["once"]),
    (12, EN, &["twelve"]), (12, DE, &["zwölf"]), (12, FR, &["douze"]), (12, ES, &["doce"]),
];

pub(super) fn number(word: &str) -> Option<(i64, LanguageSet)> {
    let digits = || word.parse().ok().filter(|_| word.len() <= 6);
    look_up(NUMBERS, word).or_else(|| Some((digits()?, LanguageSet::ALL)))
}

#[rustfmt::skip]
const MONTHS: WordTable<i8> = &[
    (1, EN, &["january", "jan"]), (1, DE, &["januar", "jänner", "jan"]),
    (1, FR, &["janvier"]), (1, ES, &["enero"]),
    (2, EN, &["february", "feb"]), (2, DE, &["februar", "feb"]),
    (2, FR, &["février"]), (2, ES, &["febrero", "feb"]),
    (3, EN, &["march", "mar"]), (3, DE, &["märz"]),
    (3, FR, &["mars"]), (3, ES, &["marzo", "mar"]),
    (4, EN, &["april", "apr"]), (4, DE, &["april", "apr"]),
    (4, FR, &["avril"]), (4, ES, &["abril"]),
    (5, EN, &["may"]), (5, DE, &["mai"]), (5, FR, &["mai"]), (5, ES, &["mayo"]),
    (6, EN, &["june", "jun"]), (6, DE, &["juni", "jun"]),
    (6, FR, &["juin"]), (6, ES, &["junio", "jun"]),
    (7, EN, &["july", "jul"]), (7, DE, &["juli", "jul"]),
    (7, FR, &["juillet"]), (7, ES, &["julio", "jul"]),
    (8, EN, &["august", "aug"]), (8, DE, &["august", "aug"]),
    (8, FR, &["août"]), (8, ES, &["agosto"]),
    (9, EN, &["september", "sep", "sept"]), (9, DE, &["september", "sep", "sept"]),
    (9, FR, &["septembre", "sept"]), (9, ES, &["septiembre", "sep", "sept"]),
    (10, EN, &["october", "oct"]), (10, DE, &["oktober", "okt"]),
    (10, FR, &["octobre", "oct"]), (10, ES, &["octubre", "oct"]),
    (11, EN, &["november", "nov"]), (11, DE, &["november", "nov"]),
    (11, FR, &["novembre", "nov"]), (11, ES, &["noviembre", "nov"]),
    (12, EN, &["december", "dec"]), (12, DE, &["dezember", "dez"]),
    (12, FR, &["décembre"]), (12, ES, &["diciembre"]),
];

/// The month a word names, 1 to 12.
pub(super) fn month(word: &str) -> Option<(i8, LanguageSet)> {
    look_up(MONTHS, word)
}

#[rustfmt::skip]
const WEEKDAYS: WordTable<i64> = &[
    (0, EN, &["monday"]), (0, DE, &["montag"]), (0, FR, &["lundi"]), (0, ES, &["lunes"]),
    (1, EN, &["tuesday"]), (1, DE, &["dienstag"]), (1, FR, &["mardi"]), (1, ES, &["martes"]),
    (2, EN, &["wednesday"]), (2, DE, &["mittwoch"]),
    (2, FR, &["mercredi"]), (2, ES, &["miércoles"]),
    (3, EN, &["thursday"]), (3, DE, &["donnerstag"]), (3, FR, &["jeudi"]), (3, ES, &["jueves"]),
    (4, EN, &["friday"]), (4, DE, &["freitag"]), (4, FR, &["vendredi"]), (4, ES, &["viernes"]),
    (5, EN, &["saturday"]), (5, DE, &["samstag", "sonnabend"]),
    (5, FR, &["samedi"]), (5, ES, &["sábado"]),
    (6, EN, &["sunday"]), (6, DE, &["sonntag"]), (6, FR, &["dimanche"]), (6, ES, &["domingo"]),
];

/// The weekday a word names, Monday being 0.
pub(super) fn weekday(word: &str) -> Option<(i64, LanguageSet)> {
    look_up(WEEKDAYS, word)
}

#[rustfmt::skip]
const SEASONS: WordTable<Season> = &[
    (Season::Spring, EN, &["spring", "springtime"]),
    (Season::Spring, DE, &["frühling", "frühjahr"]),
    (Season::Spring, FR, &["printemps"]), (Season::Spring, ES, &["primavera"]),
    (Season::Summer, EN, &["summer", "summertime"]), (Season::Summer, DE, &["sommer"]),
    (Season::Summer, FR, &["été"]), (Season::Summer, ES, &["verano"]),
    (Season::Autumn, EN, &["autumn", "fall"]), (Season::Autumn, DE, &["herbst"]),
    (Season::Autumn, FR, &["automne"]), (Season::Autumn, ES, &["otoño"]),
    (Season::Winter, EN, &["winter"]), (Season::Winter, DE, &["winter"]),
    (Season::Winter, FR, &["hiver"]), (Season::Winter, ES, &["invierno"]),
];

/// The season a word names.
pub(super) fn season(word: &str) -> Option<(Season, LanguageSet)> {
    look_up(SEASONS, word)
}

#[rustfmt::skip]
const WEEKENDS: WordTable<()> = &[
    ((), EN, &["weekend"]), ((), DE, &["wochenende", "wochenendes"]),
    ((), FR, &["weekend"]), ((), ES, &["finde"]),
];

/// The languages in which a word is the weekend.
pub(super) fn weekend(word: &str) -> Option<LanguageSet> {
    look_up(WEEKENDS, word).map(|(_, languages)| languages)
}

/// A third of a longer period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeriodPart {
    First,
    Middle,
    Last,
}

#[rustfmt::skip]
const THIRDS: WordTable<PeriodPart> = &[
    (PeriodPart::First, EN, &["beginning", "start", "early"]), (PeriodPart::First, DE, &["anfang", "beginn"]),
    (PeriodPart::First, FR, &["début"]), (PeriodPart::First, ES, &["principios"]),
    (PeriodPart::Middle, EN, &["middle", "mid"]), (PeriodPart::Middle, DE, &["mitte"]),
    (PeriodPart::Middle, FR, &["mi"]), (PeriodPart::Middle, ES, &["mediados"]),
    (PeriodPart::Last, EN, &["end", "late"]), (PeriodPart::Last, DE, &["ende"]),
    (PeriodPart::Last, FR, &["fin"]), (PeriodPart::Last, ES, &["fines", "finales"]),
];

/// The part of a longer period that a word names.
pub(super) fn third(word: &str) -> Option<(PeriodPart, LanguageSet)> {
    look_up(THIRDS, word)
}

/// German ends of periods in one word.
pub(super) fn end_of_period(word: &str) -> Option<CalendarUnit> {
    match word {
        "monatsende" => Some(CalendarUnit::Month),
        "quartalsende" => Some(CalendarUnit::Quarter),
        "jahresende" => Some(CalendarUnit::Year),
        _ => None,
    }
}

/// Whether a word with an ordinal number is not a day: "the 3rd time", "die 2. Woche".
pub(super) fn is_counted(word: &str) -> bool {
    unit(word).is_some()
        || matches!(word, "time" | "times" | "version" | "floor" | "mal" | "stock" | "fois" | "vez")
}

/// Whether a word marks a question about the future.
#[rustfmt::skip]
pub(super) fn is_future(word: &str) -> bool {
    matches!(
        word,
        "will" | "shall" | "upcoming" | "planned" | "scheduled" | "wird" | "werde" | "werden" | "wirst" | "geplant" | "ansteht" | "vorhaben"
    )
}

/// A preposition before a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeRelation {
    /// Nothing but show that a bare number is a year.
    In,
    Since,
    Before,
    After,
    Until,
    /// Until a time that is still to come.
    By,
    /// A time that is still to come.
    For,
    /// The first of two ends, or the beginning of what is to come.
    From,
    /// The first of two ends.
    Between,
}

#[rustfmt::skip]
const RELATIONS: WordTable<TimeRelation> = &[
    (TimeRelation::In, EN, &["in", "during", "on"]), (TimeRelation::In, DE, &["in", "im", "am"]),
    (TimeRelation::In, FR, &["en", "le"]), (TimeRelation::In, ES, &["en"]),
    (TimeRelation::Since, EN, &["since"]), (TimeRelation::Since, DE, &["seit"]),
    (TimeRelation::Since, FR, &["depuis"]), (TimeRelation::Since, ES, &["desde"]),
    (TimeRelation::Before, EN, &["before"]), (TimeRelation::Before, DE, &["vor"]),
    (TimeRelation::Before, FR, &["avant"]), (TimeRelation::Before, ES, &["antes"]),
    (TimeRelation::After, EN, &["after"]), (TimeRelation::After, DE, &["nach"]),
    (TimeRelation::After, FR, &["après"]), (TimeRelation::After, ES, &["después"]),
    (TimeRelation::Until, EN, &["until", "till"]),
    (TimeRelation::By, EN, &["by"]), (TimeRelation::By, DE, &["bis", "spätestens"]),
    (TimeRelation::For, EN, &["for"]), (TimeRelation::For, DE, &["für"]),
    (TimeRelation::For, FR, &["pour"]), (TimeRelation::For, ES, &["para"]),
    (TimeRelation::From, EN, &["from", "starting"]), (TimeRelation::From, DE, &["ab", "von", "vom"]),
    (TimeRelation::From, FR, &["dès"]),
    (TimeRelation::Until, FR, &["jusqu'à", "jusqu'en"]), (TimeRelation::Until, ES, &["hasta"]),
    (TimeRelation::Between, EN, &["between"]), (TimeRelation::Between, DE, &["zwischen"]),
    (TimeRelation::Between, FR, &["entre"]), (TimeRelation::Between, ES, &["entre"]),
];

pub(super) fn relation(word: &str) -> Option<(TimeRelation, LanguageSet)> {
    look_up(RELATIONS, word)
}

/// Relations of several words.
#[rustfmt::skip]
pub(super) const RELATION_PHRASES: &[(&[&str], TimeRelation, LanguageSet)] = &[
    (&["no", "later", "than"], TimeRelation::By, EN), (&["up", "to"], TimeRelation::Until, EN),
    (&["prior", "to"], TimeRelation::Before, EN), (&["starting", "from"], TimeRelation::From, EN),
    (&["ever", "since"], TimeRelation::Since, EN),
    (&["bis", "spätestens"], TimeRelation::By, DE),
    (&["à", "partir", "de"], TimeRelation::From, FR), (&["à", "partir", "du"], TimeRelation::From, FR),
    (&["d'", "ici"], TimeRelation::By, FR), (&["a", "partir", "de"], TimeRelation::From, ES),
];

/// Whether a word may stand between a preposition and its time.
pub(super) fn is_filler(word: &str) -> bool {
    matches!(
        word,
        "the"
            | "dem"
            | "der"
            | "den"
            | "des"
            | "zum"
            | "zur"
            | "la"
            | "le"
            | "l'"
            | "el"
            | "de"
            | "del"
            | "du"
            | "of"
    )
}

#[rustfmt::skip]
const JOINTS: WordTable<()> = &[
    ((), EN, &["and", "to", "until"]), ((), DE, &["und", "bis"]), ((), FR, &["et", "à"]),
    ((), ES, &["y", "a"]), ((), LanguageSet::ALL, &["-", "–"]),
];

/// What joins the two ends of a range.
pub(super) fn joint(word: &str) -> Option<LanguageSet> {
    look_up(JOINTS, word).map(|(_, languages)| languages)
}

#[rustfmt::skip]
const ORDINALS: WordTable<()> = &[
    ((), EN, &["st", "nd", "rd", "th"]), ((), FR, &["er"]), ((), LanguageSet::ALL, &["."]),
];

/// The suffix of a day's number.
pub(super) fn ordinal(word: &str) -> Option<LanguageSet> {
    look_up(ORDINALS, word).map(|(_, languages)| languages)
}
