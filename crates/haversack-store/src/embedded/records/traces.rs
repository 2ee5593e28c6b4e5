//! Usage totals by node, now and at an earlier moment.
//!
//! Totals are kept forever; the oldest events are deleted. A total at a moment is the present total
//! minus the events since, which is exact as long as those are kept. The caller checks visibility
//! node by node.

use haversack_core::units::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::storage;
use crate::store::error::ReadError;
use crate::store::item::EventKind;

/// Events of a user within a period, the latest first.
const KEPT: &str = "SELECT node, at FROM events WHERE user = ?1 AND happening = ?2 \
    AND at BETWEEN ?3 AND ?4 ORDER BY at DESC";

/// The number of events after a moment.
const LATER: &str = "SELECT count(*) FROM events WHERE node = ?1 AND happening = ?2 AND at > ?3 \
    AND (?4 IS NULL OR user = ?4)";

/// The last event up to a moment.
const LAST: &str = "SELECT at FROM events WHERE node = ?1 AND happening = ?2 AND at <= ?3 \
    AND (?4 IS NULL OR user = ?4) ORDER BY at DESC LIMIT 1";

/// How often one type of event happened to a node, and when last.
#[derive(Debug, Clone)]
pub(crate) struct NodeUsage {
    pub(crate) node: i64,
    pub(crate) event_kind: EventKind,
    pub(crate) count: u64,
    pub(crate) last: Timestamp,
}

/// A period with inclusive bounds; the end may be open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActivityPeriod {
    pub(crate) since: Timestamp,
    pub(crate) until: Option<Timestamp>,
}

/// The end of a period in milliseconds.
fn end_millis(until: Option<Timestamp>) -> i64 {
    until.map_or(i64::MAX, Timestamp::as_millis)
}

/// A source of a user's activity.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ActivitySource {
    /// Totals whose last event is within the period.
    Noted,
    /// Kept events: the last one may be after the period.
    Kept,
    /// Versions they wrote: writing an item counts as editing it.
    Written,
}

impl ActivitySource {
    /// All of them.
    pub(crate) const ALL: [ActivitySource; 3] =
        [ActivitySource::Noted, ActivitySource::Kept, ActivitySource::Written];
}

/// Calls `visit` with the nodes of a user's events within a period and their times, the latest
/// first, until it returns false. A node may repeat.
pub(crate) fn each_recent_node(
    connection: &Connection,
    (user, trail): (&str, ActivitySource),
    (event_kind, within): (EventKind, ActivityPeriod),
    mut visit: impl FnMut(i64, i64) -> bool,
) -> Result<(), ReadError> {
    let sql = match (trail, within.until) {
        (ActivitySource::Noted, _) => {
            "SELECT node, last FROM usage WHERE user = ?1 AND happening = ?2 \
             AND last BETWEEN ?3 AND ?4 ORDER BY last DESC"
        }
        (ActivitySource::Kept, Some(_)) => KEPT,
        // Without an end the totals are complete.
        (ActivitySource::Kept, None) => return Ok(()),
        (ActivitySource::Written, _) => {
            "SELECT i.node, c.at FROM items i JOIN commits c ON c.revision = i.born \
             WHERE i.author = ?1 AND ?2 = 'edited' AND c.at BETWEEN ?3 AND ?4 ORDER BY i.born DESC"
        }
    };
    let mut walk = || -> rusqlite::Result<()> {
        let (since, until) = (within.since.as_millis(), end_millis(within.until));
        let mut statement = connection.prepare_cached(sql)?;
        let mut lines = statement.query(params![user, event_kind.as_str(), since, until])?;
        while let Some(line) = lines.next()? {
            if !visit(line.get(0)?, line.get(1)?) {
                break;
            }
        }
        Ok(())
    };
    walk().map_err(storage)
}

/// A user's events on a node up to the end of a period; `None` if the last was before its start.
pub(crate) fn user_activity(
    connection: &Connection,
    node: i64,
    user: &str,
    (event_kind, within): (EventKind, ActivityPeriod),
) -> Result<Option<NodeUsage>, ReadError> {
    let read = || -> rusqlite::Result<Option<NodeUsage>> {
        let sum = connection
            .prepare_cached(
                "SELECT count, last FROM usage WHERE node = ?1 AND user = ?2 AND happening = ?3",
            )?
            .query_row(params![node, user, event_kind.as_str()], |line| {
                let last = Timestamp::from_millis(line.get(1)?);
                Ok(NodeUsage { node, event_kind, count: line.get(0)?, last })
            })
            .optional()?;
        let noted = match sum {
            Some(sum) => total_at(connection, sum, Some(user), within.until)?,
            None => None,
        };
        let noted = noted.filter(|noted| noted.last >= within.since);
        let written: (u64, Option<i64>) = connection
            .prepare_cached(
                "SELECT count(*), max(c.at) FROM items i JOIN commits c ON c.revision = i.born \
                 WHERE i.node = ?1 AND i.author = ?2 AND ?3 = 'edited' AND c.at BETWEEN ?4 AND ?5",
            )?
            .query_row(
                params![
                    node,
                    user,
                    event_kind.as_str(),
                    within.since.as_millis(),
                    end_millis(within.until)
                ],
                |line| Ok((line.get(0)?, line.get(1)?)),
            )?;
        let count = noted.as_ref().map_or(0, |noted| noted.count) + written.0;
        let last = noted.map(|noted| noted.last).max(written.1.map(Timestamp::from_millis));
        Ok(last.map(|last| NodeUsage { node, event_kind, count, last }))
    };
    read().map_err(storage)
}

/// The events on a node up to a moment, by one user or by all.
pub(crate) fn activity_totals(
    connection: &Connection,
    node: i64,
    user: Option<&str>,
    until: Option<Timestamp>,
) -> Result<Vec<NodeUsage>, ReadError> {
    let read = || -> rusqlite::Result<Vec<NodeUsage>> {
        let mut statement = connection.prepare_cached(
            "SELECT happening, sum(count), max(last) FROM usage \
             WHERE node = ?1 AND (?2 IS NULL OR user = ?2) GROUP BY happening ORDER BY happening",
        )?;
        let mut traces = Vec::new();
        let mut lines = statement.query(params![node, user])?;
        while let Some(line) = lines.next()? {
            if let Some(event_kind) = EventKind::from_name(line.get_ref(0)?.as_str()?) {
                let last = Timestamp::from_millis(line.get(2)?);
                let sum = NodeUsage { node, event_kind, count: line.get(1)?, last };
                traces.extend(total_at(connection, sum, user, until)?);
            }
        }
        Ok(traces)
    };
    read().map_err(storage)
}

/// A total at a moment; `None` if there were no events yet.
fn total_at(
    connection: &Connection,
    sum: NodeUsage,
    user: Option<&str>,
    until: Option<Timestamp>,
) -> rusqlite::Result<Option<NodeUsage>> {
    let Some(until) = until.filter(|until| sum.last > *until) else { return Ok(Some(sum)) };
    let values = params![sum.node, sum.event_kind.as_str(), until.as_millis(), user];
    let later: u64 = connection.prepare_cached(LATER)?.query_row(values, |line| line.get(0))?;
    let count = sum.count.saturating_sub(later);
    if count == 0 {
        return Ok(None);
    }
    let last: Option<i64> =
        connection.prepare_cached(LAST)?.query_row(values, |line| line.get(0)).optional()?;
    let last = match last {
        Some(last) => Timestamp::from_millis(last),
        // It is no longer kept, so it is older than every kept event.
        None => oldest_event(connection)?.map_or(until, |oldest| oldest.min(until)),
    };
    Ok(Some(NodeUsage { count, last, ..sum }))
}

/// The time of the oldest kept event.
fn oldest_event(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    connection
        .prepare_cached("SELECT at FROM events ORDER BY event LIMIT 1")?
        .query_row([], |line| line.get(0).map(Timestamp::from_millis))
        .optional()
}

#[cfg(test)]
mod tests {
    use haversack_core::ids::ItemId;

    use super::super::{schema, usage};
    use super::*;
    use crate::store::item::Event;

    const NODE: i64 = 1;

    const fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// One view at each of these times, by two users in turn.
    fn viewed(times: &[i64]) -> Connection {
        let connection = schema::open_in_memory();
        connection.execute("INSERT INTO nodes (node, id) VALUES (1, 'a')", []).unwrap();
        for (millis, user) in times.iter().zip(["anna", "bob"].into_iter().cycle()) {
            let (item, event_kind) = (ItemId::new("a").unwrap(), EventKind::Viewed);
            let event = Event { item, user: user.to_owned(), event_kind, at: at(*millis) };
            usage::record_event(&connection, NODE, &event).unwrap();
        }
        connection
    }

    /// Count and last time of the views up to a moment.
    fn up_to(connection: &Connection, user: Option<&str>, until: i64) -> Option<(u64, i64)> {
        let traces = activity_totals(connection, NODE, user, Some(at(until))).unwrap();
        traces.first().map(|trace| (trace.count, trace.last.as_millis()))
    }

    #[test]
    fn a_total_stays_right_after_its_events_are_deleted() {
        let connection = viewed(&[10, 20, 30, 40, 50]);
        assert_eq!(up_to(&connection, None, 35), Some((3, 30)));
        connection.execute("DELETE FROM events WHERE at <= 20", []).unwrap();
        assert_eq!(up_to(&connection, None, 35), Some((3, 30)));
        assert_eq!(up_to(&connection, Some("bob"), 35), Some((1, 30)), "no later than the oldest");
        assert_eq!(up_to(&connection, None, 25), Some((2, 25)));
        assert_eq!(up_to(&connection, None, 99), Some((5, 50)));
        connection.execute("DELETE FROM events WHERE at <= 45", []).unwrap();
        let within = ActivityPeriod { since: at(0), until: Some(at(49)) };
        let anna =
            user_activity(&connection, NODE, "anna", (EventKind::Viewed, within)).unwrap().unwrap();
        assert_eq!((anna.count, anna.last), (2, at(49)));
    }

    #[test]
    fn events_may_arrive_out_of_order() {
        let connection = viewed(&[50, 10, 30, 20, 40]);
        assert_eq!(up_to(&connection, None, 9), None);
        assert_eq!(up_to(&connection, None, 30), Some((3, 30)));
        assert_eq!(up_to(&connection, Some("anna"), 30), Some((1, 30)));
        assert_eq!(up_to(&connection, Some("bob"), 15), Some((1, 10)));
    }

    #[test]
    fn usage_at_a_moment_uses_covering_indexes() {
        let connection = schema::open_in_memory();
        for (sql, index) in
            [(LATER, "events_by_node"), (LAST, "events_by_node"), (KEPT, "events_by_user")]
        {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let lines = statement.query_map(params![1, 2, 3, 4], |line| line.get(3)).unwrap();
            let plan = lines.collect::<rusqlite::Result<Vec<String>>>().unwrap().join("\n");
            assert!(plan.contains(&format!("COVERING INDEX {index}")), "{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
