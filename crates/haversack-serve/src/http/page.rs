//! Lists of names, a page at a time.

use super::items::{PAGE, PAGE_MAX};
use crate::call::Call;
use crate::problem::Problem;

/// Which page is asked for: `after` and `limit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) after: Option<String>,
    pub(crate) limit: usize,
}

impl Asked {
    pub(crate) fn of(call: &Call) -> Result<Asked, Problem> {
        let limit = call.count("limit", PAGE, PAGE_MAX)?;
        Ok(Asked { after: call.query.get("after").cloned(), limit })
    }

    /// The page of these names, in order, and what the next one comes after.
    pub(crate) fn page(&self, mut names: Vec<String>) -> (Vec<String>, Option<String>) {
        names.retain(|name| self.after.as_ref().is_none_or(|after| name > after));
        names.sort_unstable();
        names.dedup();
        let more = names.len() > self.limit;
        names.truncate(self.limit);
        let next = names.last().filter(|_| more).cloned();
        (names, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_and_the_last_has_no_next() {
        let check = |after: &str, limit: usize, expected: &str, next: &str| {
            let after = Some(after.to_owned()).filter(|after| !after.is_empty());
            let names = ["c", "a", "b", "a"].map(str::to_owned).into();
            let (names, found) = Asked { after, limit }.page(names);
            assert_eq!((names.concat().as_str(), found.as_deref().unwrap_or("")), (expected, next));
        };
        check("", 2, "ab", "b");
        check("", 3, "abc", "");
        check("b", 2, "c", "");
        check("aa", 1, "b", "b");
        check("z", 1, "", "");
    }
}
