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
pub const READERS_VERSION: u32 = 1;

/// All readers. The first that recognises a file reads it.
pub const READERS: &[Reader] = &[
    Reader {
        name: "ChatGPT archive",
        extensions: &["zip"],
        recognises: chatgpt::is_archive,
        is_isolated: true,
        read: chatgpt::read_archive,
    },
    Reader {
        name: "ChatGPT conversations",
        extensions: &["json"],
        recognises: chatgpt::is_json,
        is_isolated: false,
        read: chatgpt::read_json,
    },
    Reader {
        name: "Claude archive",
        extensions: &["zip"],
        recognises: claude::is_archive,
        is_isolated: true,
        read: claude::read_archive,
    },
    Reader {
        name: "Claude conversations",
        extensions: &["json"],
        recognises: claude::is_json,
        is_isolated: false,
        read: claude::read_json,
    },
    Reader {
        name: "Slack archive",
        extensions: &["zip"],
        recognises: slack::is_archive,
        is_isolated: true,
        read: slack::read_archive,
    },
    Reader {
        name: "Slack channel day",
        extensions: &["json"],
        recognises: slack::is_channel_day,
        is_isolated: false,
        read: slack::read_channel_day,
    },
    Reader {
        name: "Discord package",
        extensions: &["zip"],
        recognises: discord::is_package,
        is_isolated: true,
        read: discord::read_package,
    },
    Reader {
        name: "Discord channel",
        extensions: &["json"],
        recognises: discord::is_exporter_json,
        is_isolated: false,
        read: discord::read_exporter_json,
    },
    Reader {
        name: "WhatsApp archive",
        extensions: &["zip"],
        recognises: whatsapp::is_archive,
        is_isolated: true,
        read: whatsapp::read_archive,
    },
    Reader {
        name: "WhatsApp chat",
        extensions: &["txt"],
        recognises: whatsapp::is_chat,
        is_isolated: false,
        read: whatsapp::read_chat,
    },
    Reader {
        name: "Telegram export",
        extensions: &["json"],
        recognises: telegram::is_export,
        is_isolated: false,
        read: telegram::read,
    },
    Reader {
        name: "Claude Code session",
        extensions: &["jsonl"],
        recognises: claude_code::is_session,
        is_isolated: false,
        read: claude_code::read_session,
    },
    Reader {
        name: "mem0 memories",
        extensions: &["json"],
        recognises: mem0::is_json,
        is_isolated: false,
        read: mem0::read_json,
    },
    Reader {
        name: "mem0 history",
        extensions: &["db", "sqlite"],
        recognises: mem0::is_history,
        is_isolated: true,
        read: mem0::read_history,
    },
    Reader {
        name: "Chroma database",
        extensions: &["sqlite3"],
        recognises: chroma::is_chroma,
        is_isolated: true,
        read: chroma::read,
    },
    Reader {
        name: "LlamaIndex documents",
        extensions: &["json"],
        recognises: llama_index::is_docstore,
        is_isolated: false,
        read: llama_index::read,
    },
    Reader {
        name: "LangChain documents",
        extensions: &["json"],
        recognises: langchain::is_json,
        is_isolated: false,
        read: langchain::read_json,
    },
    Reader {
        name: "LangChain document lines",
        extensions: &["jsonl", "ndjson"],
        recognises: langchain::is_lines,
        is_isolated: false,
        read: langchain::read_lines,
    },
    Reader {
        name: "Graphiti graph",
        extensions: &["json"],
        recognises: graphiti::is_graph,
        is_isolated: false,
        read: graphiti::read,
    },
    Reader {
        name: "Qdrant snapshot",
        extensions: &["snapshot"],
        recognises: qdrant::is_snapshot,
        is_isolated: false,
        read: qdrant::read,
    },
    Reader {
        name: "Notion archive",
        extensions: &["zip"],
        recognises: notion::is_archive,
        is_isolated: true,
        read: notion::read,
    },
    Reader {
        name: "subtitles",
        extensions: &["vtt", "srt"],
        recognises: subtitles::is_subtitles,
        is_isolated: false,
        read: subtitles::read,
    },
    Reader {
        name: "transcript",
        extensions: &["txt"],
        recognises: transcript::is_transcript,
        is_isolated: false,
        read: transcript::read,
    },
    pdf::READER,
    Reader {
        name: "DOCX",
        extensions: office::DOCX,
        recognises: office::is_docx,
        is_isolated: true,
        read: office::read_docx,
    },
    Reader {
        name: "PPTX",
        extensions: office::PPTX,
        recognises: office::is_pptx,
        is_isolated: true,
        read: office::read_pptx,
    },
    Reader {
        name: "ODT",
        extensions: office::ODT,
        recognises: office::is_odt,
        is_isolated: true,
        read: office::read_odt,
    },
    Reader {
        name: "ODP",
        extensions: office::ODP,
        recognises: office::is_odp,
        is_isolated: true,
        read: office::read_odp,
    },
    Reader {
        name: "XLSX",
        extensions: sheets::XLSX,
        recognises: sheets::is_xlsx,
        is_isolated: true,
        read: sheets::read_xlsx,
    },
    Reader {
        name: "XLS",
        extensions: sheets::XLS,
        recognises: sheets::is_xls,
        is_isolated: true,
        read: sheets::read_xls,
    },
    Reader {
        name: "ODS",
        extensions: sheets::ODS,
        recognises: sheets::is_ods,
        is_isolated: true,
        read: sheets::read_ods,
    },
    Reader {
        name: "old Office",
        extensions: &["doc", "dot", "ppt", "pps", "pot"],
        recognises: office::ole::is_old_office,
        is_isolated: true,
        read: office::ole::read_old_office,
    },
    epub::READER,
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
