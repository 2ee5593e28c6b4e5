//! Reasons for skipping a file or line: each names the limit and what to do.

use std::fmt;
use std::path::PathBuf;

use haversack_reader::ReadFailure;

/// A file or line that was skipped; the run continued without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// The path that the file would have had in the store.
    pub path: String,
    /// The line, when only that line was skipped.
    pub line: Option<u64>,
    /// The reason.
    pub reason: IngestSkipReason,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.reason),
            None => write!(f, "{}: {}", self.path, self.reason),
        }
    }
}

/// The reason for a skip.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IngestSkipReason {
    /// The file is not text.
    Binary {
        /// The position of the first NUL byte, if it has one.
        at: Option<usize>,
    },
    /// The text is not UTF-8.
    NotUtf8 {
        /// The position of the first invalid byte.
        at: u64,
    },
    /// The text is longer than one item can be.
    TooLarge {
        /// The length of the text.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A line or record is longer than one item can be.
    LineTooLong {
        /// The limit in bytes.
        limit: u64,
    },
    /// The operating system refused to read it.
    Unreadable {
        /// The system's message.
        cause: String,
    },
    /// The reader of its format cannot read it.
    NotReadable {
        /// Why, and what to do.
        failure: ReadFailure,
    },
    /// The symbolic link leads back to itself.
    LinkLoop,
    /// The symbolic link leads out of the folder.
    LinkOutside {
        /// The target of the link.
        target: PathBuf,
    },
    /// The target of the symbolic link does not exist.
    LinkBroken,
    /// It is neither a file nor a folder.
    NotAFile {
        /// The type of file, such as `pipe`.
        file_type: &'static str,
    },
    /// The name of the file cannot be used as an id.
    UnusableName {
        /// What is wrong with it.
        what: String,
    },
    /// The line is not a JSON object.
    MalformedJson {
        /// What is wrong with it.
        what: String,
    },
    /// The item has no text, title or fields.
    Empty,
    /// An earlier row of this run has the same id.
    DuplicateId {
        /// The id.
        id: String,
    },
    /// The rest of the table cannot be parsed.
    MalformedTable {
        /// What is wrong with it.
        what: String,
    },
    /// The file is an export, which is restored with `import` instead.
    Export,
    /// The line claims an authority that files do not have: it names its readers, marks itself as
    /// trusted, or has a kind that guides models.
    ClaimsAuthority {
        /// The field that makes the claim.
        field: &'static str,
    },
    /// An item that came from elsewhere has the same id.
    IdTaken {
        /// The id.
        id: String,
        /// The path of that item, if it has one.
        path: Option<String>,
    },
    /// The store refused the item.
    Refused {
        /// The store's message, which names the field.
        what: String,
    },
}

impl From<ReadFailure> for IngestSkipReason {
    fn from(failure: ReadFailure) -> IngestSkipReason {
        match failure {
            ReadFailure::Unreadable { cause } => IngestSkipReason::Unreadable { cause },
            failure => IngestSkipReason::NotReadable { failure },
        }
    }
}

impl IngestSkipReason {
    /// The name of the group that summaries count this reason under.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            IngestSkipReason::Binary { .. } => "binary",
            IngestSkipReason::NotUtf8 { .. } => "not UTF-8",
            IngestSkipReason::TooLarge { .. } | IngestSkipReason::LineTooLong { .. } => "too large",
            IngestSkipReason::Unreadable { .. } => "unreadable",
            IngestSkipReason::NotReadable { failure: ReadFailure::Encrypted } => "encrypted",
            IngestSkipReason::NotReadable {
                failure: ReadFailure::NeedsOcr { .. } | ReadFailure::Undecodable { .. },
            } => "scans",
            IngestSkipReason::NotReadable { failure: ReadFailure::TooLarge { .. } } => "too large",
            IngestSkipReason::NotReadable { failure: ReadFailure::Unsupported { .. } } => {
                "not supported"
            }
            IngestSkipReason::NotReadable { .. } => "damaged",
            IngestSkipReason::LinkLoop
            | IngestSkipReason::LinkOutside { .. }
            | IngestSkipReason::LinkBroken => "links",
            IngestSkipReason::NotAFile { .. } => "not files",
            IngestSkipReason::UnusableName { .. } => "unusable names",
            IngestSkipReason::MalformedJson { .. } | IngestSkipReason::MalformedTable { .. } => {
                "malformed"
            }
            IngestSkipReason::Empty => "empty",
            IngestSkipReason::DuplicateId { .. } => "repeated ids",
            IngestSkipReason::Export => "exports",
            IngestSkipReason::ClaimsAuthority { .. }
            | IngestSkipReason::IdTaken { .. }
            | IngestSkipReason::Refused { .. } => "refused",
        }
    }
}

/// Formats a number of bytes for people.
fn format_size(bytes: u64) -> String {
    if bytes >= 1 << 20 {
        return format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    }
    format!("{bytes} bytes")
}

impl fmt::Display for IngestSkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IngestSkipReason::Binary { at } => {
                f.write_str("binary")?;
                at.map_or(Ok(()), |at| write!(f, " (NUL byte at {at})"))?;
                f.write_str(" and of no known format; convert it, such as to PDF or text")
            }
            IngestSkipReason::NotUtf8 { at } => {
                write!(f, "not UTF-8 (first wrong byte at {at}); save it as UTF-8")
            }
            IngestSkipReason::TooLarge { bytes, limit } => write!(
                f,
                "{} is over the limit of {}; split it, or make it JSONL with one item per line",
                format_size(*bytes),
                format_size(*limit)
            ),
            IngestSkipReason::LineTooLong { limit } => {
                write!(f, "longer than the limit of {}; split it into several", format_size(*limit))
            }
            IngestSkipReason::Unreadable { cause } => {
                write!(f, "cannot be read ({cause}); check its rights")
            }
            IngestSkipReason::NotReadable { failure } => write!(f, "{failure}"),
            IngestSkipReason::LinkLoop => {
                f.write_str("a link that leads back to itself; remove it")
            }
            IngestSkipReason::LinkOutside { target } => write!(
                f,
                "a link out of the folder, to {}; add that path itself if it belongs here",
                target.display()
            ),
            IngestSkipReason::LinkBroken => f.write_str("a link to nothing; mend or remove it"),
            IngestSkipReason::NotAFile { file_type } => {
                write!(f, "a {file_type}, not a file; nothing can be read")
            }
            IngestSkipReason::UnusableName { what } => {
                write!(f, "cannot be an id ({what}); rename it")
            }
            IngestSkipReason::MalformedJson { what } => write!(f, "{what}; mend the line"),
            IngestSkipReason::Empty => {
                f.write_str("no text, title or fields; nothing to find in it")
            }
            IngestSkipReason::DuplicateId { id } => {
                write!(f, "the id {id:?} has come before; give each item an id of its own")
            }
            IngestSkipReason::MalformedTable { what } => {
                write!(f, "{what}; the rest of the file is left out")
            }
            IngestSkipReason::Export => {
                f.write_str("an export of haversack; restore it with `haversack import`")
            }
            IngestSkipReason::ClaimsAuthority { field } => write!(
                f,
                "{field}: not for a file to say; restore an export with `haversack import`, or write \
                 the item with a trusted key"
            ),
            IngestSkipReason::IdTaken { id, path: Some(path) } => {
                write!(f, "the id {id:?} is of an item from {path}; give this one another id")
            }
            IngestSkipReason::IdTaken { id, path: None } => {
                write!(
                    f,
                    "the id {id:?} is of an item that no file brought; give this one another id"
                )
            }
            IngestSkipReason::Refused { what } => write!(f, "{what}"),
        }
    }
}
