//! Model names as users write them: spellings to look up, and suggestions for unknown names.

use super::all_models;
use crate::text::spelling::{self, cut};

/// What hosts and catalogues write before a slash.
#[rustfmt::skip]
const PATHS: &[&str] = &[
    "accounts", "alibaba", "anthropic", "azure", "azure_ai", "bedrock", "dashscope", "deepseek",
    "deepseek-ai", "fireworks", "fireworks_ai", "gemini", "google", "groq", "litellm_proxy",
    "meta", "meta-llama", "meta_llama", "minimax", "minimaxai", "mistral", "mistralai", "models",
    "moonshot", "moonshotai", "ollama", "openai", "openrouter", "publishers", "qwen", "together",
    "together_ai", "vercel_ai_gateway", "vertex_ai", "z-ai", "zai", "zai-org", "zhipuai",
];

/// What Amazon Bedrock writes before a dot: first a region, then a maker.
const REGIONS: &[&str] = &["apac", "au", "ca", "eu", "global", "jp", "us", "us-gov"];
#[rustfmt::skip]
const MAKERS: &[&str] = &[
    "anthropic", "deepseek", "meta", "minimax", "mistral", "moonshot", "moonshotai", "openai",
    "qwen", "zai",
];

/// The spellings under which a name is looked up, in this order; none for one that is too long.
pub(super) fn forms(name: &str) -> Vec<String> {
    let name = name.trim();
    if cut(name).len() < name.len() {
        return Vec::new();
    }
    let whole = name.to_ascii_lowercase();
    let mut rest = strip_host_prefixes(&whole);
    let mut forms = vec![whole.clone(), rest.to_owned()];
    while let Some(shorter) = without_version(rest) {
        forms.push(shorter.to_owned());
        rest = shorter;
    }
    forms
}

/// The models spelt most alike.
pub(super) fn nearest(name: &str) -> Vec<&'static str> {
    let whole = cut(name.trim()).to_ascii_lowercase();
    let spellings = all_models().iter().flat_map(|model| {
        let aliases = model.aliases().iter().map(|alias| (*alias, model.name()));
        aliases.chain([(model.name(), model.name())])
    });
    spelling::nearest(strip_host_prefixes(&whole), spellings)
}

/// The name without the prefixes of hosts.
fn strip_host_prefixes(name: &str) -> &str {
    let mut rest = name;
    while let Some(shorter) = without_prefix(rest, '/', PATHS) {
        rest = shorter;
    }
    let rest = without_prefix(rest, '.', REGIONS).unwrap_or(rest);
    without_prefix(rest, '.', MAKERS).unwrap_or(rest)
}

fn without_prefix<'n>(name: &'n str, end: char, known: &[&str]) -> Option<&'n str> {
    let (prefix, rest) = name.split_once(end)?;
    known.contains(&prefix).then_some(rest)
}

/// The name without its last mark of a version, if it ends in one.
fn without_version(name: &str) -> Option<&str> {
    if let Some((rest, version)) = name.rsplit_once('@') {
        return (is_digits(version) || version == "default" || version == "latest").then_some(rest);
    }
    if let Some((rest, build)) = name.rsplit_once(':') {
        return is_digits(build).then_some(rest);
    }
    if let Some((rest, date)) = name.len().checked_sub(11).and_then(|at| name.split_at_checked(at))
        && let Some(date) = date.strip_prefix('-')
        && is_dashed_date(date)
    {
        return Some(rest);
    }
    let (rest, last) = name.rsplit_once('-')?;
    let version = last.strip_prefix('v').is_some_and(is_digits);
    let revision = last.len() == 3 && last.starts_with("00") && is_digits(last);
    (last == "latest" || version || revision || is_date(last)).then_some(rest)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `YYYY-MM-DD`.
fn is_dashed_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let widths = [4, 2, 2];
    widths.iter().all(|&width| parts.next().is_some_and(|part| part.len() == width))
        && parts.next().is_none()
        && is_date(&text.replace('-', ""))
}

/// `YYYYMMDD`, in this age.
fn is_date(text: &str) -> bool {
    let within = |range: std::ops::Range<usize>, low: u32, high: u32| {
        let number = text.get(range).and_then(|digits| digits.parse().ok());
        number.is_some_and(|number: u32| (low..=high).contains(&number))
    };
    text.len() == 8
        && is_digits(text)
        && within(0..4, 2020, 2099)
        && within(4..6, 1, 12)
        && within(6..8, 1, 31)
}
