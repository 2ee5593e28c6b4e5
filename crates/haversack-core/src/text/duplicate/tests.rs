//! Repeats, and the index compared with all pairs.

use proptest::prelude::*;

use super::*;

const LONG: &str = "The quarterly report covers revenue, costs and staff. Revenue grew by nine \
    percent over the year before, mostly in the north. Costs stayed flat. We hired twelve people, \
    nine of them engineers, and moved to a new office in March.";

fn threshold() -> Score {
    Score::new(0.8).unwrap()
}

/// Each expected entry is the index of the keeper or `-`.
fn check(texts: &[&str], expected: &str) {
    let found: Vec<String> = duplicates(texts, threshold())
        .into_iter()
        .map(|keeper| keeper.map_or("-".to_owned(), |keeper| keeper.to_string()))
        .collect();
    assert_eq!(found.join(" "), expected, "{texts:?}");
}

#[test]
fn a_content_hash_ignores_case_and_white_space_only() {
    let same = |a, b| content_hash(a) == content_hash(b);
    assert!(same("Hello  World\r\n", " hello\tworld"));
    assert!(same("ÀÉ ΣΑΣ", "àé σασ"));
    assert!(!same("Hello world.", "Hello world"));
    assert!(!same("ab", "a b"));
    assert_eq!(
        content_hash("").to_string(),
        "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    );
}

#[test]
fn exact_repeats_point_to_the_first() {
    check(&[], "");
    check(&["a", "b", "A ", "a"], "- - 0 0");
    check(&["", " \n", "", "x"], "- - - -");
    check(&["!?", "!?", "🙂", "🙂 "], "- 0 - 2");
    check(&["会议记录在这里", "会议记录在这里"], "- 0");
}

#[test]
fn near_repeats_point_to_the_first() {
    let edited = LONG.replace("twelve people", "twelve persons");
    let twice = edited.replace("March", "April");
    let other = LONG.replace("revenue", "profit").replace("nine", "two").replace("costs", "rent");
    check(&[LONG, &edited], "- 0");
    check(&[LONG, &edited, &edited.to_uppercase()], "- 0 0");
    check(&[LONG, "something else entirely, of five words", &twice], "- - 0");
    check(&[LONG, &other], "- -");
    check(&["Invoice 1001", "Invoice 1002"], "- -");
    check(&["数据库的备份计划已经在上周完成了", "数据库的备份计划已经在上周完成啦"], "- 0");
}

#[test]
fn a_text_inside_an_earlier_one_is_a_repeat() {
    check(&[LONG, "Costs stayed flat. We hired twelve people,"], "- 0");
    check(&["Costs stayed flat. We hired twelve people,", LONG], "- -");
    // Too short to tell.
    check(&[LONG, "costs stayed flat"], "- -");
    check(&[LONG, "Costs stayed flat. We fired twelve people in all"], "- -");
}

#[test]
fn a_low_threshold_does_not_join_everything() {
    let found = duplicates(&["one two three four five", "six seven eight nine ten"], Score::ZERO);
    assert_eq!(found, [None, None]);
}

#[test]
fn sketches_estimate_similarity() {
    let of = |a: &str, b: &str| Sketch::from_text(a).similarity(&Sketch::from_text(b)).get();
    assert!(of(LONG, &LONG.to_uppercase()) > 0.999);
    assert!(of(LONG, &LONG.replace("March", "April")) > 0.7);
    assert!(of(LONG, "A wholly different text about other matters altogether.") < 0.1);
    assert!(of("", "") < 0.001);
}

/// All pairs, by the definition.
fn plain_duplicates(texts: &[String], threshold: f64) -> Vec<Option<usize>> {
    let normal: Vec<String> = texts.iter().map(|text| normalised(text)).collect();
    let mut sets: Vec<Shingles> = normal.iter().map(|normal| Shingles::from_text(normal)).collect();
    for set in &mut sets {
        set.hashes.sort_unstable();
        set.hashes.dedup();
    }
    let repeats = |own: &Shingles, earlier: &Shingles| {
        let shared = own.hashes.iter().filter(|hash| earlier.hashes.contains(hash)).count() as f64;
        let (own_len, len) = (own.hashes.len() as f64, earlier.hashes.len() as f64);
        shared / (own_len + len - shared) >= threshold - 1e-12
            || (own.containable && own_len < len && shared / own_len >= CONTAINED_MIN)
    };
    let mut result: Vec<Option<usize>> = Vec::new();
    for index in 0..texts.len() {
        let keeper = (0..index).find(|&earlier| normal[earlier] == normal[index]).map_or_else(
            || {
                (0..index).find(|&earlier| {
                    result[earlier].is_none() && repeats(&sets[index], &sets[earlier])
                })
            },
            |earlier| Some(result[earlier].unwrap_or(earlier)),
        );
        result.push(keeper.filter(|_| !normal[index].is_empty()));
    }
    result
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_index_finds_what_all_pairs_find(
        texts in proptest::collection::vec("(a|b|c|dd|会议|记| |  |\\. ){0,14}", 0..24),
        threshold in 0.2..1.0,
    ) {
        let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = duplicates(&borrowed, Score::unit(threshold));
        prop_assert_eq!(&found, &plain_duplicates(&texts, threshold));
        for (index, keeper) in found.iter().enumerate() {
            if let Some(keeper) = *keeper {
                prop_assert!(keeper < index && found[keeper].is_none());
            }
        }
    }

    #[test]
    fn ascii_is_normalised_like_any_text(text in "[\\x00-\\x7f]{0,30}") {
        let plain = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        prop_assert_eq!(normalised(&text), plain);
    }

    #[test]
    fn any_text_has_a_hash_and_a_sketch(text in "\\PC{0,40}") {
        prop_assert_eq!(content_hash(&text), content_hash(&format!(" {text}\n")));
        let alike = Sketch::from_text(&text).similarity(&Sketch::from_text(&text));
        prop_assert_eq!(alike, if text.trim().is_empty() { Score::ZERO } else { Score::ONE });
    }
}
