//! E-mail: single messages, and mailboxes in mbox format as threads of messages; and web pages that are saved as
//! messages.

mod mbox;
mod message;
mod mhtml;
mod quote;
#[cfg(test)]
mod tests;

use crate::part::{OmissionKind, PartSink, ReadFailure, ReadNotice};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;
use message::{Place, read_message};
pub(crate) use mhtml::MHTML_READER;

/// The reader of single messages.
pub(crate) const MESSAGE_READER: Reader = Reader {
    name: "e-mail",
    extensions: &["eml"],
    recognises: |head| {
        head.extension() == "eml" || (is_nameless(head) && looks_like_mail(head.text()))
    },
    is_isolated: true,
    read: read_eml,
};

/// The reader of mailboxes.
pub(crate) const MBOX_READER: Reader = Reader {
    name: "mailbox",
    extensions: &["mbox", "mbx"],
    recognises: |head| {
        let starts =
            head.bytes.starts_with(b"From ") && mbox::is_separator(first_line(&head.bytes));
        let is_empty_box = head.bytes.is_empty() && head.extension() == "mbox";
        (starts && (MBOX_READER.extensions.contains(&head.extension()) || is_nameless(head)))
            || is_empty_box
    },
    is_isolated: true,
    read: mbox::read,
};

/// Whether a file's name says nothing, as those of mailboxes and stored messages often do.
fn is_nameless(head: &FileHead) -> bool {
    !head.name.contains('.')
}

fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == b'\n').next().unwrap_or_default()
}

/// Whether a text begins with the headers of a message: a sender and how it came.
fn looks_like_mail(text: &str) -> bool {
    let mut found = [false; 3];
    for line in text.lines().take(100).take_while(|line| !line.is_empty()) {
        let Some((name, _)) = line.split_once(':') else {
            if line.starts_with([' ', '\t']) {
                continue;
            }
            return false;
        };
        match name.to_ascii_lowercase().as_str() {
            "from" => found[0] = true,
            "message-id" | "received" | "mime-version" | "return-path" => found[1] = true,
            "date" => found[2] = true,
            _ if line.starts_with([' ', '\t']) => {}
            name if name.bytes().all(|byte| byte.is_ascii_graphic()) => {}
            _ => return false,
        }
    }
    found == [true; 3]
}

fn read_eml(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let bytes = source.read_all()?;
    let left_out = read_message(&bytes, &Place::default(), sink)?;
    give_left_out(left_out, sink)
}

/// Says how many lines of quotations were left out.
fn give_left_out(lines: usize, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    if lines == 0 {
        return Ok(());
    }
    let what = format!("{lines} lines of quoted earlier messages and signatures are left out");
    sink.notice(ReadNotice::new(what).omitting(OmissionKind::Quotations, lines as u64))
}
