//! What the index holds of a document, and how its texts become terms.

use haversack_core::text::names::key;
use haversack_core::text::terms::{Language, each_token};
use haversack_core::text::trigram::{Trigram, first_trigrams, trigrams};
use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{RawTokenizer, Token, TokenStream, Tokenizer, TokenizerManager};

use super::Document;

/// A body with more distinct trigrams than this is never a fuzzy hit.
pub const BODY_TRIGRAMS_MAX: usize = 256;

/// Fields of words, in the order in which their parts of a score are summed.
pub(super) const N_FIELDS: usize = 3;

const WORDS: &str = "haversack_words";
const TRIGRAMS: &str = "haversack_trigrams";
const WHOLE: &str = "haversack_whole";

/// The columns of a document, by name, because Tantivy opens them so.
pub(super) const ROW: &str = "row";
pub(super) const CHUNK: &str = "chunk";
pub(super) const TIE: &str = "tie";
/// How many distinct trigrams title, path and body have.
pub(super) const SIZES: [&str; N_FIELDS] = ["title_size", "path_size", "body_size"];

/// The fields of the index.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    pub(super) schema: Schema,
    pub(super) row: Field,
    chunk: Field,
    tie: Field,
    /// Title, path and body by words.
    pub(super) words: [Field; N_FIELDS],
    /// Title, path and body by trigrams.
    pub(super) trigrams: [Field; N_FIELDS],
    sizes: [Field; N_FIELDS],
    /// The title's key, of the first chunk alone.
    pub(super) name: Field,
}

impl Fields {
    pub(super) fn new() -> Fields {
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
        Fields { schema: schema.build(), row, chunk, tie, words, trigrams, sizes, name }
    }

    /// A document as Tantivy takes it. The words are taken apart later, by the indexing thread.
    pub(super) fn document(&self, document: &Document<'_>) -> TantivyDocument {
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
                mark(document.language, text, &mut marked);
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

/// How texts of the index are taken apart.
pub(super) fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::new();
    // Tantivy asks for one by this name on behalf of fields that hold no text.
    manager.register("default", Trigrams::default());
    manager.register(WORDS, Words::default());
    manager.register(TRIGRAMS, Trigrams::default());
    manager.register(WHOLE, RawTokenizer::default());
    manager
}

/// Puts the language in front of a text: a tokenizer is told nothing else.
fn mark(language: Language, text: &str, marked: &mut String) {
    marked.clear();
    marked.push(char::from(b'A' + language as u8));
    marked.push_str(text);
}

fn unmark(marked: &str) -> (Language, &str) {
    let mut characters = marked.chars();
    let at = characters.next().map_or(0, |c| c as usize).wrapping_sub(usize::from(b'A'));
    (Language::ALL.get(at).copied().unwrap_or(Language::Other), characters.as_str())
}

/// The terms of a marked text, pushed rather than pulled.
#[derive(Debug, Clone, Default)]
struct Words {
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        Stream { text, token: &mut self.token, words: true }
    }
}

/// Packed trigrams, three characters each.
#[derive(Debug, Clone, Default)]
struct Trigrams {
    token: Token,
}

impl Tokenizer for Trigrams {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        Stream { text, token: &mut self.token, words: false }
    }
}

struct Stream<'a> {
    text: &'a str,
    token: &'a mut Token,
    words: bool,
}

impl TokenStream for Stream<'_> {
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
            let (language, text) = unmark(text);
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
        // A new token stands at no position at all.
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
