//! Terms and keywords, one line of data per behaviour.

use proptest::prelude::*;

use super::*;

fn check(text: &str, language: Language, expected: &str) {
    assert_eq!(terms(text, language).join(" "), expected, "{text}");
}

fn check_keywords(text: &str, language: Language, expected: &str) {
    assert_eq!(keywords(text, language).join(" "), expected, "{text}");
}

#[test]
fn words_are_lower_cased_stemmed_and_freed_of_stop_words() {
    let en = Language::English;
    check("", en, "");
    check("the of and", en, "");
    check("The connections were CONNECTED", en, "connect connect");
    check("Acme's pricing, isn’t it?", en, "acm price");
    check("3.5 of 10 GB", en, "3.5 3 5 10 gb");
    check("naïve café 🙂", en, "naïv café");
    check("Die Häuser der Verträge", Language::German, "haus vertrag");
    check("l'école d’hiver", Language::French, "écol hiv");
    check("отчёты компаний", Language::Russian, "отчет компан");
    check("Ελλάδα και Κύπρος", Language::Other, "ελλάδα και κύπροσ");
    check("İstanbul IŞIK", Language::Turkish, "istanbul işik");
}

#[test]
fn identifiers_count_as_wholes_and_by_their_parts() {
    let en = Language::English;
    check("parse_config", en, "parse_config pars config");
    check("parseConfig", en, "parseconfig pars config");
    check("HTTPServer URLs", en, "httpserver http server url");
    check("dead-letter queue", en, "dead-letter dead letter queue");
    check("self.user_name.trim", en, "self.user_name.trim user_name user name trim");
    check("SalesForce salesforce", en, "salesforc sale forc salesforc");
    check("sha256 utf8Parser", en, "sha256 utf8parser utf8 parser");
    check("__init__ -x- wait... .", en, "init wait");
}

#[test]
fn scripts_without_spaces_are_read_in_pairs() {
    check("项目计划", Language::Chinese, "项目 目计 计划");
    check("我们 项目 fixing the bugs", Language::Chinese, "项目 fix bug");
    check("書", Language::Japanese, "書");
    check("버전2개", Language::Korean, "버전 2 개");
    check("第3章", Language::Other, "第 3 章");
}

#[test]
fn keywords_are_distinct_words_as_written() {
    check_keywords(
        "Connections, connections of X and go-live",
        Language::English,
        "connections go-live live",
    );
    check_keywords("项目计划的预算", Language::Chinese, "项目计划 预算");
    check_keywords("東京タワーの写真", Language::Japanese, "東京 タワー 写真");
    check_keywords(
        "一二三四五六七八九",
        Language::Other,
        "一二 二三 三四 四五 五六 六七 七八 八九",
    );
}

#[test]
fn a_term_has_a_limit() {
    let long = "x".repeat(1_000_000);
    assert_eq!(terms(&long, Language::English)[0].len(), TERM_BYTES_MAX);
    assert_eq!(terms(&"ab_".repeat(100_000), Language::Other).len(), 100_000);
}

#[test]
fn tokens_say_where_they_stand() {
    let text = "The HTTPServer of König's snake_case, don't 東京都";
    let mut found = Vec::new();
    each_token(text, Language::English, |token| {
        let whole = if token.whole { "*" } else { "" };
        let surface = &text[token.start..token.end];
        found.push(format!("{}{whole} {surface}={}", token.position, token.term.unwrap_or("-")));
    });
    assert_eq!(
        found.join(", "),
        "0 The=-, 1* HTTPServer=httpserver, 1 HTTP=http, 2 Server=server, 3 of=-, \
         4 König=könig, 5* snake_case=snake_case, 5 snake=snake, 6 case=-, 7 don't=-, \
         8 東京=東京, 9 京都=京都"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_in_any_language_has_terms(
        text in "(\\PC{0,20}|[a-zA-Zäéğ '._-]{0,30}|[а-яةا-ي一-龥]{0,9}){0,4}",
        language in proptest::sample::select(&Language::ALL[..]),
    ) {
        prop_assert!(terms(&text, language).iter().all(|term| !term.is_empty()));
        let keywords = keywords(&text, language);
        let distinct: BTreeSet<&String> = keywords.iter().collect();
        prop_assert_eq!(distinct.len(), keywords.len());
        prop_assert!(keywords.iter().all(|word| word.chars().count() >= 2));
        let _ = Language::detect(&text);
        let mut before = 0;
        each_token(&text, language, |token| {
            assert!(token.position >= before && !text[token.start..token.end].is_empty());
            before = token.position;
        });
    }
}

#[test]
fn many_texts_have_the_terms_of_each() {
    let texts = ["Refunds are running late", "running_late v2s", "", "The runner's refund, 東京"];
    let mut reader = TermsOfMany::new(Language::English);
    for text in texts {
        let mut found = Vec::new();
        reader.each(text, |term| found.push(term.to_owned()));
        assert_eq!(found, terms(text, Language::English), "{text:?}");
    }
}
