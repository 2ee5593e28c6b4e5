//! Tests of books, made here.

use super::*;
use crate::archive::tests::zip_of;
use crate::outcome;

const CONTAINER_TEXT: &str = "<?xml version='1.0'?><container><rootfiles><rootfile full-path='OPS/book.opf'/></rootfiles></container>";
const PACKAGE: &str = "<?xml version='1.0'?><package><metadata><dc:title>Bees &amp; Co</dc:title>\
    <dc:creator>A. Keeper</dc:creator><dc:language>en</dc:language><dc:date>2001-05</dc:date></metadata>\
    <manifest><item id='n' href='nav.xhtml' properties='nav'/><item id='a' href='text/a%20b.xhtml'/>\
    <item id='b' href='text/b.xhtml'/><item id='m' href='missing.xhtml'/></manifest>\
    <spine><itemref idref='n'/><itemref idref='b'/><itemref idref='a'/><itemref idref='m'/></spine></package>";
const NAVIGATION: &str = "<html><body><nav><ol><li><a href='text/b.xhtml'>First <b>chapter</b></a></li>\
    <li><a href='text/a%20b.xhtml#x'>Second</a></li></ol></nav></body></html>";

fn bees() -> Vec<(&'static str, &'static str)> {
    vec![
        ("mimetype", "application/epub+zip"),
        (CONTAINER, CONTAINER_TEXT),
        ("OPS/book.opf", PACKAGE),
        ("OPS/nav.xhtml", NAVIGATION),
        ("OPS/text/b.xhtml", "<html><head><title/></head><body><p>Bees fly.</p></body></html>"),
        ("OPS/text/a b.xhtml", "<html><body><h2>Honey</h2><p>Sweet.<br/>Gold.</p></body></html>"),
    ]
}

fn read_bytes(bytes: &[u8]) -> Result<(Vec<Part>, Vec<String>), ReadFailure> {
    let outcome = outcome::read_by(&READER, "book.epub", bytes)?;
    Ok((outcome.parts, outcome.notices))
}

#[test]
fn a_book_is_one_text_in_the_order_of_its_spine() {
    let outcome = outcome::read_by(&READER, "book.epub", &zip_of(&bees())).unwrap();
    let (parts, places) = (outcome.parts, outcome.places);
    let part = &parts[0];
    assert_eq!(part.body, "# First chapter\n\nBees fly.\n\n## Honey\n\nSweet.\nGold.");
    assert_eq!(
        (part.title.as_str(), part.fields["author"].as_str()),
        ("Bees & Co", Some("A. Keeper"))
    );
    assert_eq!(part.created, Some(988_675_200_000));
    assert_eq!(places[0].as_deref(), Some("OPS/missing.xhtml"));
    let head = FileHead::of_bytes("book.zip", &zip_of(&bees()));
    assert!(recognises(&head));
}

#[test]
fn protected_books_are_refused_and_scrambled_fonts_are_not() {
    let protect = |algorithm: &str| {
        format!(
            "<encryption><EncryptedData><EncryptionMethod Algorithm='{algorithm}'/>\
             <CipherData><CipherReference URI='OPS/x'/></CipherData></EncryptedData></encryption>"
        )
    };
    let (aes, font) = (
        protect("http://www.w3.org/2001/04/xmlenc#aes256-cbc"),
        protect("http://www.idpf.org/2008/embedding"),
    );
    let mut entries = bees();
    entries.push(("META-INF/encryption.xml", &aes));
    assert_eq!(read_bytes(&zip_of(&entries)).unwrap_err(), ReadFailure::Encrypted);
    entries.pop();
    entries.push(("META-INF/encryption.xml", &font));
    assert!(read_bytes(&zip_of(&entries)).is_ok());
}

#[test]
fn damaged_books_fail_without_panic() {
    let bytes = zip_of(&bees());
    for end in (0..bytes.len()).step_by(7) {
        assert!(read_bytes(&bytes[..end]).is_err());
    }
    for seed in 0..300 {
        let mut bytes = bytes.clone();
        for pair in crate::encoding::tests::noise(seed, 12).chunks_exact(3) {
            let at = (usize::from(pair[0]) * 256 + usize::from(pair[1])) % bytes.len();
            bytes[at] = pair[2];
        }
        let _ = read_bytes(&bytes);
    }
    assert!(read_bytes(&zip_of(&bees()[..2])).is_err());
}

#[test]
fn a_bomb_is_stopped() {
    let zeros = " ".repeat(130 << 20);
    let mut entries = bees();
    entries[4].1 = &zeros;
    assert!(matches!(read_bytes(&zip_of(&entries)), Err(ReadFailure::TooLarge { .. })));
}
