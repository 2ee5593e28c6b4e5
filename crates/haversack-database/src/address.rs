//! The address of a database: `postgres://…` or `sqlite:PATH`.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::DatabaseError;
use crate::postgres::PostgresAddress;

/// Where a database is. It displays without its password.
#[derive(Debug, Clone)]
pub enum Address {
    /// A file.
    Sqlite(PathBuf),
    /// A server.
    Postgres(PostgresAddress),
}

impl Address {
    /// Parses `postgres://USER@HOST:PORT/DATABASE?sslmode=…` or `sqlite:PATH`. The password is used if the
    /// address has none.
    ///
    /// # Errors
    /// When it is neither, or malformed. The message does not repeat the address, which may hold a password.
    pub fn parse(text: &str, password: Option<&str>) -> Result<Address, DatabaseError> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            // `sqlite:///data/shop.db` is how several libraries write an absolute path.
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                let message = "name a file, as in sqlite:shop.db".to_owned();
                return Err(DatabaseError::Address { message });
            }
            return Ok(Address::Sqlite(path.into()));
        }
        for scheme in ["postgres://", "postgresql://"] {
            if let Some(rest) = text.strip_prefix(scheme) {
                return Ok(Address::Postgres(PostgresAddress::parse(rest, password)?));
            }
        }
        let message = "it begins with neither postgres:// nor sqlite:".to_owned();
        Err(DatabaseError::Address { message })
    }

    /// The name of the database: that on the server, or the file's without its extension.
    #[must_use]
    pub fn database(&self) -> String {
        match self {
            Address::Sqlite(path) => {
                let stem = path.file_stem().unwrap_or(path.as_os_str());
                stem.to_string_lossy().into_owned()
            }
            Address::Postgres(address) => address.database().to_owned(),
        }
    }

    /// What tells the database from others: server and database, or the full path. Without the user, who may
    /// change.
    #[must_use]
    pub fn identity(&self) -> String {
        match self {
            Address::Sqlite(path) => format!("sqlite:{}", full_path(path).display()),
            Address::Postgres(address) => address.identity(),
        }
    }

    /// Whether it holds a password.
    #[must_use]
    pub fn has_password(&self) -> bool {
        match self {
            Address::Sqlite(_) => false,
            Address::Postgres(address) => address.has_password(),
        }
    }
}

fn full_path(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Address::Postgres(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_their_paths() {
        for (text, path, name) in [
            ("sqlite:data/shop.db", "data/shop.db", "shop"),
            ("sqlite:///var/shop.sqlite3", "/var/shop.sqlite3", "shop"),
            ("sqlite:/var/shop", "/var/shop", "shop"),
        ] {
            let address = Address::parse(text, None).unwrap();
            assert!(matches!(&address, Address::Sqlite(found) if found == Path::new(path)));
            assert_eq!(address.database(), name);
            assert!(!address.has_password());
        }
    }

    #[test]
    fn what_is_no_address_is_not_repeated() {
        for text in ["mysql://u:hunter2@h/d", "hunter2", "sqlite:", ""] {
            let error = Address::parse(text, None).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
