//! The elements of HTML that mean something for the text.

macro_rules! tags {
    ($($tag:ident $name:literal),+ $(,)?) => {
        /// An element's name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Tag {
            $($tag,)+
            /// Any other element: its inside is text of its surroundings.
            Other,
        }

        impl Tag {
            /// How many there are.
            pub(crate) const COUNT: usize = Tag::Other as usize + 1;

            /// The element of a name in any case.
            pub(crate) fn of_name(name: &str) -> Tag {
                let mut lower = [0; 12];
                let Some(lower) = lower.get_mut(..name.len()) else { return Tag::Other };
                lower.copy_from_slice(name.as_bytes());
                lower.make_ascii_lowercase();
                match std::str::from_utf8(lower) {
                    $(Ok($name) => Tag::$tag,)+
                    _ => Tag::Other,
                }
            }
        }
    };
}

tags! {
    A "a", Address "address", Annotation "annotation", Article "article", Aside "aside",
    Audio "audio", Blockquote "blockquote", Body "body", Br "br", Button "button", Canvas "canvas",
    Caption "caption", Center "center", Code "code", Datalist "datalist", Dd "dd", Del "del",
    Details "details", Dialog "dialog", Dir "dir", Div "div", Dl "dl", Dt "dt", Embed "embed",
    Fieldset "fieldset", Figcaption "figcaption", Figure "figure", Footer "footer", Form "form",
    Frameset "frameset", H1 "h1", H2 "h2", H3 "h3", H4 "h4", H5 "h5", H6 "h6", Head "head",
    Header "header", Hgroup "hgroup", Hr "hr", Html "html", Iframe "iframe", Img "img", Input "input",
    Kbd "kbd", Legend "legend", Li "li", Link "link", Main "main", Math "math", Menu "menu",
    Meta "meta", Nav "nav", Noembed "noembed", Noframes "noframes", Noscript "noscript", Ol "ol",
    Optgroup "optgroup", Option "option", P "p", Param "param", Pre "pre", Q "q", Rp "rp", Rt "rt",
    Ruby "ruby", S "s", Samp "samp", Script "script", Search "search", Section "section",
    Select "select", Source "source", Strike "strike", Style "style", Sup "sup", Summary "summary",
    Svg "svg", Table "table", Tbody "tbody", Td "td", Template "template", Textarea "textarea",
    Tfoot "tfoot", Th "th", Thead "thead", Time "time", Title "title", Tr "tr", Track "track",
    Tt "tt", Ul "ul", Video "video", Wbr "wbr", Xmp "xmp", Area "area", Base "base", Col "col",
}

impl Tag {
    /// Whether it has no inside and no end tag.
    pub(crate) const fn is_void(self) -> bool {
        use Tag::*;
        matches!(
            self,
            Area | Base
                | Br
                | Col
                | Embed
                | Hr
                | Img
                | Input
                | Link
                | Meta
                | Param
                | Source
                | Track
                | Wbr
        )
    }

    /// Whether it begins on a line of its own.
    pub(crate) const fn is_block(self) -> bool {
        use Tag::*;
        matches!(
            self,
            Address
                | Article
                | Aside
                | Blockquote
                | Body
                | Caption
                | Center
                | Dd
                | Details
                | Dialog
                | Dir
                | Div
                | Dl
                | Dt
                | Fieldset
                | Figcaption
                | Figure
                | Footer
                | Form
                | H1
                | H2
                | H3
                | H4
                | H5
                | H6
                | Header
                | Hgroup
                | Hr
                | Html
                | Legend
                | Li
                | Main
                | Menu
                | Nav
                | Ol
                | P
                | Pre
                | Search
                | Section
                | Summary
                | Table
                | Tbody
                | Td
                | Tfoot
                | Th
                | Thead
                | Tr
                | Ul
                | Xmp
        )
    }

    /// Whether it never holds text of the page.
    pub(crate) const fn is_never_text(self) -> bool {
        use Tag::*;
        matches!(
            self,
            Annotation
                | Audio
                | Button
                | Canvas
                | Datalist
                | Embed
                | Head
                | Iframe
                | Noembed
                | Noframes
                | Noscript
                | Optgroup
                | Option
                | Rp
                | Script
                | Select
                | Style
                | Svg
                | Template
                | Textarea
                | Title
                | Video
        )
    }

    /// Whether it may stand in the head of a page.
    pub(crate) const fn is_of_head(self) -> bool {
        use Tag::*;
        matches!(self, Base | Link | Meta | Noscript | Script | Style | Template | Title)
    }

    /// Whether it is a part of a table.
    pub(crate) const fn is_of_table(self) -> bool {
        use Tag::*;
        matches!(self, Table | Caption | Thead | Tbody | Tfoot | Tr | Td | Th)
    }

    /// The level of a heading.
    pub(crate) const fn heading_level(self) -> Option<usize> {
        match self {
            Tag::H1 => Some(1),
            Tag::H2 => Some(2),
            Tag::H3 => Some(3),
            Tag::H4 => Some(4),
            Tag::H5 => Some(5),
            Tag::H6 => Some(6),
            _ => None,
        }
    }

    /// Elements that this start tag ends, up to the first of the elements that hold them.
    pub(crate) const fn implied_ends(self) -> (&'static [Tag], &'static [Tag]) {
        use Tag::*;
        match self {
            Li => (&[Li], &[Ul, Ol, Menu, Dir, Table, Td, Th]),
            Dt | Dd => (&[Dt, Dd], &[Dl, Table, Td, Th]),
            Td | Th => (&[Td, Th, Caption], &[Tr, Table]),
            Tr => (&[Tr, Caption], &[Table, Thead, Tbody, Tfoot]),
            Thead | Tbody | Tfoot => (&[Thead, Tbody, Tfoot, Caption], &[Table]),
            Rt | Rp => (&[Rt, Rp], &[Ruby]),
            Option => (&[Option], &[Select, Datalist]),
            _ => (&[], &[]),
        }
    }
}
