//! The document texts that packs are compared with. Blocks and sections are computed lazily.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;

use haversack_core::text::chunk::Format;

use super::blocks::{self, DocumentBlock, DocumentBlockKind, heading_title};
use super::corpus::CorpusSource;
use super::cover::clipped;
use super::error::EvalError;
use super::words::{NormalizedWords, visible_bytes};

/// The documents of one corpus.
#[derive(Debug, Default)]
pub(crate) struct TextLibrary {
    /// The prefix that item ids have and document ids do not.
    prefix: &'static str,
    texts: BTreeMap<String, LibraryText>,
}

impl TextLibrary {
    /// Reads all documents of a corpus.
    pub(super) fn read(corpus: &CorpusSource) -> Result<TextLibrary, EvalError> {
        let mut library = TextLibrary { prefix: corpus.prefix(), texts: BTreeMap::new() };
        let mut documents = corpus.documents()?;
        while let Some((document, _)) = documents.next()? {
            let text = LibraryText::new(document.title, document.text, document.path.as_deref());
            library.insert(document.id.as_str().to_owned(), text);
        }
        Ok(library)
    }

    pub(crate) fn insert(&mut self, document: String, text: LibraryText) {
        self.texts.insert(document, text);
    }

    pub(super) fn get(&self, document: &str) -> Option<&LibraryText> {
        self.texts.get(document)
    }

    /// The document id of a stored item.
    pub(super) fn document_of<'i>(&self, item: &'i str) -> &'i str {
        item.strip_prefix(self.prefix).unwrap_or(item)
    }
}

/// The text of a document, with its blocks and sections.
#[derive(Debug)]
pub(crate) struct LibraryText {
    title: Option<NormalizedWords>,
    pub(super) body: String,
    pub(super) format: Format,
    visible: OnceCell<usize>,
    blocks: OnceCell<Vec<DocumentBlock>>,
    sections: OnceCell<Vec<(Range<usize>, NormalizedWords)>>,
}

impl LibraryText {
    pub(crate) fn new(title: Option<String>, body: String, path: Option<&str>) -> LibraryText {
        let title =
            title.map(|title| NormalizedWords::of(&title)).filter(|title| !title.is_empty());
        let format = blocks::format(path, &body);
        let (visible, blocks, sections) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        LibraryText { title, body, format, visible, blocks, sections }
    }

    /// Its title, unless it has no words.
    pub(super) const fn title(&self) -> Option<&NormalizedWords> {
        self.title.as_ref()
    }

    /// The number of its bytes that are not white space.
    pub(super) fn visible_bytes(&self) -> usize {
        *self.visible.get_or_init(|| visible_bytes(&self.body))
    }

    /// The number of bytes in ranges of it that are not white space.
    pub(super) fn visible_in(&self, ranges: impl IntoIterator<Item = Range<usize>>) -> usize {
        ranges.into_iter().filter_map(|range| self.body.get(range)).map(visible_bytes).sum()
    }

    /// Whether sorted ranges cover all visible bytes of a part of it.
    pub(super) fn is_covered(&self, part: &Range<usize>, ranges: &[Range<usize>]) -> bool {
        self.visible_in(clipped(ranges, part)) == self.visible_in([part.clone()])
    }

    pub(super) fn blocks(&self) -> &[DocumentBlock] {
        self.blocks.get_or_init(|| blocks::blocks(&self.body, self.format))
    }

    /// The range from each Markdown heading to the next, with the heading's words. Text before the
    /// first heading has no section.
    pub(super) fn sections(&self) -> &[(Range<usize>, NormalizedWords)] {
        self.sections.get_or_init(|| {
            let is_heading =
                |block: &&DocumentBlock| matches!(block.kind, DocumentBlockKind::Heading { .. });
            let headings = self.blocks().iter().filter(is_heading).map(|block| &block.range);
            let ends = headings.clone().skip(1).map(|next| next.start).chain([self.body.len()]);
            let words = |heading: &Range<usize>| {
                NormalizedWords::of(heading_title(&self.body[heading.clone()]))
            };
            headings.zip(ends).map(|(own, end)| (own.start..end, words(own))).collect()
        })
    }
}
