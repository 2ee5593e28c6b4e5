//! What a reader gives back: parts, notices, and failures.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

/// A text from a file, with what is known about it. It becomes one item. The types of this module cross the
/// border to the child process that reads, so they serialise; both ends are the same program.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// Its name within the file, the same whenever the file is read: a message's id, a row's number. Empty
    /// for the file itself. Ingestion puts the file's path before it.
    pub key: String,
    /// The key of the part that it belongs to, which was given before: a message's thread.
    pub parent: Option<String>,
    /// The kind of item: `file`, `thread`, `message`, `row`.
    pub kind: String,
    /// Its title, if it has one. A file without a title is called by its name.
    pub title: String,
    /// Its text: Markdown if `is_markdown`, else plain text.
    pub body: String,
    /// Whether the text is Markdown, with headings (`#`), lists, tables and fences.
    pub is_markdown: bool,
    /// Further fields, by the names that the kind defines.
    pub fields: Map<String, Value>,
    /// When it was created, in milliseconds since 1970 (UTC).
    pub created: Option<i64>,
    /// When it last changed, in milliseconds since 1970 (UTC).
    pub updated: Option<i64>,
    /// Its position among the parts of the same parent.
    pub position: i64,
    /// The lines of `body`, counted from 1, on which its pages begin: one number for each page, ascending.
    /// Empty for texts without pages.
    pub pages: Vec<u32>,
}

impl Part {
    /// A part for the file itself.
    #[must_use]
    pub fn of_file(title: &str, body: String) -> Part {
        let (kind, title) = ("file".to_owned(), title.trim().to_owned());
        Part { kind, title, body, is_markdown: true, ..Part::default() }
    }

    /// Sets a field, unless its value is empty.
    pub fn set_field(&mut self, name: &str, value: &str) {
        let value = value.trim();
        if !value.is_empty() {
            self.fields.insert(name.to_owned(), Value::from(value));
        }
    }
}

/// Something that a person should know about a file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadNotice {
    /// The place in the file, such as `page 3` or `message 17`.
    pub place: Option<String>,
    /// What happened there, and what to do about it. Lower case, without a full stop.
    pub what: String,
    /// What was left out, if that is routine: such notices of many files are told as one.
    pub omission: Option<Omission>,
}

impl ReadNotice {
    /// A notice about the whole file.
    pub fn new(what: impl Into<String>) -> ReadNotice {
        ReadNotice { what: what.into(), ..ReadNotice::default() }
    }

    /// The notice about a place in the file.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> ReadNotice {
        self.place = Some(place.into());
        self
    }

    /// The notice as one of a routine omission of so many things.
    #[must_use]
    pub const fn omitting(mut self, kind: OmissionKind, count: u64) -> ReadNotice {
        self.omission = Some(Omission { kind, count });
        self
    }
}

/// Something that was left out of a file as of any file of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omission {
    /// What it is.
    pub kind: OmissionKind,
    /// How much of it there is, in [`OmissionKind::unit`]s.
    pub count: u64,
}

/// What readers leave out as a matter of routine, with nothing for a person to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OmissionKind {
    /// Menus, banners and forms around the main content of a web page.
    PageFurniture,
    /// Running headers, footers and page numbers.
    RunningLines,
    /// Earlier messages that a message quotes, and signatures.
    Quotations,
    /// Attachments that have no text.
    Attachments,
    /// Pictures, charts, comments, headers and the like in documents.
    Pictures,
    /// Outputs of notebooks without text.
    Outputs,
    /// Ends of long outputs of notebooks.
    LongOutputs,
    /// What is in a conversation beside what people and assistants said.
    Messages,
}

impl OmissionKind {
    /// What it is, in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            OmissionKind::PageFurniture => "menus, banners and forms of web pages",
            OmissionKind::RunningLines => "running headers, footers and page numbers",
            OmissionKind::Quotations => "quoted earlier messages and signatures",
            OmissionKind::Attachments => "attachments without text",
            OmissionKind::Pictures => "pictures, comments and other parts of documents",
            OmissionKind::Outputs => "outputs without text",
            OmissionKind::LongOutputs => "ends of long outputs",
            OmissionKind::Messages => "messages of tools and systems, and media",
        }
    }

    /// What it is counted in.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            OmissionKind::PageFurniture | OmissionKind::LongOutputs => "bytes",
            OmissionKind::RunningLines | OmissionKind::Quotations => "lines",
            OmissionKind::Attachments => "attachments",
            OmissionKind::Pictures => "parts",
            OmissionKind::Outputs => "outputs",
            OmissionKind::Messages => "entries",
        }
    }
}

/// One output of a reader.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadOutput {
    /// A part. Parents come before their children.
    Part(Box<Part>),
    /// A notice.
    Notice(ReadNotice),
    /// How far the reader is: units done, of all.
    Progress {
        /// Pages, messages or bytes that were read.
        done: u64,
        /// All of them, if known.
        total: u64,
    },
}

/// Whoever receives the output wants no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("nobody takes more parts")]
pub struct SinkClosed;

/// Receives the output of a reader.
#[expect(missing_debug_implementations, reason = "a closure has no text form")]
pub struct PartSink<'s> {
    take: &'s mut dyn FnMut(ReadOutput) -> Result<(), SinkClosed>,
    parts: usize,
    notices: usize,
}

impl<'s> PartSink<'s> {
    /// A sink that hands everything to a function.
    pub fn new(take: &'s mut dyn FnMut(ReadOutput) -> Result<(), SinkClosed>) -> PartSink<'s> {
        PartSink { take, parts: 0, notices: 0 }
    }

    /// Gives a part. A text that is too long is truncated at a line, with a notice.
    ///
    /// # Errors
    /// When there are too many, or nobody takes more.
    pub fn part(&mut self, mut part: Part) -> Result<(), ReadFailure> {
        use crate::limits::{PART_BYTES_MAX, PARTS_MAX};
        self.parts += 1;
        if self.parts > PARTS_MAX {
            return Err(ReadFailure::too_large("parts", PARTS_MAX as u64));
        }
        if part.body.len() > PART_BYTES_MAX {
            let end = part.body.floor_char_boundary(PART_BYTES_MAX);
            let end = part.body[..end].rfind('\n').map_or(end, |at| at + 1);
            let what =
                format!("only the first {end} of {} bytes of text are kept", part.body.len());
            part.body.truncate(end);
            let place = (!part.title.is_empty()).then(|| part.title.clone());
            self.notice(ReadNotice { place, ..ReadNotice::new(what) })?;
        }
        Ok((self.take)(ReadOutput::Part(Box::new(part)))?)
    }

    /// Gives a notice. After [`crate::limits::NOTICES_MAX`] they are dropped.
    ///
    /// # Errors
    /// When nobody takes more.
    pub fn notice(&mut self, notice: ReadNotice) -> Result<(), ReadFailure> {
        self.notices += 1;
        if self.notices > crate::limits::NOTICES_MAX {
            return Ok(());
        }
        Ok((self.take)(ReadOutput::Notice(notice))?)
    }

    /// Says how far the reader is.
    ///
    /// # Errors
    /// When nobody takes more.
    pub fn progress(&mut self, done: u64, total: u64) -> Result<(), ReadFailure> {
        Ok((self.take)(ReadOutput::Progress { done, total })?)
    }
}

/// Why a file cannot be read. The message says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadFailure {
    /// A password protects it.
    #[error("encrypted; remove its password and add it again")]
    Encrypted,
    /// It has no text at all, only pictures of text.
    #[error(
        "{pages} pages without text, probably a scan; recognise the text with OCR (such as ocrmypdf) first"
    )]
    NeedsOcr {
        /// How many pages there are.
        pages: u64,
    },
    /// Its letters are shown, but nothing says which letters they are.
    #[error(
        "the fonts of its {pages} pages do not say which letters they show; recognise the text with OCR (such as \
         ocrmypdf --force-ocr) first"
    )]
    Undecodable {
        /// How many pages there are.
        pages: u64,
    },
    /// It is not what its format promises.
    #[error("damaged or not what its name says: {what}")]
    Malformed {
        /// What is wrong.
        what: String,
    },
    /// Something in it is beyond a limit.
    #[error("too large: {what} (the limit is {limit}); split it")]
    TooLarge {
        /// What there is too much of.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// The format is known, but this variant of it cannot be read.
    #[error("{what}")]
    Unsupported {
        /// What it is, and what to do.
        what: String,
    },
    /// The system refused to read it.
    #[error("cannot be read: {cause}")]
    Unreadable {
        /// The system's message.
        cause: String,
    },
    /// Nobody takes more parts.
    #[error("stopped")]
    Stopped,
}

impl ReadFailure {
    /// Something is malformed.
    pub fn malformed(what: impl Into<String>) -> ReadFailure {
        ReadFailure::Malformed { what: what.into() }
    }

    /// There is too much of something.
    pub fn too_large(what: impl Into<String>, limit: u64) -> ReadFailure {
        ReadFailure::TooLarge { what: what.into(), limit }
    }
}

impl From<SinkClosed> for ReadFailure {
    fn from(_: SinkClosed) -> ReadFailure {
        ReadFailure::Stopped
    }
}

impl From<std::io::Error> for ReadFailure {
    /// The failure that the error holds, or the system's.
    fn from(error: std::io::Error) -> ReadFailure {
        let unreadable =
            |error: std::io::Error| ReadFailure::Unreadable { cause: error.to_string() };
        error.downcast::<ReadFailure>().unwrap_or_else(unreadable)
    }
}
