//! `haversack completions` and `haversack man`: completion scripts and manual pages.

use std::fs;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::args::{self, Cli};
use crate::output::{ExitOutcome, print, say, to_stdout};

const NAME: &str = "haversack";

pub(crate) fn run(args: &args::CompletionsArgs) -> Result<ExitOutcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    to_stdout(|out| Ok(out.write_all(&script)?))?;
    Ok(ExitOutcome::Something)
}

pub(crate) fn man(args: &args::ManArgs) -> Result<ExitOutcome> {
    let Some(folder) = &args.out else {
        let mut manual = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut manual)?;
        to_stdout(|out| Ok(out.write_all(&manual)?))?;
        return Ok(ExitOutcome::Something);
    };
    let cannot = || format!("cannot write the manual to {}", folder.display());
    fs::create_dir_all(folder).with_context(cannot)?;
    clap_mangen::generate_to(Cli::command(), folder).with_context(cannot)?;
    print(&format!("the manual is in {0}: try `man {0}/{NAME}.1`", folder.display()))?;
    say("to have it found by `man haversack`, put it into a folder called man1");
    Ok(ExitOutcome::Something)
}
