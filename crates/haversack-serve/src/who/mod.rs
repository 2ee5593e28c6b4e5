//! Credentials, what they grant, and the identity of each request. What is not granted is denied.

mod access;
mod identity;
mod jwt;
mod keys;
mod keyset;
pub(crate) mod shared_keys;
mod signature;
#[cfg(test)]
mod tests;
mod token;

pub use access::{Access, ActsAs, Grant, KeyScope};
pub(crate) use identity::{Actor, ClaimedUser, Identity};
pub(crate) use jwt::{JWT_CREDENTIAL, TokenVerifier};
pub(crate) use keys::StoredResponse;
pub use keys::{ApiKey, Control, ControlError, NewKey};
pub use keyset::JwtError;
pub(crate) use keyset::{check_file, check_url, is_url};
pub use token::KeyToken;
