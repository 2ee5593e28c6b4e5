//! Prepares a batch for writing: checks, chunks and embeds it.
//!
//! This runs on the caller's thread; the single writer only inserts.

use std::fmt::Write as _;
use std::sync::Arc;

use haversack_core::embed::{EmbedError, Embedder, TextFeatures, Vector};
use haversack_core::text::chunk::{self, ChunkLimits, Format};
use haversack_core::text::terms::Language;
use haversack_core::text::tokenizer::Encoding;
use haversack_core::units::{Score, Span, Tokens};

use crate::kinds::{Fact, Kinds};
use crate::store::change::{
    BATCH_BYTES_MAX, BATCH_CHANGES_MAX, BODY_BYTES_MAX, Batch, Change, LINE_BYTES_MAX,
    RECORD_BYTES_MAX, Warning,
};
use crate::store::error::{ChangeProblem, CommitError};
use crate::store::item::Item;
use crate::store::viewer::{PRINCIPALS_MAX, Readers};

/// The most problems reported at once.
const PROBLEMS_MAX: usize = 100;

/// Bytes of a text used to detect its language.
const LANGUAGE_BYTES: usize = 512;

/// The content hash of a text or an item.
pub(crate) type Hash = [u8; 16];

/// A batch that is ready to be written.
#[derive(Debug)]
pub(crate) struct PreparedBatch {
    pub(crate) batch: Batch,
    /// One entry per put, in the order of the batch.
    pub(crate) items: Vec<PreparedItem>,
    pub(crate) warnings: Vec<Warning>,
    /// The number of the model that made the vectors.
    pub(crate) model: i64,
}

/// A model that embeds batches, and the texts whose vectors the store has.
pub(crate) struct BatchEmbedder<'a> {
    /// The number of the model in the store.
    pub(crate) model: i64,
    pub(crate) embedder: &'a dyn Embedder,
    /// Returns for text hashes whether the store has their vectors.
    pub(crate) known: &'a dyn Fn(&[Hash]) -> Vec<bool>,
}

/// The data derived from an item on write.
#[derive(Debug)]
pub(crate) struct PreparedItem {
    pub(crate) hash: Hash,
    pub(crate) language: Language,
    /// The searched and rendered text, if it differs from the body.
    pub(crate) text: Option<String>,
    pub(crate) chunks: Vec<PreparedChunk>,
    /// The facts from its fields.
    pub(crate) facts: Vec<Fact>,
    /// Text that is searched along with its headings.
    pub(crate) byline: String,
    /// Whether it must be the only one of its kind.
    pub(crate) single: bool,
}

/// A chunk of an item's text.
#[derive(Debug)]
pub(crate) struct PreparedChunk {
    pub(crate) span: Span,
    pub(crate) lines: (u32, u32),
    pub(crate) headings: Vec<String>,
    pub(crate) hash: Hash,
    /// The encoded text features for ranking.
    pub(crate) features: Vec<u8>,
    /// The encoded vector, unless the store already has it.
    pub(crate) vector: Option<Vec<u8>>,
    /// The number of the model that the workspace is about to switch to, and its encoded vector.
    pub(crate) next_vector: Option<(i64, Vec<u8>)>,
}

/// The chunk size: a paragraph or two, so that a hit is specific.
fn chunk_limits() -> ChunkLimits {
    ChunkLimits::new(Tokens::new(200), Tokens::new(320)).expect("constant limits are valid")
}

/// Checks a batch, and chunks and embeds its texts.
pub(crate) fn prepare(
    mut batch: Batch,
    kinds: &Kinds,
    by: &BatchEmbedder<'_>,
) -> Result<PreparedBatch, CommitError> {
    check_size(&batch)?;
    let mut problems = Vec::new();
    let mut warnings = Vec::new();
    let mut items = Vec::new();
    for (change, what) in batch.changes.iter_mut().enumerate() {
        let mut found =
            Findings { change, kinds, problems: &mut problems, warnings: &mut warnings };
        match what {
            Change::Put(item) => {
                apply_implied_fields(item, kinds);
                found.check_item(item);
                if found.problems.is_empty() {
                    items.push(prepare_item(item, kinds));
                }
            }
            Change::Link(link) | Change::Unlink(link) => {
                found.check_line("sort", &link.link_type, true)
            }
            Change::AddEvent(event) => found.check_line("user", &event.user, true),
            Change::PutRecord(record) => found.check_record(&record.name, &record.text),
            Change::RemoveRecord(_, name) => found.check_line("name", name, true),
            Change::EraseUser(user) => found.check_line("user", user, true),
            Change::Delete(_) | Change::Purge(_) => {}
        }
        if problems.len() >= PROBLEMS_MAX {
            break;
        }
    }
    for (name, line) in [("author", &batch.author), ("origin", &batch.origin)] {
        let mut found =
            Findings { change: 0, kinds, problems: &mut problems, warnings: &mut warnings };
        if let Some(line) = line {
            found.check_line(name, line, true);
        }
    }
    if !problems.is_empty() {
        return Err(CommitError::Invalid(problems));
    }
    let mut prepared = PreparedBatch { batch, items, warnings, model: by.model };
    prepared.embed(by)?;
    Ok(prepared)
}

impl PreparedBatch {
    /// Embeds the texts that have no vector by this model, in the batch or in the store. Vectors of
    /// another model are dropped.
    pub(crate) fn embed(&mut self, by: &BatchEmbedder<'_>) -> Result<(), EmbedError> {
        if self.model != by.model {
            for chunk in self.items.iter_mut().flat_map(|item| &mut item.chunks) {
                let next = chunk.next_vector.take().filter(|(model, _)| *model == by.model);
                chunk.vector = next.map(|(_, vector)| vector);
            }
            self.model = by.model;
        }
        for (chunk, vector) in self.embed_missing(by, |chunk| chunk.vector.is_some())? {
            chunk.vector = Some(vector);
        }
        Ok(())
    }

    /// Embeds the texts by the model that the workspace is about to switch to, beside the vectors
    /// of the model in use.
    pub(crate) fn embed_next(&mut self, by: &BatchEmbedder<'_>) -> Result<(), EmbedError> {
        let has_vector = |chunk: &PreparedChunk| {
            chunk.next_vector.as_ref().is_some_and(|(model, _)| *model == by.model)
        };
        for (chunk, vector) in self.embed_missing(by, has_vector)? {
            chunk.next_vector = Some((by.model, vector));
        }
        Ok(())
    }

    /// Makes the vectors of the chunks that have none in the batch or in the store.
    fn embed_missing(
        &mut self,
        by: &BatchEmbedder<'_>,
        has_vector: impl Fn(&PreparedChunk) -> bool,
    ) -> Result<Vec<(&mut PreparedChunk, Vec<u8>)>, EmbedError> {
        let chunks = self.items.iter().flat_map(|item| &item.chunks);
        let hashes: Vec<Hash> = chunks.map(|chunk| chunk.hash).collect();
        let mut known = (by.known)(&hashes).into_iter();
        let puts = self.batch.changes.iter().filter_map(|change| match change {
            Change::Put(item) => Some(&**item),
            _ => None,
        });
        let mut missing = Vec::new();
        for (prepared, item) in self.items.iter_mut().zip(puts) {
            let text = prepared.text.as_deref().unwrap_or(&item.body);
            for chunk in &mut prepared.chunks {
                let is_known = known.next().unwrap_or(false);
                if !is_known && !has_vector(chunk) {
                    let body = chunk.span.slice(text).unwrap_or("");
                    missing.push((embedded_text(&item.title, &chunk.headings, body), chunk));
                }
            }
        }
        let texts: Vec<&str> = missing.iter().map(|(text, _)| text.as_str()).collect();
        let vectors = embed_texts(&texts, by.embedder)?;
        Ok(missing.into_iter().map(|(_, chunk)| chunk).zip(vectors).collect())
    }
}

fn check_size(batch: &Batch) -> Result<(), CommitError> {
    let (found, limit) = (batch.changes.len(), BATCH_CHANGES_MAX);
    if found > limit {
        return Err(CommitError::TooLarge { unit: "changes", found, limit });
    }
    let bytes = |change: &Change| match change {
        Change::Put(item) => item.body.len() + item.title.len(),
        Change::PutRecord(record) => record.text.len(),
        _ => 0,
    };
    let (found, limit) = (batch.changes.iter().map(bytes).sum(), BATCH_BYTES_MAX);
    if found > limit {
        return Err(CommitError::TooLarge { unit: "bytes", found, limit });
    }
    Ok(())
}

/// Collects the problems and warnings of one change.
struct Findings<'a> {
    change: usize,
    kinds: &'a Kinds,
    problems: &'a mut Vec<ChangeProblem>,
    warnings: &'a mut Vec<Warning>,
}

impl Findings<'_> {
    fn add_problem(&mut self, item: Option<&Item>, message: String) {
        let item = item.map(|item| item.id.clone());
        self.problems.push(ChangeProblem { change: self.change, item, message });
    }

    fn check_item(&mut self, item: &Item) {
        let bytes = item.body.len();
        if bytes > BODY_BYTES_MAX {
            let message = format!("body of {bytes} bytes is over the limit of {BODY_BYTES_MAX}");
            self.add_problem(Some(item), message);
        }
        let path = item.path.as_deref().unwrap_or("");
        for (name, line) in [("title", item.title.as_str()), ("path", path)] {
            if let Some(message) = line_problem(name, line, false) {
                self.add_problem(Some(item), message);
            }
        }
        if let Readers::Only(principals) = &item.readers
            && principals.len() > PRINCIPALS_MAX
        {
            let count = principals.len();
            let message = format!("readers: {count} names are over the limit of {PRINCIPALS_MAX}");
            self.add_problem(Some(item), message);
        }
        if item.parent.as_ref() == Some(&item.id) {
            self.add_problem(Some(item), "parent: an item cannot be its own parent".to_owned());
        }
        match self.kinds.check(&item.kind, &item.title, &item.body, &item.fields) {
            Ok(warnings) => self.warnings.extend(
                warnings
                    .iter()
                    .map(|warning| Warning { item: item.id.clone(), message: warning.to_string() }),
            ),
            Err(errors) => {
                for problem in &errors.problems {
                    self.add_problem(Some(item), problem.to_string());
                }
            }
        }
    }

    fn check_line(&mut self, name: &str, line: &str, needed: bool) {
        if let Some(message) = line_problem(name, line, needed) {
            self.add_problem(None, message);
        }
    }

    fn check_record(&mut self, name: &str, text: &str) {
        self.check_line("name", name, true);
        if text.len() > RECORD_BYTES_MAX {
            let bytes = text.len();
            self.add_problem(
                None,
                format!("{name}: text of {bytes} bytes is over the limit of {RECORD_BYTES_MAX}"),
            );
        }
    }
}

fn line_problem(name: &str, line: &str, needed: bool) -> Option<String> {
    let bytes = line.len();
    if needed && line.is_empty() {
        Some(format!("{name}: must not be empty"))
    } else if bytes > LINE_BYTES_MAX {
        Some(format!("{name}: {bytes} bytes are over the limit of {LINE_BYTES_MAX}"))
    } else {
        line.contains('\0').then(|| format!("{name}: holds a NUL character"))
    }
}

/// Fills in item properties from fields where the item itself does not set them.
fn apply_implied_fields(item: &mut Item, kinds: &Kinds) {
    let implied = kinds.implied(&item.kind, &item.fields);
    item.active &= implied.active.unwrap_or(true);
    item.created = item.created.or(implied.created);
    item.updated = item.updated.or(implied.updated);
    item.confidence = item.confidence.or(implied.confidence.map(Score::unit));
}

fn prepare_item(item: &Item, kinds: &Kinds) -> PreparedItem {
    let text = kinds.searchable(&item.kind, &item.title, &item.body, &item.fields);
    let text = (text != item.body).then_some(text);
    let shown = text.as_deref().unwrap_or(&item.body);
    let sample = &shown[..shown.floor_char_boundary(LANGUAGE_BYTES)];
    let language = Language::detect(if sample.trim().is_empty() { &item.title } else { sample });
    let chunks = split_into_chunks(item, shown);
    PreparedItem {
        hash: item_hash(item),
        language,
        text,
        chunks,
        facts: kinds.facts(&item.kind, &item.fields),
        byline: kinds.byline(&item.kind, &item.fields),
        single: kinds.single(&item.kind),
    }
}

/// Splits a text into chunks; an item without text has one empty chunk, found by its title.
fn split_into_chunks(item: &Item, text: &str) -> Vec<PreparedChunk> {
    let limits = chunk_limits();
    let piece = |span: Span, lines: (u32, u32), headings: Vec<String>| {
        let body = span.slice(text).unwrap_or("");
        let hash = text_hash(&embedded_text(&item.title, &headings, body));
        let features = TextFeatures::new(body, &Encoding::O200k).to_bytes();
        let (vector, next_vector) = (None, None);
        PreparedChunk { span, lines, headings, hash, features, vector, next_vector }
    };
    // A token has at least one byte, so a text this short is always one chunk.
    if text.len() <= limits.target().get() as usize {
        let lines = u32::try_from(1 + text.trim_end().matches('\n').count()).unwrap_or(u32::MAX);
        return vec![piece(Span::whole(text), (1, lines), Vec::new())];
    }
    let format = match item.path.as_deref().map_or(Format::Plain, Format::of_path) {
        Format::Plain => Format::of_text(text),
        format => format,
    };
    let mut chunks: Vec<_> = chunk::chunk(text, format, &Encoding::O200k, limits)
        .into_iter()
        .map(|chunk| {
            let lines = (chunk.lines.start, chunk.lines.end.saturating_sub(1));
            piece(chunk.span, lines, chunk.headings)
        })
        .collect();
    if chunks.is_empty() {
        chunks.push(piece(Span::whole(text), (1, 1), Vec::new()));
    }
    chunks
}

/// The text to embed for a chunk: title, headings and body, so that the chunk makes sense out of
/// context.
pub(crate) fn embedded_text(title: &str, headings: &[String], body: &str) -> String {
    let mut text = String::with_capacity(title.len() + body.len() + 64);
    text.push_str(title);
    for heading in headings.iter().filter(|heading| heading.as_str() != title) {
        if !text.is_empty() {
            text.push_str(" > ");
        }
        text.push_str(heading);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(body);
    text
}

/// Embeds texts and encodes their vectors. An embedder that returns too few vectors, or vectors of
/// another length than its model's, has failed.
pub(crate) fn embed_texts(
    texts: &[&str],
    embedder: &dyn Embedder,
) -> Result<Vec<Vec<u8>>, EmbedError> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let (vectors, model) = (embedder.embed(texts)?, embedder.model());
    let wrong =
        |cause: String| EmbedError::NeverRetry { model: model.clone(), cause: cause.into() };
    let (given, expected) = (vectors.len(), texts.len());
    if given != expected {
        return Err(wrong(format!("the model returned {given} vectors for {expected} texts")));
    }
    let mut lengths = vectors.iter().map(|vector| vector.as_slice().len());
    if let Some(found) = lengths.find(|length| *length != model.dimensions) {
        let expected = model.dimensions;
        let cause = format!("the model returned a vector of {found} dimensions, not of {expected}");
        return Err(wrong(cause));
    }
    Ok(vectors.iter().map(Vector::to_half).collect())
}

/// The content hash of a text.
pub(crate) fn text_hash(text: &str) -> Hash {
    shorten_hash(&blake3::hash(text.as_bytes()))
}

/// The content hash of an item: an equal hash means that nothing changed, and a row that does not
/// match its hash is damaged.
pub(crate) fn item_hash(item: &Item) -> Hash {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    part(item.id.as_str());
    part(item.kind.as_str());
    part(&item.title);
    part(&item.body);
    part(&serde_json::Value::Object(item.fields.clone()).to_string());
    part(item.path.as_deref().unwrap_or("\0"));
    part(item.parent.as_ref().map_or("\0", |parent| parent.as_str()));
    let mut rest = String::new();
    let millis = |time: Option<haversack_core::units::Timestamp>| time.map(|at| at.as_millis());
    let confidence = item.confidence.map(|confidence| confidence.get().to_bits());
    // Writing to a string cannot fail.
    let _ = write!(
        rest,
        "{} {:?} {:?} {confidence:?} {} {}",
        item.position,
        millis(item.created),
        millis(item.updated),
        item.trust,
        item.active
    );
    part(&rest);
    match &item.readers {
        Readers::Inherit => part("inherit"),
        Readers::Only(principals) => {
            part("only");
            principals.iter().for_each(|principal| part(principal.as_str()));
        }
    }
    shorten_hash(&hasher.finalize())
}

fn shorten_hash(hash: &blake3::Hash) -> Hash {
    let mut short = Hash::default();
    short.copy_from_slice(&hash.as_bytes()[..16]);
    short
}

/// A tie-breaker for items of equal score that depends only on the id.
pub(crate) fn tie(id: &str) -> u64 {
    let mut tie = [0; 8];
    tie.copy_from_slice(&blake3::hash(id.as_bytes()).as_bytes()[..8]);
    u64::from_le_bytes(tie)
}

/// The embedder shared by all writing threads.
pub(crate) type SharedEmbedder = Arc<dyn Embedder>;
