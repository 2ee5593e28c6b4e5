//! Tests the real program with MCP's inspector, as a client of both protocol eras, and with its
//! conformance suite. They come from npm, so this is not part of the test command.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::shell::Shell;

/// What is installed, each in the version that this repository was tried with. The newer era needs
/// a newer Node than most machines have.
const PACKAGES: [&str; 3] = [
    "node@22.23.3",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
];

/// Scenarios of the suite that need no tools of its own on the server, with the revision that they
/// are run at.
const SCENARIOS: [(&str, &str); 15] = [
    ("server-initialize", "2025-06-18"),
    ("ping", "2025-06-18"),
    ("tools-list", "2025-06-18"),
    ("resources-list", "2025-06-18"),
    ("prompts-list", "2025-06-18"),
    ("server-initialize", "2025-11-25"),
    ("ping", "2025-11-25"),
    ("dns-rebinding-protection", "2025-11-25"),
    ("tools-list", "2026-07-28"),
    ("resources-list", "2026-07-28"),
    ("prompts-list", "2026-07-28"),
    ("sep-2164-resource-not-found", "2026-07-28"),
    ("dns-rebinding-protection", "2026-07-28"),
    ("caching", "2026-07-28"),
    ("http-header-validation", "2026-07-28"),
];

/// Runs everything, then reports what passed.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let programs = install(shell)?;
    shell.run(&mut shell.cargo(["build", "--locked", "--workspace", "--bins"]))?;
    let haversack = shell.target().join("debug").join(executable("haversack"));
    let data = shell.target().join("mcp");
    if data.exists() {
        fs::remove_dir_all(&data).context("cannot remove the data of the last run")?;
    }
    let mut add = shell.command(&haversack);
    shell.run(add.args(["add", "README.md", "--data"]).arg(&data))?;
    let mut verdicts = Vec::new();
    let stdio = [haversack.display().to_string(), "mcp".into(), "--data".into()];
    let stdio: Vec<String> = stdio.into_iter().chain([data.display().to_string()]).collect();
    for era in ["legacy", "modern"] {
        inspect(
            shell,
            &programs,
            &format!("stdio, {era}"),
            era,
            &Target::Program(&stdio),
            &mut verdicts,
        );
    }
    let server = ServerProcess::start(shell, &haversack, &data)?;
    let url = format!("{}/mcp", server.url);
    for era in ["legacy", "modern"] {
        inspect(shell, &programs, &format!("http, {era}"), era, &Target::Url(&url), &mut verdicts);
    }
    for (scenario, revision) in SCENARIOS {
        let mut command = programs.command(shell, "conformance");
        command.args(["server", "--url", &url, "--scenario", scenario]);
        command.args(["--spec-version", revision]);
        verdicts.push((format!("conformance {scenario} at {revision}"), passes(&mut command)));
    }
    drop(server);
    conclude(&verdicts)
}

/// The installed programs.
struct Programs(PathBuf);

impl Programs {
    /// A program of npm's.
    fn command(&self, shell: &Shell, name: &str) -> Command {
        self.with_node(shell.command(self.0.join(name)))
    }

    /// A command that finds the Node that was installed before any other.
    fn with_node(&self, mut command: Command) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.0.clone()).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
        command
    }
}

fn install(shell: &Shell) -> Result<Programs> {
    let folder = shell.tools().join("mcp");
    let programs = Programs(folder.join("node_modules").join(".bin"));
    let mark = folder.join("installed");
    let wanted = PACKAGES.join("\n");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(programs);
    }
    fs::create_dir_all(&folder).context("cannot make the tools folder")?;
    // Node first: npm leaves out packages that are too new for the Node that runs it.
    for packages in [&PACKAGES[..1], &PACKAGES[1..]] {
        let mut npm = programs.with_node(shell.command("npm"));
        npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).args(packages);
        shell.run(&mut npm).context("npm is needed for the protocol's own tools")?;
    }
    fs::write(&mark, wanted).context("cannot note what was installed")?;
    Ok(programs)
}

/// The server that the inspector tests.
enum Target<'t> {
    Program(&'t [String]),
    Url(&'t str),
}

/// Lists the tools strictly and calls one.
fn inspect(
    shell: &Shell,
    programs: &Programs,
    name: &str,
    era: &str,
    target: &Target<'_>,
    verdicts: &mut Vec<(String, bool)>,
) {
    let call = ["--tool-name", "context_pack", "--tool-arg", "query=what is Haversack?"];
    let asked: [(&str, &[&str]); 4] = [
        ("tools/list", &["--strict"]),
        ("tools/call", &call),
        ("resources/list", &[]),
        ("prompts/list", &[]),
    ];
    for (method, more) in asked {
        let mut command = programs.command(shell, "mcp-inspector");
        command.args(["--cli", "--protocol-era", era, "--format", "json", "--method", method]);
        command.args(more);
        match target {
            Target::Program(program) => command.arg("--").args(*program),
            Target::Url(url) => command.args(["--transport", "http", "--server-url", url]),
        };
        verdicts.push((format!("inspector {method} over {name}"), passes(&mut command)));
    }
}

/// Runs a command and shows its output only if it fails.
fn passes(command: &mut Command) -> bool {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            println!("{}", String::from_utf8_lossy(&output.stdout));
            println!("{}", String::from_utf8_lossy(&output.stderr));
            false
        }
        Err(error) => {
            println!("cannot start it: {error}");
            false
        }
    }
}

fn conclude(verdicts: &[(String, bool)]) -> Result<()> {
    for (name, passed) in verdicts {
        println!("{} {name}", if *passed { "passed" } else { "FAILED" });
    }
    let failed = verdicts.iter().filter(|(_, passed)| !passed).count();
    ensure!(failed == 0, "{failed} of {} failed", verdicts.len());
    println!("all {} passed", verdicts.len());
    Ok(())
}

/// A server process, killed on drop.
struct ServerProcess {
    child: Child,
    url: String,
}

impl ServerProcess {
    fn start(shell: &Shell, haversack: &Path, data: &Path) -> Result<ServerProcess> {
        let mut command = shell.command(haversack);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the server")?;
        let output = child.stdout.take().context("the server has no standard output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("the server says nothing")?;
        match line.trim().rsplit_once(' ') {
            Some((_, url)) if url.starts_with("http") => {
                Ok(ServerProcess { child, url: url.to_owned() })
            }
            _ => bail!("the server does not say where it listens: {line:?}"),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn executable(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}
