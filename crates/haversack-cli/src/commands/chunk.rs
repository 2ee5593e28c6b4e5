//! `haversack chunk`: splits a file, and prints the chunks with their positions.

use std::fmt::Write as _;

use anyhow::Result;
use haversack_core::text::chunk::{ChunkLimits, Format, chunk};
use haversack_core::units::Tokens;

use crate::args;
use crate::input::{read_text, tokenizer};
use crate::output::{ExitOutcome, print, say};

pub(crate) fn run(args: &args::ChunkArgs) -> Result<ExitOutcome> {
    let tokenizer = tokenizer(&args.counting)?;
    let limits = ChunkLimits::new(Tokens::new(args.target), Tokens::new(args.max))?;
    let text = read_text(&args.file)?;
    let format = Format::of_path(&args.file.to_string_lossy());
    let chunks = chunk(&text, format, &*tokenizer, limits);
    let mut out = String::new();
    for (number, chunk) in chunks.iter().enumerate() {
        let last = chunk.lines.end.saturating_sub(1);
        let place = chunk.headings.join(" › ");
        let _ = writeln!(
            out,
            "── chunk {} · {} tokens · lines {}–{last} · bytes {} · {place}",
            number + 1,
            chunk.tokens,
            chunk.lines.start,
            chunk.span,
        );
        let _ = writeln!(out, "{}\n", chunk.span.slice(&text).unwrap_or_default());
    }
    print(&out)?;
    say(&format!("{} chunks, counted by {}", chunks.len(), tokenizer.name()));
    Ok(if chunks.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}
