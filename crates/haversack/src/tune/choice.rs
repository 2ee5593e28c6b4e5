//! Which of several recipes answers best, and how sure that is: by questions that did not help to
//! choose it.

/// The objective by recipe and question: the first recipe is the one that is tuned.
pub(super) struct Scores(pub(super) Vec<Vec<f64>>);

/// What cross-validation says of choosing the best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// The best over all questions; 0 when none is better than the recipe as it is.
    pub(super) best: usize,
    /// The mean of what was chosen by other questions, over all questions.
    pub(super) expected: f64,
    /// How much more that is than the recipe as it is has.
    pub(super) gain: f64,
    /// The standard error of that.
    pub(super) error: f64,
}

impl Scores {
    pub(super) fn mean(&self, recipe: usize) -> f64 {
        mean(self.0[recipe].iter().copied())
    }

    /// The best over the questions for which `counts` says so; of equals the first, and so the
    /// recipe as it is before any other.
    fn best(&self, counts: impl Fn(usize) -> bool) -> usize {
        let mut best = (0, f64::NEG_INFINITY);
        for (recipe, scores) in self.0.iter().enumerate() {
            let own = scores.iter().enumerate().filter(|(question, _)| counts(*question));
            let mean = mean(own.map(|(_, score)| *score));
            if mean > best.1 + 1e-9 {
                best = (recipe, mean);
            }
        }
        best.0
    }

    /// Chooses over all questions; and for each of `folds` parts over all others, to see what that
    /// way of choosing is worth on questions that it has not seen.
    pub(super) fn choose(&self, folds: usize) -> Choice {
        let as_is = &self.0[0];
        let mut held = vec![0.0; as_is.len()];
        for fold in 0..folds {
            let is_held = |question: usize| question % folds == fold;
            let chosen = self.best(|question| !is_held(question));
            for question in (0..held.len()).filter(|question| is_held(*question)) {
                held[question] = self.0[chosen][question];
            }
        }
        let gains = held.iter().zip(as_is).map(|(held, as_is)| held - as_is);
        let gain = mean(gains.clone());
        let n = as_is.len() as f64;
        let variance = gains.map(|one| (one - gain).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let error = (variance / n).sqrt();
        Choice { best: self.best(|_| true), expected: mean(held.iter().copied()), gain, error }
    }
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_better_everywhere_is_chosen_and_expected() {
        let scores = Scores(vec![vec![0.5; 20], vec![0.4; 20], vec![0.7; 20]]);
        let choice = scores.choose(5);
        assert_eq!(choice.best, 2);
        assert!((choice.gain - 0.2).abs() < 1e-9 && choice.error < 1e-9, "{choice:?}");
    }

    #[test]
    fn of_equals_the_recipe_stays() {
        let choice = Scores(vec![vec![0.5; 20]; 3]).choose(5);
        assert_eq!((choice.best, choice.gain), (0, 0.0));
    }

    /// Each recipe is best by luck on one part: over all one of them wins, on what it has not seen
    /// none does, and that is what is told.
    #[test]
    fn luck_is_not_expected_again() {
        let lucky = |part: usize, by: f64| -> Vec<f64> {
            (0..20).map(|question| if question % 5 == part { 0.5 + by } else { 0.49 }).collect()
        };
        let mut all = vec![vec![0.5; 20]];
        all.extend((0..5).map(|part| lucky(part, 0.2)));
        let choice = Scores(all).choose(5);
        assert!(choice.best > 0);
        assert!(choice.gain < 0.0, "{choice:?}");
    }
}
