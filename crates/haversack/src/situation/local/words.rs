//! The few words that a judge of conditions has to know apart from their vectors: what turns a
//! sentence round, what compares, what excludes each other, and what common words stand for.

use super::reading::Way;

/// Words that only hold a sentence together.
#[rustfmt::skip]
pub(super) const FUNCTION: &[&str] = &[
    "a", "about", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "being",
    "but", "by", "can", "could", "did", "do", "does", "doing", "done", "for", "from", "get",
    "gets", "got", "had", "has", "have", "having", "he", "her", "his", "how", "i", "if", "in",
    "into", "is", "it", "its", "just", "many", "may", "me", "might", "more", "most", "much",
    "must", "my", "of", "off", "on", "one", "or", "our", "per", "s", "shall", "she", "should",
    "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "too", "up", "upon", "us", "via", "was", "we", "were", "what",
    "when", "where", "which", "while", "who", "whose", "will", "with", "would", "yet", "you",
    "your",
];

/// Words that name the setting, or that something is the case, rather than what matters in it.
#[rustfmt::skip]
pub(super) const GENERIC: &[&str] = &[
    "action", "affect", "anyone", "ask", "available", "became", "become", "began", "begin",
    "begun", "came", "case", "come", "concern", "current", "customer", "done", "expect", "give",
    "given", "go", "happen", "involve", "item", "job", "look", "made", "make", "mean", "mention",
    "message", "nearly", "need", "occur", "people", "person", "place", "plan", "question",
    "relate", "report", "request", "require", "situation", "somebody", "someone", "something",
    "start", "subject", "take", "task", "text", "thing", "topic", "touch", "use", "user", "want",
    "work", "write", "written",
];

/// Names of facts whose value is free text, not one of several choices.
#[rustfmt::skip]
pub(super) const FREE_TEXT: &[&str] = &[
    "content", "description", "document", "goal", "intent", "message", "prompt", "query",
    "question", "request", "subject", "summary", "task", "text", "title", "topic",
];

/// Words that turn a condition round; so does every word that ends in `n't`.
#[rustfmt::skip]
pub(super) const NEGATIONS: &[&str] = &[
    "cannot", "lacking", "lacks", "missing", "neither", "never", "no", "nobody", "none", "nor",
    "not", "nothing", "without",
];

/// Words of a comparison with a number, and which way it goes.
pub(super) const COMPARISONS: &[(&[&str], Way)] = &[
    (&["at", "least"], Way::AtLeast),
    (&["at", "most"], Way::AtMost),
    (&["no", "more", "than"], Way::AtMost),
    (&["no", "less", "than"], Way::AtLeast),
    (&["no", "fewer", "than"], Way::AtLeast),
    (&["more", "than"], Way::Above),
    (&["greater", "than"], Way::Above),
    (&["larger", "than"], Way::Above),
    (&["bigger", "than"], Way::Above),
    (&["higher", "than"], Way::Above),
    (&["longer", "than"], Way::Above),
    (&["older", "than"], Way::Above),
    (&["less", "than"], Way::Below),
    (&["fewer", "than"], Way::Below),
    (&["smaller", "than"], Way::Below),
    (&["lower", "than"], Way::Below),
    (&["shorter", "than"], Way::Below),
    (&["younger", "than"], Way::Below),
    (&["up", "to"], Way::AtMost),
    (&["over"], Way::Above),
    (&["above"], Way::Above),
    (&["exceeds"], Way::Above),
    (&["exceeding"], Way::Above),
    (&["under"], Way::Below),
    (&["below"], Way::Below),
    (&["exactly"], Way::Equal),
    (&["only"], Way::Equal),
];

/// Numbers in words.
pub(super) const NUMBERS: &[(&str, f64)] = &[
    ("zero", 0.0),
    ("one", 1.0),
    ("single", 1.0),
    ("once", 1.0),
    ("first", 1.0),
    ("two", 2.0),
    ("twice", 2.0),
    ("second", 2.0),
    ("three", 3.0),
    ("third", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("hundred", 100.0),
    ("thousand", 1_000.0),
    ("million", 1_000_000.0),
];

/// Lengths of time in days, for facts that are counted in days.
pub(super) const SPANS: &[(&str, f64)] =
    &[("week", 7.0), ("month", 30.0), ("quarter", 91.0), ("year", 365.0)];

/// Words of which one at most is true of a thing. Their vectors are near each other, which would
/// make opposites look alike. Words in one slot mean the same.
#[rustfmt::skip]
pub(super) const OPPOSITES: &[&[&[&str]]] = &[
    &[&["production", "prod", "live"], &["staging"], &["development", "dev"], &["sandbox"]],
    &[&["low", "minor"], &["medium", "moderate"], &["high", "severe", "critical", "major"]],
    &[&["yesterday"], &["today"], &["tomorrow"]],
    &[
        &["passed", "passes", "succeeded", "success", "successful", "green"],
        &["failed", "fails", "failing", "failure", "red"],
    ],
    &[
        &["happy", "pleased", "satisfied", "positive", "friendly"],
        &["angry", "upset", "unhappy", "furious", "negative", "frustrated"],
    ],
    &[&["free"], &["trial"], &["pro", "premium"], &["enterprise"]],
    &[&["formal"], &["casual", "informal"]],
    &[&["read", "readonly"], &["write", "written"]],
    &[&["internal"], &["external"]],
    &[&["public"], &["private", "confidential", "secret"]],
    &[&["open"], &["closed", "resolved"]],
    &[&["simple", "easy", "trivial"], &["complex", "complicated", "difficult", "hard"]],
    &[&["fast", "quick"], &["slow"]],
    &[&["small", "tiny"], &["large", "huge", "big"]],
    &[&["new"], &["old", "existing", "legacy"]],
    &[&["enabled", "on"], &["disabled", "off"]],
    &[&["approved", "accepted"], &["rejected", "declined", "denied"]],
    &[&["bug", "defect"], &["feature", "enhancement"]],
    &[&["delivered", "arrived"], &["delayed", "late"], &["cancelled", "canceled"]],
    &[&["increase", "grow", "raise"], &["reduce", "decrease", "lower", "cut"]],
    &[&["junior", "intern", "trainee"], &["senior"], &["manager", "director", "executive"]],
    &[&["routine"], &["urgent", "immediate", "emergency"]],
];

/// What common words of conditions stand for: the first of a pair are said by conditions, the
/// second are told by situations.
#[rustfmt::skip]
pub(super) const CONCEPTS: &[(&[&str], &[&str])] = &[
    (
        &["complex", "complicated", "difficult", "hard", "challenging"],
        &[
            "distributed", "architecture", "migration", "migrate", "redesign", "refactor",
            "concurrency", "scale", "scalable", "integrate", "integration", "cluster", "protocol",
            "compiler", "pipeline", "legacy", "multi",
        ],
    ),
    (
        &["simple", "easy", "trivial", "small"],
        &[
            "typo", "rename", "spelling", "comment", "whitespace", "label", "wording", "readme",
            "bump",
        ],
    ),
    (
        &["urgent", "emergency", "outage", "incident"],
        &[
            "down", "outage", "unavailable", "critical", "immediately", "asap", "immediate",
            "emergency", "p1", "sev1", "breach", "crash", "crashes", "broken", "unreachable",
        ],
    ),
    (
        &["refund", "refunds", "billing", "payment", "payments"],
        &[
            "charged", "charge", "money", "refund", "invoice", "billing", "payment", "paid",
            "subscription", "overcharged", "bill",
        ],
    ),
    (
        &["bug", "crash", "error", "defect", "problem"],
        &[
            "crashes", "crash", "broken", "error", "exception", "bug", "fails", "failure",
            "wrong", "stuck", "freezes",
        ],
    ),
    (
        &["security", "vulnerability", "insecure", "dangerous"],
        &[
            "exploit", "injection", "vulnerability", "breach", "leak", "eval", "xss", "password",
            "malware", "attack", "unauthorized", "execution", "token", "credentials",
        ],
    ),
    (
        &["legal", "lawyer", "lawyers", "compliance"],
        &[
            "legal", "law", "contract", "trademark", "lawsuit", "policy", "regulation", "gdpr",
            "dispute", "licence", "license", "terms",
        ],
    ),
    (
        &["personal", "sensitive", "private", "confidential", "privacy"],
        &[
            "payroll", "salary", "medical", "health", "passport", "privacy", "personal",
            "address", "password", "patients",
        ],
    ),
    (
        &["destructive", "deleted", "delete", "removed", "irreversible"],
        &[
            "delete", "drop", "truncate", "remove", "purge", "wipe", "erase", "destroy",
        ],
    ),
    (
        &["documentation", "docs", "document", "documented"],
        &[
            "readme", "docs", "documentation", "guide", "manual", "tutorial", "changelog",
            "notes",
        ],
    ),
    (
        &["test", "tests", "testing", "tested"],
        &[
            "test", "tests", "unit", "coverage", "regression", "qa",
        ],
    ),
    (
        &["code", "coding", "programming", "software", "development"],
        &[
            "function", "variable", "class", "api", "pull", "commit", "refactor", "compile",
            "parser", "module", "repository", "rust", "python", "javascript", "java",
            "typescript", "go",
        ],
    ),
    (
        &["database", "sql", "query", "data", "record", "records"],
        &[
            "table", "sql", "select", "mysql", "postgresql", "postgres", "sqlite", "mongodb",
            "rows", "schema", "database",
        ],
    ),
    (
        &["marketing", "advertising", "promotion"],
        &[
            "sale", "campaign", "newsletter", "discount", "brand", "launch", "advert", "ads",
            "landing",
        ],
    ),
    (
        &["website", "web", "frontend", "page"],
        &[
            "page", "landing", "site", "homepage", "html", "css", "browser",
        ],
    ),
    (
        &["complaint", "complains", "complaining", "angry", "unhappy", "upset", "dissatisfied"],
        &[
            "unacceptable", "terrible", "worst", "angry", "disappointed", "lost", "refund",
            "horrible", "annoyed",
        ],
    ),
    (
        &["positive", "praise", "praised", "praises", "happy", "thank", "thanks", "satisfied"],
        &[
            "great", "thanks", "thank", "excellent", "love", "awesome", "perfect", "happy",
            "wonderful",
        ],
    ),
    (
        &["login", "signing", "authentication", "auth", "account"],
        &[
            "password", "login", "log", "auth", "session", "token", "2fa", "sso", "locked",
        ],
    ),
    (
        &["travel", "trip", "journey"],
        &[
            "flight", "hotel", "train", "airport", "book", "visa", "conference",
        ],
    ),
    (
        &["hiring", "recruiting", "recruitment", "candidate"],
        &[
            "interview", "interviewers", "candidate", "resume", "vacancy", "hire", "hiring",
            "offer",
        ],
    ),
    (
        &["understand", "learn", "learning", "explain", "explanation"],
        &[
            "learn", "explain", "understand", "tutorial",
        ],
    ),
    (
        &["medical", "health", "patient"],
        &[
            "patient", "pain", "doctor", "hospital", "symptom", "complaint", "fever", "medicine",
        ],
    ),
];

/// A word's concepts are bits of a number.
const _: () = assert!(CONCEPTS.len() <= u32::BITS as usize);
