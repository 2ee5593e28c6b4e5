//! A PostgreSQL server of one test: made from the system's packages in a temporary folder, on a free port of
//! loopback, and stopped at the end.
//!
//! PostgreSQL does not run as root. Tests of root run it as the user `postgres`, else `nobody`.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The variable by which the suite says that PostgreSQL cannot be had.
const ABSENT: &str = "HAVERSACK_NO_POSTGRES";

/// The superuser of the server.
pub(crate) const USER: &str = "tester";

/// Free ports that are tried: another process may take one between its choice and its use.
const PORTS_TRIED: usize = 5;

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    folder: TempDir,
    programs: PathBuf,
    port: u16,
    password: String,
}

impl PostgresServer {
    /// Starts a server whose superuser needs a password. `None` when the suite said that there is no
    /// PostgreSQL; the test is then not done, which it says.
    ///
    /// # Panics
    /// When there is no PostgreSQL and nobody said so, or it does not start.
    #[must_use]
    pub fn start() -> Option<PostgresServer> {
        PostgresServer::start_with("")
    }

    /// Starts a server with further lines of `postgresql.conf`.
    ///
    /// # Panics
    /// As [`PostgresServer::start`].
    #[must_use]
    #[expect(clippy::print_stderr, reason = "the log of a test")]
    pub fn start_with(settings: &str) -> Option<PostgresServer> {
        let Some(programs) = find_programs() else {
            assert!(
                std::env::var_os(ABSENT).is_some(),
                "there is no PostgreSQL: install it (Debian: apt-get install postgresql), or set \
                 {ABSENT}=1 to leave these tests out"
            );
            eprintln!("NOT TESTED: there is no PostgreSQL");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("haversack-postgres-").tempdir().unwrap();
        let password = "correct horse/battery@staple".to_owned();
        let mut server = PostgresServer { folder, programs, port: 0, password };
        server.create(settings);
        for _ in 0..PORTS_TRIED {
            server.port = free_port();
            if server.launch() {
                return Some(server);
            }
        }
        let log = fs::read_to_string(server.folder.path().join("log")).unwrap_or_default();
        panic!("PostgreSQL does not start:\n{log}");
    }

    fn create(&self, settings: &str) {
        if let Some((user, group)) = other_user() {
            chown(self.folder.path(), Some(user), Some(group)).unwrap();
        }
        let password = self.folder.path().join("password");
        fs::write(&password, &self.password).unwrap();
        let mut initdb = self.program("initdb");
        initdb.args(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        initdb.arg(format!("--username={USER}")).arg("--pwfile").arg(&password);
        run(initdb.arg("--pgdata").arg(self.data()));
        let configuration = self.data().join("postgresql.conf");
        let mut text = fs::read_to_string(&configuration).unwrap();
        // A server of a test may lose everything when the machine stops.
        text.push_str(
            "\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nfsync = off\n\
             full_page_writes = off\nsynchronous_commit = off\nshared_buffers = 16MB\n\
             max_connections = 40\nautovacuum = off\ntimezone = 'UTC'\n",
        );
        text.push_str(settings);
        fs::write(&configuration, text).unwrap();
    }

    /// Starts the server on its port; false if that fails, as when the port is taken.
    fn launch(&self) -> bool {
        let mut start = self.program("pg_ctl");
        start.arg("start").arg("--wait").arg("--silent").arg("--pgdata").arg(self.data());
        start.arg("--log").arg(self.folder.path().join("log"));
        start.arg("--options").arg(format!("-p {}", self.port));
        // The server would keep a pipe open, and its reader waiting.
        start.stdout(Stdio::null()).stderr(Stdio::null());
        start.status().unwrap().success()
    }

    /// Stops the server in the middle of whatever it does, as a crash would.
    ///
    /// # Panics
    /// When it does not stop.
    pub fn crash(&self) {
        self.stop("immediate");
    }

    /// Starts a server that was stopped again, on the same port.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&self) {
        assert!(self.launch(), "PostgreSQL does not start again");
    }

    fn stop(&self, mode: &str) {
        let mut stop = self.program("pg_ctl");
        stop.args(["stop", "--silent", "--mode", mode]).arg("--pgdata").arg(self.data());
        run(&mut stop);
    }

    /// The address of a database, with the password in the form that addresses need.
    #[must_use]
    pub fn address(&self, database: &str) -> String {
        let password = self.password.replace(' ', "%20").replace('@', "%40");
        format!("postgres://{USER}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// The same address without the password.
    #[must_use]
    pub fn address_without_password(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// The superuser's password.
    #[must_use]
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The port on loopback.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// A file beside the data that the server can read, such as a certificate.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn put_file(&self, name: &str, content: &[u8]) {
        let path = self.data().join(name);
        fs::write(&path, content).unwrap();
        if let Some((user, group)) = other_user() {
            chown(&path, Some(user), Some(group)).unwrap();
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Adds lines to `postgresql.conf` and starts the server again.
    ///
    /// # Panics
    /// When it cannot be written, or the server does not start.
    pub fn configure(&self, settings: &str) {
        let configuration = self.data().join("postgresql.conf");
        let text = fs::read_to_string(&configuration).unwrap();
        fs::write(&configuration, format!("{text}\n{settings}")).unwrap();
        self.stop("fast");
        self.restart();
    }

    /// Runs statements as the superuser.
    ///
    /// # Panics
    /// When one of them fails.
    pub fn sql(&self, database: &str, statements: &str) {
        let _ = self.query(database, statements);
    }

    /// Runs statements as the superuser, and returns what the last one gives, a line for each row.
    ///
    /// # Panics
    /// When one of them fails.
    #[must_use]
    pub fn query(&self, database: &str, statements: &str) -> String {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.args(["--set", "ON_ERROR_STOP=1", "--host", "127.0.0.1"]);
        psql.arg("--port").arg(self.port.to_string()).arg("--username").arg(USER);
        psql.arg("--dbname").arg(database).arg("--command").arg(statements);
        let output = run(psql.env("PGPASSWORD", &self.password));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Creates a database and fills it.
    ///
    /// # Panics
    /// When a statement fails.
    pub fn create_database(&self, name: &str, statements: &str) {
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.sql(name, statements);
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A program of PostgreSQL, run as a user who is not root.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.folder.path()).env("LC_ALL", "C").stdin(Stdio::null());
        if let Some((user, group)) = other_user() {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let mut stop = self.program("pg_ctl");
        stop.args(["stop", "--silent", "--mode", "immediate"]).arg("--pgdata").arg(self.data());
        // A server that a test stopped itself is gone already.
        let _ = stop.output();
    }
}

#[track_caller]
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{:?}: {}{}",
        command.get_program(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The folder of the newest PostgreSQL: Debian keeps its programs out of the path.
fn find_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| {
            let number = version.file_name().to_str()?.parse().ok()?;
            Some((number, version.path().join("bin")))
        })
        .collect();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = folders.into_iter().rev().map(|(_, folder)| folder);
    let is_whole = |folder: &Path| {
        ["initdb", "pg_ctl", "postgres", "psql"].iter().all(|name| folder.join(name).is_file())
    };
    debian.chain(std::env::split_paths(&path)).find(|folder| is_whole(folder))
}

/// The user and group to run the server as, if this is root.
pub(crate) fn other_user() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").ok()?.uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let find = |name: &str| {
        let line = users.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    find("postgres").or_else(|| find("nobody"))
}
