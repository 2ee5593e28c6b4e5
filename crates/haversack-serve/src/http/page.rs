//! Pages of lists of names.

use super::items::{PAGE, PAGE_MAX};
use crate::call::Call;
use crate::problem::ApiProblem;

/// The parameters of a page: `after` and `limit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageParams {
    pub(crate) after: Option<String>,
    pub(crate) limit: usize,
}

impl PageParams {
    pub(crate) fn from_call(call: &Call) -> Result<PageParams, ApiProblem> {
        let limit = call.count("limit", PAGE, PAGE_MAX)?;
        Ok(PageParams { after: call.query.get("after").cloned(), limit })
    }

    /// Cuts the page out of all names, and returns the `after` of the next one.
    pub(crate) fn take_page(&self, mut names: Vec<String>) -> (Vec<String>, Option<String>) {
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
            let (names, found) = PageParams { after, limit }.take_page(names);
            assert_eq!((names.concat().as_str(), found.as_deref().unwrap_or("")), (expected, next));
        };
        check("", 2, "ab", "b");
        check("", 3, "abc", "");
        check("b", 2, "c", "");
        check("aa", 1, "b", "b");
        check("z", 1, "", "");
    }
}
