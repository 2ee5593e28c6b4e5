use haversack_core::text::tokenizer::Encoding;
use proptest::prelude::*;

use super::*;

/// Sections as `class:text`, joined by `|`; then where the text is cut, as `|`.
fn check_ends(sections: &str, after: &str, expected: &str) {
    let mut text = String::new();
    let mut ends = Vec::new();
    for section in sections.split('|').filter(|section| !section.is_empty()) {
        let (class, body) = section.split_once(':').unwrap();
        text.push_str(body);
        let stability = match class {
            "f" => Stability::Foundational,
            "s" => Stability::Stable,
            _ => Stability::Volatile,
        };
        ends.push((stability, text.len()));
    }
    text.push_str(after);
    let mut cut = text.clone();
    for end in class_ends(&text, ends.into_iter()).into_iter().rev() {
        cut.insert(end, '|');
    }
    assert_eq!(cut, expected, "{sections}");
}

#[test]
fn a_text_is_cut_where_a_class_ends() {
    check_ends("f:aa|f:bb|s:cc|s:dd|v:ee|v:ff", "", "aabb|ccdd|eeff");
    check_ends("f:aa|v:ee", "", "aa|ee");
    check_ends("s:cc|v:ee", "", "cc|ee");
    check_ends("v:ee", "", "ee");
    check_ends("", "text", "text");
    check_ends("", "", "");
    check_ends("f:aa|s:cc", "", "aa|cc|");
    check_ends("f:aa", "after", "aa|after");
}

#[test]
fn what_follows_a_volatile_section_is_volatile() {
    check_ends("f:aa|v:ee|s:cc", "", "aa|eecc");
}

#[test]
fn blank_text_is_no_part_of_its_own() {
    check_ends("f:aa", " \n", "aa \n|");
    check_ends("f:aa|s: \n", "", "aa \n|");
    check_ends("f: \n|s:cc|v:ee", "", " \ncc|ee");
    check_ends("f: \n|v:ee", "", " \nee");
}

/// Turns as `role:text`, joined by `|`; then the messages alike, and how many turns are omitted.
fn check_turns(turns: &str, format: Format, expected: &str, n_omitted: usize) {
    let turns: Vec<Turn> = turns
        .split('|')
        .map(|turn| turn.split_once(':').unwrap())
        .map(|(role, content)| Turn {
            role: role.to_owned(),
            content: content.to_owned(),
            at: None,
        })
        .collect();
    let conversation = Conversation::new(&turns, "why?", format);
    let shown = |message: &ProviderMessage| match &message.content {
        MessageContent::Text(text) => format!("{:?}:{text}", message.role).to_lowercase(),
        MessageContent::Blocks(_) => "blocks".to_owned(),
    };
    let messages: Vec<String> = conversation.messages.iter().map(shown).collect();
    assert_eq!((messages.join("|").as_str(), conversation.n_omitted), (expected, n_omitted));
}

#[test]
fn turns_of_user_and_assistant_are_messages_and_others_are_counted() {
    for format in Format::ALL {
        check_turns("user:hi|assistant:yes", format, "user:hi|assistant:yes", 0);
        check_turns("system:x|user:hi|tool:y|assistant:yes", format, "user:hi|assistant:yes", 2);
        check_turns("user:hi|assistant: |user:on", format, "user:hi|user:on", 0);
        check_turns(":x", format, "", 1);
    }
    check_turns("assistant:hello|user:hi", Format::OpenAi, "assistant:hello|user:hi", 0);
    check_turns("assistant:hello|user:hi", Format::Anthropic, "user:hi", 1);
}

#[test]
fn a_last_turn_that_is_the_query_is_not_repeated() {
    check_turns("user:hi|assistant:yes|user: why?\n", Format::OpenAi, "user:hi|assistant:yes", 0);
    check_turns("user:why?|assistant:so", Format::OpenAi, "user:why?|assistant:so", 0);
    check_turns("user:hi|assistant:why?", Format::OpenAi, "user:hi|assistant:why?", 0);
}

#[test]
fn a_small_part_joins_the_next() {
    let tokenizer = Encoding::O200k;
    let (small, large) = ("one ".repeat(10), "one ".repeat(1_100));
    let blocks = |parts: &[&str]| -> Vec<(usize, bool)> {
        let text = parts.concat();
        let mut at = 0;
        let mut borders: Vec<usize> = Vec::new();
        for part in &parts[..parts.len() - 1] {
            at += part.len();
            borders.push(at);
        }
        let blocks = system_blocks(&text, &borders, &tokenizer);
        blocks.iter().map(|block| (block.text.len(), block.cache_control.is_some())).collect()
    };
    let (s, l) = (small.len(), large.len());
    assert_eq!(blocks(&[&large, &large, &small]), [(l, true), (l, true), (s, false)]);
    assert_eq!(blocks(&[&small, &large, &small]), [(s + l, true), (s, false)]);
    assert_eq!(blocks(&[&large, &small, &large]), [(l, true), (s + l, false)]);
    assert_eq!(blocks(&[&small, &small, &small]), [(3 * s, false)]);
    assert_eq!(blocks(&[&large, ""]), [(l, true)]);
    assert_eq!(blocks(&[""]), []);
}

#[test]
fn names_of_formats_are_read_back() {
    for format in Format::ALL {
        assert_eq!(Format::parse(format.as_str()), Some(format));
    }
    assert_eq!(Format::parse("OpenAI"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever the sections are, the blocks joined are the text, are cut only where a section ends,
    /// have at most the API's four breakpoints, and none of a text that is not blank is blank.
    #[test]
    fn blocks_joined_are_the_text(
        sections in prop::collection::vec((0..3_u8, "[ \na-zé]{0,9}", 0..300_usize), 0..8),
        before in "[ \n#é]{0,5}",
        after in "[ \n#é]{0,5}",
    ) {
        let mut sections = sections;
        sections.sort_by_key(|(class, ..)| *class);
        let mut text = before;
        let mut ends = Vec::new();
        for (class, word, times) in sections {
            text.push_str(&word.repeat(times));
            let classes = [Stability::Foundational, Stability::Stable, Stability::Volatile];
            ends.push((classes[usize::from(class)], text.len()));
        }
        text.push_str(&after);
        let borders = class_ends(&text, ends.clone().into_iter());
        prop_assert!(borders.is_sorted());
        let blocks = system_blocks(&text, &borders, &Encoding::O200k);
        let joined: String = blocks.iter().map(|block| block.text.as_str()).collect();
        prop_assert_eq!(&joined, &text);
        prop_assert!(blocks.iter().filter(|block| block.cache_control.is_some()).count() <= 4);
        let mut at = 0;
        for block in &blocks {
            at += block.text.len();
            prop_assert!(at == text.len() || ends.iter().any(|(_, end)| *end == at));
            prop_assert!(!block.text.trim().is_empty() || text.trim().is_empty());
        }
    }
}
