//! Links: added and taken away, and what that means for the names of states.

use rusqlite::params;

use super::write::{Writing, Written};
use crate::embedded::seals;
use crate::store::item::Link;

impl Writing<'_> {
    pub(super) fn link(&mut self, link: &Link) -> Written<()> {
        self.check_there(&link.from)?;
        self.check_there(&link.to)?;
        let (source, target) = (self.node(&link.from)?, self.node(&link.to)?);
        let added = self
            .connection
            .prepare_cached(
                "INSERT INTO links (source, target, sort, born) SELECT ?1, ?2, ?3, ?4 \
                 WHERE NOT EXISTS (SELECT 1 FROM links WHERE source = ?1 AND target = ?2 \
                 AND sort = ?3 AND died IS NULL)",
            )?
            .execute(params![source, target, link.sort, self.revision.get()])?;
        self.seal_link(link, (source, target), added > 0, true)
    }

    pub(super) fn unlink(&mut self, link: &Link) -> Written<()> {
        self.check_there(&link.from)?;
        self.check_there(&link.to)?;
        let (source, target) = (self.node(&link.from)?, self.node(&link.to)?);
        let taken = self
            .connection
            .prepare_cached(
                "UPDATE links SET died = ? WHERE source = ? AND target = ? AND sort = ? \
                 AND died IS NULL",
            )?
            .execute(params![self.revision.get(), source, target, link.sort])?;
        self.seal_link(link, (source, target), taken > 0, false)
    }

    /// Notes that a link between two present items came or went.
    fn seal_link(
        &mut self,
        link: &Link,
        (source, target): (i64, i64),
        changed: bool,
        came: bool,
    ) -> Written<()> {
        let ends = (self.present(source)?, self.present(target)?);
        if let (true, (Some(from), Some(to))) = (changed, ends) {
            let seal = seals::of_link(link.from.as_str(), &link.sort, link.to.as_str());
            let seal = if came { seal } else { seal.wrapping_neg() };
            self.delta.links.push(((from.list, to.list), seal));
        }
        Ok(())
    }

    /// Notes for the links of a node that it came, went, or is for other readers. To be called for one
    /// node after the other, each before or right after its own row changes.
    pub(super) fn shift_links(
        &mut self,
        node: i64,
        before: Option<u32>,
        after: Option<u32>,
    ) -> Written<()> {
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
        for (source, target, from, sort, to) in links {
            let seal = seals::of_link(&from, &sort, &to);
            let other = if source == node { target } else { source };
            let other_list = self.present(other)?.map(|present| present.list);
            if other != node && other_list.is_none() {
                continue;
            }
            for (list, seal) in [(before, seal.wrapping_neg()), (after, seal)] {
                let Some(list) = list else { continue };
                // A link to itself has one list at both ends.
                let other_list = other_list.filter(|_| other != node).unwrap_or(list);
                let ends = if source == node { (list, other_list) } else { (other_list, list) };
                self.delta.links.push((ends, seal));
            }
        }
        Ok(())
    }
}
