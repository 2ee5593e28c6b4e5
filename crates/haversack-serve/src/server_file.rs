//! The file by which other processes find the server that has a data folder open.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Its name in the data folder.
const NAME: &str = "server.json";

/// Longest file that is read.
const BYTES_MAX: u64 = 4 << 10;

/// Where the server of a data folder listens, and which process it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFile {
    /// The server's URL, as this machine reaches it.
    pub url: String,
    /// The process id, which is also in the data folder's lock.
    pub pid: u32,
}

impl ServerFile {
    /// Reads the file of a data folder, if the process `pid` wrote it. A file that another process
    /// left behind does not count.
    #[must_use]
    pub fn of_process(folder: &Path, pid: &str) -> Option<ServerFile> {
        let path = folder.join(NAME);
        if fs::metadata(&path).ok()?.len() > BYTES_MAX {
            return None;
        }
        let found: ServerFile = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
        (found.pid.to_string() == pid).then_some(found)
    }

    /// Writes the file of a data folder for a server of this process.
    pub(crate) fn publish(folder: &Path, address: SocketAddr) -> io::Result<PublishedServer> {
        let path = folder.join(NAME);
        let file = ServerFile { url: local_url(address), pid: std::process::id() };
        let part = folder.join(format!("{NAME}.part"));
        let _ = fs::remove_file(&part);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&part)?.write_all(serde_json::to_string(&file)?.as_bytes())?;
        fs::rename(&part, &path)?;
        Ok(PublishedServer { path })
    }
}

/// A server file that is removed when the server ends.
#[derive(Debug)]
pub(crate) struct PublishedServer {
    path: PathBuf,
}

impl Drop for PublishedServer {
    fn drop(&mut self) {
        // One that stays behind names a process that does not hold the lock, so it does not count.
        let _ = fs::remove_file(&self.path);
    }
}

/// The URL by which this machine reaches a listening address.
fn local_url(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_by_the_process_that_wrote_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::process::id().to_string();
        assert_eq!(ServerFile::of_process(folder.path(), &own), None);
        let address = "0.0.0.0:7077".parse().unwrap();
        let published = ServerFile::publish(folder.path(), address).unwrap();
        let found = ServerFile::of_process(folder.path(), &own).unwrap();
        assert_eq!(found.url, "http://127.0.0.1:7077");
        assert_eq!(ServerFile::of_process(folder.path(), "1"), None);
        #[cfg(unix)]
        {
            let file = fs::metadata(folder.path().join(NAME)).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::mode(&file.permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        drop(published);
        assert!(!folder.path().join(NAME).exists());
        fs::write(folder.path().join(NAME), "not json").unwrap();
        assert_eq!(ServerFile::of_process(folder.path(), &own), None);
    }

    #[test]
    fn an_unspecified_address_is_reached_on_this_machine() {
        let check = |address: &str, expected: &str| {
            assert_eq!(local_url(address.parse().unwrap()), expected);
        };
        check("127.0.0.1:1", "http://127.0.0.1:1");
        check("[::]:2", "http://[::1]:2");
        check("10.0.0.7:3", "http://10.0.0.7:3");
    }
}
