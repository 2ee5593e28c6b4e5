//! Tests of what all protocols share.

use serde_json::json;

use super::*;

#[test]
fn protocols_have_names_of_their_own() {
    let mut names: Vec<&str> = PROTOCOLS.iter().map(|protocol| protocol.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), PROTOCOLS.len());
    assert!(names.iter().all(|name| find(name).is_some()));
}

#[test]
fn an_index_that_is_missing_doubled_or_out_of_range_is_an_error() {
    let check = |list: Value, expected: &str| {
        let read = |entry: &Value| Ok(entry["v"].as_u64());
        assert_eq!(in_order(&list, 2, "data", read).unwrap_err(), expected);
    };
    check(json!([{"index": 0, "v": 1}]), "data has no entry for text 1 of 2");
    check(json!([{"index": 0}, {"index": 0}]), "data has index 0 twice");
    check(json!([{"index": 0}, {"index": 2}]), "data[1].index is 2, but 2 texts were sent");
    check(json!([{"index": "x"}, {}]), "data[0].index is not a number");
    check(json!([{}]), "data[0] has no index");
    check(json!({}), "data is not a list");
}

#[test]
fn extra_fields_extend_objects_and_replace_the_rest() {
    let mut body = json!({"model": "m", "options": {"a": 1}, "temperature": 0});
    let extra = json!({"options": {"num_ctx": 4096}, "temperature": 1, "seed": 7});
    add_extra(&mut body, extra.as_object().unwrap());
    let expected = json!({
        "model": "m", "options": {"a": 1, "num_ctx": 4096}, "temperature": 1, "seed": 7,
    });
    assert_eq!(body, expected);
}
