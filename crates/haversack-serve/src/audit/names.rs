//! Names of users in the log. A line's hash covers only a salted hash of each name, so a name can be
//! erased, with its salt, and the chain still checks.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::chain::names as log_files;
use super::{AuditEntry, ChainedEntry, lock_file};
use crate::who::JWT_CREDENTIAL;

/// What stands in the place of an erased name, before its hash.
const ERASED: &str = "erased:";

/// What the hash of a line covers in the place of a name, before its hash.
const HASHED: &str = "name:";

/// The salts of a line's names.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NameSalts {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    user_salt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    credential_salt: Option<String>,
}

impl NameSalts {
    /// New salts for the names of an entry.
    pub(super) fn new(entry: &AuditEntry) -> io::Result<NameSalts> {
        let salt = |needed: bool| needed.then(random_salt).transpose();
        Ok(NameSalts {
            user_salt: salt(entry.user.is_some())?,
            credential_salt: salt(is_name(&entry.credential))?,
        })
    }
}

/// Whether a credential says who its user is; the id of a key does not.
fn is_name(credential: &str) -> bool {
    credential.starts_with(JWT_CREDENTIAL)
}

fn random_salt() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn hash_name(name: &str, salt: &str) -> String {
    blake3::hash(format!("{salt}\n{name}").as_bytes()).to_hex()[..32].to_owned()
}

/// What the hash of a line covers for a name. Lines of earlier versions have no salts.
fn hashed(name: &str, salt: Option<&str>) -> String {
    match (salt, name.strip_prefix(ERASED)) {
        (Some(salt), _) => format!("{HASHED}{}", hash_name(name, salt)),
        (None, Some(hash)) => format!("{HASHED}{hash}"),
        (None, None) => name.to_owned(),
    }
}

/// An entry as its hash covers it.
pub(super) fn without_names(entry: &AuditEntry, salts: &NameSalts) -> AuditEntry {
    AuditEntry {
        user: entry.user.as_ref().map(|user| hashed(user, salts.user_salt.as_deref())),
        credential: hashed(&entry.credential, salts.credential_salt.as_deref()),
        ..entry.clone()
    }
}

/// What erasing a user's name did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErasedNames {
    /// Lines in which the name was erased.
    pub lines: u64,
    /// Lines of an earlier version that name the user: their hashes cover the name itself.
    pub left: u64,
}

/// Erases the name of a user from a log, or counts only.
///
/// # Errors
/// When a file cannot be read or written.
pub fn erase_user(folder: &Path, user: &str, dry_run: bool) -> io::Result<ErasedNames> {
    let lock = lock_file(folder)?;
    lock.lock()?;
    let mut erased = ErasedNames::default();
    for (_, path) in log_files(folder)? {
        let before = erased.lines;
        // Not a name of a log, in case a crash leaves it.
        let aside = path.with_extension("erasing");
        let mut target = BufWriter::new(File::create(&aside)?);
        let mut source = BufReader::new(File::open(&path)?);
        let mut line = Vec::new();
        while source.read_until(b'\n', &mut line)? > 0 {
            target.write_all(&erase_in_line(&line, user, &mut erased)?)?;
            line.clear();
        }
        target.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        if erased.lines == before || dry_run {
            std::fs::remove_file(&aside)?;
        } else {
            std::fs::rename(&aside, &path)?;
        }
    }
    Ok(erased)
}

/// A line without the name.
fn erase_in_line(line: &[u8], user: &str, erased: &mut ErasedNames) -> io::Result<Vec<u8>> {
    // What is no line of a log stays for `verify` to report.
    let Ok(mut chained) = serde_json::from_slice::<ChainedEntry>(line) else {
        return Ok(line.to_vec());
    };
    let ChainedEntry { entry, salts, .. } = &mut chained;
    let is_credential = entry.credential.strip_prefix(JWT_CREDENTIAL) == Some(user);
    let is_user = entry.user.as_deref() == Some(user);
    let (mut was_erased, mut is_left) = (false, false);
    if is_user {
        match salts.user_salt.take() {
            Some(salt) => {
                entry.user = Some(format!("{ERASED}{}", hash_name(user, &salt)));
                was_erased = true;
            }
            None => is_left = true,
        }
    }
    if is_credential {
        match salts.credential_salt.take() {
            Some(salt) => {
                entry.credential = format!("{ERASED}{}", hash_name(&entry.credential, &salt));
                was_erased = true;
            }
            None => is_left = true,
        }
    }
    erased.lines += u64::from(was_erased);
    erased.left += u64::from(is_left);
    if !was_erased {
        return Ok(line.to_vec());
    }
    let mut text = serde_json::to_vec(&chained)?;
    text.push(b'\n');
    Ok(text)
}
