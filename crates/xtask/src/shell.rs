//! Runs other programs at the root of the repository, all in the same environment.
//!
//! Every build goes to one target folder. Without a `CARGO_TARGET_DIR` that is a folder in the
//! user's cache, so that a fresh checkout finds the dependencies already built.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, ensure};

/// Where commands run and with which variables.
#[derive(Debug)]
pub(crate) struct Shell {
    root: PathBuf,
    target: PathBuf,
    tools: PathBuf,
    variables: BTreeMap<String, OsString>,
}

impl Shell {
    /// # Errors
    /// When the current folder is not in a workspace or the wanted cache folder cannot be made.
    pub(crate) fn new() -> Result<Shell> {
        let root = find_root()?;
        let cache = make_cache(&root)?;
        let target = match (env::var_os("CARGO_TARGET_DIR"), &cache) {
            (Some(chosen), _) => root.join(chosen),
            (None, Some(cache)) => cache.join("target"),
            (None, None) => root.join("target"),
        };
        let tools = cache.unwrap_or_else(|| target.clone()).join("tools");
        let mut variables = BTreeMap::new();
        variables.insert("CARGO_TARGET_DIR".to_owned(), target.clone().into_os_string());
        if env::var_os("CI").is_some_and(|ci| ci == "true") {
            variables.insert("CARGO_INCREMENTAL".to_owned(), "0".into());
        }
        Ok(Shell { root, target, tools, variables })
    }

    /// The repository.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The one folder that everything is built in.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// The folder for tools that the machine lacks.
    pub(crate) fn tools(&self) -> &Path {
        &self.tools
    }

    /// Adds the tools folder to the path of later commands, after the machine's own.
    pub(crate) fn use_tools(&mut self) -> Result<()> {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path).chain([self.tools.join("bin")]);
        let path = env::join_paths(folders).context("cannot extend PATH by the tools folder")?;
        self.variables.insert("PATH".to_owned(), path);
        Ok(())
    }

    /// Sets a variable of later commands.
    pub(crate) fn set_variable(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.into());
    }

    /// Any program.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).envs(&self.variables);
        command
    }

    /// The cargo that started this program, with arguments.
    pub(crate) fn cargo<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments);
        command
    }

    /// Runs a command in front of the user.
    ///
    /// # Errors
    /// When it cannot be started or fails.
    pub(crate) fn run(&self, command: &mut Command) -> Result<()> {
        let line = command_line(command);
        println!("$ {line}");
        let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
        ensure!(status.success(), "`{line}` failed with {status}");
        Ok(())
    }

    /// Runs a command and returns what it wrote to standard output.
    ///
    /// # Errors
    /// When it cannot be started, fails, or writes something that is not text.
    pub(crate) fn read(&self, command: &mut Command) -> Result<String> {
        let line = command_line(command);
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot start `{line}`"))?;
        ensure!(output.status.success(), "`{line}` failed with {}", output.status);
        String::from_utf8(output.stdout).with_context(|| format!("`{line}` did not write text"))
    }

    /// Whether a command runs and succeeds; its output is dropped.
    pub(crate) fn works(&self, command: &mut Command) -> bool {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    }
}

/// Asked at run time: a program built into a shared target folder may serve several checkouts.
fn find_root() -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["locate-project", "--workspace", "--message-format", "plain"])
        .output()
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "the current folder is not in a cargo workspace");
    let manifest = String::from_utf8(output.stdout).context("the workspace's path is not text")?;
    let root = Path::new(manifest.trim()).parent().context("the workspace has no folder")?;
    Ok(root.to_path_buf())
}

/// A cache that was asked for must work; the usual place is only used if it can be.
fn make_cache(root: &Path) -> Result<Option<PathBuf>> {
    if let Some(cache) = non_empty(env::var_os("HAVERSACK_CACHE")) {
        let cache = root.join(cache);
        fs::create_dir_all(&cache)
            .with_context(|| format!("cannot make HAVERSACK_CACHE at {}", cache.display()))?;
        return Ok(Some(cache));
    }
    let usual = non_empty(env::var_os("HOME")).map(|home| usual_cache(Path::new(&home)));
    Ok(usual.filter(|cache| fs::create_dir_all(cache).is_ok()))
}

fn usual_cache(home: &Path) -> PathBuf {
    home.join(".cache").join("haversack")
}

fn non_empty(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !value.is_empty())
}

/// The command as one would type it.
fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=./+:,@".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{word}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["nextest", "run", "-E", "test(properties)"]);
        assert_eq!(command_line(&command), "cargo nextest run -E 'test(properties)'");
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        assert_eq!(non_empty(Some(OsString::new())), None);
        assert_eq!(non_empty(Some("x".into())), Some("x".into()));
    }

    #[test]
    fn the_usual_cache_is_in_the_home_folder() {
        assert_eq!(usual_cache(Path::new("/home/me")), Path::new("/home/me/.cache/haversack"));
    }
}
