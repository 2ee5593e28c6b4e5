//! Usage and recent activity of the items that a viewer may see.

use std::collections::BTreeSet;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use rusqlite::Connection;

use super::records::lookup;
use super::records::traces::{self, ActivityPeriod, ActivitySource, NodeUsage};
use super::view::{View, check_limit};
use crate::store::error::ReadError;
use crate::store::item::EventKind;
use crate::store::query::Usage;

impl View {
    fn usage_of(
        &self,
        connection: &Connection,
        trace: &NodeUsage,
    ) -> Result<Option<Usage>, ReadError> {
        let Some(row) = self.visible_row_of(connection, trace.node)? else { return Ok(None) };
        let item = lookup::id_of(connection, row)?;
        let (event_kind, count, last) = (trace.event_kind, trace.count, trace.last);
        Ok(item.map(|item| Usage { item, event_kind, count, last }))
    }

    /// A number that changes with every event on an item that the viewer can read, except
    /// [`EventKind::Used`]. It is fixed when the view is taken and only valid in this process.
    #[must_use]
    pub const fn activity(&self) -> u64 {
        self.activity
    }

    /// Items that a user viewed, edited or used within a period, the latest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn recent(
        &self,
        user: &str,
        event_kind: EventKind,
        since: Timestamp,
        until: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<Usage>, ReadError> {
        check_limit(limit)?;
        let asked = (event_kind, ActivityPeriod { since, until });
        self.read(|connection| {
            // The latest over all sources are among the latest of each source.
            let mut nodes = BTreeSet::new();
            for trail in ActivitySource::ALL {
                let (mut visible, mut last, mut failed) = (BTreeSet::new(), i64::MAX, None);
                let mut hidden = BTreeSet::new();
                traces::each_recent_node(connection, (user, trail), asked, |node, at| {
                    // Events of equal time are read completely before they are ordered.
                    if visible.len() >= limit && at != last {
                        return false;
                    }
                    if visible.contains(&node) || hidden.contains(&node) {
                        return true;
                    }
                    match self.visible_row_of(connection, node) {
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
                if let Some(trace) = traces::user_activity(connection, node, user, asked)? {
                    found.extend(self.usage_of(connection, &trace)?);
                }
            }
            found.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.item.cmp(&b.item)));
            found.truncate(limit);
            Ok(found)
        })
    }

    /// Event counts of items up to a moment, by one user or by all when `None`.
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
                let Some(node) = lookup::node_of(connection, id)? else { continue };
                for trace in traces::activity_totals(connection, node, user, until)? {
                    found.extend(self.usage_of(connection, &trace)?);
                }
            }
            Ok(found)
        })
    }
}
