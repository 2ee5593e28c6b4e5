//! P9: names found in texts, one line of data per behaviour.

use proptest::prelude::*;

use super::*;

fn names(fixture: &str) -> Vec<Name> {
    fixture
        .split(';')
        .map(|row| {
            let (id, names) = row.split_once('=').unwrap();
            let names = names.split('|').map(str::to_owned).collect();
            Name { id: ItemId::new(id.trim()).unwrap(), names }
        })
        .collect()
}

/// Expected: `id:matched:distance` for each mention.
fn check(fixture: &str, text: &str, expected: &str) {
    let found: Vec<String> = Mentions::new(&names(fixture))
        .find(text)
        .into_iter()
        .map(|mention| {
            assert_eq!(mention.span.slice(text), Some(mention.matched.as_str()));
            format!("{}:{}:{}", mention.id, mention.matched, mention.distance)
        })
        .collect();
    assert_eq!(found.join(" "), expected, "{text}");
}

#[test]
fn p9_names_are_whole_words_in_any_case() {
    check("a=Acme", "we compete with ACME, and acme.", "a:ACME:0 a:acme:0");
    check("a=Acme", "acmes Pacme acmeology", "");
    check("a=Acme", "Acme's offer and Acme’s price", "a:Acme:0 a:Acme:0");
    check("a=Acme Corp|Acme", "Acme Corp or acme", "a:Acme Corp:0 a:acme:0");
    check("a=Acme Corp;b=Acme", "Acme Corp or acme", "a:Acme Corp:0 b:acme:0");
    check("a=Acme;b=ACME", "acme", "a:acme:0 b:acme:0");
    check("a=Lowe's", "Lowe's, Lowes and Lowe’s", "a:Lowe's:0 a:Lowes:0 a:Lowe’s:0");
    check("a=AT&T", "AT&T or T-Mobile", "a:AT&T:0");
    check("a=阿里巴巴", "我们和阿里巴巴竞争", "a:阿里巴巴:0");
    check("a=Яндекс", "у ЯНДЕКС есть", "a:ЯНДЕКС:0");
    check("a=|!!", "anything !!", "");
}

#[test]
fn p9_latin_names_are_found_in_scripts_without_spaces() {
    check("a=Acme", "我们和Acme竞争", "a:Acme:0");
    check("a=Salesforce", "与Salesforce相比", "a:Salesforce:0");
    check("a=Salesforce", "与Salesfroce相比", "a:Salesfroce:1");
    check("a=Acme", "Acme는 경쟁사", "a:Acme:0");
    check("a=Acme Corp", "Acme Corpの製品", "a:Acme Corp:0");
    check("a=Acme公司", "Acme公司 Acme 公司", "a:Acme公司:0 a:Acme 公司:0");
    check("a=Acme", "我们和Acmes竞争", "");
}

#[test]
fn p9_names_of_a_whole_page_are_not_looked_for() {
    let check = |n_words: usize, word: &str, found: usize| {
        let name = vec![word; n_words].join(" ");
        let mentions = Mentions::new(&names(&format!("a={name}")));
        assert_eq!(mentions.find(&name).len(), found, "{n_words} × {word}");
        assert!(mentions.find(&vec![word; 100_000].join(" ")).len() <= 100_000);
    };
    check(16, "acme", 1);
    check(17, "acme", 0);
    check(2, &"a".repeat(99), 1);
    check(2, &"a".repeat(100), 0);
    check(100_000, "b", 0);
}

#[test]
fn p9_spaces_and_hyphens_may_vary() {
    check("a=Salesforce", "Sales Force, sales-force", "a:Sales Force:0 a:sales-force:0");
    check("a=Sales Force", "Salesforce", "a:Salesforce:0");
    check("a=InVision", "in vision tests", "");
    check("a=Acme Corp", "Acme. New line. Corp", "");
    check("a=Acme Corp", "Acme\nCorp and Acme\n\nCorp", "a:Acme\nCorp:0");
}

#[test]
fn p9_small_misspellings_are_found() {
    check(
        "a=Salesforce",
        "Saleforce Salesfroce Salefroce",
        "a:Saleforce:1 a:Salesfroce:1 a:Salefroce:2",
    );
    check("a=Salesforce", "aSlesforce", "a:aSlesforce:1");
    check("a=Salesforce", "Balesforce Talesforge", "");
    check("a=Oracle", "Oracel Oarcel", "a:Oracel:1");
    check("a=Acme", "Acne Amce", "");
    check("a=Hubspot Inc", "Hubspto Inc", "a:Hubspto Inc:1");
    // A common word is no misspelling.
    check("a=Theirs", "this is theirs and not there", "a:theirs:0");
    check("a=Whiche", "which of the two do you want", "");
    // What is exact elsewhere needs no guess; what is another's name is not one's misspelling.
    check("a=Oracle", "Oracel and Oracle", "a:Oracle:0");
    check("a=Oracle;b=Oracly", "Oracly", "b:Oracly:0");
}

#[test]
fn p9_endings_of_a_language_are_found() {
    check("a=Osterfeld", "Was kostet Osterfelds Angebot?", "a:Osterfelds:1");
    check("a=Saltlock", "mit den Saltlocken und des Saltlockes", "a:Saltlocken:1 a:Saltlockes:1");
    check("a=Bridging Set", "zwei Bridging-Sets", "a:Bridging-Sets:1");
    check("a=Mast", "die Masten", "");
    check("a=Acme Meter;b=Acme", "Acme Meters", "a:Acme Meters:1");
}

#[test]
fn p9_ids_come_best_first() {
    let mentions =
        Mentions::new(&names("a=Oracle;b=Zendesk;c=Acme")).find("Oracel Zendesk Acme Zendesk");
    let ids: Vec<String> = ids(&mentions).iter().map(ToString::to_string).collect();
    assert_eq!(ids, ["b", "c", "a"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn p9_any_text_and_names_are_fine(
        text in "(\\PC{0,9}|[abA ’'-]{0,9}|acme |corp|阿里){0,6}",
        aliases in proptest::collection::vec("(\\PC{0,6}|[ab -]{0,7}|acme|acme corp|阿里){1,2}", 0..6),
    ) {
        let mut names: Vec<Name> = (0..)
            .zip(aliases)
            .map(|(n, alias)| Name { id: ItemId::new(&format!("{n}")).unwrap(), names: vec![alias] })
            .collect();
        let found = Mentions::new(&names).find(&text);
        names.reverse();
        prop_assert_eq!(&found, &Mentions::new(&names).find(&text));
        for pair in found.windows(2) {
            prop_assert!(pair[0].span == pair[1].span || pair[0].span.end() <= pair[1].span.start());
        }
    }
}
