//! Tests of decoding: real sentences in many encodings, and binary files.

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, GB18030, ISO_8859_2, KOI8_R, SHIFT_JIS, WINDOWS_1250, WINDOWS_1251,
    WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256,
};

use super::*;

const GERMAN: &str = "Größe und Gewicht der Geräte stehen auf der Rückseite. Übermäßige Wärme ist zu \
    vermeiden; prüfen Sie die Anschlüsse „vor jedem Gebrauch“.";
const FRENCH: &str = "L'été dernier, nous avons reçu à peine la moitié des pièces commandées.";
const POLISH: &str = "Zażółć gęślą jaźń. Proszę przesłać wszystkie załączniki do piątku, ponieważ później \
    nie będzie już możliwości zgłoszenia błędów.";
const RUSSIAN: &str =
    "Пожалуйста, пришлите отчёт до пятницы. Все приложения должны быть подписаны.";
const GREEK: &str =
    "Παρακαλώ στείλτε την αναφορά μέχρι την Παρασκευή. Όλα τα έγγραφα πρέπει να υπογραφούν.";
const TURKISH: &str = "Lütfen raporu cuma gününe kadar gönderin. Bütün ekler imzalanmış olmalıdır, çünkü \
    değişiklik yapılmayacaktır.";
const HEBREW: &str = "אנא שלחו את הדוח עד יום שישי. כל הנספחים חייבים להיות חתומים.";
const ARABIC: &str = "يرجى إرسال التقرير قبل يوم الجمعة. يجب توقيع جميع المرفقات.";
const JAPANESE: &str = "金曜日までに報告書を送ってください。すべての添付ファイルに署名が必要です。";
const CHINESE: &str = "请在星期五之前提交报告。所有附件都必须签名，否则将不予受理。";
const TAIWANESE: &str = "請在星期五之前提交報告。所有附件都必須簽名，否則將不予受理。";
const KOREAN: &str = "금요일까지 보고서를 보내 주십시오. 모든 첨부 파일에는 서명이 있어야 합니다.";

#[track_caller]
fn check(encoding: &'static Encoding, text: &str) {
    let (bytes, _, had_errors) = encoding.encode(text);
    assert!(!had_errors, "{} cannot hold the text", encoding.name());
    let decoded = decode(&bytes).unwrap();
    assert_eq!(decoded.text, text, "{} taken for {}", encoding.name(), decoded.encoding);
    assert_eq!(decoded.replaced, 0);
}

fn utf16(text: &str, mark: bool, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mark = mark.then_some(0xfeff);
    mark.into_iter().chain(text.encode_utf16()).flat_map(to_bytes).collect()
}

/// Bytes that look random and are the same in every run.
pub(crate) fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn old_encodings_are_guessed() {
    check(WINDOWS_1252, GERMAN);
    check(WINDOWS_1252, FRENCH);
    check(WINDOWS_1250, POLISH);
    check(ISO_8859_2, POLISH);
    check(KOI8_R, RUSSIAN);
    check(WINDOWS_1251, RUSSIAN);
    check(WINDOWS_1253, GREEK);
    check(WINDOWS_1254, TURKISH);
    check(WINDOWS_1255, HEBREW);
    check(WINDOWS_1256, ARABIC);
    check(SHIFT_JIS, JAPANESE);
    check(EUC_JP, JAPANESE);
    check(ISO_2022_JP, JAPANESE);
    check(GB18030, CHINESE);
    check(BIG5, TAIWANESE);
    check(EUC_KR, KOREAN);
}

#[test]
fn short_texts_are_guessed_as_well() {
    check(WINDOWS_1252, "Grüße");
    check(WINDOWS_1252, "Café");
    check(SHIFT_JIS, "こんにちは、世界");
    check(KOI8_R, "Привет, мир");
    check(EUC_KR, "안녕하세요, 여러분");
}

#[test]
fn utf16_is_found_with_and_without_a_mark() {
    for text in [GERMAN, RUSSIAN, "a\r\nb\r\n", "日本\n", &CHINESE.repeat(3)] {
        for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            assert_eq!(decode(&utf16(text, true, to_bytes)).unwrap().text, text);
        }
    }
    for text in [GERMAN, RUSSIAN, "a\r\nb\r\n", &format!("{CHINESE}\n").repeat(3)] {
        for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes = utf16(text, false, to_bytes);
            assert_eq!(decode(&bytes).expect(text).text, text);
        }
    }
}

#[test]
fn utf8_is_borrowed_and_loses_its_mark_only() {
    let decoded = decode("Größe\r\n".as_bytes()).unwrap();
    assert!(matches!(decoded.text, Cow::Borrowed("Größe\r\n")));
    assert_eq!(decode(b"\xef\xbb\xbfa").unwrap().text, "a");
    assert_eq!(decode(b"").unwrap().text, "");
    assert_eq!(decode(b"\x1b[31mred\x1b[0m").unwrap().encoding, "UTF-8");
}

#[test]
fn damaged_utf8_stays_utf8_and_is_counted() {
    let mut bytes = RUSSIAN.repeat(3).into_bytes();
    bytes.truncate(bytes.len() - 2);
    let decoded = decode(&bytes).unwrap();
    assert_eq!((decoded.encoding, decoded.replaced), ("UTF-8", 1));
    let decoded =
        decode(b"\xef\xbb\xbfa long line with one bad byte \xff in it, and so on").unwrap();
    assert_eq!((decoded.encoding, decoded.replaced), ("UTF-8", 1));
}

#[test]
fn declarations_beat_guesses_but_not_facts() {
    let (bytes, _, _) = ISO_8859_2.encode("ąę");
    assert_eq!(decode_declared(&bytes, Some("latin2")).unwrap().text, "ąę");
    assert_eq!(decode_declared("ąę".as_bytes(), Some("latin2")).unwrap().text, "ąę");
    assert_eq!(decode_declared(&bytes, Some("no such thing")).unwrap().replaced, 0);
    assert_eq!(decode_declared(b"a", Some("utf-16")).unwrap().text, "a");
}

#[test]
fn binary_files_are_no_text() {
    for count in [24, 40, 64, 100, 300, 1000, 5000, 70_000] {
        let taken = (0..200).filter(|seed| decode(&noise(*seed, count)).is_some()).count();
        // Few bytes may be anything.
        let allowed = if count < 100 { 12 } else { 0 };
        assert!(
            taken <= allowed,
            "{taken} of 200 random files of {count} bytes are taken for text"
        );
    }
    for beginning in BINARY_BEGINNINGS {
        assert_eq!(decode(beginning), None);
    }
    assert_eq!(decode(b"text with a NUL\0 in it"), None);
    let numbers: Vec<u8> = (0..2000_u32).flat_map(u32::to_le_bytes).collect();
    assert_eq!(decode(&numbers), None);
    let sound: Vec<u8> =
        (0..800_i16).flat_map(|at| ((at * 37) % 300 - 150).to_le_bytes()).collect();
    assert_eq!(decode(&sound), None);
    assert_eq!(decode(&[0; 100]), None);
}
