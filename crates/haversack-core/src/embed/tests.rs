use proptest::prelude::*;

use super::{EmbedError, Model, Vector, VectorError};

fn vector(numbers: &[f32]) -> Vector {
    Vector::new(numbers.to_vec()).unwrap()
}

#[test]
fn a_model_says_what_it_is() {
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
fn what_is_no_vector_is_refused() {
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
fn likeness_is_the_cosine() {
    let check = |left: &[f32], right: &[f32], expected: f32| {
        let cosine = vector(left).dot(&vector(right));
        assert_eq!(cosine.to_bits(), expected.to_bits(), "{cosine}");
    };
    check(&[2.0, 0.0], &[0.0, 5.0], 0.0);
    check(&[2.0, 0.0], &[-7.0, 0.0], -1.0);
    check(&[0.0, 0.0], &[1.0, 0.0], 0.0);
    check(&[1.0; 64], &[3.0; 64], 1.0);
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
}
