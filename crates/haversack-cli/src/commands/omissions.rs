//! What readers of files left out as a matter of routine, in few lines.

use haversack::ingest::OmissionGroup;

use crate::output::grouped;

/// Notices of so many files are shown one by one.
const FILES_SHOWN_MAX: u64 = 2;

/// The lines for what was left out. What concerns more than a few files is one line, unless all are wanted. A
/// hint says how to see the rest.
pub(crate) fn omission_lines(groups: &[OmissionGroup], all: bool, hint: &str) -> Vec<String> {
    let lines = |group: &OmissionGroup| match all || group.files <= FILES_SHOWN_MAX {
        true => group.remarks.clone(),
        false => vec![format!(
            "{} left out of {} files ({} {}){hint}",
            group.kind.name(),
            grouped(group.files),
            grouped(group.count),
            group.kind.unit()
        )],
    };
    groups.iter().flat_map(lines).collect()
}

#[cfg(test)]
mod tests {
    use haversack_reader::OmissionKind;

    use super::*;

    #[test]
    fn what_concerns_many_files_is_one_line() {
        let group = |files| OmissionGroup {
            kind: OmissionKind::RunningLines,
            files,
            count: 1_200,
            remarks: (0..files).map(|at| format!("{at}.pdf: lines left out")).collect(),
        };
        let few = omission_lines(&[group(2)], false, "");
        assert_eq!(few, ["0.pdf: lines left out", "1.pdf: lines left out"]);
        assert_eq!(
            omission_lines(&[group(3)], false, "; --verbose lists them"),
            [
                "running headers, footers and page numbers left out of 3 files (1,200 lines); --verbose lists them"
            ]
        );
        assert_eq!(omission_lines(&[group(3)], true, "").len(), 3);
    }
}
