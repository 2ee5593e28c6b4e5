//! X9: packs are readable. They hold whole blocks in their documents' order under titles, and nothing
//! when nothing is relevant.

use std::sync::Arc;

use haversack::{Assembled, NoticeCode, Request};
use haversack_core::units::{Span, Tokens};
use serde_json::json;

use crate::support::{Fixture, empty_workspace, id, item, pack};

const FERRIES: &str = "# Ferries\n\nAll about the ferries of the bay.\n\n\
    ## Booking\n\nBook a ferry with the harbour tool, at least one day before it leaves:\n\n\
    ```sh\nharbour login --name anna\nharbour book --ferry nine --bicycle\nharbour pay\n```\n\n\
    ## Refunds\n\nA booking that was paid is refunded until noon of the day before.\n\n\
    | when | refund |\n|---|---|\n| two days before | all |\n| the day before | half |\n\n\
    ## Winter\n\nFrom November to March the ferry leaves at ten, and only on working days.\n";

/// A handbook of many pages, one of them about ferries.
async fn handbook() -> Fixture {
    let fixture = empty_workspace();
    let mut items = Vec::new();
    for (name, words) in [
        ("library", "The library lends maps, globes and atlases for four weeks."),
        ("kitchen", "The kitchen of the hostel is open from six in the morning until ten."),
        ("museum", "The museum shows nets, anchors and the old lighthouse lamp."),
    ] {
        let long = format!("# The {name}\n\n{words}\n");
        items.push((name, long));
    }
    let chapter = "\n\n## Another matter\n\nThis goes on about rope, paint and tar for a while. ";
    let filler: String = (0..40).map(|n| format!("{chapter}It is matter {n}. ")).collect();
    items.push(("ferries", format!("{FERRIES}{filler}")));
    let items = items.into_iter().map(|(name, text)| {
        let mut file = item(name, "file", &text, json!({}));
        file.title = format!("All on the {name}");
        file.path = Some(format!("{name}.md"));
        file
    });
    fixture.put(items.collect()).await.unwrap();
    fixture
}

async fn ask(fixture: &Fixture, query: &str, budget: u32) -> Arc<Assembled> {
    pack(fixture, Request::new("everything", query).within(budget)).await
}

#[tokio::test]
async fn parts_of_a_document_stand_together_under_one_title_in_its_order() {
    let fixture = handbook().await;
    let found = ask(&fixture, "How do I book a ferry and when is it refunded?", 500).await;
    let text = found.text();
    assert_eq!(text.matches("All on the ferries").count(), 1, "{text}");
    let places = ["harbour login", "harbour pay\n```", "## Refunds", "| the day before | half |"];
    let places: Vec<usize> = places.iter().map(|part| text.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
    assert!(text.matches("```").count().is_multiple_of(2), "{text}");
}

#[tokio::test]
async fn a_listing_is_whole_or_left_out_at_any_budget() {
    let fixture = handbook().await;
    for budget in (120..900).step_by(20) {
        let found = ask(&fixture, "Which commands book a ferry?", budget).await;
        let text = found.text();
        let (begins, ends) = (text.contains("harbour login"), text.contains("harbour pay"));
        assert_eq!(begins, ends, "at {budget}: {text}");
        assert!(text.matches("```").count().is_multiple_of(2), "at {budget}: {text}");
    }
}

/// The bytes of each item that a pack cites.
fn cited(assembled: &Assembled) -> Vec<(String, Vec<Span>)> {
    let citations = assembled.pack.citations.iter();
    let cited = |c: &haversack_core::assemble::Citation| (c.candidate.to_string(), c.spans.clone());
    citations.map(cited).collect()
}

/// Checks that each pack has all the bytes of items that the one before it cited, white space aside
/// where the items' texts are given.
fn check_growth(packs: &[Arc<Assembled>], about: &str, texts: &[(String, String)]) {
    for (smaller, larger) in packs.iter().zip(&packs[1..]) {
        let larger = cited(larger);
        for (id, spans) in cited(smaller) {
            let now = larger.iter().filter(|(other, _)| *other == id);
            let now: Vec<&Span> = now.flat_map(|(_, spans)| spans).collect();
            let covered = |at: usize| now.iter().any(|s| s.start() <= at && at < s.end());
            let text = texts.iter().find(|(of, _)| *of == id).map(|(_, text)| text.as_bytes());
            let is_white = |at: usize| text.is_some_and(|text| text[at].is_ascii_whitespace());
            let mut bytes = spans.iter().flat_map(|span| span.start()..span.end());
            let all = bytes.all(|at| covered(at) || is_white(at));
            assert!(all, "{about}: {id} {spans:?} {now:?}");
        }
    }
}

#[tokio::test]
async fn a_larger_budget_keeps_every_byte_that_a_smaller_one_had() {
    let fixture = handbook().await;
    let budgets: Vec<Tokens> = (8..120).map(|n| Tokens::new(n * 15)).collect();
    for query in ["How is a ferry booked?", "maps and nets", "When does it leave in winter?"] {
        let request = Request::new("everything", query);
        let packs = fixture.pack_many(request, &budgets).await.unwrap();
        check_growth(&packs, query, &[]);
    }
}

/// Generates documents of headings, paragraphs, lists, long tables and listings from a seed.
struct RandomDocuments(u64);

impl RandomDocuments {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn words(&mut self, n: u64) -> String {
        const WORDS: [&str; 12] = [
            "ferry", "harbour", "ticket", "winter", "booking", "crew", "island", "engine", "storm",
            "price", "the", "of",
        ];
        let word = |_| WORDS[usize::try_from(self.below(12)).unwrap()];
        (0..n).map(word).collect::<Vec<_>>().join(" ")
    }

    fn block(&mut self) -> String {
        match self.below(8) {
            0 => format!("## {}", self.words(3)),
            1 => format!("### {}", self.words(2)),
            2 => (0..4).map(|n| format!("- item {n} {}\n", self.words(6))).collect(),
            3 => {
                let rows: String =
                    (0..self.below(40)).map(|n| format!("| {n} | {} |\n", self.words(9))).collect();
                format!("| n | what |\n|---|---|\n{rows}")
            }
            4 => format!("```sh\n{}\n\n{}\n```", self.words(8), self.words(8)),
            5 => format!("<Tip>\n\nNote {}:", self.words(5)),
            6 => "</Tip>".to_owned(),
            _ => {
                let n = 5 + self.below(90);
                format!("{}.", self.words(n))
            }
        }
    }
}

#[tokio::test]
async fn packs_of_random_documents_grow_with_the_budget_by_whole_blocks() {
    // X1, X9: at every budget within it, with fences closed and rows under a header; more only adds.
    let budgets: Vec<Tokens> = (4..60).map(|n| Tokens::new(n * 40)).collect();
    for seed in 1..7 {
        let mut writer = RandomDocuments(seed);
        let fixture = empty_workspace();
        let (mut files, mut texts) = (Vec::new(), Vec::new());
        for number in 0..8 {
            let blocks: Vec<String> =
                (0..30).map(|_| writer.block().trim_end().to_owned()).collect();
            let text = format!("# Ferry guide {number}\n\n{}", blocks.join("\n\n"));
            let mut file = item(&format!("guide-{number}"), "file", &text, json!({}));
            file.path = Some(format!("guide-{number}.md"));
            files.push(file);
            texts.push((format!("guide-{number}"), text));
        }
        fixture.put(files).await.unwrap();
        for query in ["winter ferry price", "storm crew island ticket"] {
            let about = format!("{query}, seed {seed}");
            let packs =
                fixture.pack_many(Request::new("everything", query), &budgets).await.unwrap();
            check_growth(&packs, &about, &texts);
            for (pack, budget) in packs.iter().zip(&budgets) {
                let text = pack.text();
                assert!(pack.pack.tokens <= *budget, "{about} at {budget}");
                assert!(
                    text.matches("```").count().is_multiple_of(2),
                    "{about} at {budget}: {text}"
                );
                let mut before = "";
                for line in text.lines() {
                    let starts = line.starts_with('|') && !before.starts_with('|');
                    assert!(!starts || line == "| n | what |", "{about} at {budget}: {text}");
                    before = line;
                }
            }
        }
    }
}

#[tokio::test]
async fn later_parts_of_a_document_follow_under_a_continued_title() {
    let fixture = handbook().await;
    let mut budget = 120;
    let first = loop {
        let first = ask(&fixture, "Which commands book a ferry?", budget).await;
        if first.text().contains("harbour pay") {
            break first;
        }
        budget += 10;
        assert!(budget < 600, "{}", first.text());
    };
    assert!(!first.text().contains("From November"), "{}", first.text());
    let query = "When does the ferry leave in winter?";
    let mut next = Request::new("everything", query).within(700);
    next.previous = Some(first.receipt());
    let second = pack(&fixture, next).await;
    let kept = second.delta.as_ref().unwrap().kept_bytes;
    assert!(kept > 0 && second.text()[..kept] == first.text()[..kept]);
    assert!(second.text()[..kept].contains("harbour pay"), "{}", second.text());
    let after = &second.text()[kept..];
    assert!(after.contains("All on the ferries (continued)"), "{}", second.text());
    assert!(after.contains("From November"), "{}", second.text());
    assert_eq!(second.text().matches("harbour pay").count(), 1, "{}", second.text());
    let mut without = Request::new("everything", query).within(700);
    without.previous = Some(first.receipt());
    without.exclude = vec![id("ferries")];
    let third = pack(&fixture, without).await;
    assert!(!third.text().contains("harbour"), "{}", third.text());
}

#[tokio::test]
async fn hidden_characters_in_neighbouring_passages_are_removed_with_a_notice() {
    let fixture = empty_workspace();
    let filler = "Rope, paint and tar are kept in the shed behind the house. ".repeat(14);
    let text = format!(
        "# Ferries\n\n## Booking\n\nA ferry is booked at the harbour. {filler}\n\n\
         ## Notes\n\nNothing to see\u{200b}\u{202e} here. {filler}\n"
    );
    let mut file = item("ferries", "file", &text, json!({}));
    file.path = Some("ferries.md".to_owned());
    fixture.put(vec![file]).await.unwrap();
    let found = ask(&fixture, "Where is a ferry booked?", 2_000).await;
    assert!(found.text().contains("Nothing to see here"), "{}", found.text());
    assert!(!found.text().contains('\u{202e}'));
    assert!(found.notices.iter().any(|notice| notice.code == NoticeCode::HiddenCharacters));
}

#[tokio::test]
async fn an_irrelevant_query_gets_an_empty_pack_and_a_notice() {
    let fixture = handbook().await;
    let nothing = ask(&fixture, "Which yeast makes sourdough bread rise fastest?", 800).await;
    assert_eq!(nothing.text(), "");
    let codes: Vec<NoticeCode> = nothing.notices.iter().map(|notice| notice.code).collect();
    assert_eq!(codes, [NoticeCode::NothingRelevant]);
    let reasons = nothing.pack.ledger.iter().map(|entry| format!("{:?}", entry.outcome));
    assert!(reasons.clone().count() > 0);
    for reason in reasons {
        assert!(reason.contains("BelowFloor"), "{reason}");
    }
}

#[tokio::test]
async fn a_limit_counts_items_and_named_items_are_found() {
    let fixture = handbook().await;
    let mut request = Request::new("everything", "all on the museum").within(2_000);
    request.limit = Some(1);
    let found = pack(&fixture, request).await;
    let items: std::collections::BTreeSet<&str> =
        found.pack.citations.iter().map(|citation| citation.candidate.item.as_str()).collect();
    assert_eq!(items.into_iter().collect::<Vec<_>>(), ["museum"], "{}", found.text());
}
