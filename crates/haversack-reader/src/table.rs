//! The table of readers: one row each.

use crate::conversations::{
    chatgpt, claude, claude_code, discord, slack, subtitles, telegram, transcript, whatsapp,
};
use crate::epub;
use crate::exports::{chroma, graphiti, langchain, llama_index, mem0, notion, qdrant};
use crate::html;
use crate::mail;
use crate::notebook;
use crate::office;
use crate::part::{PartSink, ReadFailure};
use crate::pdf;
use crate::rtf;
use crate::sheets;
use crate::source::{FileHead, SourceFile};

/// A reader of one format.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    /// The name of the format, as people call it.
    pub name: &'static str,
    /// The extensions of its files, in lower case.
    pub extensions: &'static [&'static str],
    /// Recognises the format by a file's beginning. Readers are asked in the order of the table, so that the
    /// particular (a chat export) stands before the general (any ZIP archive).
    pub recognises: fn(&FileHead) -> bool,
    /// Whether it must run in a child process with limits, because its parser is not ours.
    pub is_isolated: bool,
    /// Reads a file.
    pub read: fn(&mut SourceFile<'_>, &mut PartSink<'_>) -> Result<(), ReadFailure>,
}

/// Rises when a reader gives other parts for the same file, so that files are read again.
pub const READERS_VERSION: u32 = 3;

/// All readers. The first that recognises a file reads it.
pub const READERS: &[Reader] = &[
    chatgpt::ARCHIVE_READER,
    chatgpt::READER,
    claude::ARCHIVE_READER,
    claude::READER,
    slack::ARCHIVE_READER,
    slack::READER,
    discord::ARCHIVE_READER,
    discord::READER,
    whatsapp::ARCHIVE_READER,
    whatsapp::READER,
    telegram::READER,
    claude_code::READER,
    mem0::READER,
    mem0::HISTORY_READER,
    chroma::READER,
    llama_index::READER,
    langchain::READER,
    langchain::LINES_READER,
    graphiti::READER,
    qdrant::READER,
    notion::ARCHIVE_READER,
    subtitles::READER,
    transcript::READER,
    pdf::READER,
    rtf::READER,
    office::DOCX_READER,
    office::PPTX_READER,
    office::ODT_READER,
    office::ODP_READER,
    sheets::XLSX_READER,
    sheets::XLS_READER,
    sheets::ODS_READER,
    office::ole::OLD_READER,
    epub::READER,
    mail::MHTML_READER,
    mail::MBOX_READER,
    mail::MESSAGE_READER,
    notebook::READER,
    html::READER,
];

/// The reader of a file, by its name and its first bytes.
#[must_use]
pub fn find_reader(head: &FileHead) -> Option<&'static Reader> {
    READERS.iter().find(|reader| (reader.recognises)(head))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_reader_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = READERS.iter().map(|reader| reader.name).collect();
        assert_eq!(names.len(), READERS.len());
    }
}
