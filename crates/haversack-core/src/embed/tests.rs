use proptest::prelude::*;

use super::built_in::pieces;
use super::table::PieceTable;
use super::{BuiltIn, EmbedError, Embedder, Model, Vector, VectorError};

fn vector(numbers: &[f32]) -> Vector {
    Vector::new(numbers.to_vec()).unwrap()
}

#[test]
fn a_model_is_displayed_with_version_and_dimensions() {
    let model = Model { name: "small".to_owned(), version: "3".to_owned(), dimensions: 256 };
    assert_eq!(model.to_string(), "small@3/256");
    let error = EmbedError::TooLong { model, place: 2, bytes: 9000 };
    assert_eq!(error.to_string(), "text 2 has 9000 bytes, which is more than small@3/256 reads");
}

#[test]
fn vectors_are_of_unit_length_or_zero() {
    assert_eq!(vector(&[3.0, -4.0]).as_slice(), [0.6, -0.8]);
    assert_eq!(vector(&[f32::MAX, 0.0]).as_slice(), [1.0, 0.0]);
    assert_eq!(vector(&[f32::from_bits(1), 0.0]).as_slice(), [1.0, 0.0]);
    assert!(vector(&[0.0, -0.0]).is_zero());
    assert_eq!(vector(&[0.0, -0.0]).to_half(), [0; 4]);
}

#[test]
fn invalid_vectors_are_rejected() {
    let refused = |numbers: &[f32], error| assert_eq!(Vector::new(numbers.to_vec()), Err(error));
    refused(&[], VectorError::Empty);
    refused(&[1.0, f32::NAN], VectorError::NotFinite { place: 1 });
    refused(&[f32::INFINITY], VectorError::NotFinite { place: 0 });
    let refused = |bytes: &[u8], error| assert_eq!(Vector::from_half(bytes), Err(error));
    refused(&[], VectorError::Empty);
    refused(&[0, 0x3c, 0], VectorError::OddBytes { bytes: 3 });
    refused(&[0, 0x7c], VectorError::NotFinite { place: 0 });
    refused(&[0, 0x3c, 0, 0x3c], VectorError::NotUnit { dimensions: 2 });
}

#[test]
fn dot_is_the_cosine() {
    let check = |left: &[f32], right: &[f32], expected: f32| {
        let cosine = vector(left).dot(&vector(right));
        assert_eq!(cosine.to_bits(), expected.to_bits(), "{cosine}");
    };
    check(&[2.0, 0.0], &[0.0, 5.0], 0.0);
    check(&[2.0, 0.0], &[-7.0, 0.0], -1.0);
    check(&[0.0, 0.0], &[1.0, 0.0], 0.0);
    check(&[1.0; 64], &[3.0; 64], 1.0);
}

/// The expected pieces with a space between them.
fn check(text: &str, expected: &str) {
    assert_eq!(pieces(text).join(" "), expected, "{text:?}");
}

#[test]
fn words_are_read_as_the_longest_pieces() {
    check("", "");
    check(" \n\t ", "");
    check("The Embedding of unaffable words", "the em ##bed ##ding of una ##ffa ##ble words");
    check("supercalifragilistic", "super ##cal ##if ##rag ##ilis ##tic");
    check("2024-05-01", "202 ##4 - 05 - 01");
    check("read_file(path: &str)", "read _ file ( path : & st ##r )");
    check("don't (really)!?", "don ' t ( really ) ! ?");
    check("##ing [CLS]", "# # ing [ cl ##s ]");
}

#[test]
fn other_scripts_follow_the_same_rules() {
    check("Ångström naïve CAFÉ", "ang ##strom naive cafe");
    check("“so”—he said… it’s", "“ so ” — he said … it ’ s");
    check("東京 x日y", "東 京 x 日 y");
    check("\u{f1}o \u{6e}\u{303}o", "no no");
    check("a\u{a0}b\u{3000}c", "a b c");
    check("ab\u{200b}c\u{0}d \u{fffd}e", "abc ##d e");
    check("ΑΒΓ Привет", "α ##β ##γ п ##р ##и ##в ##е ##т");
}

#[test]
fn unknown_words_have_no_piece() {
    check("🦀 crab", "crab");
    check(&"a".repeat(101), "");
    check(&"é".repeat(101), "");
    assert_eq!(pieces(&"a".repeat(100)).len(), 50);
}

#[test]
fn long_texts_are_read_up_to_a_limit() {
    assert_eq!(pieces(&"word ".repeat(600)).len(), 512);
    assert_eq!(pieces(&"embedding ".repeat(600)).len(), 512);
    assert_eq!(pieces(&format!("{}word", "🦀 ".repeat(511))), ["word"]);
    check(&format!("{}word", "🦀 ".repeat(512)), "");
    check(&format!("{}word", " ".repeat(16 * 1024)), "");
}

#[test]
fn the_built_in_model_is_known_and_the_same_everywhere() {
    let embedder = BuiltIn::new();
    assert_eq!(embedder.model().to_string(), "haversack-static-en@1/256");
    assert!(embedder.vector("").is_zero());
    assert!(embedder.vector("🦀").is_zero());
    let texts = ["How do I reset my password?", "def parse(line): return line.split(',')", "東京"];
    let bytes: Vec<u8> =
        embedder.embed(&texts).unwrap().iter().flat_map(|vector| vector.to_half()).collect();
    // Another table needs another version, and then this changes with it.
    assert_eq!(blake3::hash(&bytes).to_hex()[..16], *"0aae13b3e8e8929e");
}

#[test]
fn near_meanings_have_near_vectors() {
    let nearer = |text: &str, near: &str, far: &str| {
        let [text, near, far] = [text, near, far].map(|text| BuiltIn::new().vector(text));
        assert!(text.dot(&near) > text.dot(&far));
    };
    nearer("how to sign in", "login with a password", "boil the potatoes for ten minutes");
    nearer("the physician cured her", "a doctor treats patients", "the ship left the harbour");
    nearer("remove duplicates from a list", "unique elements of an array", "send an e-mail");
}

#[test]
fn malformed_tables_are_rejected() {
    assert!(PieceTable::read(b"").is_none());
    assert!(PieceTable::read(b"HVSKVEC1").is_none());
    assert!(PieceTable::read(b"HVSKVEC1\0\x01\0\0\xff\xff\xff\xff\x01a\x011").is_none());
    assert!(PieceTable::read(b"HVSKVEC1\xff\xff\xff\xff\0\0\0\0\x01a\x011").is_none());
}

proptest! {
    #[test]
    fn half_precision_keeps_the_direction(numbers in prop::collection::vec(-9.0f32..9.0, 1..600)) {
        let vector = vector(&numbers);
        let bytes = vector.to_half();
        let stored = Vector::from_half(&bytes).unwrap();
        prop_assert_eq!(stored.to_half(), bytes);
        if !vector.is_zero() {
            prop_assert!((vector.dot(&vector) - 1.0).abs() < 1e-5);
            prop_assert!((vector.dot(&stored) - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn any_text_has_a_vector(text in "\\PC{0,300}") {
        let vector = BuiltIn::new().vector(&text);
        prop_assert_eq!(vector.is_zero(), pieces(&text).is_empty());
    }
}
