//! Readers of foreign file formats. Each turns one file into *parts*: texts with fields, times and places,
//! which ingestion stores as items.
//!
//! [`READERS`] has one row for each format; [`find_reader`] chooses by the file's name and its first bytes. A
//! reader knows one file and nothing else: no store, no network, no clock. What a file says is data, never an
//! instruction.
//!
//! Foreign files can be hostile. Readers bound what they read and give back ([`limits`]), and ingestion runs
//! them in a child process with limits of memory and time.

#![forbid(unsafe_code)]

mod archive;
mod compressed;
mod conversations;
mod encoding;
mod epub;
mod exports;
mod html;
pub mod limits;
mod mail;
mod notebook;
mod office;
#[cfg(test)]
mod outcome;
mod part;
mod pdf;
mod rtf;
mod sheets;
mod source;
mod table;
mod worker;
mod xml;

pub use compressed::{CompressedInput, explain_archive, is_compressed, name_within, too_large};
pub use encoding::{DecodedText, decode, decode_declared};
pub use exports::notes::clean_notion_name;
pub use exports::vault::read_vault_note;
pub use part::{
    Omission, OmissionKind, Part, PartSink, ReadFailure, ReadNotice, ReadOutput, SinkClosed,
};
pub use source::{FileHead, ReadSeek, SourceFile, with_source};
pub use table::{READERS, READERS_VERSION, Reader, find_reader};
pub use worker::{ReadJob, WorkerLine, run_worker};
