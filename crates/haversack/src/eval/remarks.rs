//! What is odd about a set: counted and said, never passed over in silence.

use std::fmt;

/// How often something odd was met, and where first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Oddity {
    /// How often.
    pub count: u64,
    /// Where first, and what it was: `qrels.tsv, line 3: "doc9"`.
    pub first: String,
}

impl Oddity {
    pub(super) fn note(&mut self, file: &str, line: u64, what: &str) {
        if self.count == 0 {
            self.first = format!("{file}, line {line}: {what:?}");
        }
        self.count += 1;
    }

    fn add(&mut self, other: &Oddity, set: &str) {
        if self.count == 0 && other.count > 0 {
            self.first =
                if set.is_empty() { other.first.clone() } else { format!("{set}/{}", other.first) };
        }
        self.count += other.count;
    }
}

/// All that is odd about a set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Questions without labels; they count in no mean. Sets have them on purpose.
    pub unlabelled: u64,
    /// Labels that name a question that is not there; left out.
    pub unknown_questions: Oddity,
    /// Labels that name a document that is not there; left out.
    pub unknown_documents: Oddity,
    /// Labels that stand there twice, just so.
    pub repeated: Oddity,
    /// Labels of documents that must not answer their question; left out.
    pub excluded: Oddity,
    /// Spans in documents that are not labelled for their question; left out.
    pub unlabelled_spans: Oddity,
    /// Documents with a date that cannot be read; they count as undated.
    pub unread_dates: Oddity,
    /// Packs that lack what a failed collector would have found.
    pub degraded: Oddity,
}

impl Remarks {
    pub(super) fn add(&mut self, other: &Remarks, set: &str) {
        self.unlabelled += other.unlabelled;
        for (mine, (theirs, _)) in self.oddities_mut().into_iter().zip(other.oddities()) {
            mine.add(theirs, set);
        }
    }

    /// Each oddity with what it means.
    #[must_use]
    pub fn oddities(&self) -> [(&Oddity, &'static str); 7] {
        [
            (&self.unknown_questions, "labels name a question that is not there; left out"),
            (&self.unknown_documents, "labels name a document that is not there; left out"),
            (&self.repeated, "labels stand there twice"),
            (&self.excluded, "labels are of documents in meta.sources; left out"),
            (&self.unlabelled_spans, "spans are in documents without a label; left out"),
            (&self.unread_dates, "documents have a date that cannot be read; taken as undated"),
            (&self.degraded, "packs lack what a failed collector would have found"),
        ]
    }

    fn oddities_mut(&mut self) -> [&mut Oddity; 7] {
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

    /// What people should be told, a line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let oddities = self.oddities();
        let met = oddities.iter().filter(|(oddity, _)| oddity.count > 0);
        met.map(|(oddity, what)| format!("{} {what} (first: {})", oddity.count, oddity.first))
            .collect()
    }
}

impl fmt::Display for Remarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}
