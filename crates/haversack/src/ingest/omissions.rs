//! What readers left out as a matter of routine, counted over all files of a run.

use std::collections::BTreeMap;

use haversack_reader::{Omission, OmissionKind};

use super::LISTED_MAX;

/// What was left out of files as of any file of their format, with nothing for a person to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmissionGroup {
    /// What it is.
    pub kind: OmissionKind,
    /// Of how many files.
    pub files: u64,
    /// How much of it, in [`OmissionKind::unit`]s.
    pub count: u64,
    /// One remark for each notice: the first [`LISTED_MAX`].
    pub remarks: Vec<String>,
}

/// All groups of a run.
#[derive(Debug, Default)]
pub(super) struct OmissionTally {
    groups: BTreeMap<OmissionKind, (OmissionGroup, String)>,
}

impl OmissionTally {
    /// Counts an omission of a file. The notices of one file follow each other.
    pub(super) fn add(&mut self, path: &str, omission: Omission, remark: String) {
        let Omission { kind, count } = omission;
        let empty =
            || (OmissionGroup { kind, files: 0, count: 0, remarks: Vec::new() }, String::new());
        let (group, last_path) = self.groups.entry(kind).or_insert_with(empty);
        group.count = group.count.saturating_add(count);
        if group.remarks.len() < LISTED_MAX {
            group.remarks.push(remark);
        }
        if last_path != path {
            group.files += 1;
            path.clone_into(last_path);
        }
    }

    /// The groups in the order of their kinds.
    pub(super) fn finish(self) -> Vec<OmissionGroup> {
        self.groups.into_values().map(|(group, _)| group).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_once_for_each_kind() {
        let mut tally = OmissionTally::default();
        let quoted = |count| Omission { kind: OmissionKind::Quotations, count };
        tally.add("a.mbox", quoted(3), "a.mbox: 3 lines".into());
        tally.add("a.mbox", quoted(1), "a.mbox, attachment: 1 lines".into());
        tally.add("b.mbox", quoted(2), "b.mbox: 2 lines".into());
        let running = Omission { kind: OmissionKind::RunningLines, count: 9 };
        tally.add("c.pdf", running, "c.pdf: 9 lines".into());
        let found: Vec<_> = tally
            .finish()
            .iter()
            .map(|it| (it.kind, it.files, it.count, it.remarks.len()))
            .collect();
        assert_eq!(
            found,
            [(OmissionKind::RunningLines, 1, 9, 1), (OmissionKind::Quotations, 2, 6, 3)]
        );
    }
}
