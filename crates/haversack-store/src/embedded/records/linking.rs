//! Adding and removing links, with their seals.

use rusqlite::params;

use super::write::{BatchWriter, WriteResult};
use crate::embedded::seals;
use crate::store::item::Link;

impl BatchWriter<'_> {
    pub(super) fn link(&mut self, link: &Link) -> WriteResult<()> {
        self.check_readable(&link.from)?;
        self.check_readable(&link.to)?;
        let (source, target) = (self.node_or_insert(&link.from)?, self.node_or_insert(&link.to)?);
        let added = self
            .connection
            .prepare_cached(
                "INSERT INTO links (source, target, sort, born) SELECT ?1, ?2, ?3, ?4 \
                 WHERE NOT EXISTS (SELECT 1 FROM links WHERE source = ?1 AND target = ?2 \
                 AND sort = ?3 AND died IS NULL)",
            )?
            .execute(params![source, target, link.link_type, self.revision.get()])?;
        self.record_link_change(link, (source, target), added > 0, true)
    }

    pub(super) fn unlink(&mut self, link: &Link) -> WriteResult<()> {
        self.check_readable(&link.from)?;
        self.check_readable(&link.to)?;
        let (source, target) = (self.node_or_insert(&link.from)?, self.node_or_insert(&link.to)?);
        let taken = self
            .connection
            .prepare_cached(
                "UPDATE links SET died = ? WHERE source = ? AND target = ? AND sort = ? \
                 AND died IS NULL",
            )?
            .execute(params![self.revision.get(), source, target, link.link_type])?;
        self.record_link_change(link, (source, target), taken > 0, false)
    }

    /// Records that a link between two present items was added or removed.
    fn record_link_change(
        &mut self,
        link: &Link,
        (source, target): (i64, i64),
        changed: bool,
        came: bool,
    ) -> WriteResult<()> {
        let ends = (self.present_version(source)?, self.present_version(target)?);
        if let (true, (Some(from), Some(to))) = (changed, ends) {
            let seal = seals::link_seal(link.from.as_str(), &link.link_type, link.to.as_str());
            let seal = if came { seal } else { seal.wrapping_neg() };
            self.delta.links.push(((from.list, to.list), seal));
        }
        Ok(())
    }

    /// Updates the link seals of a node that appeared, disappeared or changed its reader list. Call
    /// it node by node, before or right after the node's own row changes.
    pub(super) fn reseal_links_of(
        &mut self,
        node: i64,
        before: Option<u32>,
        after: Option<u32>,
    ) -> WriteResult<()> {
        let links: Vec<(i64, i64, String, String, String)> = self
            .connection
            .prepare_cached(
                "SELECT l.source, l.target, s.id, l.sort, t.id FROM links l \
                 JOIN nodes s ON s.node = l.source JOIN nodes t ON t.node = l.target \
                 WHERE l.source = ?1 AND l.died IS NULL UNION ALL \
                 SELECT l.source, l.target, s.id, l.sort, t.id FROM links l \
                 JOIN nodes s ON s.node = l.source JOIN nodes t ON t.node = l.target \
                 WHERE l.target = ?1 AND l.source <> ?1 AND l.died IS NULL",
            )?
            .query_map([node], |line| {
                Ok((line.get(0)?, line.get(1)?, line.get(2)?, line.get(3)?, line.get(4)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        for (source, target, from, link_type, to) in links {
            let seal = seals::link_seal(&from, &link_type, &to);
            let other = if source == node { target } else { source };
            let other_list = self.present_version(other)?.map(|present| present.list);
            if other != node && other_list.is_none() {
                continue;
            }
            for (list, seal) in [(before, seal.wrapping_neg()), (after, seal)] {
                let Some(list) = list else { continue };
                // A self-link has the same list at both ends.
                let other_list = other_list.filter(|_| other != node).unwrap_or(list);
                let ends = if source == node { (list, other_list) } else { (other_list, list) };
                self.delta.links.push((ends, seal));
            }
        }
        Ok(())
    }
}
