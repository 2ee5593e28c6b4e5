//! K1: what is found in a query, one line of data per behaviour.

use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_742_034_600_000);

/// The analysis in one line; what was not found is left out.
fn check(text: &str, expected: &str) {
    let analysis = analyse(text, NOW);
    let mut shown = String::new();
    for (name, found) in [
        ("phrases", &analysis.phrases),
        ("paths", &analysis.paths),
        ("urls", &analysis.urls),
        ("references", &analysis.references),
    ] {
        if !found.is_empty() {
            shown.push_str(&format!("{name}: {}; ", found.join(" | ")));
        }
    }
    assert_eq!(shown.trim_end_matches("; "), expected, "{text}");
}

#[test]
fn k1_phrases_stand_in_quotes() {
    check(r#"find "exact words" and “curly ones”"#, "phrases: exact words | curly ones");
    check("«à la carte» „auf Deutsch“ 「引用」", "phrases: à la carte | auf Deutsch | 引用");
    check(r#"a 5" disk and a 7" one"#, "");
    check(r#"say "unclosed"#, "");
    check(r#""" " " "" "#, "");
    check("“““", "");
    check("don't and can't", "");
}

#[test]
fn k1_paths_are_distinguished_from_other_words() {
    check("see src/main.rs, notes.md.", "paths: src/main.rs | notes.md");
    check(r"open C:\x\y.txt and \\server\share", r"paths: C:\x\y.txt | \\server\share");
    check("./run.sh ../up ~/notes /etc/hosts", "paths: ./run.sh | ../up | ~/notes | /etc/hosts");
    check("(src/lib.rs:42:7) `Cargo.toml`", "paths: src/lib.rs | Cargo.toml");
    check("edit Makefile and .gitignore", "paths: Makefile | .gitignore");
    check(
        ".github/workflows/ci docs/ crates/core",
        "paths: .github/workflows/ci | docs/ | crates/core",
    );
    check(r#"read "my report.pdf""#, "phrases: my report.pdf; paths: my report.pdf");
    check("and/or he/she 24/7 1/2/2025 TCP/IP client/server", "");
    check("e.g. i.e. v1.2.3 3.14 U.S. etc. Node.js example.com 10.0.0.1", "");
    check("/help /summarize", "");
    check("résumé.docx 报告.pdf", "paths: résumé.docx | 报告.pdf");
}

#[test]
fn k1_urls_are_not_paths() {
    check("see https://example.com/a/b.html.", "urls: https://example.com/a/b.html");
    check("(http://x.org/a_(b)) <ftp://y.z/f.txt>", "urls: http://x.org/a_(b) | ftp://y.z/f.txt");
    check("www.example.com, and ://", "urls: www.example.com");
    check("https://medium.com/@bob/post", "urls: https://medium.com/@bob/post");
}

#[test]
fn k1_references_begin_with_a_sign() {
    check("ask @bob and @anna.smith.", "references: bob | anna.smith");
    check(r#"@"Project Plan" is done"#, "references: Project Plan");
    check("read @docs/guide.md, please", "references: docs/guide.md");
    check("mail bob@example.com", "");
    check("mail josé@x.com, jose\u{301}@x.com, почта@пример.рф", "");
    check("请@张三 看", "references: 张三");
    check(r#"@"unclosed and @ alone @@ @-"#, "");
    check("@bob @bob", "references: bob");
}

#[test]
fn k1_everything_is_found_together() {
    let analysis = analyse(
        "Summarize \"Q3 goals\" from @alice in docs/plan.md since last week, see https://x.io",
        NOW,
    );
    assert_eq!(analysis.language, Language::English);
    assert_eq!(analysis.intent, Intent::Summary);
    assert_eq!(analysis.phrases, ["Q3 goals"]);
    assert_eq!(analysis.references, ["alice"]);
    assert_eq!(analysis.paths, ["docs/plan.md"]);
    assert_eq!(analysis.urls, ["https://x.io"]);
    assert_eq!(analysis.times.len(), 2);
    assert!(analysis.keywords.contains(&"summarize".to_owned()));
    assert!(analysis.terms.contains(&"goal".to_owned()));
    assert!(!analysis.truncated);
}

#[test]
fn k1_malformed_input_is_accepted() {
    for text in ["", "   ", "the of and", "\"", "@", "“", "🙂🙂", "\u{202e}שלום עולם", "\0\u{1}"]
    {
        let analysis = analyse(text, NOW);
        assert!(analysis.phrases.is_empty() && analysis.references.is_empty(), "{text}");
    }
    assert!(analyse("the of and", NOW).keywords.is_empty());
    for text in ["@", "\"", "„", "://", "a/", "(www.", "@\"", "1.", "é", "since ", "\\"] {
        let analysis = analyse(&text.repeat(1_000_000 / text.len()), NOW);
        assert!(analysis.truncated, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn k1_any_string_is_a_query(
        text in "(\\PC{0,12}|[@\"“”„«»/\\\\.:a-zA-Z0-9 -]{0,30}|(last|since|in|ago|before|March|Q|week|days|20[0-9]{2}|[0-9]{1,2}|[-/.:, ]){0,9}){0,5}",
        now in any::<i64>(),
    ) {
        let analysis = analyse(&text, Timestamp::from_millis(now));
        let all = [&analysis.phrases, &analysis.paths, &analysis.urls, &analysis.references];
        for found in all.into_iter().flatten() {
            prop_assert!(!found.is_empty() && text.contains(found), "{}", found);
        }
        let mut keywords = analysis.keywords.clone();
        keywords.sort_unstable();
        keywords.dedup();
        prop_assert_eq!(keywords.len(), analysis.keywords.len());
        let analysis = analyse(&text, NOW);
        for time in &analysis.times {
            prop_assert!(time.from < time.to && text.contains(&time.text));
        }
    }
}
