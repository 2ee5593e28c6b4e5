//! The texts that packs are held against, with what the ruler knows of each, worked out when it is
//! first needed.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;

use haversack_core::text::chunk::Format;

use super::blocks::{self, Block, BlockKind, heading_title};
use super::corpus::Corpus;
use super::cover::clipped;
use super::error::EvalError;
use super::words::{Words, visible};

/// The documents of one corpus.
#[derive(Debug, Default)]
pub(crate) struct Library {
    /// What the ids of items begin with, and those of documents do not.
    prefix: &'static str,
    texts: BTreeMap<String, Text>,
}

impl Library {
    /// Reads all documents of a corpus.
    pub(super) fn read(corpus: &Corpus) -> Result<Library, EvalError> {
        let mut library = Library { prefix: corpus.prefix(), texts: BTreeMap::new() };
        let mut documents = corpus.documents()?;
        while let Some((document, _)) = documents.next()? {
            let text = Text::new(document.title, document.text, document.path.as_deref());
            library.insert(document.id.as_str().to_owned(), text);
        }
        Ok(library)
    }

    pub(crate) fn insert(&mut self, document: String, text: Text) {
        self.texts.insert(document, text);
    }

    pub(super) fn get(&self, document: &str) -> Option<&Text> {
        self.texts.get(document)
    }

    /// The document that an item of the store is.
    pub(super) fn document_of<'i>(&self, item: &'i str) -> &'i str {
        item.strip_prefix(self.prefix).unwrap_or(item)
    }
}

/// A document's text.
#[derive(Debug)]
pub(crate) struct Text {
    title: Option<Words>,
    pub(super) body: String,
    pub(super) format: Format,
    visible: OnceCell<usize>,
    blocks: OnceCell<Vec<Block>>,
    sections: OnceCell<Vec<(Range<usize>, Words)>>,
}

impl Text {
    pub(crate) fn new(title: Option<String>, body: String, path: Option<&str>) -> Text {
        let title = title.map(|title| Words::of(&title)).filter(|title| !title.is_empty());
        let format = blocks::format(path, &body);
        let (visible, blocks, sections) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Text { title, body, format, visible, blocks, sections }
    }

    /// What it is called, if it has a title that says something.
    pub(super) const fn title(&self) -> Option<&Words> {
        self.title.as_ref()
    }

    /// How many bytes of it are not blank.
    pub(super) fn visible(&self) -> usize {
        *self.visible.get_or_init(|| visible(&self.body))
    }

    /// How many bytes of ranges of it are not blank.
    pub(super) fn visible_in(&self, ranges: impl IntoIterator<Item = Range<usize>>) -> usize {
        ranges.into_iter().filter_map(|range| self.body.get(range)).map(visible).sum()
    }

    /// Whether all of a stretch of it that is not blank lies in sorted ranges.
    pub(super) fn has(&self, ranges: &[Range<usize>], stretch: &Range<usize>) -> bool {
        self.visible_in(clipped(ranges, stretch)) == self.visible_in([stretch.clone()])
    }

    pub(super) fn blocks(&self) -> &[Block] {
        self.blocks.get_or_init(|| blocks::blocks(&self.body, self.format))
    }

    /// What stands under each Markdown heading, up to the next, with the heading's words. What
    /// stands before the first heading is in none.
    pub(super) fn sections(&self) -> &[(Range<usize>, Words)] {
        self.sections.get_or_init(|| {
            let is_heading = |block: &&Block| matches!(block.kind, BlockKind::Heading { .. });
            let headings = self.blocks().iter().filter(is_heading).map(|block| &block.range);
            let ends = headings.clone().skip(1).map(|next| next.start).chain([self.body.len()]);
            let words =
                |heading: &Range<usize>| Words::of(heading_title(&self.body[heading.clone()]));
            headings.zip(ends).map(|(own, end)| (own.start..end, words(own))).collect()
        })
    }
}
