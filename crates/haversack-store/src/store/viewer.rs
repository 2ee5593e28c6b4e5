//! Who asks: principals, viewers, and who may read an item.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use haversack_core::ids::{IdError, check_name};

/// Longest name of a principal in bytes.
pub const PRINCIPAL_BYTES_MAX: usize = 256;

/// Most principals on one list of readers, and most groups of one viewer.
pub const PRINCIPALS_MAX: usize = 1_000;

/// A user, a group, or everyone: what a list of readers names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Whoever may open the workspace at all.
    #[must_use]
    pub fn everyone() -> Principal {
        Principal("everyone".into())
    }

    /// One user.
    ///
    /// # Errors
    /// When the name is empty, too long or holds a control character.
    pub fn user(name: &str) -> Result<Principal, IdError> {
        Principal::named("user:", name)
    }

    /// The members of a group.
    ///
    /// # Errors
    /// When the name is empty, too long or holds a control character.
    pub fn group(name: &str) -> Result<Principal, IdError> {
        Principal::named("group:", name)
    }

    fn named(sort: &str, name: &str) -> Result<Principal, IdError> {
        check_name(name, PRINCIPAL_BYTES_MAX)?;
        Ok(Principal(format!("{sort}{name}").into()))
    }

    /// A principal as it is written: `user:anna`, `group:sales` or `everyone`; a bare name is a
    /// user.
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

    /// The principal as it is written.
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

/// Who may read an item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Readers {
    /// Whoever may read its parent; at the top of the tree, everyone in the workspace.
    #[default]
    Inherit,
    /// These and nobody else; an empty list means nobody.
    Only(BTreeSet<Principal>),
}

/// Who asks. Every read has one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Viewer(Sight);

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Sight {
    All,
    Through(BTreeSet<Principal>),
}

impl Viewer {
    /// Somebody of whom nothing is known: sees what everyone sees.
    #[must_use]
    pub fn anyone() -> Viewer {
        Viewer(Sight::Through([Principal::everyone()].into()))
    }

    /// A user.
    ///
    /// # Errors
    /// When the name is empty, too long or holds a control character.
    pub fn user(name: &str) -> Result<Viewer, IdError> {
        Ok(Viewer(Sight::Through([Principal::everyone(), Principal::user(name)?].into())))
    }

    /// The one who owns the data folder: sees everything, for chores such as export and check.
    #[must_use]
    pub const fn owner() -> Viewer {
        Viewer(Sight::All)
    }

    /// The same viewer as a member of a group.
    ///
    /// # Errors
    /// When the name is empty, too long or holds a control character.
    pub fn in_group(mut self, name: &str) -> Result<Viewer, IdError> {
        let group = Principal::group(name)?;
        if let Sight::Through(principals) = &mut self.0 {
            principals.insert(group);
        }
        Ok(self)
    }

    /// Whoever reads through these principals; everyone is always among them.
    #[must_use]
    pub fn through(principals: BTreeSet<Principal>) -> Viewer {
        let mut principals = principals;
        principals.insert(Principal::everyone());
        Viewer(Sight::Through(principals))
    }

    /// Through which principals the viewer reads; `None` for the owner, who needs none.
    #[must_use]
    pub const fn principals(&self) -> Option<&BTreeSet<Principal>> {
        match &self.0 {
            Sight::All => None,
            Sight::Through(principals) => Some(principals),
        }
    }

    /// The name of the user that the viewer is, if it is one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.principals()?.iter().find_map(|principal| principal.as_str().strip_prefix("user:"))
    }

    /// Whether the viewer may read what these principals may read.
    #[must_use]
    pub fn is_among(&self, readers: &BTreeSet<Principal>) -> bool {
        match &self.0 {
            Sight::All => true,
            Sight::Through(principals) => principals.iter().any(|p| readers.contains(p)),
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
