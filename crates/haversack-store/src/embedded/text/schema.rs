//! The schema of the index, and how texts become terms.

use haversack_core::text::names::key;
use haversack_core::text::terms::{Language, each_token};
use haversack_core::text::trigram::{Trigram, first_trigrams, trigrams};
use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{RawTokenizer, Token, TokenStream, Tokenizer, TokenizerManager};

use super::TextDocument;

/// A body with more distinct trigrams than this is never a fuzzy hit.
pub const BODY_TRIGRAMS_MAX: usize = 256;

/// The word fields, in the order in which their scores are summed.
pub(super) const N_FIELDS: usize = 3;

const WORDS: &str = "haversack_words";
const TRIGRAMS: &str = "haversack_trigrams";
const WHOLE: &str = "haversack_whole";

/// The names of a document's columns.
pub(super) const ROW: &str = "row";
pub(super) const CHUNK: &str = "chunk";
pub(super) const TIE: &str = "tie";
/// The number of distinct trigrams in title, path and body.
pub(super) const SIZES: [&str; N_FIELDS] = ["title_size", "path_size", "body_size"];

/// The fields of the index.
#[derive(Debug, Clone)]
pub(super) struct IndexFields {
    pub(super) schema: Schema,
    pub(super) row: Field,
    chunk: Field,
    tie: Field,
    /// Title, path and body by words.
    pub(super) words: [Field; N_FIELDS],
    /// Title, path and body by trigrams.
    pub(super) trigrams: [Field; N_FIELDS],
    sizes: [Field; N_FIELDS],
    /// The normalised title, on the first chunk only.
    pub(super) name: Field,
}

impl IndexFields {
    pub(super) fn new() -> IndexFields {
        let words = |record| {
            let indexing = TextFieldIndexing::default().set_tokenizer(WORDS);
            TextOptions::default().set_indexing_options(indexing.set_index_option(record))
        };
        let positions = words(IndexRecordOption::WithFreqsAndPositions);
        let basic = |tokenizer| {
            let indexing = TextFieldIndexing::default().set_tokenizer(tokenizer);
            let indexing = indexing.set_fieldnorms(false);
            let indexing = indexing.set_index_option(IndexRecordOption::Basic);
            TextOptions::default().set_indexing_options(indexing)
        };
        let mut schema = Schema::builder();
        let row = schema.add_u64_field(ROW, FAST | INDEXED);
        let chunk = schema.add_u64_field(CHUNK, FAST);
        let tie = schema.add_u64_field(TIE, FAST);
        let words =
            ["title", "path", "body"].map(|name| schema.add_text_field(name, positions.clone()));
        let trigrams = ["title_trigrams", "path_trigrams", "body_trigrams"]
            .map(|name| schema.add_text_field(name, basic(TRIGRAMS)));
        let sizes = SIZES.map(|name| schema.add_u64_field(name, FAST));
        let name = schema.add_text_field("name", basic(WHOLE));
        IndexFields { schema: schema.build(), row, chunk, tie, words, trigrams, sizes, name }
    }

    /// Converts a document for Tantivy. The indexing thread tokenises it later.
    pub(super) fn tantivy_document(&self, document: &TextDocument<'_>) -> TantivyDocument {
        let mut out = TantivyDocument::default();
        out.add_u64(self.row, u64::from(document.row.get()));
        out.add_u64(self.chunk, u64::from(document.chunk));
        out.add_u64(self.tie, document.tie);
        let [title, path, body] = self.words;
        let texts = [
            (title, document.title),
            (title, document.headings),
            (path, document.path),
            (body, document.body),
        ];
        let mut marked = String::new();
        for (field, text) in texts {
            if !text.is_empty() {
                prefix_language(document.language, text, &mut marked);
                out.add_text(field, &marked);
            }
        }
        if document.chunk == 0 {
            self.add_trigrams(0, &trigrams(document.title), &mut out);
            self.add_trigrams(1, &trigrams(document.path), &mut out);
            if let Some(key) = key(document.title) {
                out.add_text(self.name, key);
            }
        }
        let (body, more) = first_trigrams(document.body, BODY_TRIGRAMS_MAX);
        if !more {
            self.add_trigrams(2, &body, &mut out);
        }
        out
    }

    fn add_trigrams(&self, at: usize, trigrams: &[Trigram], out: &mut TantivyDocument) {
        if trigrams.is_empty() {
            return;
        }
        let packed: String = trigrams.iter().flat_map(|trigram| trigram.characters()).collect();
        out.add_text(self.trigrams[at], packed);
        out.add_u64(self.sizes[at], trigrams.len() as u64);
    }
}

/// The term under which a trigram is indexed.
pub(super) fn trigram_term(trigram: Trigram) -> String {
    trigram.characters().iter().collect()
}

/// The tokenizers of the index.
pub(super) fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::new();
    // Tantivy looks up this name for fields without text.
    manager.register("default", TrigramTokenizer::default());
    manager.register(WORDS, WordTokenizer::default());
    manager.register(TRIGRAMS, TrigramTokenizer::default());
    manager.register(WHOLE, RawTokenizer::default());
    manager
}

/// Prefixes a text with its language, because a tokenizer receives only the text.
fn prefix_language(language: Language, text: &str, marked: &mut String) {
    marked.clear();
    marked.push(char::from(b'A' + language as u8));
    marked.push_str(text);
}

fn split_language(marked: &str) -> (Language, &str) {
    let mut characters = marked.chars();
    let at = characters.next().map_or(0, |c| c as usize).wrapping_sub(usize::from(b'A'));
    (Language::ALL.get(at).copied().unwrap_or(Language::Other), characters.as_str())
}

/// Tokenises a text with a language prefix. Terms are pushed, not pulled.
#[derive(Debug, Clone, Default)]
struct WordTokenizer {
    token: Token,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = TermStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TermStream<'a> {
        TermStream { text, token: &mut self.token, words: true }
    }
}

/// Packed trigrams, three characters each.
#[derive(Debug, Clone, Default)]
struct TrigramTokenizer {
    token: Token,
}

impl Tokenizer for TrigramTokenizer {
    type TokenStream<'a> = TermStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TermStream<'a> {
        TermStream { text, token: &mut self.token, words: false }
    }
}

struct TermStream<'a> {
    text: &'a str,
    token: &'a mut Token,
    words: bool,
}

impl TokenStream for TermStream<'_> {
    fn advance(&mut self) -> bool {
        // Indexing uses `process` alone, and nothing else reads these streams.
        false
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }

    fn process(&mut self, sink: &mut dyn FnMut(&Token)) {
        let text = std::mem::take(&mut self.text);
        if self.words {
            let (language, text) = split_language(text);
            each_token(text, language, |token| {
                if let Some(term) = token.term {
                    self.token.text.clear();
                    self.token.text.push_str(term);
                    self.token.position = token.position as usize;
                    sink(self.token);
                }
            });
            return;
        }
        // A new token has no valid position.
        self.token.position = 0;
        let mut rest = text;
        while let Some((end, last)) = rest.char_indices().nth(2) {
            let (trigram, after) = rest.split_at(end + last.len_utf8());
            self.token.text.clear();
            self.token.text.push_str(trigram);
            sink(self.token);
            rest = after;
        }
    }
}
