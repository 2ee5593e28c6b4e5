//! `haversack trim`: truncates a text to a number of tokens.

use std::path::{Path, PathBuf};

use anyhow::Result;
use haversack_core::text::terms::{Language, terms};
use haversack_core::text::truncate::{Truncation, truncate};
use haversack_core::units::Tokens;

use crate::args::{self, KeepPart};
use crate::input::{read_text, tokenizer};
use crate::output::{ExitOutcome, grouped, print, say};

pub(crate) fn run(args: &args::TrimArgs) -> Result<ExitOutcome> {
    let tokenizer = tokenizer(&args.counting)?;
    let stdin = PathBuf::from("-");
    let file: &Path = args.file.as_deref().unwrap_or(&stdin);
    let text = read_text(file)?;
    let limit = Tokens::new(args.to);
    let strategy = match args.keep {
        None if args.query.is_empty() => Truncation::KeepStart,
        None | Some(KeepPart::Important) => Truncation::Extractive,
        Some(KeepPart::Start) => Truncation::KeepStart,
        Some(KeepPart::End) => Truncation::KeepEnd,
    };
    let query_terms = terms(&args.query, Language::detect(&args.query));
    let before = tokenizer.count(&text);
    let Some(cut) = truncate(&text, limit, strategy, &*tokenizer, &query_terms) else {
        say(&format!("nothing of it fits into {} tokens", grouped(limit)));
        return Ok(ExitOutcome::Nothing);
    };
    print(&cut.text)?;
    let after = tokenizer.count(&cut.text);
    say(&format!(
        "{} of {} tokens, counted by {}: {}",
        grouped(after),
        grouped(before),
        tokenizer.name(),
        tokenizer.accuracy()
    ));
    Ok(ExitOutcome::Something)
}
