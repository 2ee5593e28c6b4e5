//! Trigrams of words and their similarity, as PostgreSQL's `pg_trgm` has them.
//!
//! A word is a run of letters and digits, lower-cased, with two spaces before and one after. Two
//! texts are as similar as the share of their distinct trigrams that both have. Unlike PostgreSQL
//! nothing is hashed, so letters beyond ASCII cannot collide.

/// Bits of one character.
const BITS: u32 = 21;

/// Three neighbouring characters of a padded word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trigram(u64);

impl Trigram {
    const START: Trigram = Trigram((' ' as u64) << BITS | ' ' as u64);

    /// The last two characters and one more.
    const fn then(self, c: char) -> Trigram {
        Trigram((self.0 << BITS | c as u64) & ((1 << (3 * BITS)) - 1))
    }

    /// The three characters.
    #[must_use]
    pub fn characters(self) -> [char; 3] {
        [2, 1, 0].map(|place| {
            let bits = self.0 >> (place * BITS) & ((1 << BITS) - 1);
            u32::try_from(bits).ok().and_then(char::from_u32).unwrap_or(' ')
        })
    }
}

/// Calls `visit` with each trigram of a text in order, repeats included, until it says `false`.
pub fn each_trigram(text: &str, mut visit: impl FnMut(Trigram) -> bool) {
    let mut window = Trigram::START;
    let mut inside = false;
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() {
            inside = true;
            if c.is_ascii() {
                window = window.then(c.to_ascii_lowercase());
                if !visit(window) {
                    return;
                }
                continue;
            }
            for c in c.to_lowercase() {
                window = window.then(c);
                if !visit(window) {
                    return;
                }
            }
        } else if inside {
            if !visit(window.then(' ')) {
                return;
            }
            window = Trigram::START;
            inside = false;
        }
    }
}

/// The distinct trigrams of a text, sorted.
#[must_use]
pub fn trigrams(text: &str) -> Vec<Trigram> {
    let mut trigrams = Vec::with_capacity(text.len() + 2);
    each_trigram(text, |trigram| {
        trigrams.push(trigram);
        true
    });
    trigrams.sort_unstable();
    trigrams.dedup();
    trigrams
}

/// The first `max` distinct trigrams of a text in order of appearance, and whether there are more.
#[must_use]
pub fn first_trigrams(text: &str, max: usize) -> (Vec<Trigram>, bool) {
    // Open addressing at half load at most; zero is no trigram.
    let slots_bits = (2 * max + 2).next_power_of_two().trailing_zeros();
    let mut slots = vec![0_u64; 1 << slots_bits];
    let mut first = Vec::with_capacity(max.min(text.len() + 2));
    let mut more = false;
    each_trigram(text, |trigram| {
        let hash = trigram.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - slots_bits);
        #[expect(clippy::cast_possible_truncation, reason = "a hash of as many bits as slots")]
        let mut slot = hash as usize;
        while slots[slot] != 0 && slots[slot] != trigram.0 {
            slot = (slot + 1) & (slots.len() - 1);
        }
        if slots[slot] == 0 {
            more = first.len() == max;
            if !more {
                slots[slot] = trigram.0;
                first.push(trigram);
            }
        }
        !more
    });
    (first, more)
}

/// How similar two texts are: shared over all distinct trigrams, 0 when there are none.
#[must_use]
pub fn similarity(a: &str, b: &str) -> f32 {
    let (a, b) = (trigrams(a), trigrams(b));
    let shared = a.iter().filter(|trigram| b.binary_search(trigram).is_ok()).count();
    ratio(shared, a.len(), b.len())
}

/// The similarity of two sets of these sizes that share so many.
#[must_use]
pub fn ratio(shared: usize, a: usize, b: usize) -> f32 {
    match a + b - shared {
        0 => 0.0,
        all => shared as f32 / all as f32,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(a: &str, b: &str, expected: &str) {
        assert_eq!(format!("{:.6}", similarity(a, b)), expected, "{a} and {b}");
        assert_eq!(similarity(a, b).to_bits(), similarity(b, a).to_bits());
    }

    #[test]
    fn similarities_are_those_of_postgresql() {
        check("word", "two words", "0.363636");
        check("cat", "cat", "1.000000");
        check("cat", "CAT!", "1.000000");
        check("foo|bar", "bar foo", "1.000000");
        check("Hello World", "hello wrld", "0.642857");
        check("abc", "xyz", "0.000000");
        check("", "", "0.000000");
        check("-- ?", "a", "0.000000");
    }

    #[test]
    fn trigrams_are_padded_words() {
        let show = |text: &str| {
            let shown: Vec<String> = trigrams(text)
                .iter()
                .map(|trigram| trigram.characters().iter().collect())
                .collect();
            shown.join("|")
        };
        assert_eq!(show("cat"), "  c| ca|at |cat");
        assert_eq!(show("Foo|Bar"), "  b|  f| ba| fo|ar |bar|foo|oo ");
        assert_eq!(show("Ä"), "  ä| ä ");
    }

    proptest! {
        #[test]
        fn the_first_trigrams_are_the_set_if_it_is_small(text in "\\PC{0,60}", max in 0_usize..80) {
            let all = trigrams(&text);
            let (mut first, more) = first_trigrams(&text, max);
            prop_assert_eq!(more, all.len() > max);
            prop_assert_eq!(first.len(), all.len().min(max));
            first.sort_unstable();
            first.dedup();
            prop_assert!(first.iter().all(|trigram| all.contains(trigram)));
            prop_assert_eq!(first.len(), all.len().min(max));
        }
    }
}
