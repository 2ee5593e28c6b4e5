//! Web pages that browsers save as one file (MHTML): a message whose first part is the page.

use mail_parser::{HeaderValue, Message, MessageParser, MessagePart, MimeHeaders, PartType};

use super::message::{check_nesting, date_of, one_line};
use crate::html::{HtmlOptions, read_page};
use crate::part::{OmissionKind, PartSink, ReadFailure, ReadNotice};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of saved web pages.
pub(crate) const MHTML_READER: Reader = Reader {
    name: "MHTML",
    extensions: &["mhtml", "mht"],
    recognises,
    is_isolated: true,
    read: read_mhtml,
};

/// The header with the address of a saved page.
const ADDRESS: &str = "Snapshot-Content-Location";

fn recognises(head: &FileHead) -> bool {
    let is_named = MHTML_READER.extensions.contains(&head.extension());
    is_named || (super::is_nameless(head) && head.text().contains("\nSnapshot-Content-Location:"))
}

fn read_mhtml(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let bytes = source.read_all()?;
    check_nesting(&bytes)?;
    let message = MessageParser::default().parse(&bytes);
    let message = message.filter(|message| !message.headers().is_empty());
    let message = message.ok_or_else(|| ReadFailure::malformed("a saved page without headers"))?;
    let mut pages = message.parts.iter().filter_map(|part| match &part.body {
        PartType::Html(html) => Some((part, html)),
        _ => None,
    });
    let (page, html) =
        pages.next().ok_or_else(|| ReadFailure::malformed("a saved page without HTML in it"))?;
    let options = HtmlOptions { only_main: true, is_xml: false };
    let mut part = read_page(html.as_bytes(), options, sink)?;
    if part.title.is_empty() {
        part.title = one_line(message.subject().unwrap_or_default());
    }
    if !part.fields.contains_key("url")
        && let Some(address) = address_of(&message, page)
    {
        part.set_field("url", &address);
    }
    part.updated = part.updated.or_else(|| date_of(&message));
    sink.part(part)?;
    let frames: Vec<usize> = pages.map(|(_, html)| html.len()).collect();
    if frames.is_empty() {
        return Ok(());
    }
    let what = format!("{} frames inside the page are left out", frames.len());
    let bytes = frames.iter().sum::<usize>() as u64;
    sink.notice(ReadNotice::new(what).omitting(OmissionKind::PageFurniture, bytes))
}

/// Where the page was, unless it was no address of the web.
fn address_of(message: &Message<'_>, page: &MessagePart<'_>) -> Option<String> {
    let of_message = match message.header(ADDRESS) {
        Some(HeaderValue::Text(address)) => Some(address.to_string()),
        _ => None,
    };
    let address = of_message.or_else(|| page.content_location().map(str::to_owned))?;
    let address = one_line(&address);
    (address.starts_with("http://") || address.starts_with("https://")).then_some(address)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::outcome;
    use crate::part::Part;

    const SAVED: &str = "From: <Saved by Blink>\r\nSnapshot-Content-Location: https://a.org/bees\r\n\
        Subject: =?utf-8?Q?About_b=C3=A9es?=\r\nDate: Mon, 6 May 2024 10:00:00 +0000\r\nMIME-Version: 1.0\r\n\
        Content-Type: multipart/related; type=\"text/html\"; boundary=\"--x\"\r\n\r\n\
        ----x\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\
        Content-Location: https://a.org/bees\r\n\r\n\
        <html><body><nav>Home Shop</nav><main><h1>B=C3=A9es</h1><p>They fly from flower to flow=\r\n\
        er and come home in the evening.</p></main></body></html>\r\n\
        ----x\r\nContent-Type: text/html\r\n\r\n<p>An advertisement</p>\r\n\
        ----x\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0K\r\n----x--\r\n";

    fn read(name: &str, bytes: &[u8]) -> Result<(Part, Vec<String>), ReadFailure> {
        let outcome = outcome::read(name, bytes)?;
        assert_eq!(outcome.reader, "MHTML");
        Ok(outcome.into_part())
    }

    #[test]
    fn a_saved_page_is_read_with_its_address() {
        for name in ["bees.mhtml", "saved"] {
            let (part, notices) = read(name, SAVED.as_bytes()).unwrap();
            assert_eq!(
                part.body.trim_end(),
                "# Bées\n\nThey fly from flower to flower and come home in the evening."
            );
            assert_eq!(part.fields["url"], "https://a.org/bees");
            assert_eq!(part.updated, Some(1_714_989_600_000));
            assert!(notices.iter().any(|it| it.starts_with("1 frames")), "{notices:?}");
        }
    }

    #[test]
    fn damaged_pages_fail_or_are_read_but_never_panic() {
        for end in (0..SAVED.len()).step_by(3) {
            let _ = read("a.mht", &SAVED.as_bytes()[..end]);
        }
        let failure = read("a.mht", b"Subject: x\r\n\r\nno page").unwrap_err();
        assert!(matches!(failure, ReadFailure::Malformed { .. }), "{failure}");
        let deep = "Content-Type: multipart/related\r\n\r\n".repeat(10_000);
        assert!(matches!(read("a.mht", deep.as_bytes()), Err(ReadFailure::TooLarge { .. })));
    }
}
