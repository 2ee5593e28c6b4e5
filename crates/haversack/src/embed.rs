//! Embedding with a memory: the same text by the same model is embedded once (M5, P14), and vectors
//! that are not what their model says are refused before they are kept or searched for (M4).

use std::sync::Arc;
use std::time::Duration;

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use moka::sync::Cache;

/// How many vectors are remembered when nobody says otherwise: some ten megabytes.
const ENTRIES: u64 = 10_000;

/// How long, when nobody says otherwise.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// An embedder that remembers what it embedded. What is stored keeps its vectors for good, by
/// content, in the store; this is for questions.
#[derive(Debug)]
pub struct Remembering {
    inner: Arc<dyn Embedder>,
    known: Cache<[u8; 32], Vector>,
}

impl Remembering {
    /// Remembers some ten thousand texts for a day.
    #[must_use]
    pub fn new(inner: Arc<dyn Embedder>) -> Remembering {
        Remembering::bounded(inner, ENTRIES, KEPT)
    }

    /// Remembers so many texts for so long.
    #[must_use]
    pub fn bounded(inner: Arc<dyn Embedder>, entries: u64, kept: Duration) -> Remembering {
        let known = Cache::builder().max_capacity(entries).time_to_live(kept).build();
        Remembering { inner, known }
    }

    /// Vectors from whoever makes them, which must be as many as the texts and as long as promised.
    fn made(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        self.checked(self.inner.embed(texts)?, texts.len())
    }

    fn checked(&self, vectors: Vec<Vector>, asked: usize) -> Result<Vec<Vector>, EmbedError> {
        let model = self.inner.model();
        let wrong =
            |cause: String| EmbedError::NeverRetry { model: model.clone(), cause: cause.into() };
        let given = vectors.len();
        if given != asked {
            return Err(wrong(format!("{given} vectors came back for {asked} texts")));
        }
        let odd = vectors.iter().map(|vector| vector.as_slice().len());
        match odd.into_iter().find(|found| *found != model.dimensions) {
            Some(found) => Err(wrong(format!(
                "a vector of {found} dimensions came back, and the model says {}",
                model.dimensions
            ))),
            None => Ok(vectors),
        }
    }

    /// What is remembered under a key, or what is made now and kept under it.
    fn remembered(
        &self,
        key: [u8; 32],
        make: impl FnOnce() -> Result<Vec<Vector>, EmbedError>,
    ) -> Result<Vec<Vector>, EmbedError> {
        if let Some(vector) = self.known.get(&key) {
            return Ok(vec![vector]);
        }
        let vectors = make()?;
        if let [vector] = &vectors[..] {
            self.known.insert(key, vector.clone());
        }
        Ok(vectors)
    }

    /// Model, text and whether it is a question decide; nothing else does.
    fn key(&self, role: Role, text: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.inner.model().to_string().as_bytes());
        hasher.update(&[role as u8]);
        hasher.update(text.as_bytes());
        *hasher.finalize().as_bytes()
    }
}

/// What a text is to a model that tells questions from what answers them.
#[derive(Debug, Clone, Copy)]
enum Role {
    Text,
    Query,
}

impl Embedder for Remembering {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        // Many at once are an import, which the store remembers by itself.
        let text = match texts {
            [] => return Ok(Vec::new()),
            [text] => text,
            _ => return self.made(texts),
        };
        self.remembered(self.key(Role::Text, text), || self.made(texts))
    }

    fn embed_query(&self, query: &str) -> Result<Vector, EmbedError> {
        let make = || self.checked(vec![self.inner.embed_query(query)?], 1);
        let vectors = self.remembered(self.key(Role::Query, query), make)?;
        Ok(vectors.into_iter().next().expect("one vector was asked for, made and checked"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Writes down what it is asked, and answers with vectors of some length.
    #[derive(Debug)]
    struct Noting {
        model: Model,
        length: usize,
        asked: Mutex<Vec<String>>,
    }

    impl Noting {
        fn new(version: &str, length: usize) -> Arc<Noting> {
            let model =
                Model { name: "noting".to_owned(), version: version.to_owned(), dimensions: 4 };
            Arc::new(Noting { model, length, asked: Mutex::default() })
        }

        fn asked(&self) -> Vec<String> {
            self.asked.lock().unwrap().clone()
        }
    }

    impl Embedder for Noting {
        fn model(&self) -> &Model {
            &self.model
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
            let mut asked = self.asked.lock().unwrap();
            asked.extend(texts.iter().map(|text| (*text).to_owned()));
            let vector = || Vector::new(vec![1.0; self.length]).unwrap();
            Ok(texts.iter().map(|_| vector()).collect())
        }
    }

    #[test]
    fn a_text_is_embedded_once_by_each_model_m5() {
        let (one, two) = (Noting::new("1", 4), Noting::new("2", 4));
        let first = Remembering::new(Arc::clone(&one) as Arc<dyn Embedder>);
        for text in ["tea", "tea", "coffee", "tea"] {
            first.embed(&[text]).unwrap();
        }
        assert_eq!(one.asked(), ["tea", "coffee"]);
        assert!(first.embed(&[]).unwrap().is_empty());
        let second = Remembering::new(Arc::clone(&two) as Arc<dyn Embedder>);
        let keys = [&first, &second].map(|of| of.key(Role::Text, "tea"));
        assert_ne!(keys[0], keys[1], "another model, another vector");
    }

    #[test]
    fn a_question_is_remembered_apart_from_a_text_of_the_same_words_m4_m5() {
        let inner = Noting::new("1", 4);
        let remembering = Remembering::new(Arc::clone(&inner) as Arc<dyn Embedder>);
        for _ in 0..2 {
            remembering.embed(&["tea"]).unwrap();
            remembering.embed_query("tea").unwrap();
        }
        assert_eq!(inner.asked(), ["tea", "tea"], "a model may tell them apart");
        let odd = Remembering::new(Noting::new("1", 3));
        odd.embed_query("tea").unwrap_err();
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for_m5() {
        let inner = Noting::new("1", 4);
        let few = Remembering::bounded(
            Arc::clone(&inner) as Arc<dyn Embedder>,
            3,
            Duration::from_secs(60),
        );
        for n in 0..50 {
            few.embed(&[&format!("text {n}")]).unwrap();
        }
        few.known.run_pending_tasks();
        assert!(few.known.entry_count() <= 3, "{}", few.known.entry_count());
        let brief =
            Remembering::bounded(Arc::clone(&inner) as Arc<dyn Embedder>, 3, Duration::ZERO);
        brief.embed(&["tea"]).unwrap();
        brief.embed(&["tea"]).unwrap();
        assert_eq!(inner.asked().iter().filter(|text| *text == "tea").count(), 2, "its time is up");
    }

    #[test]
    fn vectors_of_another_length_are_refused_when_they_are_made_m4() {
        let odd = Remembering::new(Noting::new("1", 3));
        for texts in [&["tea"][..], &["tea", "coffee"]] {
            let error = odd.embed(texts).unwrap_err();
            let cause = std::error::Error::source(&error).unwrap().to_string();
            assert_eq!(cause, "a vector of 3 dimensions came back, and the model says 4");
        }
    }
}
