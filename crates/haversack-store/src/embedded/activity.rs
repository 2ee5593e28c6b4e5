//! What happened to the items that a viewer may see.

use std::collections::BTreeSet;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use rusqlite::Connection;

use super::records::lookup;
use super::records::traces::{self, Trace, Trail, Within};
use super::view::{View, check_limit};
use crate::store::error::ReadError;
use crate::store::item::Happening;
use crate::store::query::Usage;

impl View {
    fn usage_of(&self, connection: &Connection, trace: &Trace) -> Result<Option<Usage>, ReadError> {
        let Some(row) = self.row_of(connection, trace.node)? else { return Ok(None) };
        let item = lookup::id_of(connection, row)?;
        let (happening, count, last) = (trace.happening, trace.count, trace.last);
        Ok(item.map(|item| Usage { item, happening, count, last }))
    }

    /// A number that is another one as soon as an event was noted of something that the viewer can
    /// read, but for [`Happening::Used`]. It is read when the view is taken, and means nothing to
    /// another process.
    #[must_use]
    pub const fn activity(&self) -> u64 {
        self.activity
    }

    /// What a user viewed, edited or used since a moment and up to another, the latest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn recent(
        &self,
        user: &str,
        happening: Happening,
        since: Timestamp,
        until: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<Usage>, ReadError> {
        check_limit(limit)?;
        let asked = (happening, Within { since, until });
        self.read(|connection| {
            // The latest of all trails together are among the latest of each.
            let mut nodes = BTreeSet::new();
            for trail in Trail::ALL {
                let (mut visible, mut last, mut failed) = (BTreeSet::new(), i64::MAX, None);
                let mut hidden = BTreeSet::new();
                traces::each_recent(connection, (user, trail), asked, |node, at| {
                    // All of one time have to be seen before they can be ordered.
                    if visible.len() >= limit && at != last {
                        return false;
                    }
                    if visible.contains(&node) || hidden.contains(&node) {
                        return true;
                    }
                    match self.row_of(connection, node) {
                        Ok(Some(_)) => (last, _) = (at, visible.insert(node)),
                        Ok(None) => _ = hidden.insert(node),
                        Err(error) => failed = Some(error),
                    }
                    failed.is_none()
                })?;
                if let Some(error) = failed {
                    return Err(error);
                }
                nodes.extend(visible);
            }
            let mut found = Vec::new();
            for node in nodes {
                if let Some(trace) = traces::trace(connection, node, user, asked)? {
                    found.extend(self.usage_of(connection, &trace)?);
                }
            }
            found.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.item.cmp(&b.item)));
            found.truncate(limit);
            Ok(found)
        })
    }

    /// What happened to items up to a moment at the hand of one user, or of all when `None`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn usage(
        &self,
        ids: &[ItemId],
        user: Option<&str>,
        until: Option<Timestamp>,
    ) -> Result<Vec<Usage>, ReadError> {
        self.read(|connection| {
            let mut found = Vec::new();
            for id in ids {
                let Some(node) = lookup::node(connection, id)? else { continue };
                for trace in traces::traces(connection, node, user, until)? {
                    found.extend(self.usage_of(connection, &trace)?);
                }
            }
            Ok(found)
        })
    }
}
