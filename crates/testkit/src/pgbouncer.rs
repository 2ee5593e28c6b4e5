//! pgbouncer in front of a PostgreSQL of a test, in transaction mode.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::postgres::{PostgresServer, USER, other_user};

/// Where Debian keeps it.
const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// How long it may take to start.
const START_MAX: Duration = Duration::from_secs(20);

/// A running pgbouncer.
#[derive(Debug)]
pub struct PgBouncer {
    process: Child,
    port: u16,
    _folder: TempDir,
}

impl PgBouncer {
    /// Starts it with so many connections to the server. `None` if it is not installed; the test is then not
    /// done, which this says.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    #[expect(clippy::print_stderr, reason = "the log of a test")]
    pub fn start(server: &PostgresServer, connections: u32) -> Option<PgBouncer> {
        if !Path::new(PROGRAM).is_file() {
            eprintln!("NOT TESTED: there is no pgbouncer (Debian: apt-get install pgbouncer)");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("haversack-pgbouncer-").tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let users = folder.path().join("users");
        fs::write(&users, format!("\"{USER}\" \"{}\"\n", server.password())).unwrap();
        let configuration = folder.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nauth_type = scram-sha-256\nauth_file = {}\nunix_socket_dir =\n\
             pool_mode = transaction\ndefault_pool_size = {connections}\nmax_client_conn = 200\n\
             server_reset_query =\n",
            server.port(),
            users.display()
        );
        fs::write(&configuration, text).unwrap();
        let mut command = Command::new(PROGRAM);
        // It does not run as root either.
        if let Some((user, group)) = other_user() {
            for path in [folder.path(), &users, &configuration] {
                chown(path, Some(user), Some(group)).unwrap();
            }
            command.uid(user).gid(group);
        }
        command.arg(&configuration).current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().unwrap();
        let mut pooler = PgBouncer { process, port, _folder: folder };
        pooler.wait_until_started();
        Some(pooler)
    }

    /// Its port on loopback.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    fn wait_until_started(&mut self) {
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.process.try_wait().unwrap();
            assert!(ended.is_none(), "pgbouncer does not start: {ended:?}");
            assert!(began.elapsed() < START_MAX, "pgbouncer does not answer");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // One that has ended already is gone all the same.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
