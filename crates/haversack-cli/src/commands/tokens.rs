//! `haversack tokens`: counts the tokens of files.

use std::path::PathBuf;

use anyhow::Result;
use haversack_core::units::Tokens;

use crate::args;
use crate::input::{read_text, tokenizer};
use crate::output::{ExitOutcome, grouped, print, say};

pub(crate) fn run(args: &args::TokensArgs) -> Result<ExitOutcome> {
    let tokenizer = tokenizer(&args.counting)?;
    let stdin = [PathBuf::from("-")];
    let files = if args.files.is_empty() { &stdin[..] } else { &args.files[..] };
    let mut total = Tokens::ZERO;
    let mut lines = String::new();
    for file in files {
        let tokens = tokenizer.count(&read_text(file)?);
        total += tokens;
        lines.push_str(&format!("{:>12}  {}\n", grouped(tokens), file.display()));
    }
    if files.len() > 1 {
        lines.push_str(&format!("{:>12}  in all\n", grouped(total)));
    }
    print(&lines)?;
    say(&format!("counted by {}: {}", tokenizer.name(), tokenizer.accuracy()));
    Ok(ExitOutcome::Something)
}
