//! K1: times resolved against a fixed now.

use super::*;

/// Saturday, 15 March 2025, 10:30.
const NOW: i64 = 1_742_034_600_000;

/// Expected: `words: from..to` for each time, to the day where that is exact.
fn check_at(now: i64, text: &str, expected: &str) {
    let show = |moment: Timestamp| match moment {
        TimeRange::EARLIEST => String::new(),
        TimeRange::LATEST => String::new(),
        _ => moment.to_string().replace("T00:00:00Z", "").replace(":00Z", ""),
    };
    let now = Timestamp::from_millis(now);
    let found: Vec<String> = find(text, now, Language::detect(text))
        .into_iter()
        .map(|time| format!("{}: {}..{}", time.text, show(time.from), show(time.to)))
        .collect();
    assert_eq!(found.join("; "), expected, "{text}");
}

fn check(text: &str, expected: &str) {
    check_at(NOW, text, expected);
}

#[test]
fn k1_dates_are_resolved() {
    check("on 2025-03-01", "on 2025-03-01: 2025-03-01..2025-03-02");
    check("2025/03/01", "2025/03/01: 2025-03-01..2025-03-02");
    check("in 2025-02", "in 2025-02: 2025-02-01..2025-03-01");
    check("at 2025-03-01T12:30Z", "2025-03-01T12:30Z: 2025-03-01T12:30..2025-03-01T12:31");
    check("2025-03-01 12:30", "2025-03-01 12:30: 2025-03-01T12:30..2025-03-01T12:31");
    check(
        "2025-03-01T00:30:05.25+02:00",
        "2025-03-01T00:30:05.25+02:00: 2025-02-28T22:30:05Z..2025-02-28T22:30:06Z",
    );
    check("3 March 2025", "3 March 2025: 2025-03-03..2025-03-04");
    check("3rd of March, 2025", "3rd of March, 2025: 2025-03-03..2025-03-04");
    check("March 3, 2025", "March 3, 2025: 2025-03-03..2025-03-04");
    check("dec 24th", "");
    check("Dec 24th", "Dec 24th: 2024-12-24..2024-12-25");
    check("March 2025", "March 2025: 2025-03-01..2025-04-01");
    check("in April", "in April: 2024-04-01..2024-05-01");
    check("am 3. März 2025", "am 3. März 2025: 2025-03-03..2025-03-04");
    check("1.3.2025", "1.3.2025: 2025-03-01..2025-03-02");
    check("le 3 mars 2025", "le 3 mars 2025: 2025-03-03..2025-03-04");
    check("3 de marzo de 2025", "3 de marzo de 2025: 2025-03-03..2025-03-04");
    check("Q3 2025", "Q3 2025: 2025-07-01..2025-10-01");
    check("2025 Q4", "2025 Q4: 2025-10-01..2026-01-01");
    check("Q2 numbers", "Q2: 2024-04-01..2024-07-01");
    check("in 2024", "in 2024: 2024-01-01..2025-01-01");
}

#[test]
fn k1_what_is_no_date_is_left_alone() {
    check("", "");
    check("2025-13-01", "");
    check("2025-02-29", "");
    check("30 February 2025", "February 2025: 2025-02-01..2025-03-01");
    check("version 2024.1 and 3/4/2025", "");
    check("error 2025", "");
    check("you may 5 times march", "");
    check("call 555-2025-03-01", "");
    check("99999999999999999999 days ago", "");
    check("in 999999 years", "");
    check("this is the last one", "");
}

#[test]
fn k1_time_words_are_resolved() {
    check("today", "today: 2025-03-15..2025-03-16");
    check("yesterday's notes", "yesterday's: 2025-03-14..2025-03-15");
    check("tomorrow", "tomorrow: 2025-03-16..2025-03-17");
    check("the day before yesterday", "the day before yesterday: 2025-03-13..2025-03-14");
    check("last week", "last week: 2025-03-03..2025-03-10");
    check("this week", "this week: 2025-03-10..2025-03-17");
    check("next month", "next month: 2025-04-01..2025-05-01");
    check("last quarter", "last quarter: 2024-10-01..2025-01-01");
    check("last year", "last year: 2024-01-01..2025-01-01");
    check("last Monday", "last Monday: 2025-03-10..2025-03-11");
    check("last Saturday", "last Saturday: 2025-03-08..2025-03-09");
    check("next Saturday", "next Saturday: 2025-03-22..2025-03-23");
    check("on Saturday", "on Saturday: 2025-03-15..2025-03-16");
    check("3 days ago", "3 days ago: 2025-03-12..2025-03-13");
    check("two weeks ago", "two weeks ago: 2025-02-24..2025-03-03");
    check("2 months ago", "2 months ago: 2025-01-01..2025-02-01");
    check("an hour ago", "an hour ago: 2025-03-15T09:30..2025-03-15T10:30");
    check("in 2 days", "in 2 days: 2025-03-17..2025-03-18");
    check("the last 7 days", "last 7 days: 2025-03-08T10:30..2025-03-15T10:30");
    check("past 24 hours", "past 24 hours: 2025-03-14T10:30..2025-03-15T10:30");
    check("since yesterday", "since yesterday: 2025-03-14..2025-03-15T10:30");
    check("since 2024", "since 2024: 2024-01-01..2025-03-15T10:30");
    check("before March 2024", "before March 2024: ..2024-03-01");
    check("after 2025-03-01", "after 2025-03-01: 2025-03-02..");
    check("until last week", "until last week: ..2025-03-10");
    check("between January and March", "between January and March: 2025-01-01..2025-04-01");
    check("today or yesterday", "today: 2025-03-15..2025-03-16; yesterday: 2025-03-14..2025-03-15");
}

#[test]
fn k1_time_words_of_other_languages_are_resolved() {
    check("Was war gestern?", "gestern: 2025-03-14..2025-03-15");
    check("heute", "heute: 2025-03-15..2025-03-16");
    check("letzte Woche", "letzte Woche: 2025-03-03..2025-03-10");
    check("vor 3 Tagen", "vor 3 Tagen: 2025-03-12..2025-03-13");
    check("in den letzten 7 Tagen", "in den letzten 7 Tagen: 2025-03-08T10:30..2025-03-15T10:30");
    check("Guten Morgen", "");
    check("Das ist hier nicht der richtige Ort", "");
    check("seit 2024", "seit 2024: 2024-01-01..2025-03-15T10:30");
    check("aujourd’hui", "aujourd’hui: 2025-03-15..2025-03-16");
    check("les fichiers d'avant-hier", "avant-hier: 2025-03-13..2025-03-14");
    check("modifié avant-hier", "avant-hier: 2025-03-13..2025-03-14");
    check("les notes de la semaine dernière", "semaine dernière: 2025-03-03..2025-03-10");
    check("il y a 3 jours", "il y a 3 jours: 2025-03-12..2025-03-13");
    check("les 7 derniers jours", "7 derniers jours: 2025-03-08T10:30..2025-03-15T10:30");
    check("lundi dernier", "lundi dernier: 2025-03-10..2025-03-11");
    check("ayer y hoy", "ayer: 2025-03-14..2025-03-15; hoy: 2025-03-15..2025-03-16");
    check("la semana pasada", "semana pasada: 2025-03-03..2025-03-10");
    check("hace dos meses", "hace dos meses: 2025-01-01..2025-02-01");
    check("por la mañana", "");
    check("上周的会议", "上周: 2025-03-03..2025-03-10");
    check("昨天和上个月", "昨天: 2025-03-14..2025-03-15; 上个月: 2025-02-01..2025-03-01");
}

#[test]
fn k1_the_calendar_has_edges() {
    let at = |date: &str| -> i64 { date.parse::<jiff::Timestamp>().unwrap().as_millisecond() };
    check_at(at("2025-03-31T12:00:00Z"), "last month", "last month: 2025-02-01..2025-03-01");
    check_at(at("2025-01-31T12:00:00Z"), "last month", "last month: 2024-12-01..2025-01-01");
    check_at(at("2024-02-29T12:00:00Z"), "last year", "last year: 2023-01-01..2024-01-01");
    check_at(at("2025-03-01T00:00:00Z"), "Feb 29", "Feb 29: 2024-02-29..2024-03-01");
    check_at(
        at("2024-03-31T12:00:00Z"),
        "past 1 month",
        "past 1 month: 2024-02-29T12:00..2024-03-31T12:00",
    );
    check_at(at("2024-12-30T12:00:00Z"), "this week", "this week: 2024-12-30..2025-01-06");
    check_at(at("2025-01-05T12:00:00Z"), "last week", "last week: 2024-12-23..2024-12-30");
    check_at(i64::MAX, "yesterday", "");
    check_at(i64::MIN, "yesterday", "");
}
