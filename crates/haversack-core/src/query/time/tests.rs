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
    let found: Vec<String> = find(text, now, &Zone::UTC, Language::detect(text))
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
fn k1_text_that_is_not_a_date_is_ignored() {
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
fn k1_a_word_of_another_language_is_no_time_in_english() {
    check("Is this an error?", "");
    check("Show the last tag, this tag and the next tag in 1 tag", "");
    check("Is there life on Mars, or in Mars?", "");
    check("The Mars 2020 rover and 2 Mars probes", "");
    check("I am 2024 years old", "");
    check("the CE an engineer put on, once hours ago", "");
    check("Die once, or die in a day; was it DOS 3?", "in a day: 2025-03-16..2025-03-17");
    check("This may be wrong. I am Monday, 1st mars", "");
    check("until gestern", "gestern: 2025-03-14..2025-03-15");
    // In its own language, or beside a word that has only one, it is.
    check("il y a un an", "il y a un an: 2024-01-01..2025-01-01");
    check("dans 2 ans", "dans 2 ans: 2027-01-01..2028-01-01");
    check("3 mars 2025", "3 mars 2025: 2025-03-03..2025-03-04");
    check("1er mars", "1er mars: 2025-03-01..2025-03-02");
    check("où est le rapport du 3 mars", "3 mars: 2025-03-03..2025-03-04");
    check("en mars", "en mars: 2025-03-01..2025-04-01");
    check("Rechnung Mai 2024", "Mai 2024: 2024-05-01..2024-06-01");
    check("diesen Tag", "diesen Tag: 2025-03-15..2025-03-16");
    check(
        "Was ist in 1 Tag und nicht heute",
        "in 1 Tag: 2025-03-16..2025-03-17; heute: 2025-03-15..2025-03-16",
    );
    check("hace once días", "hace once días: 2025-03-04..2025-03-05");
}

#[test]
fn k1_the_ends_of_a_range_are_in_order() {
    let at = |date: &str| format!("{date}T12:00:00Z").parse::<jiff::Timestamp>().unwrap();
    let check = |now: &str, text: &str, expected: &str| {
        check_at(at(now).as_millisecond(), text, &format!("{text}: {expected}"));
    };
    check("2025-02-10", "between January and March", "2025-01-01..2025-04-01");
    check("2025-01-10", "between January and March", "2025-01-01..2025-04-01");
    check("2025-12-10", "between January and March", "2025-01-01..2025-04-01");
    check("2025-01-10", "between November and February", "2024-11-01..2025-03-01");
    check("2025-12-10", "between November and February", "2025-11-01..2026-03-01");
    // A Monday, a Wednesday, a Friday and a Sunday.
    check("2025-03-10", "between Monday and Friday", "2025-03-10..2025-03-15");
    check("2025-03-12", "between Monday and Friday", "2025-03-10..2025-03-15");
    check("2025-03-14", "between Monday and Friday", "2025-03-10..2025-03-15");
    check("2025-03-16", "between Monday and Friday", "2025-03-10..2025-03-15");
    check("2025-03-12", "from Friday to Monday", "2025-03-07..2025-03-11");
    check("2025-03-12", "from tomorrow to Friday", "2025-03-13..2025-03-15");
    check("2025-02-10", "from Q1 to Q2", "2025-01-01..2025-07-01");
    check("2025-02-10", "from 3 January to 5 March", "2025-01-03..2025-03-06");
    check("2025-02-10", "von Januar bis März", "2025-01-01..2025-04-01");
    check("2025-02-10", "from January to March 2019", "2019-01-01..2019-04-01");
    check("2025-02-10", "from October to March 2024", "2023-10-01..2024-04-01");
    check_at(at("2025-02-10").as_millisecond(), "from 2025 to 2020", "");
}

#[test]
fn k1_months_are_last_this_or_next() {
    check("last March", "last March: 2024-03-01..2024-04-01");
    check("last February", "last February: 2025-02-01..2025-03-01");
    check("last April", "last April: 2024-04-01..2024-05-01");
    check("this March", "this March: 2025-03-01..2025-04-01");
    check("this May", "this May: 2025-05-01..2025-06-01");
    check("next March", "next March: 2026-03-01..2026-04-01");
    check("next April", "next April: 2025-04-01..2025-05-01");
    check("mars dernier", "mars dernier: 2024-03-01..2024-04-01");
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

#[test]
fn b1_seasons_are_those_of_the_north() {
    check("in spring 2025", "in spring 2025: 2025-03-01..2025-06-01");
    check("im Sommer 2025", "im Sommer 2025: 2025-06-01..2025-09-01");
    check("Herbst 2024", "Herbst 2024: 2024-09-01..2024-12-01");
    check("winter 2024/25", "winter 2024/25: 2024-12-01..2025-03-01");
    check("im Winter 2024", "im Winter 2024: 2024-12-01..2025-03-01");
    check("in the fall of 2023", "in the fall of 2023: 2023-09-01..2023-12-01");
    check("last summer", "last summer: 2024-06-01..2024-09-01");
    check("last winter", "last winter: 2024-12-01..2025-03-01");
    check("this spring", "this spring: 2025-03-01..2025-06-01");
    check("next winter", "next winter: 2025-12-01..2026-03-01");
    check("letzten Herbst", "letzten Herbst: 2024-09-01..2024-12-01");
    check("nächsten Sommer", "nächsten Sommer: 2025-06-01..2025-09-01");
    check("in the summer", "in the summer: 2024-06-01..2024-09-01");
    check("seit dem Frühjahr", "seit dem Frühjahr: 2025-03-01..2025-03-15T10:30");
    check("Which beans are there in Spring?", "");
    check("a spring broke", "");
}

#[test]
fn x10_parts_of_periods_weekends_and_days_are_read() {
    check("by the end of the month", "by the end of the month: ..2025-04-01");
    check("before the end of April 2025", "before the end of April 2025: ..2025-05-01");
    check("What did Evan start last year?", "last year: 2024-01-01..2025-01-01");
    check("Did the course end last month?", "last month: 2025-02-01..2025-03-01");
    check("bis Ende der Woche", "bis Ende der Woche: ..2025-03-17");
    check("bis Monatsende", "bis Monatsende: ..2025-04-01");
    check("this weekend", "this weekend: 2025-03-15..2025-03-17");
    check("next weekend", "next weekend: 2025-03-22..2025-03-24");
    check("am Wochenende", "am Wochenende: 2025-03-15..2025-03-17");
    check("on the 20th", "on the 20th: 2025-02-20..2025-02-21");
    check("since the 3rd", "since the 3rd: 2025-03-03..2025-03-15T10:30");
    check("for the 3rd time", "");
    check("in the next 3 days", "in the next 3 days: 2025-03-15..2025-03-19");
    check("in den nächsten 2 Wochen", "in den nächsten 2 Wochen: 2025-03-15..2025-03-30");
}

#[test]
fn x10_future_and_past_times_are_distinguished() {
    let at = |date: &str| format!("{date}T12:00:00Z").parse::<jiff::Timestamp>().unwrap();
    let november = at("2026-11-18").as_millisecond();
    for (text, expected) in [
        ("from January", "from January: 2027-01-01.."),
        ("ab Januar", "ab Januar: 2027-01-01.."),
        ("since January", "since January: 2026-01-01..2026-11-18T12:00"),
        ("seit Januar", "seit Januar: 2026-01-01..2026-11-18T12:00"),
        ("for January", "for January: 2027-01-01..2027-02-01"),
        ("für Januar", "für Januar: 2027-01-01..2027-02-01"),
        ("in January", "in January: 2026-01-01..2026-02-01"),
        ("What will happen in January?", "in January: 2027-01-01..2027-02-01"),
        ("Was ist im Januar geplant?", "im Januar: 2027-01-01..2027-02-01"),
        ("by Friday", "by Friday: ..2026-11-21"),
        ("no later than Friday", "no later than Friday: ..2026-11-21"),
        ("bis Freitag", "bis Freitag: ..2026-11-21"),
        ("bis spätestens Freitag", "bis spätestens Freitag: ..2026-11-21"),
        ("last Friday", "last Friday: 2026-11-13..2026-11-14"),
        ("next Friday", "next Friday: 2026-11-20..2026-11-21"),
    ] {
        check_at(november, text, expected);
    }
}

#[test]
fn x10_times_are_those_of_the_zone() {
    let zone = Zone::from_name("America/New_York").unwrap();
    let now: jiff::Timestamp = "2026-11-16T03:00:00Z".parse().unwrap();
    let now = Timestamp::from_millis(now.as_millisecond());
    let found = find("today", now, &zone, Language::English);
    // Still Sunday evening there.
    assert_eq!(found[0].from.to_string(), "2026-11-15T05:00:00Z");
    assert_eq!(found[0].to.to_string(), "2026-11-16T05:00:00Z");
}
