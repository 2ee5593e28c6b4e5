//! Finds the main content of a page and marks what is left out: menus, banners, forms, hidden elements.

use super::tag::Tag;
use super::tape::{Element, Event, Tape};
use super::token::attributes;

/// Words of `class` and `id` that name the furniture of a page.
const FURNITURE: &[&str] = &[
    "ad",
    "ads",
    "advert",
    "advertisement",
    "bottomnav",
    "breadcrumb",
    "breadcrumbs",
    "catlinks",
    "edit-this-page",
    "feedback",
    "footer",
    "gdpr",
    "header-nav",
    "headerlink",
    "jump-link",
    "lang-switcher",
    "language-switcher",
    "line-numbers",
    "linenodiv",
    "linenos",
    "mainmenu",
    "masthead",
    "menu",
    "menubar",
    "mobile-nav",
    "modal",
    "mw-editsection",
    "mw-jump-link",
    "nav",
    "nav-panel",
    "navbar",
    "navfooter",
    "navheader",
    "navigation",
    "navigation-footer",
    "navigation-header",
    "noprint",
    "overlay",
    "page-footer",
    "page-nav",
    "pager",
    "pagination",
    "popup",
    "prevnext",
    "printfooter",
    "promo",
    "related-articles",
    "related-posts",
    "search",
    "search-box",
    "search-form",
    "searchbox",
    "share",
    "share-buttons",
    "sharing",
    "side-bar",
    "sidebar",
    "sidenav",
    "site-footer",
    "site-header",
    "site-nav",
    "skip-link",
    "skip-links",
    "skiplink",
    "skiplinks",
    "social",
    "social-links",
    "social-share",
    "sphinxsidebar",
    "sr-only",
    "subscribe",
    "table-of-contents",
    "toc",
    "toolbar",
    "topnav",
    "visually-hidden",
];

/// Beginnings of such words.
const FURNITURE_BEGINNINGS: &[&str] = &["cookie", "consent", "gdpr", "newsletter", "advert-"];

/// Those of them that are never the name of a box in the text, as `sidebar` can be.
const SURE_FURNITURE: &[&str] = &[
    "cookies",
    "footer",
    "headerlink",
    "linenodiv",
    "linenos",
    "mw-editsection",
    "navfooter",
    "navheader",
    "printfooter",
    "site-footer",
    "sr-only",
    "visually-hidden",
];

/// Words of `class` and `id` that name the main content, where a page has no `main` and no `article`.
const CONTENT: &[&str] = &[
    "article",
    "article-body",
    "article-content",
    "articlebody",
    "body-content",
    "content",
    "content-body",
    "document",
    "entry-content",
    "main",
    "main-content",
    "maincontent",
    "markdown-body",
    "mw-content-text",
    "page-content",
    "post",
    "post-body",
    "post-content",
    "story-body",
];

/// Links in an element that is nothing but links.
const LINKS_MIN: u32 = 8;

/// What an element's attributes say about it.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each mark stands by itself")]
struct Marks {
    is_hidden: bool,
    is_furniture: bool,
    is_surely_furniture: bool,
    is_content: bool,
    is_main: bool,
}

/// Marks what is left out and gives the element to be read; None means the whole page.
pub(crate) fn select_content(tape: &mut Tape<'_>, only_main: bool) -> Option<u32> {
    let mut marks = vec![Marks::default(); tape.elements.len()];
    for number in 0..tape.elements.len() {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let tag = tape.element(number).tag;
        marks[number as usize] = marks_of(tag, tape.attributes(number));
        tape.elements[number as usize].is_skipped = tag.is_never_text();
    }
    let all = measure(tape).max(1);
    // A page that shows itself by a script is hidden as a whole, and still meant to be read.
    skip(tape, &marks, |element, marks| marks.is_hidden && element.text_bytes * 2 < all);
    if !only_main {
        return None;
    }
    let all = measure(tape).max(1);
    let root = find_main(tape, &marks, all);
    let within = root.map_or(all, |root| tape.element(root).text_bytes.max(1));
    skip(tape, &marks, |element, marks| is_furniture(element, *marks, within, root.is_some()));
    if root.is_none() {
        skip(tape, &marks, |element, _| is_all_links(element, within));
    }
    root
}

/// Marks elements as left out.
fn skip(tape: &mut Tape<'_>, marks: &[Marks], is_left_out: impl Fn(&Element, &Marks) -> bool) {
    for (element, marks) in tape.elements.iter_mut().zip(marks) {
        let is_page = matches!(element.tag, Tag::Html | Tag::Body | Tag::Main);
        element.is_skipped |= !is_page && is_left_out(element, marks);
    }
}

/// What the attributes of an element say.
fn marks_of(tag: Tag, raw: &str) -> Marks {
    let mut marks = Marks {
        is_main: tag == Tag::Main,
        is_furniture: matches!(tag, Tag::Nav | Tag::Footer | Tag::Search | Tag::Dialog),
        ..Marks::default()
    };
    for (name, value) in attributes(raw) {
        let has = |words: &[&str]| {
            let mut found = value.split_ascii_whitespace();
            found.any(|word| words.binary_search(&&*word.to_ascii_lowercase()).is_ok())
        };
        match name.len() {
            2 | 5 if name.eq_ignore_ascii_case("id") || name.eq_ignore_ascii_case("class") => {
                let is_first_word = |word: &str| {
                    FURNITURE_BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
                };
                let begins = value.split_ascii_whitespace().any(is_first_word);
                marks.is_surely_furniture |= begins || has(SURE_FURNITURE);
                marks.is_furniture |= begins || has(FURNITURE);
                marks.is_content |= has(CONTENT);
            }
            4 if name.eq_ignore_ascii_case("role") => {
                let roles = [
                    "alert",
                    "banner",
                    "complementary",
                    "contentinfo",
                    "dialog",
                    "menu",
                    "menubar",
                    "navigation",
                    "search",
                    "toolbar",
                ];
                marks.is_furniture |= has(&roles);
                marks.is_main |= has(&["main"]);
            }
            5 if name.eq_ignore_ascii_case("style") => marks.is_hidden |= is_hiding(value),
            6 if name.eq_ignore_ascii_case("hidden") => marks.is_hidden |= value != "until-found",
            8 if name.eq_ignore_ascii_case("itemprop") => {
                marks.is_content |= value == "articleBody"
            }
            11 if name.eq_ignore_ascii_case("aria-hidden") => marks.is_hidden |= value == "true",
            _ => {}
        }
    }
    marks
}

/// Whether a style hides its element.
fn is_hiding(style: &str) -> bool {
    style.split(';').any(|rule| {
        let (name, value) = rule.split_once(':').unwrap_or_default();
        let (name, value) =
            (name.trim(), value.trim().split('!').next().unwrap_or_default().trim());
        let is = |other_name: &str, other_value: &str| {
            name.eq_ignore_ascii_case(other_name) && value.eq_ignore_ascii_case(other_value)
        };
        is("display", "none") || is("visibility", "hidden") || is("mso-hide", "all")
    })
}

/// Counts the text in each element that is not left out, and gives that of the whole page.
fn measure(tape: &mut Tape<'_>) -> u32 {
    // For each open element: bytes of text, bytes in links, links, and whether it holds a heading.
    let mut stack: Vec<(u32, u32, u32, bool)> = vec![(0, 0, 0, false)];
    let mut at = 0;
    while let Some(event) = tape.events.get(at).copied() {
        at += 1;
        match event {
            Event::Open(number) if tape.element(number).is_skipped => {
                at = tape.element(number).close as usize + 1;
                let element = &mut tape.elements[number as usize];
                (element.text_bytes, element.link_bytes, element.links) = (0, 0, 0);
            }
            Event::Open(_) => stack.push((0, 0, 0, false)),
            Event::Text { start, end, .. } => {
                let text =
                    tape.html.as_bytes().get(start as usize..end as usize).unwrap_or_default();
                let bytes = text.iter().filter(|byte| !byte.is_ascii_whitespace()).count();
                if let Some(top) = stack.last_mut() {
                    top.0 += u32::try_from(bytes).unwrap_or(u32::MAX);
                }
            }
            Event::Close(number) => {
                let (text, mut in_links, mut links, mut heading) = stack.pop().unwrap_or_default();
                let element = &mut tape.elements[number as usize];
                heading |= element.tag.heading_level().is_some();
                if element.tag == Tag::A {
                    (in_links, links) = (text, links + 1);
                }
                (element.text_bytes, element.link_bytes) = (text, in_links);
                (element.links, element.has_heading) = (links, heading);
                if let Some(top) = stack.last_mut() {
                    *top = (top.0 + text, top.1 + in_links, top.2 + links, top.3 | heading);
                }
            }
        }
    }
    stack.first().map_or(0, |all| all.0)
}

/// The element that holds the main content.
fn find_main(tape: &Tape<'_>, marks: &[Marks], all: u32) -> Option<u32> {
    let numbers = || 0..u32::try_from(tape.elements.len()).unwrap_or(u32::MAX);
    let text = |number: u32| u64::from(tape.element(number).text_bytes);
    let is_seen = |number: &u32| !tape.element(*number).is_skipped;
    // The first of those with the most text.
    let largest = |is_wanted: &dyn Fn(u32) -> bool| {
        let wanted = numbers().filter(is_seen).filter(|number| is_wanted(*number));
        wanted.max_by_key(|number| (text(*number), std::cmp::Reverse(*number)))
    };
    let all = u64::from(all);
    if let Some(main) = largest(&|number| marks[number as usize].is_main)
        && text(main) * 5 >= all
    {
        return Some(main);
    }
    // Several articles are a list of articles: the page is their surroundings.
    if let Some(article) = largest(&|number| tape.element(number).tag == Tag::Article)
        && text(article) * 2 >= all
    {
        return Some(article);
    }
    // The innermost, because `content` is often the name of everything under the header.
    let is_most = |number: &u32| marks[*number as usize].is_content && text(*number) * 2 >= all;
    let is_holder = |number: &u32| tape.element(*number).tag != Tag::Body;
    numbers().rev().filter(is_seen).filter(is_holder).find(is_most)
}

/// Whether an element is furniture and can go. What holds much of the text stays, whatever it is called.
fn is_furniture(element: &Element, marks: Marks, all: u32, is_in_main: bool) -> bool {
    let share = |percent: u64| u64::from(element.text_bytes) * 100 <= u64::from(all) * percent;
    match element.tag {
        Tag::Nav | Tag::Footer | Tag::Search | Tag::Dialog => share(60),
        Tag::Header => !element.has_heading && share(30) && (!is_in_main || marks.is_furniture),
        Tag::Aside => share(30) && (!is_in_main || marks.is_furniture),
        Tag::Form => !element.has_heading && share(30),
        Tag::Menu => share(30),
        _ if marks.is_surely_furniture => share(40),
        _ => marks.is_furniture && !is_prose(element) && share(40),
    }
}

/// Whether an element is running text: much of it, and few links.
fn is_prose(element: &Element) -> bool {
    element.text_bytes > 200
        && u64::from(element.link_bytes) * 10 < u64::from(element.text_bytes) * 3
}

/// Whether an element is a menu that is not called so.
fn is_all_links(element: &Element, all: u32) -> bool {
    let (text, links) = (u64::from(element.text_bytes), u64::from(element.link_bytes));
    let is_group =
        matches!(element.tag, Tag::Div | Tag::Ul | Tag::Ol | Tag::Table | Tag::Td | Tag::P);
    is_group
        && element.links >= LINKS_MIN
        && links * 10 >= text * 9
        && text * 100 <= u64::from(all) * 20
        && !element.has_heading
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        assert!(FURNITURE.is_sorted(), "{FURNITURE:?}");
        assert!(SURE_FURNITURE.is_sorted() && CONTENT.is_sorted());
    }
}
