//! Warnings about the files of a set, counted and reported.

use std::fmt;

/// How often a problem occurred, and where first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WarningCount {
    /// How often.
    pub count: u64,
    /// The first place, and the value there: `qrels.tsv, line 3: "doc9"`.
    pub first: String,
}

impl WarningCount {
    pub(super) fn note(&mut self, file: &str, line: u64, what: &str) {
        if self.count == 0 {
            self.first = format!("{file}, line {line}: {what:?}");
        }
        self.count += 1;
    }

    fn add(&mut self, other: &WarningCount, set: &str) {
        if self.count == 0 && other.count > 0 {
            self.first =
                if set.is_empty() { other.first.clone() } else { format!("{set}/{}", other.first) };
        }
        self.count += other.count;
    }
}

/// All warnings about a set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetWarnings {
    /// Unlabelled questions; they count in no mean. Not a problem: sets have them on purpose.
    pub unlabelled: u64,
    /// Labels of unknown questions; ignored.
    pub unknown_questions: WarningCount,
    /// Labels of unknown documents; ignored.
    pub unknown_documents: WarningCount,
    /// Exact duplicates of a label.
    pub repeated: WarningCount,
    /// Labels of documents that must not answer their question; ignored.
    pub excluded: WarningCount,
    /// Spans in documents without a label for their question; ignored.
    pub unlabelled_spans: WarningCount,
    /// Documents with an unreadable date; they count as undated.
    pub unread_dates: WarningCount,
    /// Packs for which a collector failed.
    pub degraded: WarningCount,
}

impl SetWarnings {
    pub(super) fn add(&mut self, other: &SetWarnings, set: &str) {
        self.unlabelled += other.unlabelled;
        for (mine, (theirs, _)) in self.counts_mut().into_iter().zip(other.counts()) {
            mine.add(theirs, set);
        }
    }

    /// Each count with its message.
    #[must_use]
    pub fn counts(&self) -> [(&WarningCount, &'static str); 7] {
        [
            (&self.unknown_questions, "labels name an unknown question; ignored"),
            (&self.unknown_documents, "labels name an unknown document; ignored"),
            (&self.repeated, "labels are duplicates"),
            (&self.excluded, "labels are of documents in meta.sources; ignored"),
            (&self.unlabelled_spans, "spans are in documents without a label; ignored"),
            (&self.unread_dates, "documents have an unreadable date; treated as undated"),
            (&self.degraded, "packs are incomplete because a collector failed"),
        ]
    }

    fn counts_mut(&mut self) -> [&mut WarningCount; 7] {
        [
            &mut self.unknown_questions,
            &mut self.unknown_documents,
            &mut self.repeated,
            &mut self.excluded,
            &mut self.unlabelled_spans,
            &mut self.unread_dates,
            &mut self.degraded,
        ]
    }

    /// The messages of all problems that occurred.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let counts = self.counts();
        let met = counts.iter().filter(|(warning, _)| warning.count > 0);
        met.map(|(warning, what)| format!("{} {what} (first: {})", warning.count, warning.first))
            .collect()
    }
}

impl fmt::Display for SetWarnings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}
