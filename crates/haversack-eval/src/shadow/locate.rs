//! Finds the items of the workspace that a text comes from, by the text itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

use super::runs::{Alignment, RUN_WORDS_MIN, RunIndex, WordText, share};
use super::{DataError, ReadAs, ShadowData, ShadowItem};

/// The words of one search, and the most searches for one text.
const PIECE_WORDS: usize = 80;
const PIECES_MAX: usize = 200;

/// Items that a search returns.
const HITS: usize = 5;

/// A piece whose words are found to this share is not searched for.
const FOUND: f64 = 0.8;

/// The most bytes of items that are kept for the next questions.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// An item with its words.
#[derive(Debug)]
pub(super) struct KnownItem {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) path: Option<String>,
    pub(super) words: WordText,
}

impl KnownItem {
    fn of(item: ShadowItem) -> KnownItem {
        let ShadowItem { id, title, path, body } = item;
        // Of an item without a text of its own, the title is what is shown.
        let text = if body.trim().is_empty() { title.clone() } else { body };
        KnownItem { id, title, path, words: WordText::new(text) }
    }

    /// Whether a source that a context names can mean this item.
    fn is_named(&self, source: &str) -> bool {
        let path = self.path.as_deref().unwrap_or_default();
        self.id == source
            || !path.is_empty() && (source == path || source.ends_with(&format!("/{path}")))
    }
}

/// An item, and what it has in common with a text.
pub(super) struct LocatedItem {
    pub(super) item: Rc<KnownItem>,
    pub(super) alignment: Alignment,
    /// Whether the asker may read it.
    pub(super) is_readable: bool,
}

/// Where the words of a text come from.
pub(super) struct TextOrigin {
    /// The fewest items that account for the words, those with most words first.
    pub(super) sources: Vec<LocatedItem>,
    /// For each word, whether it stands in an item that the asker may read.
    pub(super) readable: Vec<bool>,
    /// For each word, whether it stands only in items that the asker may not read.
    pub(super) hidden: Vec<bool>,
}

/// Reads and searches the workspace, and keeps what it has read.
pub(super) struct ItemFinder<'d> {
    data: &'d dyn ShadowData,
    items: HashMap<String, Option<Rc<KnownItem>>>,
    kept_bytes: usize,
    hits: HashMap<String, Vec<String>>,
    readable: BTreeMap<ReadAs, HashMap<String, bool>>,
    ids: BTreeMap<ReadAs, Rc<[String]>>,
}

impl<'d> ItemFinder<'d> {
    pub(super) fn new(data: &'d dyn ShadowData) -> ItemFinder<'d> {
        ItemFinder {
            data,
            items: HashMap::new(),
            kept_bytes: 0,
            hits: HashMap::new(),
            readable: BTreeMap::new(),
            ids: BTreeMap::new(),
        }
    }

    /// The items of these ids that the caller may read, each once.
    pub(super) fn items(&mut self, ids: &[String]) -> Result<Vec<Rc<KnownItem>>, DataError> {
        let mut wanted: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        for id in ids.iter().filter(|id| seen.insert(id.as_str())) {
            if !self.items.contains_key(id) {
                wanted.push(id.clone());
            }
        }
        if !wanted.is_empty() {
            let read = self.data.items(&wanted, &ReadAs::default())?;
            for (id, item) in wanted.into_iter().zip(read) {
                let item = item.map(|item| Rc::new(KnownItem::of(item)));
                self.kept_bytes += id.len() + item.as_ref().map_or(0, |it| it.words.text().len());
                self.items.insert(id, item);
            }
        }
        let found = seen.into_iter().filter_map(|id| self.items.get(id)?.clone()).collect();
        if self.kept_bytes > KEPT_BYTES_MAX {
            self.items.clear();
            self.hits.clear();
            self.kept_bytes = 0;
        }
        Ok(found)
    }

    /// Items that match words best.
    pub(super) fn search(&mut self, words: &str) -> Result<Vec<Rc<KnownItem>>, DataError> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let ids = match self.hits.get(words) {
            Some(ids) => ids.clone(),
            None => {
                let ids = self.data.search(words, HITS)?;
                self.kept_bytes += words.len();
                self.hits.insert(words.to_owned(), ids.clone());
                ids
            }
        };
        self.items(&ids)
    }

    /// The ids of items that somebody may read.
    pub(super) fn readable_ids(&mut self, asker: &ReadAs) -> Result<Rc<[String]>, DataError> {
        if let Some(ids) = self.ids.get(asker) {
            return Ok(Rc::clone(ids));
        }
        let ids: Rc<[String]> = self.data.readable_ids(asker)?.into();
        self.ids.insert(asker.clone(), Rc::clone(&ids));
        Ok(ids)
    }

    /// Whether somebody may read each of these items.
    fn are_readable(
        &mut self,
        items: &[Rc<KnownItem>],
        asker: &ReadAs,
    ) -> Result<Vec<bool>, DataError> {
        if *asker == ReadAs::default() {
            return Ok(vec![true; items.len()]);
        }
        let known = self.readable.entry(asker.clone()).or_default();
        let is_new = |item: &&Rc<KnownItem>| !known.contains_key(&item.id);
        let ids: Vec<String> = items.iter().filter(is_new).map(|item| item.id.clone()).collect();
        if !ids.is_empty() {
            let read = self.data.items(&ids, asker)?;
            known.extend(ids.into_iter().zip(read.iter().map(Option::is_some)));
        }
        Ok(items.iter().map(|item| known.get(&item.id).copied().unwrap_or(false)).collect())
    }

    /// Finds where a text comes from. `named` are sources that it gives itself, `likely` are items
    /// that are compared before any search.
    pub(super) fn locate(
        &mut self,
        text: &WordText,
        passages: &[Range<usize>],
        (named, likely): (&[String], &[String]),
        asker: &ReadAs,
    ) -> Result<TextOrigin, DataError> {
        let mut search = OriginSearch::new(text);
        let first = self.items(&[named, likely].concat())?;
        self.add(&mut search, first, asker)?;
        for piece in pieces(text, passages) {
            if search.found_share(&piece) < FOUND {
                let found = self.search(&text.query(piece))?;
                self.add(&mut search, found, asker)?;
            }
        }
        Ok(search.origin(named, likely))
    }

    fn add(
        &mut self,
        search: &mut OriginSearch<'_>,
        items: Vec<Rc<KnownItem>>,
        asker: &ReadAs,
    ) -> Result<(), DataError> {
        let items: Vec<_> =
            items.into_iter().filter(|item| search.seen.insert(item.id.clone())).collect();
        let readable = self.are_readable(&items, asker)?;
        for (item, is_readable) in items.into_iter().zip(readable) {
            search.add(item, is_readable);
        }
        Ok(())
    }
}

/// The words of passages in pieces for searches.
fn pieces(text: &WordText, passages: &[Range<usize>]) -> Vec<Range<usize>> {
    let size = PIECE_WORDS.max(text.len().div_ceil(PIECES_MAX));
    let split = |passage: &Range<usize>| {
        let end = passage.end;
        passage.clone().step_by(size).map(move |start| start..end.min(start + size))
    };
    passages.iter().flat_map(split).take(PIECES_MAX).collect()
}

/// The items that were compared with a text so far.
struct OriginSearch<'t> {
    index: RunIndex<'t>,
    seen: BTreeSet<String>,
    located: Vec<LocatedItem>,
    found: Vec<bool>,
    readable: Vec<bool>,
}

impl<'t> OriginSearch<'t> {
    fn new(text: &'t WordText) -> OriginSearch<'t> {
        OriginSearch {
            index: RunIndex::new(text),
            seen: BTreeSet::new(),
            located: Vec::new(),
            found: vec![false; text.len()],
            readable: vec![false; text.len()],
        }
    }

    fn add(&mut self, item: Rc<KnownItem>, is_readable: bool) {
        let alignment = self.index.align(&item.words);
        for run in &alignment.text_words {
            self.found[run.clone()].fill(true);
            if is_readable {
                self.readable[run.clone()].fill(true);
            }
        }
        if !alignment.text_words.is_empty() {
            self.located.push(LocatedItem { item, alignment, is_readable });
        }
    }

    fn found_share(&self, words: &Range<usize>) -> f64 {
        let found = self.found[words.clone()].iter().filter(|is| **is).count();
        share(found, words.len())
    }

    /// Chooses the sources: always the item that accounts for most of the remaining words, items
    /// that the asker may read before others.
    fn origin(mut self, named: &[String], likely: &[String]) -> TextOrigin {
        let likely: BTreeSet<&str> = likely.iter().map(String::as_str).collect();
        let rank = |located: &LocatedItem| {
            let item = &located.item;
            let is_named = named.iter().any(|source| item.is_named(source));
            (is_named, likely.contains(item.id.as_str()))
        };
        self.located.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| a.item.id.cmp(&b.item.id)));
        let mut accounted = vec![false; self.found.len()];
        let mut sources = Vec::new();
        for is_readable in [true, false] {
            loop {
                let gain = |located: &LocatedItem| {
                    let runs = located.alignment.text_words.iter().cloned().flatten();
                    let words = runs.filter(|at| !accounted[*at]).collect::<BTreeSet<_>>().len();
                    // A word or two that others left over are no source.
                    let least = RUN_WORDS_MIN.min(located.item.words.len());
                    if words < least { 0 } else { words }
                };
                let open = self.located.iter().enumerate();
                let open = open.filter(|(_, located)| located.is_readable == is_readable);
                // The first of equals wins: `max_by_key` would take the last.
                let best = open.map(|(at, located)| (gain(located), at));
                let best = best.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
                let Some((1.., at)) = best else { break };
                let located = self.located.remove(at);
                for run in &located.alignment.text_words {
                    accounted[run.clone()].fill(true);
                }
                sources.push(located);
            }
        }
        let hidden =
            self.found.iter().zip(&self.readable).map(|(found, readable)| *found && !readable);
        TextOrigin { sources, hidden: hidden.collect(), readable: self.readable }
    }
}
