//! Input: files and standard input with their limits, tokenizers, and the clock.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use haversack_core::text::model;
use haversack_core::text::tokenizer::{CharacterEstimate, Encoding, HuggingFace, Tokenizer};
use haversack_core::units::Timestamp;

use crate::args::TokenizerArgs;

/// Most bytes of one input.
pub(crate) const INPUT_BYTES_MAX: u64 = 64 << 20;

/// This program, which reads foreign file formats in processes of its own.
pub(crate) fn reader_program() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// Reads a file, or standard input for `-`.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let name = path.display();
    let bytes = if path == Path::new("-") {
        read_limited(std::io::stdin().lock()).context("cannot read standard input")?
    } else {
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        read_limited(file).with_context(|| format!("cannot read {name}"))?
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("{name} is not UTF-8 text: first bad byte at {at}")
    })
}

fn read_limited(source: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        bail!("more than the limit of {INPUT_BYTES_MAX} bytes");
    }
    Ok(bytes)
}

/// The tokenizer that the options name.
pub(crate) fn tokenizer(counting: &TokenizerArgs) -> Result<Arc<dyn Tokenizer>> {
    let Some(name) = &counting.tokenizer else {
        let model = counting.model.as_deref().unwrap_or("gpt-4o");
        return Ok(model::find(model)?.tokenizer());
    };
    if let Some(encoding) = Encoding::by_name(name) {
        return Ok(Arc::new(encoding));
    }
    if name == CharacterEstimate.name() {
        return Ok(Arc::new(CharacterEstimate));
    }
    if !Path::new(name).exists() {
        let names = Encoding::ALL.map(|encoding| encoding.name().to_owned()).join(", ");
        bail!("{name} is neither a file nor one of {names}, characters/4");
    }
    tokenizer_file(name, name)
}

/// The tokenizer of a `tokenizer.json`, under a name of its own.
pub(crate) fn tokenizer_file(path: &str, name: &str) -> Result<Arc<dyn Tokenizer>> {
    let file = File::open(path).with_context(|| format!("cannot open {path}"))?;
    let bytes = read_limited(file).with_context(|| format!("cannot read {path}"))?;
    Ok(Arc::new(HuggingFace::from_bytes(name, &bytes)?))
}

/// The current moment.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
