//! Figures and texts in few characters.

use std::time::Duration;

use crate::output::grouped;

/// A time in milliseconds, or in seconds from one on.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1_000.0) } else { format!("{seconds:.1} s") }
}

/// A reason or notice with its large numbers grouped. Only numbers of tokens are: a name may have
/// digits, too.
pub(crate) fn readable(reason: &str) -> String {
    let words: Vec<&str> = reason.split(' ').collect();
    let is_count = |at: usize| {
        let before = at.checked_sub(2).map(|first| (words[first], words[at - 1]));
        let compared = [("cap", "of"), ("context,", "not"), ("than", "the")];
        words.get(at + 1).is_some_and(|next| next.starts_with("tokens"))
            || before.is_some_and(|before| compared.contains(&before))
    };
    let shown = |(at, word): (usize, &&str)| {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = word.split_at(digits);
        if digits > 3 && is_count(at) {
            format!("{}{rest}", grouped(number))
        } else {
            (*word).to_owned()
        }
    };
    words.iter().enumerate().map(shown).collect::<Vec<_>>().join(" ")
}

/// A part of one as a percentage.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// A number of things.
pub(crate) fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A text in one line of at most so many characters that does nothing to a terminal.
pub(crate) fn clipped(text: &str, characters_max: usize) -> String {
    let mut out = String::new();
    let mut count = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        let gap = usize::from(count > 0);
        let long = word.chars().count();
        if count + gap + long > characters_max {
            let room = characters_max.saturating_sub(count + gap + 1);
            // A few letters of a word say nothing; all of a first one is all there is.
            if count == 0 || room > 8 {
                out.extend((gap > 0).then_some(' '));
                out.extend(word.chars().take(room));
            }
            out.push('…');
            return out;
        }
        out.extend((gap > 0).then_some(' '));
        out.push_str(word);
        count += gap + long;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, characters_max: usize, expected: &str) {
        assert_eq!(clipped(text, characters_max), expected);
        assert!(expected.chars().count() <= characters_max);
    }

    #[test]
    fn a_text_is_clipped_at_a_word_to_one_line() {
        check("one\n  two\u{1b}three", 40, "one two three");
        check("one two three", 9, "one two…");
        check("one incomprehensibilities", 16, "one incomprehen…");
        check("incomprehensibilities", 5, "inco…");
        check("", 5, "");
    }

    #[test]
    fn counts_in_reasons_are_grouped_and_names_are_not() {
        let check = |reason: &str, expected: &str| assert_eq!(readable(reason), expected);
        check("over budget: whole from 6419 tokens", "over budget: whole from 6,419 tokens");
        check(
            "over the layer's cap of 1200: in from a cap of 20500",
            "over the layer's cap of 1,200: in from a cap of 20,500",
        );
        check("repeats 20261116 of 1234", "repeats 20261116 of 1234");
        check("whole from 99 tokens", "whole from 99 tokens");
        check(
            "gpt-4-32000 has room for 28672 tokens of context, not 90000",
            "gpt-4-32000 has room for 28,672 tokens of context, not 90,000",
        );
        check(
            "what is never cut has 1700 tokens, more than the 1200 there are",
            "what is never cut has 1,700 tokens, more than the 1,200 there are",
        );
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(duration(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!(duration(Duration::from_millis(1_449)), "1.4 s");
        assert_eq!(percent(0.955), "96 %");
        assert_eq!(plural(1, "item", "items"), "1 item");
        assert_eq!(plural(1_200, "item", "items"), "1,200 items");
    }
}
