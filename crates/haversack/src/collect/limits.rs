//! What collectors say when they stop at a limit: how much they read of how much there is.

use serde_json::json;

use crate::notice::{Notice, NoticeCode};

/// How much there is to read, as far as the asker can read it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Total {
    /// So much.
    Exactly(usize),
    /// So much or more: counting stopped, too.
    AtLeast(usize),
}

impl Total {
    /// A number that was counted up to a bound.
    pub(super) const fn up_to(count: usize, bound: usize) -> Total {
        if count >= bound { Total::AtLeast(count) } else { Total::Exactly(count) }
    }
}

/// Word of what a collector left unread; none when it read everything.
pub(super) fn left_unread(by: &str, read: usize, total: Total, what: &str) -> Option<Notice> {
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
    fn what_is_left_unread_is_told_in_numbers() {
        let message =
            |read, total| left_unread("focus", read, total, "blocks").map(|notice| notice.message);
        assert_eq!(message(120, Total::Exactly(120)), None);
        let said = message(50, Total::Exactly(120)).unwrap();
        assert_eq!(said, "50 of 120 blocks were read");
        let said = message(50, Total::up_to(1_000, 1_000)).unwrap();
        assert_eq!(said, "50 of 1000 or more blocks were read");
    }
}
