//! Searches of a view: full text, vectors, fuzzy, names.

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::ids::CandidateId;
use haversack_core::text::terms::{Language, each_term};

use super::indexes::scan_effort;
use super::records::lookup;
use super::row::Row;
use super::state::VectorSnapshot;
use super::text::{MatchRule, QueryOptions, TextError, TextQuery, excerpt};
use super::vectors::VectorSearchError;
use super::view::{View, check_limit};
use crate::store::error::{ReadError, StaleVectors};
use crate::store::item::Passage;
use crate::store::query::{
    Excerpt, FREQUENCIES_MAX, Filter, Frequencies, FuzzySearch, Hit, NAMES_MAX, TextSearch,
    VectorSearch,
};

impl View {
    /// Chunks that match a full-text query, best first.
    ///
    /// # Errors
    /// When the limit is too large or the store cannot be read.
    pub fn search_text(&self, search: &TextSearch) -> Result<Vec<Hit>, ReadError> {
        check_limit(search.limit)?;
        let among = self.rows_matching(&search.filter)?;
        let query = text_query(search);
        let text = self.watched.state.text()?;
        let found = text.search(&query, &self.visible, &among, search.limit);
        let found = found.map_err(|error| self.index_error(error))?;
        self.to_hits(found.into_iter().map(|hit| (hit.row, hit.chunk, hit.score)))
    }

    /// Chunks nearest to a vector, nearest first.
    ///
    /// # Errors
    /// When the vector is not of the workspace's model, the limit is too large, or the store
    /// cannot be read.
    pub fn search_vectors(&self, search: &VectorSearch) -> Result<Vec<Hit>, ReadError> {
        check_limit(search.limit)?;
        let model = &self.watched.state.model;
        let vectors = match &self.watched.state.vectors {
            VectorSnapshot::Ready(vectors) => vectors,
            VectorSnapshot::Stale(stored) => {
                let now = model.embedder.model().clone();
                return Err(ReadError::Stale(Box::new(StaleVectors {
                    stored: stored.clone(),
                    now,
                })));
            }
        };
        let among = self.rows_matching(&search.filter)?;
        let query = search.vector.as_slice();
        // A vector purged after the snapshot becomes zero and is never a hit.
        let nothing = || vec![0.0; query.len()];
        let exact = |embeddings: &[u32]| {
            let vectors =
                self.read(|connection| lookup::vectors(connection, model.number, embeddings))?;
            Ok(vectors.into_iter().map(|vector| vector.unwrap_or_else(nothing)).collect())
        };
        let found = vectors
            .search(query, &among, scan_effort(search.effort), search.limit, &exact)
            .map_err(|error| match error {
                VectorSearchError::Exact { source, .. } => source,
                other => ReadError::invalid("vector", other.to_string()),
            })?;
        self.to_hits(found.into_iter().map(|hit| (hit.slot.row, hit.slot.chunk, hit.score)))
    }

    /// Chunks whose title, path or short text has similar trigrams, most similar first.
    ///
    /// # Errors
    /// When the limit is too large or the store cannot be read.
    pub fn search_fuzzy(&self, search: &FuzzySearch) -> Result<Vec<Hit>, ReadError> {
        check_limit(search.limit)?;
        let among = self.rows_matching(&search.filter)?;
        #[expect(clippy::cast_possible_truncation, reason = "a similarity needs no more digits")]
        let least = search.similarity_least.get() as f32;
        let text = self.watched.state.text()?;
        let found = text
            .fuzzy(&search.query, &self.visible, &among, search.limit, least)
            .map_err(|error| self.index_error(error))?;
        self.to_hits(found.hits.into_iter().map(|hit| (hit.row, hit.chunk, hit.similarity)))
    }

    /// The first chunks of items whose titles have these keys ([`haversack_core::text::names`]), by
    /// key; none for a key that more than `most` items have.
    ///
    /// # Errors
    /// When there are too many keys or the store cannot be read.
    pub fn chunks_by_name(
        &self,
        keys: &[String],
        filter: &Filter,
        most: usize,
    ) -> Result<Vec<Vec<CandidateId>>, ReadError> {
        if keys.len() > NAMES_MAX {
            let what = format!("{} are over the limit of {NAMES_MAX}", keys.len());
            return Err(ReadError::invalid("keys", what));
        }
        let among = self.rows_matching(filter)?;
        let text = self.watched.state.text()?;
        let found = text.rows_by_name(keys, &self.visible, &among, most);
        let found = found.map_err(|error| self.index_error(error))?;
        let rows: Vec<Row> = found.iter().flatten().copied().collect();
        let mut names = self.watched.shared.item_ids(&rows)?.into_iter();
        let mut first = |_: &Row| Some(CandidateId::chunk(names.next()??, 0));
        Ok(found.iter().map(|rows| rows.iter().filter_map(&mut first).collect()).collect())
    }

    /// The document frequencies of a text's terms among readable chunks. The language is detected.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn frequencies(&self, text: &str) -> Result<Frequencies, ReadError> {
        let mut terms = BTreeSet::new();
        each_term(text, Language::detect(text), |term| {
            if terms.len() < FREQUENCIES_MAX && !terms.contains(term) {
                terms.insert(term.to_owned());
            }
        });
        let (index, visible) = (self.watched.state.text()?, &self.visible);
        let mut by_term = BTreeMap::new();
        for term in terms {
            let count = index.frequency(visible, &term);
            let count = count.map_err(|error| self.index_error(error))?;
            by_term.insert(term, count);
        }
        Ok(Frequencies { texts: visible.statistics(index).n_documents, by_term })
    }

    /// The error of a read that failed in the text index, which is examined because of it.
    fn index_error(&self, error: TextError) -> ReadError {
        self.watched.shared.suspect_text();
        ReadError::Storage { cause: error.into() }
    }

    /// The best excerpt of each passage for a query, with the matches marked.
    #[must_use]
    pub fn excerpts(
        &self,
        passages: &[&Passage],
        query: &str,
        characters_max: usize,
    ) -> Vec<Excerpt> {
        // Parsed once per language, not per passage.
        let mut queries: BTreeMap<Language, TextQuery> = BTreeMap::new();
        let mut excerpt_of = |passage: &&Passage| {
            let language = Language::of_code(&passage.language);
            let query = queries.entry(language).or_insert_with(|| {
                let options = QueryOptions { languages: &[language], ..QueryOptions::default() };
                TextQuery::new(query, &options)
            });
            let found = excerpt(&passage.text, query, language, characters_max);
            Excerpt { text: found.text, hits: found.hits }
        };
        passages.iter().map(&mut excerpt_of).collect()
    }
}

fn text_query(search: &TextSearch) -> TextQuery {
    let must = if search.all_words { MatchRule::Everything } else { MatchRule::Phrases };
    let options =
        QueryOptions { must, last_as_prefix: search.unfinished, ..QueryOptions::default() };
    TextQuery::new(&search.query, &options)
}
