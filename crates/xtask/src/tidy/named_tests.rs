//! The tests that docs/reliability.md names are where it says.

use super::SourceFile;
use crate::problem::RuleViolation;

const PAGE: &str = "docs/reliability.md";

/// Stands for the rest of a name that the page leaves out.
const REST: char = '…';

pub(super) fn check(files: &[SourceFile]) -> Vec<RuleViolation> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else { return Vec::new() };
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(page.text.lines()) {
        for quoted in line.split('`').skip(1).step_by(2) {
            if TestName::parse(quoted).is_some_and(|name| !name.is_in(files)) {
                let message =
                    format!("there is no test {quoted}; run the tests and name the right one");
                problems.push(RuleViolation::at(PAGE, number, message));
            }
        }
    }
    problems
}

/// A test as `cargo nextest` names it, such as `haversack-store::it crash::child`. Without a crate it
/// begins with `…::`; without a function it is a module.
struct TestName<'t> {
    krate: Option<&'t str>,
    /// Whether it is in the crate's integration tests.
    is_integration: bool,
    modules: &'t str,
    function: &'t str,
}

impl<'t> TestName<'t> {
    /// Reads a name; `None` for texts that are none, such as commands.
    fn parse(quoted: &'t str) -> Option<TestName<'t>> {
        let (place, path) = match quoted.split_once(' ') {
            Some((place, path)) if place.starts_with("haversack") => (Some(place), path),
            None if quoted.starts_with(REST) => (None, quoted),
            _ => return None,
        };
        let (modules, function) = match path.rsplit_once("::") {
            Some(parts) => parts,
            None if place.is_none() => ("…", path),
            None => return None,
        };
        let krate = place.map(|place| place.strip_suffix("::it").unwrap_or(place));
        let is_integration = place.is_some_and(|place| place.ends_with("::it"));
        Some(TestName { krate, is_integration, modules, function })
    }

    fn is_in(&self, files: &[SourceFile]) -> bool {
        files.iter().any(|file| self.may_be_in(&file.path) && self.is_defined_in(&file.text))
    }

    /// Whether the file at this path is that of the modules.
    fn may_be_in(&self, path: &str) -> bool {
        let Some(krate) = self.krate else { return path.ends_with(".rs") };
        let folder = if self.is_integration { "tests/it" } else { "src" };
        let Some(inside) = path.strip_prefix(&format!("crates/{krate}/{folder}/")) else {
            return false;
        };
        if self.modules.contains(REST) {
            return true;
        }
        let tests = if self.is_integration { None } else { self.modules.strip_suffix("::tests") };
        let place = tests.unwrap_or(self.modules).replace("::", "/");
        [format!("{place}.rs"), format!("{place}/mod.rs"), format!("{place}/tests.rs")]
            .iter()
            .any(|file| file == inside)
    }

    fn is_defined_in(&self, text: &str) -> bool {
        let wanted = self.function.trim_matches(REST);
        let fits =
            |name: &str| match (self.function.starts_with(REST), self.function.ends_with(REST)) {
                (true, true) => name.contains(wanted),
                (true, false) => name.ends_with(wanted),
                (false, true) => name.starts_with(wanted),
                (false, false) => name == wanted,
            };
        let names = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
        self.function.is_empty() || names.into_iter().any(fits)
    }
}
