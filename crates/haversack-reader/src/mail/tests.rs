//! Tests of messages and mailboxes, made here.

use super::*;
use crate::outcome;
use crate::part::Part;

fn read_with(
    reader: &'static Reader,
    name: &str,
    bytes: &[u8],
) -> Result<(Vec<Part>, Vec<String>), ReadFailure> {
    let outcome = outcome::read_by(reader, name, bytes)?;
    Ok((outcome.parts, outcome.notices))
}

fn eml(text: &str) -> (Vec<Part>, Vec<String>) {
    read_with(&MESSAGE_READER, "a.eml", text.as_bytes()).unwrap()
}

const HEADERS: &str = "From: =?utf-8?q?J=C3=B6rg?= <j@a.org>\r\nTo: B <b@a.org>, c@a.org\r\n\
    Subject: Re: Bees\r\nDate: Fri, 1 Mar 2024 10:00:00 +0100\r\nMessage-ID: <2@a>\r\nIn-Reply-To: <1@a>\r\n";

#[test]
fn a_message_has_its_fields_and_its_own_text() {
    let (parts, notices) =
        eml(&format!("{HEADERS}\r\nYes.\r\n\r\nOn Thu, B wrote:\r\n> Bees?\r\n"));
    let part = &parts[0];
    assert_eq!(
        (part.key.as_str(), part.kind.as_str(), part.title.as_str()),
        ("", "message", "Re: Bees")
    );
    assert_eq!((part.body.as_str(), part.is_markdown), ("Yes.", false));
    assert_eq!(part.fields["author"], "Jörg <j@a.org>");
    assert_eq!(part.fields["to"], serde_json::json!(["B <b@a.org>", "c@a.org"]));
    assert_eq!(
        (&part.fields["messageId"], &part.fields["inReplyTo"]),
        (&"2@a".into(), &"1@a".into())
    );
    assert_eq!(part.created, Some(1_709_283_600_000));
    assert!(notices[0].starts_with("2 lines"), "{notices:?}");
}

#[test]
fn formatted_messages_are_markdown_and_attachments_stand_under_them() {
    let text = format!(
        "{HEADERS}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n\
         --x\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>See <b>this</b><ul><li>a</ul>\r\n\
         --x\r\nContent-Type: text/html\r\nContent-Disposition: attachment; filename=p.html\r\n\r\n<h1>P</h1>\r\n\
         --x\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=n.txt\r\n\
         Content-Transfer-Encoding: base64\r\n\r\nR3L832U=\r\n\
         --x\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename=i.png\r\n\
         Content-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n\
         --x\r\nContent-Type: message/rfc822\r\n\r\nSubject: Inner\r\nFrom: d@a.org\r\n\r\nhello\r\n--x--\r\n"
    );
    let (parts, notices) = eml(&text);
    let found: Vec<(&str, &str, &str)> =
        parts.iter().map(|part| (&*part.key, &*part.title, &*part.body)).collect();
    assert_eq!(
        found,
        [
            ("", "Re: Bees", "See this\n\n- a"),
            ("attachment-1", "P", "# P"),
            ("attachment-2", "n.txt", "Grüße"),
            ("attachment-4", "Inner", "hello"),
        ]
    );
    assert!(parts[1..].iter().all(|part| part.parent.as_deref() == Some("")));
    assert!(notices.iter().any(|notice| notice.ends_with("left out: i.png")), "{notices:?}");
}

#[test]
fn compressed_attachments_are_opened_once() {
    let attachment = |name: &str, base64: &str| {
        format!(
            "--x\r\nContent-Type: application/gzip\r\nContent-Disposition: attachment; filename={name}\r\n\
             Content-Transfer-Encoding: base64\r\n\r\n{base64}\r\n"
        )
    };
    let (text, twice) = (
        attachment("bees.txt.gz", "H4sIAAAAAAACA3NKTS1WSMupVMjIz03V4wIA/YMP8g8AAAA="),
        attachment("x.gz.gz", "H4sIAAAAAAACA5Pv5mAAASbm1QwMzWJ3ehiBHABACaWjFQAAAA=="),
    );
    let (parts, notices) = eml(&format!(
        "{HEADERS}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n\
         --x\r\nContent-Type: text/plain\r\n\r\nSee this.\r\n{text}{twice}--x--\r\n"
    ));
    let found: Vec<_> = parts.iter().map(|part| (&*part.title, part.body.trim_end())).collect();
    assert_eq!(found, [("Re: Bees", "See this."), ("bees.txt", "Bees fly home.")]);
    assert!(notices.iter().any(|notice| notice.ends_with("left out: x.gz.gz")), "{notices:?}");
}

#[test]
fn nested_messages_end_somewhere() {
    let mut text = "Subject: core\r\n\r\nend\r\n".to_owned();
    for _ in 0..30 {
        text = format!("Subject: s\r\nContent-Type: message/rfc822\r\n\r\n{text}");
    }
    let (parts, notices) = eml(&text);
    assert!(parts.len() <= 10 && !notices.is_empty());
    let deep = "Content-Type: message/rfc822\r\n\r\n".repeat(100_000);
    assert!(read_with(&MESSAGE_READER, "a.eml", deep.as_bytes()).is_err());
    let allowed = format!("{}a: b\r\n\r\nx", "Content-Type: message/rfc822\r\n\r\n".repeat(399));
    let _ = read_with(&MESSAGE_READER, "a.eml", allowed.as_bytes());
}

fn in_box(id: &str, subject: &str, day: u8, more: &str, body: &str) -> String {
    format!(
        "From a@b Fri Mar  1 10:00:00 2024\nFrom: a@b\nSubject: {subject}\nMessage-ID: <{id}>\n\
         Date: Fri, {day} Mar 2024 10:00:00 +0000\n{more}\n{body}\n\n"
    )
}

fn mailbox() -> String {
    [
        in_box("1", "Bees", 1, "", "One.\n>From here on.\nFrom what I know, 2024 at 10:00 it was."),
        in_box("9", "Wasps", 2, "", "Other."),
        in_box("3", "AW: Bees!", 4, "References: <0> <1>\n", "Three."),
        in_box("2", "Re: Bees", 3, "In-Reply-To: <1>\n", "Two."),
        in_box("10", "re: FWD: wasps", 5, "", "By subject."),
    ]
    .concat()
}

#[test]
fn a_mailbox_is_threads_of_messages_in_order() {
    let (parts, _) = read_with(&MBOX_READER, "a.mbox", mailbox().as_bytes()).unwrap();
    let found: Vec<(&str, &str)> = parts.iter().map(|part| (&*part.title, &*part.body)).collect();
    assert_eq!(
        found,
        [
            ("Bees", ""),
            ("Bees", "One.\nFrom here on.\nFrom what I know, 2024 at 10:00 it was."),
            ("Re: Bees", "Two."),
            ("AW: Bees!", "Three."),
            ("Wasps", ""),
            ("Wasps", "Other."),
            ("re: FWD: wasps", "By subject."),
        ]
    );
    assert_eq!(parts[1].parent, Some(parts[0].key.clone()));
    assert_eq!(parts[0].updated, Some(1_709_546_400_000));
}

#[test]
fn keys_stay_when_a_mailbox_grows() {
    let keys = |text: &str| -> Vec<String> {
        let (parts, _) = read_with(&MBOX_READER, "a.mbox", text.as_bytes()).unwrap();
        parts.into_iter().map(|part| part.key).collect()
    };
    let before = keys(&mailbox());
    let more =
        in_box("0", "Bees", 1, "", "The root comes last.") + &in_box("1", "Bees", 1, "", "Again.");
    let after = keys(&(mailbox() + &more));
    assert!(before.iter().all(|key| after.contains(key)), "{before:?} {after:?}");
    assert_eq!(after.len(), before.len() + 2);
}

#[test]
fn damaged_mail_never_panics() {
    let text = mailbox();
    for end in 0..text.len() {
        let _ = read_with(&MBOX_READER, "a.mbox", &text.as_bytes()[..end]);
        let _ = read_with(&MESSAGE_READER, "a.eml", &text.as_bytes()[34.min(end)..end]);
    }
    for seed in 0..300 {
        let mut bytes = text.clone().into_bytes();
        for pair in crate::encoding::tests::noise(seed, 30).chunks_exact(3) {
            let at = (usize::from(pair[0]) * 256 + usize::from(pair[1])) % bytes.len();
            bytes[at] = pair[2];
        }
        let _ = read_with(&MBOX_READER, "a.mbox", &bytes);
    }
}

#[test]
fn only_mail_is_recognised() {
    let is_mail = |name: &str, text: &str| {
        let head = FileHead::of_bytes(name, text.as_bytes());
        [MESSAGE_READER, MBOX_READER].map(|reader| (reader.recognises)(&head))
    };
    assert_eq!(is_mail("a.eml", "x"), [true, false]);
    assert_eq!(is_mail("inbox", &mailbox()), [false, true]);
    assert_eq!(is_mail("msg", &format!("{HEADERS}\r\nx")), [true, false]);
    assert_eq!(is_mail("a.txt", &mailbox()), [false, false]);
    assert_eq!(is_mail("notes", "From: me\nDate: today\n\nx"), [false, false]);
    assert_eq!(is_mail("a.mbox", "From the start"), [false, false]);
}
