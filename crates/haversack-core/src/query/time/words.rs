//! The words for times in English, German, French and Spanish, and for a few in Chinese and
//! Japanese.

use super::calendar::Unit;

/// Whole expressions that name a period: words, the period's unit, and how many units from now.
///
/// Longer ones come before their own beginnings.
#[rustfmt::skip]
pub(super) const PERIODS: &[(&[&str], Unit, i64)] = &[
    (&["the", "day", "before", "yesterday"], Unit::Day, -2),
    (&["day", "before", "yesterday"], Unit::Day, -2),
    (&["the", "day", "after", "tomorrow"], Unit::Day, 2),
    (&["day", "after", "tomorrow"], Unit::Day, 2),
    (&["today"], Unit::Day, 0), (&["tonight"], Unit::Day, 0),
    (&["yesterday"], Unit::Day, -1), (&["tomorrow"], Unit::Day, 1),
    (&["heute"], Unit::Day, 0), (&["gestern"], Unit::Day, -1), (&["vorgestern"], Unit::Day, -2),
    (&["morgen"], Unit::Day, 1), (&["übermorgen"], Unit::Day, 2),
    (&["aujourd'hui"], Unit::Day, 0), (&["avant", "-", "hier"], Unit::Day, -2),
    (&["hier"], Unit::Day, -1), (&["après", "-", "demain"], Unit::Day, 2),
    (&["demain"], Unit::Day, 1),
    (&["hoy"], Unit::Day, 0), (&["ayer"], Unit::Day, -1), (&["anteayer"], Unit::Day, -2),
    (&["pasado", "mañana"], Unit::Day, 2), (&["mañana"], Unit::Day, 1),
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

pub(super) fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "minute" | "minutes" | "min" | "mins" | "minuten" | "minuto" | "minutos" => Unit::Minute,
        "hour" | "hours" | "hrs" | "stunde" | "stunden" | "heure" | "heures" | "hora" | "horas" => {
            Unit::Hour
        }
        "day" | "days" | "tag" | "tage" | "tagen" | "jour" | "jours" | "día" | "días" | "dia"
        | "dias" => Unit::Day,
        "week" | "weeks" | "woche" | "wochen" | "semaine" | "semaines" | "semana" | "semanas" => {
            Unit::Week
        }
        "month" | "months" | "monat" | "monate" | "monats" | "monaten" | "mois" | "mes"
        | "meses" => Unit::Month,
        "quarter" | "quarters" | "quartal" | "quartale" | "quartalen" | "trimestre"
        | "trimestres" => Unit::Quarter,
        "year" | "years" | "jahr" | "jahre" | "jahres" | "jahren" | "année" | "années" | "an"
        | "ans" | "año" | "años" => Unit::Year,
        _ => return None,
    })
}

/// "Last", "this" and "next" as they stand before a unit or a weekday.
pub(super) fn shift_before(word: &str) -> Option<i64> {
    Some(match word {
        "last" | "previous" | "past" | "letzte" | "letzten" | "letzter" | "letztes" | "letztem"
        | "vorige" | "vorigen" | "voriger" | "voriges" | "vergangene" | "vergangenen"
        | "vergangener" | "vergangenes" | "último" | "última" => -1,
        "this" | "current" | "diese" | "diesen" | "dieser" | "dieses" | "diesem" | "aktuelle"
        | "aktuellen" | "ce" | "cet" | "cette" | "este" | "esta" => 0,
        "next" | "coming" | "upcoming" | "nächste" | "nächsten" | "nächster" | "nächstes"
        | "nächstem" | "kommende" | "kommenden" | "kommendes" | "próximo" | "próxima" => 1,
        _ => return None,
    })
}

/// "Last" and "next" as they stand after a unit or a weekday in French and Spanish.
pub(super) fn shift_after(word: &str) -> Option<i64> {
    Some(match word {
        "dernier" | "dernière" | "passé" | "passée" | "précédent" | "précédente" | "pasado"
        | "pasada" => -1,
        "prochain" | "prochaine" | "próximo" | "próxima" => 1,
        _ => return None,
    })
}

/// "Last" or "past" before a number of units: the time up to now.
pub(super) fn is_last_many(word: &str) -> bool {
    matches!(
        word,
        "last"
            | "past"
            | "previous"
            | "letzten"
            | "vergangenen"
            | "derniers"
            | "dernières"
            | "últimos"
            | "últimas"
    )
}

pub(super) fn number(word: &str) -> Option<i64> {
    Some(match word {
        "a" | "an" | "one" | "ein" | "eine" | "einem" | "einer" | "einen" | "un" | "une"
        | "una" => 1,
        "two" | "zwei" | "deux" | "dos" => 2,
        "three" | "drei" | "trois" | "tres" => 3,
        "four" | "vier" | "quatre" | "cuatro" => 4,
        "five" | "fünf" | "cinq" | "cinco" => 5,
        "six" | "sechs" | "seis" => 6,
        "seven" | "sieben" | "sept" | "siete" => 7,
        "eight" | "acht" | "huit" | "ocho" => 8,
        "nine" | "neun" | "neuf" | "nueve" => 9,
        "ten" | "zehn" | "dix" | "diez" => 10,
        "eleven" | "elf" | "onze" | "once" => 11,
        "twelve" | "zwölf" | "douze" | "doce" => 12,
        _ if word.len() <= 6 => word.parse().ok()?,
        _ => return None,
    })
}

/// The month a word names, 1 to 12.
pub(super) fn month(word: &str) -> Option<i8> {
    Some(match word {
        "january" | "jan" | "januar" | "jänner" | "janvier" | "enero" => 1,
        "february" | "feb" | "februar" | "février" | "febrero" => 2,
        "march" | "mar" | "märz" | "mars" | "marzo" => 3,
        "april" | "apr" | "avril" | "abril" => 4,
        "may" | "mai" | "mayo" => 5,
        "june" | "jun" | "juni" | "juin" | "junio" => 6,
        "july" | "jul" | "juli" | "juillet" | "julio" => 7,
        "august" | "aug" | "août" | "agosto" => 8,
        "september" | "sep" | "sept" | "septembre" | "septiembre" => 9,
        "october" | "oct" | "oktober" | "okt" | "octobre" | "octubre" => 10,
        "november" | "nov" | "novembre" | "noviembre" => 11,
        "december" | "dec" | "dezember" | "dez" | "décembre" | "diciembre" => 12,
        _ => return None,
    })
}

/// The weekday a word names, Monday being 0.
pub(super) fn weekday(word: &str) -> Option<i64> {
    Some(match word {
        "monday" | "montag" | "lundi" | "lunes" => 0,
        "tuesday" | "dienstag" | "mardi" | "martes" => 1,
        "wednesday" | "mittwoch" | "mercredi" | "miércoles" => 2,
        "thursday" | "donnerstag" | "jeudi" | "jueves" => 3,
        "friday" | "freitag" | "vendredi" | "viernes" => 4,
        "saturday" | "samstag" | "sonnabend" | "samedi" | "sábado" => 5,
        "sunday" | "sonntag" | "dimanche" | "domingo" => 6,
        _ => return None,
    })
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
    /// The first of two ends.
    Between,
}

pub(super) fn relation(word: &str) -> Option<Relation> {
    Some(match word {
        "in" | "during" | "on" | "im" | "am" | "en" | "le" => Relation::In,
        "since" | "seit" | "depuis" | "desde" => Relation::Since,
        "before" | "vor" | "avant" | "antes" => Relation::Before,
        "after" | "nach" | "après" | "después" => Relation::After,
        "until" | "till" | "bis" | "jusqu'à" | "jusqu'en" | "hasta" => Relation::Until,
        "between" | "from" | "zwischen" | "von" | "entre" => Relation::Between,
        _ => return None,
    })
}

/// Little words between a relation and its time.
pub(super) fn is_filler(word: &str) -> bool {
    matches!(word, "the" | "dem" | "der" | "den" | "la" | "le" | "el" | "de" | "del" | "du")
}

/// What joins the two ends of a range.
pub(super) fn is_joint(word: &str) -> bool {
    matches!(word, "and" | "to" | "und" | "bis" | "et" | "à" | "y" | "a" | "until" | "-" | "–")
}
