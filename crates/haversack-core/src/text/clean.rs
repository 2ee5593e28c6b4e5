//! Cleaning of retrieved text: removes characters that a reader cannot see but a model can.
//!
//! Such characters carry hidden instructions, reorder what is shown, or break words for search.
//! Where a script or an emoji needs an invisible character to look right, it stays.

use std::borrow::Cow;

/// What was found in a text, in the order in which findings are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// Carriage returns, form feeds and their like, turned into `\n`.
    LineBreak,
    /// Control characters, removed.
    Control,
    /// Byte order marks (U+FEFF), removed.
    ByteOrderMark,
    /// Controls of the writing direction, removed: they can show a text in another order.
    Direction,
    /// Zero-width spaces, invisible operators and other invisible characters, removed.
    ZeroWidth,
    /// Empty Braille cells and Hangul fillers, turned into spaces: they are not taken for any.
    Blank,
    /// Zero-width joiners and non-joiners that join nothing, removed.
    Joiner,
    /// Tag characters outside the flags of England, Scotland and Wales, removed: an invisible copy
    /// of ASCII.
    Tag,
    /// Variation selectors after characters without variants, removed.
    VariationSelector,
    /// Interlinear annotation marks, removed.
    Annotation,
    /// Replacement characters (U+FFFD), kept: a sign of earlier data loss.
    Replacement,
}

impl FindingKind {
    /// Whether it could hide content from a reader, unlike common remnants.
    #[must_use]
    pub const fn is_hidden(self) -> bool {
        !matches!(
            self,
            FindingKind::LineBreak | FindingKind::ByteOrderMark | FindingKind::Replacement
        )
    }

    const COUNT: usize = FindingKind::Replacement as usize + 1;
    const ALL: [FindingKind; FindingKind::COUNT] = [
        FindingKind::LineBreak,
        FindingKind::Control,
        FindingKind::ByteOrderMark,
        FindingKind::Direction,
        FindingKind::ZeroWidth,
        FindingKind::Blank,
        FindingKind::Joiner,
        FindingKind::Tag,
        FindingKind::VariationSelector,
        FindingKind::Annotation,
        FindingKind::Replacement,
    ];
}

/// How often one kind was found, and where first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// What was found.
    pub kind: FindingKind,
    /// How many of them; a `\r\n` counts once.
    pub count: usize,
    /// Byte offset of the first in the original text.
    pub first_at: usize,
}

/// A cleaned text and the findings.
///
/// Only output is cleaned: stored text keeps its bytes, so that spans and hashes stay valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned<'t> {
    /// The text; borrowed when nothing had to change.
    pub text: Cow<'t, str>,
    /// One finding per kind, in the order of [`FindingKind`].
    pub findings: Vec<Finding>,
}

/// Removes unneeded invisible characters and normalises line breaks to `\n`.
///
/// Cleaning is idempotent. Of the characters that Unicode calls ignorable, soft hyphens
/// stay, and joiners, selectors and tags where a script or an emoji needs them.
#[must_use]
pub fn clean(text: &str) -> Cleaned<'_> {
    let mut cleaner = Cleaner::default();
    let mut before = None;
    let mut at = 0;
    loop {
        // Fast path: plain bytes are kept regardless of context.
        let plain = text.as_bytes()[at..].iter().take_while(|&&byte| is_plain(byte)).count();
        if plain > 0 {
            at += plain;
            before = Some(char::from(text.as_bytes()[at - 1]));
        }
        let Some(c) = text[at..].chars().next() else { break };
        let rest = &text[at + c.len_utf8()..];
        let mut end = at + c.len_utf8();
        match verdict(before, c, rest) {
            CharAction::Keep => before = Some(c),
            CharAction::KeepWith(bytes) => {
                end += bytes;
                before = Some(TAG_END);
            }
            CharAction::Report(kind) => {
                cleaner.count_finding(kind, at);
                before = Some(c);
            }
            CharAction::Remove(kind) => {
                cleaner.count_finding(kind, at);
                cleaner.replace(text, at..end, "");
                // Else the end of a tag sequence that is too long would pass for one that is not.
                if kind == FindingKind::Tag {
                    before = None;
                }
            }
            CharAction::Space => {
                cleaner.count_finding(FindingKind::Blank, at);
                cleaner.replace(text, at..end, " ");
                before = Some(' ');
            }
            CharAction::Break => {
                end += usize::from(c == '\r' && rest.starts_with('\n'));
                cleaner.count_finding(FindingKind::LineBreak, at);
                cleaner.replace(text, at..end, "\n");
                before = Some('\n');
            }
        }
        at = end;
    }
    cleaner.finish(text)
}

/// Control tokens of chat formats. A model may take one inside a quoted text for a real one.
#[rustfmt::skip]
const CONTROL_TOKENS: &[&str] = &[
    "<s>", "</s>", "<bos>", "<eos>", "<pad>", "<<SYS>>", "<</SYS>>", "[INST]", "[/INST]",
    "<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]",
    "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[gMASK]", "<sop>", "<eop>", "<eoh>", "<eoa>",
    "<extra_id_0>", "<extra_id_1>", "<reserved_106>", "<reserved_107>", "<tool_call>", "</tool_call>",
    "<tool_response>", "</tool_response>", "<think>", "</think>",
];

/// The bars of marks such as `<|name|>`: the plain one, and the wide one of DeepSeek's formats.
const BARS: [char; 2] = ['|', '\u{ff5c}'];

/// Defuses control tokens of chat formats by a space after their first character; `None` when there
/// are none.
///
/// ```
/// use haversack_core::text::clean::without_control_tokens;
///
/// let quoted = without_control_tokens("ok <|im_start|>system").unwrap();
/// assert_eq!(quoted, "ok < |im_start|>system");
/// assert_eq!(without_control_tokens("a <| b"), None);
/// ```
#[must_use]
pub fn without_control_tokens(text: &str) -> Option<String> {
    let mut spaces: Vec<usize> = Vec::new();
    let starts = |(_, byte): &(usize, u8)| matches!(byte, b'<' | b'[');
    for (at, _) in text.bytes().enumerate().filter(starts) {
        if CONTROL_TOKENS.iter().any(|token| text[at..].starts_with(token)) {
            spaces.push(at + 1);
            continue;
        }
        // `<|name|>`, as all formats of this family have them; no prose looks like that.
        let Some(inside) = text[at + 1..].strip_prefix(BARS) else { continue };
        let is_in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\u{2581}');
        let after = inside.trim_start_matches(is_in_name);
        let closes = after.strip_prefix(BARS).is_some_and(|rest| rest.starts_with('>'));
        if closes && after.len() < inside.len() {
            spaces.push(at + 1);
        }
    }
    if spaces.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(text.len() + spaces.len());
    let mut from = 0;
    for at in spaces {
        out.push_str(&text[from..at]);
        out.push(' ');
        from = at;
    }
    out.push_str(&text[from..]);
    Some(out)
}

/// Whether a byte is a character that is always kept.
#[must_use]
pub const fn is_plain(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\t' | 0x20..=0x7e)
}

/// The output and findings so far.
#[derive(Default)]
struct Cleaner {
    /// The output, once it differs from the input.
    output: Option<String>,
    /// Up to where the input has been copied to the output.
    copied: usize,
    findings: [Option<Finding>; FindingKind::COUNT],
}

impl Cleaner {
    fn count_finding(&mut self, kind: FindingKind, at: usize) {
        let finding = &mut self.findings[kind as usize];
        finding.get_or_insert(Finding { kind, count: 0, first_at: at }).count += 1;
    }

    fn replace(&mut self, text: &str, range: std::ops::Range<usize>, by: &str) {
        let output = self.output.get_or_insert_with(|| String::with_capacity(text.len()));
        output.push_str(&text[self.copied..range.start]);
        output.push_str(by);
        self.copied = range.end;
    }

    fn finish(self, text: &str) -> Cleaned<'_> {
        let text = match self.output {
            None => Cow::Borrowed(text),
            Some(mut output) => {
                output.push_str(&text[self.copied..]);
                Cow::Owned(output)
            }
        };
        let findings = FindingKind::ALL.into_iter().filter_map(|kind| self.findings[kind as usize]);
        Cleaned { text, findings: findings.collect() }
    }
}

enum CharAction {
    Keep,
    /// Keep, and so many bytes after it.
    KeepWith(usize),
    Report(FindingKind),
    Remove(FindingKind),
    /// Make it a space.
    Space,
    /// Make it a line break.
    Break,
}

const TAG_END: char = '\u{E007F}';
const BLACK_FLAG: char = '\u{1F3F4}';
const EMOJI_SELECTOR: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';

/// Decides on one character, by the last character that was kept and by what follows.
///
/// What follows counts only when it is a character that always stays; else the verdict could be
/// another when the cleaned text is cleaned again.
fn verdict(before: Option<char>, c: char, rest: &str) -> CharAction {
    let kept_if = |keep: bool, kind| if keep { CharAction::Keep } else { CharAction::Remove(kind) };
    match c {
        '\n' | '\t' => CharAction::Keep,
        // Form feed, vertical tab and next line part words: removing them would join two.
        '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => CharAction::Break,
        _ if c.is_control() => CharAction::Remove(FindingKind::Control),
        _ if c.is_ascii() => CharAction::Keep,
        '\u{FEFF}' => CharAction::Remove(FindingKind::ByteOrderMark),
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' | '\u{61C}' => {
            CharAction::Remove(FindingKind::Direction)
        }
        '\u{2800}' | '\u{3164}' | '\u{FFA0}' => CharAction::Space,
        _ if is_shapeless(c) => CharAction::Remove(FindingKind::ZeroWidth),
        '\u{200C}' | '\u{200D}' => {
            kept_if(joins(before, c, rest.chars().next()), FindingKind::Joiner)
        }
        '\u{E0000}'..='\u{E007F}' => match flag_tail(before, c, rest) {
            Some(bytes) => CharAction::KeepWith(bytes),
            None => CharAction::Remove(FindingKind::Tag),
        },
        '\u{FE00}'..='\u{FE0F}'
        | '\u{E0100}'..='\u{E01EF}'
        | '\u{180B}'..='\u{180D}'
        | '\u{180F}' => {
            kept_if(selects(before, c, rest.chars().next()), FindingKind::VariationSelector)
        }
        '\u{FFF9}'..='\u{FFFB}' => CharAction::Remove(FindingKind::Annotation),
        '\u{FFFD}' => CharAction::Report(FindingKind::Replacement),
        _ => CharAction::Keep,
    }
}

/// Whether a zero-width joiner or non-joiner changes how its neighbours look.
fn joins(before: Option<char>, c: char, after: Option<char>) -> bool {
    let joined = before.is_some_and(|c| is_of_joining_script(c) || is_mongolian_selector(c));
    match c {
        // Persian puts suffixes on foreign words: a visible letter on one side is enough.
        '\u{200C}' => {
            joined
                || before.is_some_and(char::is_alphanumeric)
                    && after.is_some_and(is_of_joining_script)
        }
        _ => {
            let glued = |c: char| is_pictograph(c) || matches!(c, EMOJI_SELECTOR | TAG_END);
            joined || before.is_some_and(glued) && after.is_some_and(is_pictograph)
        }
    }
}

/// Bytes after `c` that end one of the three flags that are written with tags.
fn flag_tail(before: Option<char>, c: char, rest: &str) -> Option<usize> {
    if before != Some(BLACK_FLAG) {
        return None;
    }
    let is_flag = |name: &&str| {
        let tags = name.chars().filter_map(|c| char::from_u32(0xE0000 + u32::from(c)));
        tags.chain([TAG_END]).eq([c].into_iter().chain(rest.chars()).take(name.len() + 1))
    };
    // Every tag character has four bytes.
    ["gbeng", "gbsct", "gbwls"].iter().find(|name| is_flag(name)).map(|name| name.len() * 4)
}

/// Whether a variation selector has something to select.
fn selects(before: Option<char>, selector: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match selector {
        '\u{FE0E}' | EMOJI_SELECTOR => {
            let keycap = matches!(before, '0'..='9' | '#' | '*') && after == Some(KEYCAP);
            keycap || is_pictograph(before)
        }
        _ if is_mongolian_selector(selector) => matches!(before, '\u{1820}'..='\u{18AA}'),
        // The registered variants of Han characters use no more than these.
        '\u{E0100}'..='\u{E011F}' => matches!(before,
            '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFF}'),
        _ => false,
    }
}

/// Format characters, fillers and places kept for such that are never seen and never needed: what
/// is left of Unicode's ignorable characters when those with a verdict of their own are taken out.
const fn is_shapeless(c: char) -> bool {
    matches!(c, '\u{34F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180E}'
        | '\u{200B}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}' | '\u{FFF0}'..='\u{FFF8}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0080}'..='\u{E00FF}'
        | '\u{E01F0}'..='\u{E0FFF}')
}

const fn is_mongolian_selector(c: char) -> bool {
    matches!(c, '\u{180B}'..='\u{180D}' | '\u{180F}')
}

/// Scripts whose letters take other shapes when joined or parted: Arabic and its kin, the Indic
/// scripts, Tibetan, Burmese, Khmer and Mongolian.
fn is_of_joining_script(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{61B}' | '\u{61D}'..='\u{8FF}' | '\u{900}'..='\u{DFF}'
        | '\u{F00}'..='\u{109F}' | '\u{1780}'..='\u{17B3}' | '\u{17B6}'..='\u{180A}'
        | '\u{1810}'..='\u{18AF}' | '\u{A840}'..='\u{A87F}' | '\u{A8E0}'..='\u{A8FF}' | '\u{FB50}'..='\u{FDFF}'
        | '\u{FE70}'..='\u{FEFE}')
}

/// Symbols that are, or can be, shown as emoji; by blocks, so new emoji need no new table.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{A9}' | '\u{AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21FF}' | '\u{2300}'..='\u{23FF}' | '\u{24C2}' | '\u{25A0}'..='\u{27BF}'
        | '\u{2900}'..='\u{297F}' | '\u{2B00}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}'
        | '\u{3297}' | '\u{3299}' | '\u{1F000}'..='\u{1FAFF}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Findings are written `Kind count@first`, separated by spaces.
    fn check(text: &str, cleaned: &str, findings: &str) {
        let result = clean(text);
        let found: Vec<String> = result
            .findings
            .iter()
            .map(|finding| format!("{:?} {}@{}", finding.kind, finding.count, finding.first_at))
            .collect();
        assert_eq!((&*result.text, found.join(" ").as_str()), (cleaned, findings), "{text:?}");
    }

    #[test]
    fn control_tokens_of_chat_formats_are_defused() {
        for token in [
            "<|im_start|>",
            "<|im_end|>",
            "<|endoftext|>",
            "<|begin_of_text|>",
            "<|start_header_id|>",
            "<|START_OF_TURN_TOKEN|>",
            "<|channel|>",
            "<\u{ff5c}begin\u{2581}of\u{2581}sentence\u{ff5c}>",
            "<\u{ff5c}User\u{ff5c}>",
            "<start_of_turn>",
            "<s>",
            "</s>",
            "[INST]",
            "[/INST]",
            "<<SYS>>",
            "[gMASK]",
        ] {
            let quoted = without_control_tokens(&format!("a {token}b")).expect(token);
            assert!(!quoted.contains(token), "{quoted}");
            assert_eq!(quoted.replace(' ', ""), format!("a{token}b"), "a space and nothing else");
            assert_eq!(without_control_tokens(&quoted), None, "{quoted}");
        }
        for plain in ["a <| b |> c", "x[0] <b>bold</b>", "if a<b | b>c", "<||>", "[instructions]"] {
            assert_eq!(without_control_tokens(plain), None, "{plain}");
        }
    }

    #[test]
    fn invisible_characters_are_removed_and_reported() {
        check("a\0b\x1b[0m\x7f\u{9b}", "ab[0m", "Control 4@1");
        check("a\r\nb\rc\u{c}d\u{85}e\n\t", "a\nb\nc\nd\ne\n\t", "LineBreak 4@1");
        check("\u{feff}a\u{feff}", "a", "ByteOrderMark 2@0");
        check("\u{202e}txt\u{2066}\u{200f}\u{61c}", "txt", "Direction 4@0");
        check("pass\u{200b}word\u{2060}\u{2064}\u{180e}", "password", "ZeroWidth 4@4");
        check("a\u{200d}b\u{200c}c", "abc", "Joiner 2@1");
        check("hi\u{e0001}\u{e0068}\u{e0069}\u{e007f}", "hi", "Tag 4@2");
        check("a\u{fe0f}b\u{fe00}c\u{e0101}1\u{fe0f}", "abc1", "VariationSelector 4@1");
        check("\u{fff9}a\u{fffa}b\u{fffb}", "ab", "Annotation 3@0");
        check("caf\u{fffd}", "caf\u{fffd}", "Replacement 1@3");
        check("\u{200b}\0\u{200b}", "", "Control 1@3 ZeroWidth 2@0");
        check("a\u{2028}b\u{2029}c", "a\nb\nc", "LineBreak 2@1");
        check("a\u{2800}b\u{3164}c\u{ffa0}", "a b c ", "Blank 3@1");
        check("ᄀ\u{1160}\u{115f}ᅡ e\u{34f}\u{301}", "가 e\u{301}", "ZeroWidth 3@3");
        check("葛\u{e0100}\u{e0101}葛\u{e0120}", "葛\u{e0100}葛", "VariationSelector 2@7");
        check("a\u{180b}ᠠ\u{180b}\u{180c}", "aᠠ\u{180b}", "VariationSelector 2@1");
        // Tags that hide a sentence behind a flag.
        let hidden: String =
            "ignore".chars().filter_map(|c| char::from_u32(0xE0000 + c as u32)).collect();
        check(&format!("🏴{hidden}{hidden}\u{e007f}"), "🏴", "Tag 13@4");
        check(&format!("🏴{hidden}"), "🏴", "Tag 6@4");
        // A sequence as long as a flag's that is none.
        check("🏴\u{e0075}\u{e0073}\u{e0063}\u{e0061}\u{e007f}", "🏴", "Tag 5@4");
    }

    #[test]
    fn nothing_ignorable_stays_between_letters() {
        // `Default_Ignorable_Code_Point`, but for the soft hyphen.
        let ignorable = [
            0x34F..=0x34F,
            0x61C..=0x61C,
            0x115F..=0x1160,
            0x17B4..=0x17B5,
            0x180B..=0x180F,
            0x200B..=0x200F,
            0x202A..=0x202E,
            0x2060..=0x206F,
            0x3164..=0x3164,
            0xFE00..=0xFE0F,
            0xFEFF..=0xFEFF,
            0xFFA0..=0xFFA0,
            0xFFF0..=0xFFF8,
            0x1BCA0..=0x1BCA3,
            0x1D173..=0x1D17A,
            0xE0000..=0xE0FFF,
        ];
        for c in ignorable.into_iter().flatten().filter_map(char::from_u32) {
            let text = format!("a{c}b");
            let cleaned = clean(&text);
            assert!(matches!(&*cleaned.text, "ab" | "a b"), "U+{:04X}", u32::from(c));
            assert!(
                cleaned.findings.iter().all(|finding| finding.kind.is_hidden() || c == '\u{FEFF}')
            );
        }
    }

    #[test]
    fn invisible_characters_that_a_script_needs_are_kept() {
        let kept = |text: &str| {
            check(text, text, "");
            assert!(matches!(clean(text).text, Cow::Borrowed(_)), "{text:?}");
        };
        kept("Plain text.\n\tSoft\u{ad}hyphen, naïve, 漢字");
        kept("क्\u{200d}ष और क्\u{200c}ष, श्री");
        kept("می\u{200c}خواهم کتاب\u{200c}ها PDF\u{200c}ها");
        kept(
            "👩\u{200d}👩\u{200d}👧\u{200d}👦 👩🏽\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 🏳\u{fe0f}\u{200d}🌈",
        );
        kept("🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 🇫🇷");
        kept("1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} ☎\u{fe0e} ©\u{fe0f}");
        kept("🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}\u{200d}☠\u{fe0f}");
        kept("葛\u{e0100}飾区");
        kept("ᠠ\u{180b}ᠨ ក្\u{200c}ក");
    }

    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[a-z0-9#* ]{1,4}",
            "[\r\n\t\0\u{b}\u{85}\u{ad}\u{fffd}\u{feff}]",
            "[\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{61c}\u{180b}-\u{180f}]",
            "[\u{fe00}-\u{fe0f}\u{e0100}\u{e0120}\u{20e3}\u{fff9}-\u{fffb}\u{2800}\u{34f}\u{17b4}]",
            "[\u{e0030}-\u{e0039}\u{e0061}-\u{e0067}\u{e007f}\u{e0001}]{1,4}",
            "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "[🏴👩❤☎🏽]",
            "[कष\u{94d}اب葛ᠠក]",
            any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn cleaning_is_idempotent(text in any_text()) {
            let once = clean(&text);
            let twice = clean(&once.text);
            prop_assert_eq!(&twice.text, &once.text);
            prop_assert!(matches!(twice.text, Cow::Borrowed(_)));
            prop_assert!(twice.findings.iter().all(|f| f.kind == FindingKind::Replacement));
            let forbidden = |c: char| {
                c.is_control() && c != '\n' && c != '\t'
                    || matches!(c, '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
                        | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{200b}' | '\u{180e}'
                        | '\u{2060}'..='\u{2064}' | '\u{e0000}' | '\u{e0001}'
                        | '\u{fe00}'..='\u{fe0d}' | '\u{fff9}'..='\u{fffb}')
            };
            prop_assert!(!once.text.contains(forbidden), "{:?}", once.text);
            for finding in &once.findings {
                prop_assert!(text.is_char_boundary(finding.first_at) && finding.count > 0);
            }
            let changed = matches!(once.text, Cow::Owned(_));
            prop_assert_eq!(changed, once.text != text);
        }
    }
}
