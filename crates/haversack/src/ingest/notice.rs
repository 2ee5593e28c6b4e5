//! Why something was not added: named, with its limit and what to do.

use std::fmt;
use std::path::PathBuf;

/// Something that was passed over; the run went on without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// The file, as it would have been named.
    pub path: String,
    /// The line in it, when only that was passed over.
    pub line: Option<u64>,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.reason),
            None => write!(f, "{}: {}", self.path, self.reason),
        }
    }
}

/// Why something was passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It is no text.
    Binary {
        /// Where the first NUL byte is.
        at: usize,
    },
    /// It is no text in UTF-8.
    NotUtf8 {
        /// Where the first wrong byte is.
        at: u64,
    },
    /// The text is longer than one item can be.
    TooLarge {
        /// How long it is.
        bytes: u64,
        /// How long it may be.
        limit: u64,
    },
    /// A line or record is longer than one item can be.
    LineTooLong {
        /// How long it may be.
        limit: u64,
    },
    /// The system does not let us read it.
    Unreadable {
        /// What the system says.
        cause: String,
    },
    /// The link leads back to where it is.
    LinkLoop,
    /// The link leads out of the folder.
    LinkOut {
        /// Where to.
        target: PathBuf,
    },
    /// The link leads nowhere.
    LinkBroken,
    /// It is neither a file nor a folder.
    NotAFile {
        /// What it is.
        sort: &'static str,
    },
    /// Its name cannot be an id.
    Name {
        /// What is wrong with it.
        what: String,
    },
    /// The line is not a JSON object.
    Json {
        /// What is wrong with it.
        what: String,
    },
    /// There is nothing to find in it.
    Empty,
    /// Its id has come before.
    Repeated {
        /// The id.
        id: String,
    },
    /// The table cannot be read on.
    Table {
        /// What is wrong with it.
        what: String,
    },
    /// It is an export, which is restored and not added.
    Export,
    /// The line says what is not for a file to say: who may read it, that it is trusted, or that it
    /// tells models what to do.
    Authority {
        /// The field that says so.
        field: &'static str,
    },
    /// Its id is that of an item from elsewhere.
    Elsewhere {
        /// The id.
        id: String,
        /// Where the item comes from, if it says.
        path: Option<String>,
    },
    /// The store does not take it.
    Refused {
        /// What is wrong with it; names the field.
        what: String,
    },
}

impl Reason {
    /// A word or two for a summary.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Reason::Binary { .. } => "binary",
            Reason::NotUtf8 { .. } => "not UTF-8",
            Reason::TooLarge { .. } | Reason::LineTooLong { .. } => "too large",
            Reason::Unreadable { .. } => "unreadable",
            Reason::LinkLoop | Reason::LinkOut { .. } | Reason::LinkBroken => "links",
            Reason::NotAFile { .. } => "not files",
            Reason::Name { .. } => "unusable names",
            Reason::Json { .. } | Reason::Table { .. } => "malformed",
            Reason::Empty => "empty",
            Reason::Repeated { .. } => "repeated ids",
            Reason::Export => "exports",
            Reason::Authority { .. } | Reason::Elsewhere { .. } | Reason::Refused { .. } => {
                "refused"
            }
        }
    }
}

/// Bytes as people say them.
fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 {
        return format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    }
    format!("{bytes} bytes")
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Binary { at } => write!(
                f,
                "binary (NUL byte at {at}); convert it to text, or save it as UTF-8 if it is UTF-16"
            ),
            Reason::NotUtf8 { at } => {
                write!(f, "not UTF-8 (first wrong byte at {at}); save it as UTF-8")
            }
            Reason::TooLarge { bytes, limit } => write!(
                f,
                "{} is over the limit of {}; split it, or make it JSONL with one item per line",
                size(*bytes),
                size(*limit)
            ),
            Reason::LineTooLong { limit } => {
                write!(f, "longer than the limit of {}; split it into several", size(*limit))
            }
            Reason::Unreadable { cause } => write!(f, "cannot be read ({cause}); check its rights"),
            Reason::LinkLoop => f.write_str("a link that leads back to itself; remove it"),
            Reason::LinkOut { target } => write!(
                f,
                "a link out of the folder, to {}; add that path itself if it belongs here",
                target.display()
            ),
            Reason::LinkBroken => f.write_str("a link to nothing; mend or remove it"),
            Reason::NotAFile { sort } => write!(f, "a {sort}, not a file; nothing can be read"),
            Reason::Name { what } => write!(f, "cannot be an id ({what}); rename it"),
            Reason::Json { what } => write!(f, "{what}; mend the line"),
            Reason::Empty => f.write_str("no text, title or fields; nothing to find in it"),
            Reason::Repeated { id } => {
                write!(f, "the id {id:?} has come before; give each item an id of its own")
            }
            Reason::Table { what } => write!(f, "{what}; the rest of the file is left out"),
            Reason::Export => {
                f.write_str("an export of haversack; restore it with `haversack import`")
            }
            Reason::Authority { field } => write!(
                f,
                "{field}: not for a file to say; restore an export with `haversack import`, or write \
                 the item with a trusted key"
            ),
            Reason::Elsewhere { id, path: Some(path) } => {
                write!(f, "the id {id:?} is of an item from {path}; give this one another id")
            }
            Reason::Elsewhere { id, path: None } => {
                write!(
                    f,
                    "the id {id:?} is of an item that no file brought; give this one another id"
                )
            }
            Reason::Refused { what } => write!(f, "{what}"),
        }
    }
}
