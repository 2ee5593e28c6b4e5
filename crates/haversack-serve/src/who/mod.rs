//! Who may: credentials, how far they reach, and whose eyes they read with. What is not granted is
//! denied.

mod access;
mod jwt;
mod keys;
mod keyset;
#[cfg(test)]
mod tests;
mod token;

pub use access::{Access, Asserted, Grant, Scope, Sight};
pub(crate) use jwt::Signers;
pub(crate) use keys::Repeat;
pub use keys::{Control, ControlError, Key, NewKey};
pub use keyset::JwtError;
pub(crate) use keyset::{check_file, check_url, is_url};
pub use token::Token;
