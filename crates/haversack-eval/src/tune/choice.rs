//! Chooses the best of several recipes and estimates its gain by cross-validation.

/// The objective by recipe and question. The first recipe is the unchanged one.
pub(super) struct Scores(pub(super) Vec<Vec<f64>>);

/// The best recipe and its estimated gain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CrossValidation {
    /// The best over all questions; 0 when none is better than the unchanged recipe.
    pub(super) best: usize,
    /// The mean over all questions, each scored by the recipe chosen on the other folds.
    pub(super) expected: f64,
    /// `expected` minus the mean of the unchanged recipe.
    pub(super) gain: f64,
    /// The standard error of the gain.
    pub(super) error: f64,
}

impl Scores {
    pub(super) fn mean(&self, recipe: usize) -> f64 {
        mean(self.0[recipe].iter().copied())
    }

    /// The best recipe over the questions that `counts` selects. Ties go to the first, so the
    /// unchanged recipe wins them.
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

    /// Chooses the best recipe over all questions, and cross-validates it with `folds` folds.
    pub(super) fn choose(&self, folds: usize) -> CrossValidation {
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
        CrossValidation {
            best: self.best(|_| true),
            expected: mean(held.iter().copied()),
            gain,
            error,
        }
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
    fn a_recipe_that_is_better_everywhere_is_chosen() {
        let scores = Scores(vec![vec![0.5; 20], vec![0.4; 20], vec![0.7; 20]]);
        let choice = scores.choose(5);
        assert_eq!(choice.best, 2);
        assert!((choice.gain - 0.2).abs() < 1e-9 && choice.error < 1e-9, "{choice:?}");
    }

    #[test]
    fn the_unchanged_recipe_wins_ties() {
        let choice = Scores(vec![vec![0.5; 20]; 3]).choose(5);
        assert_eq!((choice.best, choice.gain), (0, 0.0));
    }

    /// Each recipe is best by chance on one fold: one of them wins overall, but the cross-validated
    /// gain is negative.
    #[test]
    fn a_chance_gain_is_not_expected_again() {
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
