//! A build without PostgreSQL: no address of one can exist, so nothing else can happen.

use std::fmt;

use crate::DatabaseLimits;
use crate::error::DatabaseError;
use crate::query::{Cell, Column, RowQuery};

/// The address of a PostgreSQL database, which this build has none of.
#[derive(Debug, Clone)]
pub enum PostgresAddress {}

impl PostgresAddress {
    pub(crate) const fn parse(_: &str, _: Option<&str>) -> Result<PostgresAddress, DatabaseError> {
        Err(DatabaseError::NotBuilt)
    }

    pub(crate) const fn database(&self) -> &str {
        match *self {}
    }

    pub(crate) const fn identity(&self) -> String {
        match *self {}
    }

    pub(crate) const fn has_password(&self) -> bool {
        match *self {}
    }
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// An open PostgreSQL database, which this build has none of.
#[derive(Debug)]
pub(crate) enum PostgresDatabase {}

impl PostgresDatabase {
    pub(crate) const fn open(
        address: &PostgresAddress,
        _: DatabaseLimits,
    ) -> Result<PostgresDatabase, DatabaseError> {
        match *address {}
    }

    pub(crate) const fn columns(&mut self, _: &str) -> Result<Vec<Column>, DatabaseError> {
        match *self {}
    }

    pub(crate) const fn read<E: From<DatabaseError>>(
        &mut self,
        _: &RowQuery<'_>,
        _: &mut dyn FnMut(Vec<Cell>) -> Result<(), E>,
    ) -> Result<(), E> {
        match *self {}
    }
}
