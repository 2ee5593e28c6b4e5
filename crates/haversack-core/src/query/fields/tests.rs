//! X10: what is asked of fields, read from questions.

use super::super::analyse;
use super::*;

/// 2026-11-16, a Monday, 09:00.
const NOW: Timestamp = Timestamp::from_millis(1_794_819_600_000);

struct FixedValues;

impl KnownValues for FixedValues {
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
    let reading = QuestionContext {
        times: &analysis.times,
        now: NOW,
        zone: &Zone::UTC,
        language: analysis.language,
    };
    understand(text, &reading, &Vocabulary::default(), &FixedValues)
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
        ("notes that Selma wrote", "author=selma, text"),
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
fn phrasings_of_both_languages_are_read_x10() {
    for (text, expected) in [
        ("What is due tomorrow?", "due 2026-11-17–2026-11-18, open"),
        ("What is due next week?", "due 2026-11-23–2026-11-30, open"),
        ("Which tasks are due by the end of the month?", "due 2026-11-16–2026-12-01, open, tasks"),
        ("tasks due in January", "due 2027-01-01–2027-02-01, open, tasks"),
        ("Which tasks were due last week?", "due 2026-11-09–2026-11-16, open, tasks"),
        ("Which tasks are due in the next 7 days?", "due 2026-11-16–2026-11-24, open, tasks"),
        ("Which tasks are due on Friday?", "due 2026-11-20–2026-11-21, open, tasks"),
        ("Was ist morgen fällig?", "due 2026-11-17–2026-11-18, open"),
        ("Was ist bis Ende der Woche fällig?", "due 2026-11-16–2026-11-23, open"),
        ("Welche Aufgaben sind nächste Woche fällig?", "due 2026-11-23–2026-11-30, open, tasks"),
        ("Welche Aufgaben sind im Januar fällig?", "due 2027-01-01–2027-02-01, open, tasks"),
        ("Welche Aufgaben sind noch offen?", "open, tasks"),
        ("Welche Aufgaben sind erledigt?", "done, tasks"),
        ("Meine offenen Aufgaben", "open, tasks, assignee=dario"),
        ("Aufgaben von Selma", "tasks, assignee=selma"),
        ("Welche dringenden Aufgaben sind offen?", "open, tasks, priority=high"),
        ("Which low priority tasks are open?", "open, tasks, priority=low"),
        ("Notizen von Selma", "author=selma, text"),
        (
            "Which notes were written by Selma since Monday?",
            "created 2026-11-16–2026-11-16, author=selma, text",
        ),
        ("decisions from January", "created 2026-01-01–2026-02-01, type=decision"),
        ("Which pages changed since yesterday?", "changed 2026-11-15–2026-11-16, page"),
        ("Was wurde letzte Woche geändert?", "changed 2026-11-09–2026-11-16"),
        ("Which tasks were created this month?", "created 2026-11-01–2026-12-01, tasks"),
        ("Welche Aufgaben wurden im Oktober angelegt?", "created 2026-10-01–2026-11-01, tasks"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn an_application_can_add_a_language_x10() {
    let mut vocabulary = Vocabulary::default();
    for (name, phrase) in [
        ("overdue", "en retard"),
        ("tasks", "tâches"),
        ("due", "dues"),
        ("asking", "quelles"),
        ("kind invoice", "factures"),
        ("all", "toutes"),
    ] {
        assert!(vocabulary.add(name, phrase), "{name}");
    }
    assert!(!vocabulary.add("nonsense", "en retard"));
    let read = |text: &str| {
        let analysis = analyse(text, NOW);
        let (times, language) = (&*analysis.times, Language::French);
        let reading = QuestionContext { times, now: NOW, zone: &Zone::UTC, language };
        understand(text, &reading, &vocabulary, &FixedValues).unwrap()
    };
    let late = read("Quelles tâches sont en retard ?");
    assert!(late.overdue && late.tasks && late.done == Some(false), "{late:?}");
    assert_eq!(late.understood, ["tâches", "en retard"]);
    assert_eq!(read("toutes les factures").kinds, ["invoice"]);
    assert!(read("Quelles factures sont dues demain ?").due.is_some());
}

#[test]
fn questions_about_texts_give_no_field_filter() {
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
