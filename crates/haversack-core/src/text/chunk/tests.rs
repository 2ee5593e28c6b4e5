use proptest::prelude::*;

use super::*;
use crate::text::tokenizer::{CharacterEstimate, Encoding};

fn limits(target: u32, max: u32) -> ChunkLimits {
    ChunkLimits::new(Tokens::new(target), Tokens::new(max)).unwrap()
}

/// Limits are written `target/max`. One line per chunk is expected: its lines, its headings, and
/// its text with `⏎` for line breaks.
#[track_caller]
fn check(format: Format, target_max: &str, text: &str, expected: &[&str]) {
    let (target, max) = target_max.split_once('/').unwrap();
    let limits = limits(target.parse().unwrap(), max.parse().unwrap());
    let shown: Vec<String> = chunk(text, format, &Encoding::O200k, limits)
        .iter()
        .map(|chunk| {
            let slice = chunk.span.slice(text).unwrap().replace('\n', "⏎");
            let (first, last) = (chunk.lines.start, chunk.lines.end - 1);
            format!("{first}-{last} [{}] {slice}", chunk.headings.join(" > "))
        })
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn limits_are_checked() {
    let check = |target, max, expected: &str| {
        let error = ChunkLimits::new(Tokens::new(target), Tokens::new(max)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(8, 15, "a chunk limit of 15 tokens is below the least, 16");
    check(17, 16, "a chunk target of 17 tokens is above the limit of 16");
    check(0, 16, "a chunk target must be at least 1 token");
    assert_eq!(limits(16, 16).target(), limits(16, 16).max());
}

#[test]
fn the_format_of_a_text_without_a_path_is_guessed() {
    let check = |text: &str, format| assert_eq!(Format::of_text(text), format, "{text}");
    check("", Format::Plain);
    check("The ferry leaves at nine.\n\nIt is late.", Format::Plain);
    check("# Ferries\n\nThe ferry leaves at nine.\n\n## Prices\n\nNone.", Format::Markdown);
    check("Run it:\n\n```sh\nferry\n```\n", Format::Markdown);
    check("# adds one\ndef add(x):\n    # never fails\n    return x + 1\n", Format::Plain);
    check("#!/bin/sh\nset -e\n#hashtag", Format::Plain);
}

#[test]
fn the_format_follows_from_the_path() {
    let check = |path, format| assert_eq!(Format::of_path(path), format, "{path}");
    check("docs/Guide.MD", Format::Markdown);
    check("a.b/page.mdx", Format::Markdown);
    check("src/main.rs", Format::Code(CodeLanguage::Rust));
    check("C:\\x\\view.tsx", Format::Code(CodeLanguage::Tsx));
    check("lib.d.ts", Format::Code(CodeLanguage::TypeScript));
    check("a.py/README", Format::Plain);
    check("docs/guide.md.gz", Format::Markdown);
    check("notes.txt", Format::Plain);
}

#[test]
fn plain_text_splits_at_the_strongest_boundary() {
    let check = |text, expected: &[&str]| check(Format::Plain, "8/16", text, expected);
    check("", &[]);
    check(" \n\t\n ", &[]);
    check("\n\n  Indented.\n\n", &["3-3 []   Indented."]);
    check("One two.\n\nThree.\n", &["1-3 [] One two.⏎⏎Three."]);
    check(
        "One two three four.\n\nFive six seven eight nine.",
        &["1-1 [] One two three four.", "3-3 [] Five six seven eight nine."],
    );
    // Above the target, below the limit: it stays whole.
    check(
        "One two three four five six seven eight nine ten.",
        &["1-1 [] One two three four five six seven eight nine ten."],
    );
    check(
        "A b c d e f.\nG h i j k l.\nM n o p q r.\n",
        &["1-1 [] A b c d e f.", "2-2 [] G h i j k l.", "3-3 [] M n o p q r."],
    );
    check(
        "Dr. Who is it? Are you here now? We left you then. Go on from here.",
        &[
            "1-1 [] Dr. Who is it?",
            "1-1 [] Are you here now?",
            "1-1 [] We left you then.",
            "1-1 [] Go on from here.",
        ],
    );
    check(
        "a b c d e f g h i j k l m n o p q r s",
        &["1-1 [] a b c d e f g h", "1-1 [] i j k l m n o p", "1-1 [] q r s"],
    );
}

#[test]
fn markdown_knows_its_headings() {
    // X7: the heading path is part of a chunk's place.
    let check = |limits, text, expected: &[&str]| check(Format::Markdown, limits, text, expected);
    check(
        "12/16",
        "# Guide\n\n## Install\n\nRun the setup now.\n\n## Use\n\nStart the program then.\n",
        &[
            "1-5 [Guide > Install] # Guide⏎⏎## Install⏎⏎Run the setup now.",
            "7-9 [Guide > Use] ## Use⏎⏎Start the program then.",
        ],
    );
    check(
        "40/64",
        "# A\n\nTiny.\n\n## B\n\nSmall too.\n\n# C\n\nNot under A.\n",
        &["1-7 [A] # A⏎⏎Tiny.⏎⏎## B⏎⏎Small too.", "9-11 [C] # C⏎⏎Not under A."],
    );
    check(
        "8/16",
        "Title\n=====\n\nOne two three four five six.\n\nSeven eight nine ten eleven.\n\n### Deep `x` {#id}\nText.\n",
        &[
            "1-4 [Title] Title⏎=====⏎⏎One two three four five six.",
            "6-6 [Title] Seven eight nine ten eleven.",
            "8-9 [Title > Deep x] ### Deep `x` {#id}⏎Text.",
        ],
    );
    check(
        "16/16",
        "---\ntitle: A page of some length\ndate: 2020\n---\nText that stands below it, after the rule.\n",
        &[
            "1-4 [] ---⏎title: A page of some length⏎date: 2020⏎---",
            "5-5 [] Text that stands below it, after the rule.",
        ],
    );
}

#[test]
fn markdown_blocks_stay_whole_when_they_fit() {
    let check = |limits, text, expected: &[&str]| check(Format::Markdown, limits, text, expected);
    check(
        "8/24",
        "Before it comes text here.\n\n```rust\nlet a = 1;\n\n# no heading\n```\n\nAfter.",
        &[
            "1-1 [] Before it comes text here.",
            "3-7 [] ```rust⏎let a = 1;⏎⏎# no heading⏎```",
            "9-9 [] After.",
        ],
    );
    check(
        "16/16",
        "| a | b |\n|---|---|\n| one | two |\n| three | four |\n| five | six |\n",
        &["1-3 [] | a | b |⏎|---|---|⏎| one | two |", "4-5 [] | three | four |⏎| five | six |"],
    );
    check(
        "10/16",
        "- one two three four\n  - five six seven\n- eight nine ten eleven\n",
        &["1-2 [] - one two three four⏎  - five six seven", "3-3 [] - eight nine ten eleven"],
    );
}

#[test]
fn code_splits_at_its_items() {
    // X7: the enclosing items are the place of a piece of code.
    check(
        Format::Code(CodeLanguage::Rust),
        "16/32",
        "use a::B;\n\n/// Doc.\n#[x]\nfn one() {}\n\nimpl Foo {\n    /// First.\n    fn bar(&self) -> u32 {\n        1 + 2\n    }\n\n    fn baz(&self) -> u32 {\n        3 + 4\n    }\n}\n",
        &[
            "1-5 [fn one] use a::B;⏎⏎/// Doc.⏎#[x]⏎fn one() {}",
            "7-11 [impl Foo] impl Foo {⏎    /// First.⏎    fn bar(&self) -> u32 {⏎        1 + 2⏎    }",
            "13-16 [impl Foo > fn baz]     fn baz(&self) -> u32 {⏎        3 + 4⏎    }⏎}",
        ],
    );
    check(
        Format::Code(CodeLanguage::Python),
        "16/20",
        "import os  # why\n# lead\n@d\ndef f(a):\n    return a\n\nclass C:\n    def g(self):\n        return 1\n\n    def h(self):\n        return 2\n",
        &[
            "1-1 [] import os  # why",
            "2-5 [def f] # lead⏎@d⏎def f(a):⏎    return a",
            "7-9 [class C] class C:⏎    def g(self):⏎        return 1",
            "11-12 [class C > def h]     def h(self):⏎        return 2",
        ],
    );
    // Items inside an include guard are as good as those outside.
    check(
        Format::Code(CodeLanguage::C),
        "16/20",
        "#ifndef A_H\n#define A_H\n\n/* One. */\nint one(int a) { return a + 1; }\n\nint two(int b) { return b + 2; }\n#endif\n",
        &[
            "1-2 [] #ifndef A_H⏎#define A_H",
            "4-5 [one] /* One. */⏎int one(int a) { return a + 1; }",
            "7-8 [two] int two(int b) { return b + 2; }⏎#endif",
        ],
    );
    check(
        Format::Code(CodeLanguage::TypeScript),
        "16/20",
        "/** Doc. */\nexport function one(a: number) {\n  return a + 1;\n}\nexport const two = (b: number) => b + 2;\n",
        &[
            "1-4 [function one] /** Doc. */⏎export function one(a: number) {⏎  return a + 1;⏎}",
            "5-5 [const two] export const two = (b: number) => b + 2;",
        ],
    );
}

/// The names under which the items of every language are found.
#[test]
fn every_language_names_its_items() {
    let check = |language, source: &str, expected: &str| {
        let outline = code::structure(source, language).outline;
        let titles: Vec<&str> = outline.iter().map(|entry| entry.title.as_str()).collect();
        assert_eq!(titles.join(", "), expected, "{source}");
    };
    check(CodeLanguage::C, "struct s { int a; };\nint *f(int a) { return 0; }", "struct s, f");
    check(
        CodeLanguage::Go,
        "package p\ntype T struct{}\nfunc F() {}\nfunc (t *T) M() {}",
        "type T, func F, func (t *T) M",
    );
    check(
        CodeLanguage::Java,
        "class A { A() {} int m() { return 1; } }\ninterface I {}",
        "class A, A, m, interface I",
    );
    check(
        CodeLanguage::JavaScript,
        "export async function f() {}\nconst g = () => 1;\nclass C { m() {} }",
        "function f, const g, class C, m",
    );
    check(CodeLanguage::Python, "@d\nclass C:\n  def m(self): pass", "class C, def m");
    check(
        CodeLanguage::Rust,
        "impl<T> A for B<T> { fn f() {} }\nmod m { const X: u8 = 1; }",
        "impl<T> A for B<T>, fn f, mod m, const X",
    );
    check(
        CodeLanguage::TypeScript,
        "namespace N { export type T = 1 }\ninterface I {}\nenum E {}",
        "namespace N, type T, interface I, enum E",
    );
    check(CodeLanguage::Tsx, "export const V = () => <p>hi</p>;", "const V");
    check(CodeLanguage::Rust, "}}}} %% not code", "");
}

/// None of these may hang, overflow the stack or lose text.
#[test]
fn hostile_texts_are_chunked_in_time() {
    let formats = [
        Format::Plain,
        Format::Markdown,
        Format::Code(CodeLanguage::Rust),
        Format::Code(CodeLanguage::Python),
    ];
    let limits = limits(256, 512);
    for unit in [
        "a", "字", "(", "{", "[", "> ", "- ", "`", "*a_", "\n", " ", "a\n", "# \n", "fn f(){",
        "f(\"", "/*", "|", "\u{301}", "🇫🇷", "<a ", "[a](",
    ] {
        let text = format!("x{}y", unit.repeat(10_000 / unit.len()));
        for format in formats {
            check_laws(&text, format, &Encoding::O200k, limits);
        }
    }
    for unit in ["a", "字"] {
        let line = unit.repeat(1_000_000 / unit.len());
        check_laws(&line, Format::Plain, &Encoding::O200k, limits);
    }
}

/// Sound code may nest as deep as it is long; what is said of a chunk stays short all the same.
#[test]
fn deeply_nested_code_is_chunked_in_time() {
    let check = |n: usize, before: &str, open: &str, middle: &str, close: &str| {
        let text = [before, &open.repeat(n), middle, &close.repeat(n)].concat();
        let chunks =
            chunk(&text, Format::Code(CodeLanguage::Rust), &CharacterEstimate, limits(256, 512));
        assert!(chunks.len() > 100, "{open}");
        assert!(chunks.iter().all(|chunk| chunk.headings.len() <= 7), "{open}");
    };
    check(131_072, "", "fn f(){", "", "}");
    check(20_000, "", "impl A<{", "", "}>{}");
    check(100_000, &" ".repeat(300_000), "a+", "a", "");
}

/// What holds for every text, format, tokenizer and limit.
fn check_laws(text: &str, format: Format, tokenizer: &dyn Tokenizer, limits: ChunkLimits) {
    let mut end = 0;
    let mut line = 1;
    for chunk in chunk(text, format, tokenizer, limits) {
        let slice = chunk.span.slice(text).expect("the span is one of the text");
        assert!(!slice.trim().is_empty(), "blank chunk {} of {text:?}", chunk.span);
        assert!(chunk.span.start() >= end, "chunk {} overlaps in {text:?}", chunk.span);
        assert!(text[end..chunk.span.start()].trim().is_empty(), "lost text before {}", chunk.span);
        assert_eq!(chunk.tokens, tokenizer.count(slice), "tokens of {slice:?}");
        assert!(chunk.tokens <= limits.max(), "{} tokens in {slice:?}", chunk.tokens);
        line += text[end..chunk.span.start()].matches('\n').count();
        let last = line + slice.matches('\n').count();
        assert_eq!((chunk.lines.start as usize, chunk.lines.end as usize), (line, last + 1));
        (line, end) = (last, chunk.span.end());
    }
    assert!(text[end..].trim().is_empty(), "lost the end of {text:?}");
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[A-Za-z]{1,9}[.!?]? ",
        2 => "\r?\n{1,3}[ \t]{0,5}",
        2 => "(\n\n|\n)(#{1,3} |- |1\\. |> |```|~~~|---\n|\\|a\\|b\\|\n|    )",
        2 => "\n(fn a\\(\\) \\{|\\}|def f\\(x\\):|class C \\{|  // c|@d|#\\[x\\]|\"|impl X \\{|const f = )",
        1 => "[一-十がカ가。、！？「」]{1,30}",
        1 => "[क-ह\u{93e}-\u{94d}।]{1,20}",
        1 => "[ا-ي؟۔]{1,20}",
        1 => "[👩🏽💻🇫🇷\u{200d}\u{fe0f}\u{301}]{1,12}",
        1 => "[a-z]{100,300}",
        1 => "[0-9+/=,;:(){}<>]{1,60}",
        1 => " {1,80}",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn any_format() -> impl Strategy<Value = Format> {
    prop_oneof![
        Just(Format::Plain),
        Just(Format::Markdown),
        proptest::sample::select(&CodeLanguage::ALL[..]).prop_map(Format::Code),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn chunks_slice_cover_and_fit(
        text in any_text(),
        format in any_format(),
        (target, max) in proptest::sample::select(vec![(1, 16), (16, 16), (12, 20), (40, 50), (64, 256)]),
        which in 0..3usize,
    ) {
        let tokenizers: [&dyn Tokenizer; 3] =
            [&Encoding::O200k, &Encoding::Cl100k, &CharacterEstimate];
        check_laws(&text, format, tokenizers[which], limits(target, max));
    }
}
