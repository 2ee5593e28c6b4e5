use super::*;
use crate::ids::ItemId;
use crate::item::Kind;
use crate::text::terms::Language;
use crate::units::Timestamp;

fn score(value: f64) -> Score {
    Score::new(value).unwrap()
}

fn candidate(id: &str, signals: Signals) -> Candidate {
    let id = CandidateId::whole(ItemId::new(id).unwrap());
    Candidate { signals, ..Candidate::new(id, Kind::new("file").unwrap(), "text") }
}

/// `"semantic=0.5 recency=1"` as signals.
fn signals(fixture: &str) -> Signals {
    fixture.split_whitespace().fold(Signals::default(), |signals, pair| {
        let (name, value) = pair.split_once('=').unwrap();
        signals.with(Component::by_name(name).unwrap(), score(value.parse().unwrap()))
    })
}

#[test]
fn recipe_scores_match_their_formulas() {
    let check = |scoring: Scoring, fixture: &str, expected: f64| {
        let (total, parts) = scoring.score(&signals(fixture));
        assert!((total.get() - expected).abs() < 1e-9, "{fixture}: {total} is not {expected}");
        assert!(!parts.is_empty());
    };
    // K4: an unknown age counts half, no keywords count nothing.
    check(Scoring::prime(), "", 0.15 * 0.5);
    check(
        Scoring::prime(),
        "text_similarity=1 keyword_match=1 recency=1 source_priority=1 usage=1",
        1.0,
    );
    check(Scoring::prime(), "text_similarity=0.5 recency=0 source_priority=0.7", 0.175 + 0.105);
    // W6: without focus and age the middle.
    check(Scoring::workspace(), "semantic=1", 0.35 + 0.125 + 0.075 + 0.075);
    // S5: 1 + 2 current + 1 parent + 0.5 rules + up to 1 for freshness.
    check(Scoring::situation(), "current=1 rules=1 recency=1", 4.5);
    check(Scoring::situation(), "parent=1 recency=0", 2.0);
    // M6.
    check(Scoring::memory(), "semantic=1 recency=0.5 confidence=0.5", 0.6 + 0.1 + 0.1);
    // P9: the least similar named competitor beats the most similar unnamed one.
    check(Scoring::battlecards(), "mention=1 semantic=0", 1.0);
    check(Scoring::battlecards(), "semantic=1", 0.5);
    check(Scoring::by(Component::Recency), "recency=0.25 semantic=1", 0.25);
}

#[test]
fn weights_are_finite_by_construction() {
    let check = |weights: &[(Component, f64)], expected: &str| {
        assert_eq!(Scoring::new(Score::ZERO, weights).unwrap_err().to_string(), expected);
    };
    check(
        &[(Component::Usage, f64::NAN)],
        "the weight NaN of usage is not a number between -1000 and 1000",
    );
    check(
        &[(Component::Usage, f64::INFINITY)],
        "the weight inf of usage is not a number between -1000 and 1000",
    );
    check(&[(Component::Usage, 1.0), (Component::Usage, 2.0)], "usage has two weights");
}

#[test]
fn ties_go_to_the_lower_id_whatever_the_input_order() {
    let check = |ids: &[&str]| {
        let candidates = ids.iter().map(|id| candidate(id, signals("semantic=0.5"))).collect();
        let ranked = rank(candidates, &Ranker::Sum(Scoring::memory())).unwrap();
        let order: Vec<_> = ranked.iter().map(|r| r.candidate.id.to_string()).collect();
        assert_eq!(order, ["3", "7", "9"]);
    };
    check(&["7", "3", "9"]);
    check(&["9", "7", "3"]);
}

#[test]
fn recency_follows_its_law() {
    let hour = 3_600_000;
    let check = |law: Recency, hours: i64, expected: f64| {
        let got = law.score(Timestamp::from_millis(-hours * hour), Timestamp::from_millis(0));
        assert!((got.get() - expected).abs() < 1e-6, "{law:?} {hours} h: {got}");
    };
    check(Recency::MEMORY, 0, 1.0);
    check(Recency::MEMORY, 24, 0.5);
    check(Recency::PRIME, 100, 0.367_879);
    check(Recency::WORKSPACE, 360, 0.5);
    check(Recency::WORKSPACE, 10_000, 0.0);
    check(Recency::SITUATION, 12, 0.5);
    // A clock that runs ahead cannot push a score over one.
    check(Recency::MEMORY, -48, 1.0);
    check(Recency::Linear { span_hours: f64::NAN }, 1, 0.0);
}

#[test]
fn fusion_respects_weights_and_results_of_one_list() {
    let list = |weight: f64, ids: &str| RankedList {
        weight: score(weight),
        hits: ids.chars().zip(1..).map(|(id, n)| (id, score(1.0 / f64::from(n)))).collect(),
    };
    let check = |lists: &[RankedList<char>], by_rank: &str, by_score: &str| {
        let order = |fused: Vec<Fused<char>>| fused.into_iter().map(|f| f.id).collect::<String>();
        assert_eq!(order(fuse_ranks(lists, 60)), by_rank);
        assert_eq!(order(fuse_scores(lists)), by_score);
    };
    check(&[list(1.0, "ab"), list(1.0, "ba")], "ab", "ab");
    check(&[list(0.9, "ab"), list(0.1, "ba")], "ab", "ab");
    check(&[list(0.1, "ab"), list(0.9, "ba")], "ba", "ba");
    // What only the heavier list found wins over what only the lighter one did.
    check(&[list(0.4, "xb"), list(0.6, "yb")], "byx", "ybx");
    check(&[list(0.0, "ab")], "", "");
    check(&[], "", "");
    let fused = fuse_ranks(&[list(1.0, "a"), list(1.0, "a")], 60);
    assert_eq!(fused[0].score, Score::ONE);
}

#[test]
fn diversity_prefers_novel_but_relevant_candidates() {
    // Two near-copies of 0.95 and an outlier: the second copy comes after a decent third.
    let scores = [0.95, 0.94, 0.6, 0.05].map(score);
    let similarity = |a: usize, b: usize| if a + b == 1 { score(0.99) } else { Score::ZERO };
    let order = |lambda: f64| -> Vec<usize> {
        diversify(&scores, score(lambda), 9, similarity).iter().map(|pick| pick.index).collect()
    };
    assert_eq!(order(1.0), [0, 1, 2, 3]);
    assert_eq!(order(0.5), [0, 2, 3, 1]);
    assert_eq!(order(0.7), [0, 2, 1, 3]);
    assert!(diversify(&[], Score::ONE, 3, |_, _| Score::ONE).is_empty());
}

#[test]
fn expressions_rank_candidates_and_reject_bad_input() {
    let check = |source: &str, fixture: &str, expected: f64| {
        let expression = Expression::new(source).unwrap();
        let (got, _) = expression.scorer().score(&signals(fixture)).unwrap();
        assert!((got.get() - expected).abs() < 1e-9, "{source}: {got}");
    };
    check("0.7 * similarity + 0.3 * recency", "semantic=1 recency=0.5", 0.85);
    check("2 * max(usage, confidence) - 1", "usage=0.25 confidence=0.75", 0.5);
    check("mention > 0.5 ? 1 : similarity / 2", "semantic=0.5", 0.25);
    check("clamp(exp(0) + log(1) + sqrt(4), 0, 2.5)", "", 2.5);
    let refuse = |source: &str, expected: &str| {
        let error = Expression::new(source).unwrap_err().to_string();
        assert!(error.contains(expected), "{source}: {error}");
    };
    refuse("similarty * 2", "similarty is not a component; there are semantic, ");
    refuse("pow(usage, 2)", "there is no function pow");
    refuse("[1,2].map(x, x)", "'[' at byte 0 is not allowed");
    refuse("0.5 *", "cannot be read");
    refuse("", "cannot be read");
    refuse(&"(".repeat(1_000), "cannot be read");
    refuse(&"-".repeat(1_025), "1025 bytes is longer than the limit of 1024");
    let fail = |source: &str, expected: &str| {
        let expression = Expression::new(source).unwrap();
        let error = expression.scorer().score(&Signals::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{source}: {error}");
    };
    fail("1 / usage", "gave inf, not a finite number");
    fail("0 / usage", "gave NaN, not a finite number");
}

#[test]
fn shared_words_are_measured_without_nan() {
    let keywords = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let text = "The tasks are overdue since Monday";
    let check = |list: &[&str], expected: f64| {
        let got = keyword_match(&keywords(list), text, Language::English);
        assert!((got.get() - expected).abs() < 1e-9, "{list:?}: {got}");
    };
    check(&[], 0.0);
    check(&["task"], 1.0);
    check(&["task", "invoice"], 0.5);
    let corpus = Corpus::from_texts(
        ["a rare zebra", "the common text", "another common text"],
        Language::English,
    );
    let similar = |a: &str, b: &str| corpus.similarity(a, b, Language::English).get();
    assert!(similar("zebra common", "zebra") > similar("zebra common", "common"));
    assert!((similar("zebra", "zebra") - 1.0).abs() < 1e-9);
    assert!(similar("", "zebra").abs() < 1e-9);
    assert!(Corpus::default().similarity("x", "x", Language::English) <= Score::ONE);
}

#[test]
fn items_from_the_time_in_the_query_score_high() {
    let day = |n: i64| Timestamp::from_millis(n * 86_400_000);
    let check = |moment: i64, from: i64, to: i64, expected: f64| {
        let near = timing(day(moment), day(from), day(to)).get();
        assert!((near - expected).abs() < 1e-9, "{moment} of {from}..{to}: {near}");
    };
    check(10, 10, 11, 1.0);
    check(11, 10, 11, 1.0);
    check(14, 10, 11, 0.5);
    check(9, 10, 11, 0.5);
    check(25, 1, 31, 1.0);
    let open = timing(day(3), Timestamp::from_millis(i64::MIN), day(5));
    assert_eq!(open, Score::ONE);
    let far = timing(Timestamp::from_millis(i64::MAX), Timestamp::from_millis(i64::MIN), day(0));
    assert!(far.get() < 1e-6);
}
