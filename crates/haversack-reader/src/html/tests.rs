//! Tests of web pages: ordinary, odd and hostile.

use std::time::{Duration, Instant};

use super::*;
use crate::outcome;

#[track_caller]
fn check(html: &str, expected: &str) {
    let page = markdown_of_html(html, HtmlOptions::default()).unwrap();
    assert_eq!(page.body, expected);
}

/// The body of a page without what surrounds it.
fn main_of(html: &str) -> HtmlText {
    markdown_of_html(html, HtmlOptions { only_main: true, is_xml: false }).unwrap()
}

#[test]
fn paragraphs_and_headings() {
    check(
        "<h1>A  <em>b</em>\nc</h1><p>one\n two<p>three<br>four",
        "# A b c\n\none two\n\nthree\nfour",
    );
    check("a<div>b<div>c</div>d</div>e", "a\n\nb\n\nc\n\nd\n\ne");
    check("<p>1 &lt; 2 &amp;&nbsp;3</p> tail", "1 < 2 & 3\n\ntail");
    check("<h2><a href='https://x.org'>T</a><a class=headerlink href='#t'>¶</a></h2>", "## T");
    check("10<sup>6</sup> m<sup>2</sup> word<sup><a href=#f>1</a></sup>", "10^6 m^2 word[1]");
    check("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)");
    check("<details><summary>More</summary>text</details>", "More\n\ntext");
    check("<p># no heading<p>- no list<p>a<br>```", "\\# no heading\n\n\\- no list\n\na\n\\```");
    check("so\u{ad}ft a\u{200b}b", "soft ab");
}

#[test]
fn lists() {
    check("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>x", "- a\n- b\n  - c\n- d\n\nx");
    check(
        "<ol start=3><li>a</li><li><p>b</p><p>c</p></li><li>d</ol>",
        "3. a\n4. b\n\n   c\n\n5. d",
    );
    check("<p>x</p><ul><li></li><li>a</li></ul>", "x\n\n- a");
    check("<dl><dt>T</dt><dd>D</dd><dt>U:<dd><p>E</p><p>F</p></dl>", "- T: D\n- U: E\n\n  F");
    check("<ul><li><h2>A</h2><p>b</p><ul><li>c</ul></ul>", "## A\n\nb\n\n- c");
    check("<blockquote><p>a</p><p>b</p></blockquote><p>c", "> a\n>\n> b\n\nc");
    check("<ul><li><blockquote>q</blockquote></li></ul>", "- > q");
    check(
        "<ul><li><input type=checkbox checked> a<li><input type=checkbox> b</ul>",
        "- [x] a\n- [ ] b",
    );
}

#[test]
fn code() {
    check("use <code>a b</code>, <code>x`y</code>", "use `a b`, `` x`y ``");
    check(
        "<pre><code class='language-rust'>fn a() {\n  b\n}\n</code></pre>",
        "```rust\nfn a() {\n  b\n}\n```",
    );
    check(
        "<div class='highlight-python3'><div><pre>\nx &lt; 1</pre></div></div>",
        "```python\nx < 1\n```",
    );
    check("<pre>a\n```\nb</pre>", "````\na\n```\nb\n````");
    check("<ul><li>a<pre>b\n c</pre></ul>", "- a\n\n  ```\n  b\n   c\n  ```");
    check("<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```");
}

#[test]
fn links_and_pictures() {
    check(
        "<a href='https://a.org/b'>text</a> <a href='/c'>local</a>",
        "[text](https://a.org/b) local",
    );
    check(
        "<a href='https://a.org/'>a.org</a> <a href='mailto:x@y.z'>x@y.z</a>",
        "https://a.org/ x@y.z",
    );
    check(
        "<img src=a.png alt='A map'><img alt='a.png'><a href='https://a.b'><img alt=Go></a>",
        "A map[Go](https://a.b)",
    );
    check("<a href='javascript:x()'>t</a> <a href='https://a.b/c d'>u</a>", "t u");
    check(&format!("<a href='https://a.b/{}'>t</a>", "x".repeat(300)), "t");
    check("<a href='https://a.b'><div>t</div><div>u</div></a>", "[t](https://a.b)\n\nu");
}

#[test]
fn tables() {
    check(
        "<table><caption>C</caption><tr><th>A<th>B<tr><td>1|2<td>x<br>y</table>z",
        "C\n\n| A | B |\n| --- | --- |\n| 1\\|2 | x<br>y |\n\nz",
    );
    check(
        "<table><tr><th colspan=2>A<th>B<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5</table>",
        "| A |  | B |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 1 | 4 | 5 |",
    );
    check(
        "<table><tr><td><p>a</p><ul><li>b</ul><td><table><tr><td>c</table></table>",
        "a\n\n- b\n\nc",
    );
    check("<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>", "a\n\nb\n\nc\n\nd");
    check(
        "<table><tr><th>A<th>B<tr><td><ul><li>x<li>y</ul><td><pre>p\nq</pre></table>",
        "| A | B |\n| --- | --- |\n| - x<br>- y | p<br>q |",
    );
}

#[test]
fn what_is_no_text_is_left_out() {
    check(
        "a<script>b</script><style>c</style><template>d</template><!-- e --><svg><text>f</text></svg>",
        "a",
    );
    check(
        "<p>text text text<p style='display: none'>x<p hidden>y<span aria-hidden=true>z</span>",
        "text text text",
    );
    check("<body style='display:none'><p>shown by a script", "shown by a script");
    check("<select><option>a<option>b</select>c<button>d</button>", "c");
    check("<title>T</title><p>a</title>b", "a\n\nb".replace("\n\n", "").as_str());
    check("<math alttext='x^2'><mi>x</mi></math>", "$x^2$");
}

const PAGE: &str = "<!doctype html><html lang=en><head><title>Bees - Site</title>\
    <meta name=author content='A. Keeper'><meta name=description content='On bees'>\
    <link rel=canonical href='https://a.org/bees'>\
    <meta property='article:published_time' content='2024-03-01T10:00:00+01:00'>\
    <script type='application/ld+json'>{\"dateModified\":\"2024-03-02\"}</script></head><body>\
    <header><a href=/>Site</a></header><nav><ul><li><a href=/a>A</a></ul></nav>\
    <div class='cookie-banner'>We use cookies</div>CONTENT<footer>© Site</footer></body></html>";

#[test]
fn main_content_is_found() {
    let text = "Bees are insects. ".repeat(20);
    for content in [
        "<main>%</main>",
        "<article>%</article>",
        "<div role=main>%</div>",
        "<div>%</div>",
        "<div class=content>%</div>",
        "<p>%",
    ] {
        let content = content.replace('%', &format!("<h1>Bees</h1><p>{text}"));
        let page = main_of(&PAGE.replace("CONTENT", &content));
        assert_eq!(page.body, format!("# Bees\n\n{}", text.trim()), "{content}");
        assert!(page.notices[0].what.contains("bytes of text around the main content"));
    }
    // Boxes in books are called sidebars too.
    let boxed = format!("<main><p>{text}{text}<div class=sidebar><p>{text}</div></main>");
    assert_eq!(main_of(&boxed).body.matches("Bees").count(), 60);
    // A page that is called a menu as a whole is still read.
    assert_eq!(main_of("<div class=menu><p>Soup</p></div>").body, "Soup");
}

#[test]
fn fields_are_found() {
    let about = main_of(&PAGE.replace("CONTENT", "<h1>Bees</h1><p>Text")).about;
    assert_eq!(about.title, "Bees");
    assert_eq!((about.url.as_str(), about.author.as_str()), ("https://a.org/bees", "A. Keeper"));
    assert_eq!((about.language.as_str(), about.description.as_str()), ("en", "On bees"));
    assert_eq!(about.created, Some(1_709_283_600_000));
    assert_eq!(about.updated, Some(1_709_337_600_000));
    assert_eq!(main_of("<title>A - B</title><h1>C</h1>").about.title, "A - B");
    assert_eq!(main_of("<h1>C¶</h1>").about.title, "C");
}

fn read_bytes(name: &str, bytes: &[u8]) -> Part {
    outcome::read_by(&READER, name, bytes).unwrap().into_part().0
}

#[test]
fn declared_encodings_are_used() {
    let page = |meta: &str| format!("{meta}<p>za\u{17c}\u{f3}\u{142}\u{107}");
    let (bytes, _, _) = encoding_rs::ISO_8859_2.encode("<meta charset=iso-8859-2><p>zażółć");
    assert_eq!(read_bytes("a.html", &bytes).body, "zażółć");
    let meta = "<meta http-equiv=Content-Type content='text/html; charset=windows-1250'>";
    let html = page(meta);
    let (bytes, _, _) = encoding_rs::WINDOWS_1250.encode(&html);
    assert_eq!(read_bytes("a.html", &bytes).body, "zażółć");
    let html = page("<?xml version='1.0' encoding='iso-8859-2'?>");
    let (bytes, _, _) = encoding_rs::ISO_8859_2.encode(&html);
    assert_eq!(read_bytes("a.xhtml", &bytes).body, "zażółć");
    assert_eq!(
        read_bytes("a.xhtml", b"<?xml version='1.0'?><title/><p>a<script src='x'/>b</p>").body,
        "ab"
    );
}

#[test]
fn only_web_pages_are_recognised() {
    let is_page = |name: &str, text: &str| recognises(&FileHead::of_bytes(name, text.as_bytes()));
    assert!(is_page("a.HTML", "") && is_page("saved", "\n<!DOCTYPE html>"));
    assert!(!is_page("a.rs", "<html>") && !is_page("a.txt", "<html>") && !is_page("notes", "html"));
}

#[test]
fn hostile_pages_take_linear_time() {
    let attributes: String = (0..300_000).map(|at| format!(" a{at}=b")).collect();
    let pages = [
        "<div>".repeat(200_000),
        "<b><p>".repeat(100_000),
        "<ul><li>".repeat(100_000),
        "<blockquote>x".repeat(100_000),
        "<table><tr><td>".repeat(70_000),
        "<table><tr><td rowspan=9999 colspan=9999>x".repeat(20_000),
        format!("<table><tr><th rowspan=9999 colspan=99>{}", "<tr><td>y".repeat(100_000)),
        format!("{}{}", "<i>".repeat(500), "</p></table></b>".repeat(60_000)),
        "<".repeat(1_000_000),
        "<!--".repeat(250_000),
        "<!-- --!>".repeat(100_000),
        "</".repeat(500_000),
        "<a href='".repeat(100_000),
        "<title>".repeat(100_000),
        "<script></scrip".repeat(70_000),
        "<code>`".repeat(100_000),
        "<a href='https://x.y'>`".repeat(50_000),
        "<p><a><sup>".repeat(90_000),
        "&".repeat(1_000_000),
        format!("<p{attributes}>text</p>"),
        format!("<p class='{}'>text", "a ".repeat(500_000)),
        "<pre>".repeat(200_000),
        "<dl><dt>x<dd>".repeat(80_000),
    ];
    for page in pages {
        let start = Instant::now();
        let read = main_of(&page);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(8), "{took:?} for {}", &page[..20]);
        assert!(read.body.len() < 60 << 20, "{} bytes of {}", read.body.len(), &page[..20]);
    }
}

#[test]
fn deep_nesting_keeps_the_text() {
    let page = main_of(&format!("{}text{}<p>after", "<div>".repeat(5000), "</div>".repeat(5000)));
    assert_eq!(page.body, "text\n\nafter");
    assert!(
        page.notices.iter().any(|notice| notice.what.contains("4800 elements")),
        "{:?}",
        page.notices
    );
}

#[test]
fn damaged_pages_are_read_to_their_end() {
    let page = PAGE.replace("CONTENT", "<h1>Bees</h1><table><tr><th>a<td>b</table><pre>ü</pre>");
    for end in (0..page.len()).filter(|end| page.is_char_boundary(*end)) {
        let _ = main_of(&page[..end]);
    }
    for seed in 0..400 {
        let noise = crate::encoding::tests::noise(seed, 40);
        let mut bytes = page.clone().into_bytes();
        for pair in noise.chunks_exact(2) {
            let at = usize::from(pair[0]) * 5 % bytes.len();
            bytes[at] = b"<>/=\"'&;!- p\x01\xff"[usize::from(pair[1]) % 14];
        }
        let _ = main_of(&String::from_utf8_lossy(&bytes));
    }
}
