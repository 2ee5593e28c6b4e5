//! The words for times in English, German, French and Spanish, and for a few in Chinese and
//! Japanese.
//!
//! Every word says which languages it belongs to: the words of one expression must share one, or
//! "this an" would be a year and "last tag" a day.

use std::ops::BitAnd;

use super::calendar::{Season, Unit};
use crate::text::terms::Language;

/// A set of the four languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tongues(u8);

impl Tongues {
    pub(super) const EN: Tongues = Tongues(1);
    pub(super) const DE: Tongues = Tongues(2);
    pub(super) const FR: Tongues = Tongues(4);
    pub(super) const ES: Tongues = Tongues(8);
    pub(super) const ALL: Tongues = Tongues(15);
    const NONE: Tongues = Tongues(0);

    pub(super) const fn of(language: Language) -> Tongues {
        match language {
            Language::English => Tongues::EN,
            Language::German => Tongues::DE,
            Language::French => Tongues::FR,
            Language::Spanish => Tongues::ES,
            _ => Tongues::NONE,
        }
    }

    pub(super) const fn or(self, other: Tongues) -> Tongues {
        Tongues(self.0 | other.0)
    }

    pub(super) fn is_empty(self) -> bool {
        self == Tongues::NONE
    }
}

impl BitAnd for Tongues {
    type Output = Tongues;

    fn bitand(self, other: Tongues) -> Tongues {
        Tongues(self.0 & other.0)
    }
}

const EN: Tongues = Tongues::EN;
const DE: Tongues = Tongues::DE;
const FR: Tongues = Tongues::FR;
const ES: Tongues = Tongues::ES;

/// Words by meaning and language. A word may stand in several rows of one meaning.
type Table<T> = &'static [(T, Tongues, &'static [&'static str])];

/// What a word means, and in which languages.
fn look<T: Copy>(table: Table<T>, word: &str) -> Option<(T, Tongues)> {
    let mut rows = table.iter().filter(|(.., words)| words.contains(&word));
    let &(meaning, tongues, _) = rows.next()?;
    Some((meaning, rows.fold(tongues, |tongues, row| tongues.or(row.1))))
}

/// Words of another language that also are English ones, and so prove nothing.
pub(super) const ENGLISH_TOO: &[&str] =
    &["a", "am", "an", "ans", "ce", "dia", "dos", "in", "la", "mar", "mars", "once", "tag"];

/// Whole expressions that name a period: words, their language, the period's unit, and how many
/// units from now.
///
/// Longer ones come before their own beginnings.
#[rustfmt::skip]
pub(super) const PERIODS: &[(&[&str], Tongues, Unit, i64)] = &[
    (&["the", "day", "before", "yesterday"], EN, Unit::Day, -2),
    (&["day", "before", "yesterday"], EN, Unit::Day, -2),
    (&["the", "day", "after", "tomorrow"], EN, Unit::Day, 2),
    (&["day", "after", "tomorrow"], EN, Unit::Day, 2),
    (&["today"], EN, Unit::Day, 0), (&["tonight"], EN, Unit::Day, 0),
    (&["end", "of", "day"], EN, Unit::Day, 0),
    (&["yesterday"], EN, Unit::Day, -1), (&["tomorrow"], EN, Unit::Day, 1),
    (&["heute"], DE, Unit::Day, 0), (&["gestern"], DE, Unit::Day, -1),
    (&["vorgestern"], DE, Unit::Day, -2),
    (&["morgen"], DE, Unit::Day, 1), (&["übermorgen"], DE, Unit::Day, 2),
    (&["aujourd'hui"], FR, Unit::Day, 0), (&["avant", "-", "hier"], FR, Unit::Day, -2),
    (&["hier"], FR, Unit::Day, -1), (&["après", "-", "demain"], FR, Unit::Day, 2),
    (&["demain"], FR, Unit::Day, 1),
    (&["hoy"], ES, Unit::Day, 0), (&["ayer"], ES, Unit::Day, -1),
    (&["anteayer"], ES, Unit::Day, -2),
    (&["pasado", "mañana"], ES, Unit::Day, 2), (&["mañana"], ES, Unit::Day, 1),
];

/// Expressions of scripts without spaces, longer ones before their own beginnings.
#[rustfmt::skip]
pub(super) const UNSPACED_PERIODS: &[(&str, Unit, i64)] = &[
    ("今天", Unit::Day, 0), ("昨天", Unit::Day, -1), ("前天", Unit::Day, -2),
    ("明天", Unit::Day, 1), ("后天", Unit::Day, 2), ("今日", Unit::Day, 0),
    ("昨日", Unit::Day, -1), ("明日", Unit::Day, 1),
    ("上个星期", Unit::Week, -1), ("上星期", Unit::Week, -1), ("上周", Unit::Week, -1),
    ("这个星期", Unit::Week, 0), ("本周", Unit::Week, 0), ("这周", Unit::Week, 0),
    ("下个星期", Unit::Week, 1), ("下星期", Unit::Week, 1), ("下周", Unit::Week, 1),
    ("先週", Unit::Week, -1), ("今週", Unit::Week, 0), ("来週", Unit::Week, 1),
    ("上个月", Unit::Month, -1), ("上月", Unit::Month, -1), ("这个月", Unit::Month, 0),
    ("本月", Unit::Month, 0), ("下个月", Unit::Month, 1), ("下月", Unit::Month, 1),
    ("先月", Unit::Month, -1), ("今月", Unit::Month, 0), ("来月", Unit::Month, 1),
    ("上个季度", Unit::Quarter, -1), ("上季度", Unit::Quarter, -1), ("本季度", Unit::Quarter, 0),
    ("去年", Unit::Year, -1), ("昨年", Unit::Year, -1), ("今年", Unit::Year, 0),
    ("明年", Unit::Year, 1), ("来年", Unit::Year, 1),
];

#[rustfmt::skip]
const UNITS: Table<Unit> = &[
    (Unit::Minute, EN, &["minute", "minutes", "min", "mins"]),
    (Unit::Minute, DE, &["minute", "minuten", "min"]),
    (Unit::Minute, FR, &["minute", "minutes", "min"]),
    (Unit::Minute, ES, &["minuto", "minutos", "min"]),
    (Unit::Hour, EN, &["hour", "hours", "hrs"]),
    (Unit::Hour, DE, &["stunde", "stunden"]),
    (Unit::Hour, FR, &["heure", "heures"]),
    (Unit::Hour, ES, &["hora", "horas"]),
    (Unit::Day, EN, &["day", "days"]),
    (Unit::Day, DE, &["tag", "tage", "tagen"]),
    (Unit::Day, FR, &["jour", "jours"]),
    (Unit::Day, ES, &["día", "días", "dia", "dias"]),
    (Unit::Week, EN, &["week", "weeks"]),
    (Unit::Week, DE, &["woche", "wochen"]),
    (Unit::Week, FR, &["semaine", "semaines"]),
    (Unit::Week, ES, &["semana", "semanas"]),
    (Unit::Month, EN, &["month", "months"]),
    (Unit::Month, DE, &["monat", "monate", "monats", "monaten"]),
    (Unit::Month, FR, &["mois"]),
    (Unit::Month, ES, &["mes", "meses"]),
    (Unit::Quarter, EN, &["quarter", "quarters"]),
    (Unit::Quarter, DE, &["quartal", "quartale", "quartalen"]),
    (Unit::Quarter, FR, &["trimestre", "trimestres"]),
    (Unit::Quarter, ES, &["trimestre", "trimestres"]),
    (Unit::Year, EN, &["year", "years"]),
    (Unit::Year, DE, &["jahr", "jahre", "jahres", "jahren"]),
    (Unit::Year, FR, &["année", "années", "an", "ans"]),
    (Unit::Year, ES, &["año", "años"]),
];

pub(super) fn unit(word: &str) -> Option<(Unit, Tongues)> {
    look(UNITS, word)
}

#[rustfmt::skip]
const SHIFTS_BEFORE: Table<i64> = &[
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
pub(super) fn shift_before(word: &str) -> Option<(i64, Tongues)> {
    look(SHIFTS_BEFORE, word)
}

#[rustfmt::skip]
const SHIFTS_AFTER: Table<i64> = &[
    (-1, FR, &["dernier", "dernière", "passé", "passée", "précédent", "précédente"]),
    (-1, ES, &["pasado", "pasada"]),
    (1, FR, &["prochain", "prochaine"]),
    (1, ES, &["próximo", "próxima"]),
];

/// "Last" and "next" as they stand after a unit, a weekday or a month in French and Spanish.
pub(super) fn shift_after(word: &str) -> Option<(i64, Tongues)> {
    look(SHIFTS_AFTER, word)
}

#[rustfmt::skip]
const LAST_MANY: Table<()> = &[
    ((), EN, &["last", "past", "previous"]), ((), DE, &["letzten", "vergangenen"]),
    ((), FR, &["derniers", "dernières"]), ((), ES, &["últimos", "últimas"]),
];

/// "Last" or "past" before a number of units: the time up to now.
pub(super) fn last_many(word: &str) -> Option<Tongues> {
    look(LAST_MANY, word).map(|(_, tongues)| tongues)
}

#[rustfmt::skip]
const NEXT_MANY: Table<()> = &[
    ((), EN, &["next", "coming"]), ((), DE, &["nächsten", "kommenden"]),
    ((), FR, &["prochains", "prochaines"]), ((), ES, &["próximos", "próximas"]),
];

/// "Next" before a number of units: the time from now on.
pub(super) fn next_many(word: &str) -> Option<Tongues> {
    look(NEXT_MANY, word).map(|(_, tongues)| tongues)
}

#[rustfmt::skip]
const NUMBERS: Table<i64> = &[
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

pub(super) fn number(word: &str) -> Option<(i64, Tongues)> {
    let digits = || word.parse().ok().filter(|_| word.len() <= 6);
    look(NUMBERS, word).or_else(|| Some((digits()?, Tongues::ALL)))
}

#[rustfmt::skip]
const MONTHS: Table<i8> = &[
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
pub(super) fn month(word: &str) -> Option<(i8, Tongues)> {
    look(MONTHS, word)
}

#[rustfmt::skip]
const WEEKDAYS: Table<i64> = &[
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
pub(super) fn weekday(word: &str) -> Option<(i64, Tongues)> {
    look(WEEKDAYS, word)
}

#[rustfmt::skip]
const SEASONS: Table<Season> = &[
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
pub(super) fn season(word: &str) -> Option<(Season, Tongues)> {
    look(SEASONS, word)
}

#[rustfmt::skip]
const WEEKENDS: Table<()> = &[
    ((), EN, &["weekend"]), ((), DE, &["wochenende", "wochenendes"]),
    ((), FR, &["weekend"]), ((), ES, &["finde"]),
];

/// The languages in which a word is the weekend.
pub(super) fn weekend(word: &str) -> Option<Tongues> {
    look(WEEKENDS, word).map(|(_, tongues)| tongues)
}

/// A part of a longer time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Third {
    First,
    Middle,
    Last,
}

#[rustfmt::skip]
const THIRDS: Table<Third> = &[
    (Third::First, EN, &["beginning", "start", "early"]), (Third::First, DE, &["anfang", "beginn"]),
    (Third::First, FR, &["début"]), (Third::First, ES, &["principios"]),
    (Third::Middle, EN, &["middle", "mid"]), (Third::Middle, DE, &["mitte"]),
    (Third::Middle, FR, &["mi"]), (Third::Middle, ES, &["mediados"]),
    (Third::Last, EN, &["end", "late"]), (Third::Last, DE, &["ende"]),
    (Third::Last, FR, &["fin"]), (Third::Last, ES, &["fines", "finales"]),
];

/// The part of a longer time that a word speaks of.
pub(super) fn third(word: &str) -> Option<(Third, Tongues)> {
    look(THIRDS, word)
}

/// German ends of periods in one word.
pub(super) fn end_of_period(word: &str) -> Option<Unit> {
    match word {
        "monatsende" => Some(Unit::Month),
        "quartalsende" => Some(Unit::Quarter),
        "jahresende" => Some(Unit::Year),
        _ => None,
    }
}

/// What has an ordinal number and is no day: "the 3rd time", "die 2. Woche".
pub(super) fn is_counted(word: &str) -> bool {
    unit(word).is_some()
        || matches!(word, "time" | "times" | "version" | "floor" | "mal" | "stock" | "fois" | "vez")
}

/// Words of questions about what is to come.
#[rustfmt::skip]
pub(super) fn is_future(word: &str) -> bool {
    matches!(
        word,
        "will" | "shall" | "upcoming" | "planned" | "scheduled" | "wird" | "werde" | "werden" | "wirst" | "geplant" | "ansteht" | "vorhaben"
    )
}

/// What a word before a time does to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
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
const RELATIONS: Table<Relation> = &[
    (Relation::In, EN, &["in", "during", "on"]), (Relation::In, DE, &["in", "im", "am"]),
    (Relation::In, FR, &["en", "le"]), (Relation::In, ES, &["en"]),
    (Relation::Since, EN, &["since"]), (Relation::Since, DE, &["seit"]),
    (Relation::Since, FR, &["depuis"]), (Relation::Since, ES, &["desde"]),
    (Relation::Before, EN, &["before"]), (Relation::Before, DE, &["vor"]),
    (Relation::Before, FR, &["avant"]), (Relation::Before, ES, &["antes"]),
    (Relation::After, EN, &["after"]), (Relation::After, DE, &["nach"]),
    (Relation::After, FR, &["après"]), (Relation::After, ES, &["después"]),
    (Relation::Until, EN, &["until", "till"]),
    (Relation::By, EN, &["by"]), (Relation::By, DE, &["bis", "spätestens"]),
    (Relation::For, EN, &["for"]), (Relation::For, DE, &["für"]),
    (Relation::For, FR, &["pour"]), (Relation::For, ES, &["para"]),
    (Relation::From, EN, &["from", "starting"]), (Relation::From, DE, &["ab", "von", "vom"]),
    (Relation::From, FR, &["dès"]),
    (Relation::Until, FR, &["jusqu'à", "jusqu'en"]), (Relation::Until, ES, &["hasta"]),
    (Relation::Between, EN, &["between"]), (Relation::Between, DE, &["zwischen"]),
    (Relation::Between, FR, &["entre"]), (Relation::Between, ES, &["entre"]),
];

pub(super) fn relation(word: &str) -> Option<(Relation, Tongues)> {
    look(RELATIONS, word)
}

/// Relations of several words.
#[rustfmt::skip]
pub(super) const RELATION_PHRASES: &[(&[&str], Relation, Tongues)] = &[
    (&["no", "later", "than"], Relation::By, EN), (&["up", "to"], Relation::Until, EN),
    (&["prior", "to"], Relation::Before, EN), (&["starting", "from"], Relation::From, EN),
    (&["ever", "since"], Relation::Since, EN),
    (&["bis", "spätestens"], Relation::By, DE),
    (&["à", "partir", "de"], Relation::From, FR), (&["à", "partir", "du"], Relation::From, FR),
    (&["d'", "ici"], Relation::By, FR), (&["a", "partir", "de"], Relation::From, ES),
];

/// Little words between a relation and its time.
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
const JOINTS: Table<()> = &[
    ((), EN, &["and", "to", "until"]), ((), DE, &["und", "bis"]), ((), FR, &["et", "à"]),
    ((), ES, &["y", "a"]), ((), Tongues::ALL, &["-", "–"]),
];

/// What joins the two ends of a range.
pub(super) fn joint(word: &str) -> Option<Tongues> {
    look(JOINTS, word).map(|(_, tongues)| tongues)
}

#[rustfmt::skip]
const ORDINALS: Table<()> = &[
    ((), EN, &["st", "nd", "rd", "th"]), ((), FR, &["er"]), ((), Tongues::ALL, &["."]),
];

/// What stands behind the number of a day.
pub(super) fn ordinal(word: &str) -> Option<Tongues> {
    look(ORDINALS, word).map(|(_, tongues)| tongues)
}
