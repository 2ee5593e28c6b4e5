//! Permissions to read: principals, viewers, and the readers of an item.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use haversack_core::ids::{IdError, check_name};

/// The longest name of a principal in bytes.
pub const PRINCIPAL_BYTES_MAX: usize = 256;

/// The most principals on one reader list, and the most groups of one viewer.
pub const PRINCIPALS_MAX: usize = 1_000;

/// An entry of a reader list: a user, a group, or everyone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Everyone who may open the workspace.
    #[must_use]
    pub fn everyone() -> Principal {
        Principal("everyone".into())
    }

    /// One user.
    ///
    /// # Errors
    /// When the name is empty, too long or holds a control character.
    pub fn user(name: &str) -> Result<Principal, IdError> {
        Principal::with_prefix("user:", name)
    }

    /// The members of a group.
    ///
    /// # Errors
    /// When the name is empty, too long or holds a control character.
    pub fn group(name: &str) -> Result<Principal, IdError> {
        Principal::with_prefix("group:", name)
    }

    fn with_prefix(prefix: &str, name: &str) -> Result<Principal, IdError> {
        check_name(name, PRINCIPAL_BYTES_MAX)?;
        Ok(Principal(format!("{prefix}{name}").into()))
    }

    /// Parses `user:anna`, `group:sales` or `everyone`; a bare name is a user.
    ///
    /// # Errors
    /// When the name is empty, too long or holds a control character.
    pub fn parse(text: &str) -> Result<Principal, IdError> {
        match text.split_once(':') {
            Some(("user", name)) => Principal::user(name),
            Some(("group", name)) => Principal::group(name),
            _ if text == "everyone" => Ok(Principal::everyone()),
            _ => Principal::user(text),
        }
    }

    /// The principal in the form that [`Principal::parse`] reads.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The readers of an item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Readers {
    /// The readers of its parent; everyone in the workspace if it has no parent.
    #[default]
    Inherit,
    /// Only these principals; nobody if the list is empty.
    Only(BTreeSet<Principal>),
}

/// The viewer on whose behalf a read is made. Every read has one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Viewer(ReadAccess);

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum ReadAccess {
    Everything,
    Principals(BTreeSet<Principal>),
}

impl Viewer {
    /// An unknown viewer, who sees what everyone sees.
    #[must_use]
    pub fn anyone() -> Viewer {
        Viewer(ReadAccess::Principals([Principal::everyone()].into()))
    }

    /// A user.
    ///
    /// # Errors
    /// When the name is empty, too long or holds a control character.
    pub fn user(name: &str) -> Result<Viewer, IdError> {
        Ok(Viewer(ReadAccess::Principals([Principal::everyone(), Principal::user(name)?].into())))
    }

    /// The owner of the data folder, who sees everything. For chores such as export and check.
    #[must_use]
    pub const fn owner() -> Viewer {
        Viewer(ReadAccess::Everything)
    }

    /// The same viewer as a member of a group.
    ///
    /// # Errors
    /// When the name is empty, too long or holds a control character.
    pub fn in_group(mut self, name: &str) -> Result<Viewer, IdError> {
        let group = Principal::group(name)?;
        if let ReadAccess::Principals(principals) = &mut self.0 {
            principals.insert(group);
        }
        Ok(self)
    }

    /// A viewer with the permissions of these principals. Everyone is always added.
    #[must_use]
    pub fn with_principals(principals: BTreeSet<Principal>) -> Viewer {
        let mut principals = principals;
        principals.insert(Principal::everyone());
        Viewer(ReadAccess::Principals(principals))
    }

    /// The principals whose permissions the viewer has; `None` for the owner, who needs none.
    #[must_use]
    pub const fn principals(&self) -> Option<&BTreeSet<Principal>> {
        match &self.0 {
            ReadAccess::Everything => None,
            ReadAccess::Principals(principals) => Some(principals),
        }
    }

    /// The viewer's user name, if it is a user.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.principals()?.iter().find_map(|principal| principal.as_str().strip_prefix("user:"))
    }

    /// Whether the viewer is on a reader list.
    #[must_use]
    pub fn is_among(&self, readers: &BTreeSet<Principal>) -> bool {
        match &self.0 {
            ReadAccess::Everything => true,
            ReadAccess::Principals(principals) => principals.iter().any(|p| readers.contains(p)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> BTreeSet<Principal> {
        names.iter().map(|name| Principal::parse(name).unwrap()).collect()
    }

    #[test]
    fn a_viewer_is_among_readers_by_any_of_its_principals() {
        let anna = Viewer::user("anna").unwrap().in_group("sales").unwrap();
        assert!(anna.is_among(&list(&["anna"])));
        assert!(anna.is_among(&list(&["group:sales", "bob"])));
        assert!(anna.is_among(&list(&["everyone"])));
        assert!(!anna.is_among(&list(&["sales"])), "a user named like a group is not the group");
        assert!(!anna.is_among(&list(&[])), "an empty list is nobody (X3)");
        assert!(Viewer::owner().is_among(&list(&[])));
        assert!(!Viewer::anyone().is_among(&list(&["anna"])));
    }

    #[test]
    fn principals_read_back_as_they_are_written() {
        for text in ["user:anna", "group:a:b", "everyone"] {
            assert_eq!(Principal::parse(text).unwrap().as_str(), text);
        }
        assert!(Principal::parse("group:").is_err());
        assert!(Principal::parse("a\nb").is_err());
    }
}
