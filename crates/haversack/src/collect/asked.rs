//! Searches of one question, each made once, however many layers ask for it.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use haversack_store::store::error::ReadError;
use haversack_store::store::query::{Filter, FuzzySearch, Hit, TextSearch};
use tokio::sync::OnceCell;

/// What was searched for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Asked {
    /// By words.
    Text(TextSearch),
    /// By the question's own vector, among these, so many.
    Vector(Filter, usize),
    /// By spelling.
    Fuzzy(FuzzySearch),
}

type Answer = Arc<OnceCell<Arc<[Hit]>>>;

/// The searches of one question and what they found. Clones share them.
///
/// A snapshot does not change, so the same search finds the same; and what a search finds is for
/// the one viewer that the question is asked by.
#[derive(Debug, Clone, Default)]
pub struct Searches {
    known: Arc<Mutex<Vec<(Asked, Answer)>>>,
    /// How many hits are wanted at most of a search by words and meaning, by filter.
    reaches: Vec<(Filter, usize)>,
}

impl Searches {
    /// Layers that search among the same items share one search, as far-reaching as the farthest
    /// of them needs.
    pub(super) fn reaching(wanted: impl IntoIterator<Item = (Filter, usize)>) -> Searches {
        let mut reaches: Vec<(Filter, usize)> = Vec::new();
        for (filter, reach) in wanted {
            match reaches.iter_mut().find(|(known, _)| *known == filter) {
                Some((_, known)) => *known = reach.max(*known),
                None => reaches.push((filter, reach)),
            }
        }
        Searches { known: Arc::default(), reaches }
    }

    /// How many hits to ask for, when so many are wanted here.
    pub(super) fn reach(&self, filter: &Filter, wanted: usize) -> usize {
        let planned = self.reaches.iter().find(|(known, _)| known == filter);
        planned.map_or(wanted, |(_, reach)| wanted.max(*reach))
    }

    /// What a search found, or finds now. One that fails is made again by whoever asks next.
    pub(super) async fn once(
        &self,
        asked: Asked,
        search: impl Future<Output = Result<Vec<Hit>, ReadError>>,
    ) -> Result<Arc<[Hit]>, ReadError> {
        let answer = self.answer(asked);
        let hits = answer.get_or_try_init(|| async { search.await.map(Arc::from) }).await?;
        Ok(Arc::clone(hits))
    }

    fn answer(&self, asked: Asked) -> Answer {
        // What is guarded is whole after every statement.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, answer)) = known.iter().find(|(known, _)| *known == asked) {
            return Arc::clone(answer);
        }
        let answer = Answer::default();
        known.push((asked, Arc::clone(&answer)));
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn a_search_is_made_once_unless_it_failed() {
        let made = Cell::new(0);
        let searches = Searches::reaching([(Filter::default(), 100), (Filter::default(), 500)]);
        let search = async |asked: Asked, fails: bool| {
            let work = async {
                made.set(made.get() + 1);
                if fails {
                    return Err(ReadError::invalid("limit", "is too large"));
                }
                Ok(Vec::new())
            };
            searches.clone().once(asked, work).await.is_ok()
        };
        let asked = |limit| Asked::Vector(Filter::default(), limit);
        assert!(!search(asked(1), true).await);
        assert!(search(asked(1), false).await);
        assert!(search(asked(1), true).await, "what was found is given again");
        assert_eq!(made.get(), 2);
        assert!(search(asked(2), false).await);
        assert_eq!(made.get(), 3);
        assert_eq!(searches.reach(&Filter::default(), 7), 500);
        assert_eq!(searches.reach(&Filter::everything(), 7), 7);
    }
}
