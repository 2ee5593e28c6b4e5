//! Figures and texts in few characters.

use std::time::Duration;

use crate::output::grouped;

/// A duration in milliseconds, or from one second on in seconds.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1_000.0) } else { format!("{seconds:.1} s") }
}

/// A fraction as a percentage.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// A count with its noun: `1 item`, `1,200 items`.
pub(crate) fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A text in one line of at most `characters_max` characters, without control characters.
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
            // The start of a word is worth showing when it is long or the first.
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
    fn figures_are_short() {
        assert_eq!(duration(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!(duration(Duration::from_millis(1_449)), "1.4 s");
        assert_eq!(percent(0.955), "96 %");
        assert_eq!(plural(1, "item", "items"), "1 item");
        assert_eq!(plural(1_200, "item", "items"), "1,200 items");
    }
}
