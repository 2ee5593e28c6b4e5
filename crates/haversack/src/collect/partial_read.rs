//! Notices of collectors that stop at a limit: how much they read of how much there is.

use serde_json::json;

use crate::notice::{Notice, NoticeCode};

/// How many items the viewer could read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Total {
    /// This many.
    Exactly(usize),
    /// This many or more: counting stopped, too.
    AtLeast(usize),
}

impl Total {
    /// A count that stopped at a bound.
    pub(super) const fn capped_at(count: usize, bound: usize) -> Total {
        if count >= bound { Total::AtLeast(count) } else { Total::Exactly(count) }
    }
}

/// Returns a notice about what a collector did not read, or none if it read everything.
pub(super) fn partial_read_notice(
    by: &str,
    read: usize,
    total: Total,
    what: &str,
) -> Option<Notice> {
    let (count, or_more, is_exact) = match total {
        Total::Exactly(count) => (count, "", true),
        Total::AtLeast(count) => (count.max(read), " or more", false),
    };
    if is_exact && count <= read {
        return None;
    }
    let message = format!("{read} of {count}{or_more} {what} were read");
    let details = json!({ "collector": by, "read": read, "total": count, "exact": is_exact });
    Some(Notice { details, ..Notice::new(NoticeCode::MoreMatches, message) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_says_how_much_of_how_much_was_read() {
        let message = |read, total| {
            partial_read_notice("focus", read, total, "blocks").map(|notice| notice.message)
        };
        assert_eq!(message(120, Total::Exactly(120)), None);
        let exact = message(50, Total::Exactly(120)).unwrap();
        assert_eq!(exact, "50 of 120 blocks were read");
        let capped = message(50, Total::capped_at(1_000, 1_000)).unwrap();
        assert_eq!(capped, "50 of 1000 or more blocks were read");
    }
}
