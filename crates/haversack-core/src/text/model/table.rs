//! The models' limits and how each is counted.
//!
//! Limits are those of the maker's own service, or of its large hosts for models that the maker
//! only publishes. They come from the makers' model pages (Anthropic, Google) and from two public
//! catalogues, LiteLLM's `model_prices_and_context_window` (August 2026) and models.dev (July
//! 2026); where those differ, the smaller figure stands. A host that offers less, or a service
//! that has grown since, needs an override.
//!
//! Missing on purpose, because no vocabulary of theirs is compiled in and none was found to
//! measure against: Llama 4, Qwen 3.5 and later, MiniMax M3, and Mistral's models from before
//! Tekken.
//!
//! # Margins
//!
//! A margin is chosen so that the count is an upper one for prose and code; lists of unusual
//! identifiers can still exceed it. Every margin can be overridden, and a maker's own token
//! counting service remains the only exact answer.
//!
//! **Gemini**: Tekken + 50 %. Google's own library counts Gemini 2.0 to 3 with Gemma 3's
//! vocabulary, which is public; Gemini 1.5 is taken to use Gemma 2's. Over 4,221 English and code
//! documents both make 2 % more tokens than Tekken in sum, 28 % at the 99th percentile and 47 % at
//! worst (a list of Java imports); over ten languages at most 33 %; over JSON, hexadecimal, UUIDs
//! and tables of digits at most 13 %. Tekken is the base because it, like Gemma, takes each digit
//! as one token; against o200k, digits alone would need 99 %. Gemini 3.1 and later use a newer
//! vocabulary that could not be measured: they have the same margin on trust.
//!
//! **Claude 3 to 4.6**: cl100k + 40 %. There is no public vocabulary since Claude 3, so this rests
//! on published comparisons with the token counting service, none of them ours. Against o200k: 16 %
//! more for English, 21 % for mathematics, 30 % for Python (2025), 18 % as one tool's calibrated
//! factor (2026); for one essay in translation 49 % more for Chinese, 56 % for Russian, 118 % for
//! Arabic, 136 % for Hindi (2026). The base is cl100k because it, too, needs more than o200k for
//! those scripts (41, 78, 118 and 234 % on our samples), but not for English and code.
//!
//! **Claude 4.7 and later**: cl100k + 90 %. Anthropic says that its newer vocabulary makes about
//! 30 % more tokens; published measurements are 20 to 59 % for English, 13 to 36 % for code, 34 %
//! for JSON and none for Chinese, Arabic, Hindi and Russian. On top of the older Claude's 16 %,
//! 59 % make 84 %. Whole conversations with code and JSON were reported at 53 to 76 % above
//! OpenAI's vocabularies (five reports, 2026). Names in capitals with underscores more than double
//! and are not covered; scripts other than Latin are counted far too high.

use super::{Counting, LanguageModel, Vendor};
use crate::text::tokenizer::Encoding;
use crate::units::Tokens;

const O200K: Counting = Counting::Exact(Encoding::O200k);
const CL100K: Counting = Counting::Exact(Encoding::Cl100k);
const LLAMA3: Counting = Counting::Exact(Encoding::Llama3);
const DEEPSEEK: Counting = Counting::Exact(Encoding::DeepSeekV3);
const QWEN: Counting = Counting::Exact(Encoding::Qwen2);
const TEKKEN: Counting = Counting::Exact(Encoding::MistralV3);
const KIMI: Counting = Counting::Exact(Encoding::KimiK2);
const GLM4: Counting = Counting::Exact(Encoding::Glm4);
const GLM5: Counting = Counting::Exact(Encoding::Glm5);
const MINIMAX: Counting = Counting::Exact(Encoding::MiniMaxM2);
const GEMINI: Counting = Counting::Upper { base: Encoding::MistralV3, margin_percent: 50 };
const CLAUDE_3: Counting = Counting::Upper { base: Encoding::Cl100k, margin_percent: 40 };
const CLAUDE_4_7: Counting = Counting::Upper { base: Encoding::Cl100k, margin_percent: 90 };

/// Name, window, longest output, counting, other names.
type ModelRow = (&'static str, u32, u32, Counting, &'static [&'static str]);

const fn row(vendor: Vendor, row: ModelRow) -> LanguageModel {
    let (name, window, output_max, counting, aliases) = row;
    // GPT-5 and its successors set their longest output aside: 400,000 - 128,000 = 272,000.
    let sets_output_aside =
        matches!(vendor, Vendor::OpenAi) && output_max == 128_000 && window >= 400_000;
    let input_max = if sets_output_aside { window - output_max } else { window };
    LanguageModel {
        name,
        aliases,
        vendor,
        window: Tokens::new(window),
        input_max: Tokens::new(input_max),
        output_max: Tokens::new(output_max),
        counting,
    }
}

/// Sorted by name.
#[rustfmt::skip]
pub(super) const MODELS: &[LanguageModel] = &[
    row(Vendor::OpenAi, ("chatgpt-4o-latest", 128_000, 4_096, O200K, &[])),
    row(Vendor::Anthropic, ("claude-3-5-haiku", 200_000, 8_192, CLAUDE_3, &["claude-3.5-haiku"])),
    row(Vendor::Anthropic, ("claude-3-5-sonnet", 200_000, 8_192, CLAUDE_3, &["claude-3.5-sonnet"])),
    row(Vendor::Anthropic, ("claude-3-7-sonnet", 200_000, 64_000, CLAUDE_3, &[
        "claude-3.7-sonnet",
    ])),
    row(Vendor::Anthropic, ("claude-3-haiku", 200_000, 4_096, CLAUDE_3, &[])),
    row(Vendor::Anthropic, ("claude-3-opus", 200_000, 4_096, CLAUDE_3, &[])),
    row(Vendor::Anthropic, ("claude-3-sonnet", 200_000, 4_096, CLAUDE_3, &[])),
    row(Vendor::Anthropic, ("claude-fable-5", 1_000_000, 128_000, CLAUDE_4_7, &[])),
    row(Vendor::Anthropic, ("claude-fable-5-1", 1_000_000, 128_000, CLAUDE_4_7, &[
        "claude-fable-5.1",
    ])),
    row(Vendor::Anthropic, ("claude-haiku-4-5", 200_000, 64_000, CLAUDE_3, &[
        "claude-haiku-4.5", "claude-4.5-haiku", "claude-4-5-haiku",
    ])),
    row(Vendor::Anthropic, ("claude-haiku-5-5", 1_000_000, 128_000, CLAUDE_4_7, &[
        "claude-haiku-5.5",
    ])),
    row(Vendor::Anthropic, ("claude-opus-4", 200_000, 32_000, CLAUDE_3, &[
        "claude-opus-4-0", "claude-4-opus",
    ])),
    row(Vendor::Anthropic, ("claude-opus-4-1", 200_000, 32_000, CLAUDE_3, &[
        "claude-opus-4.1", "claude-4.1-opus", "claude-4-1-opus",
    ])),
    row(Vendor::Anthropic, ("claude-opus-4-5", 200_000, 64_000, CLAUDE_3, &[
        "claude-opus-4.5", "claude-4.5-opus", "claude-4-5-opus",
    ])),
    row(Vendor::Anthropic, ("claude-opus-4-6", 1_000_000, 128_000, CLAUDE_3, &["claude-opus-4.6"])),
    row(Vendor::Anthropic, ("claude-opus-4-7", 1_000_000, 128_000, CLAUDE_4_7, &[
        "claude-opus-4.7",
    ])),
    row(Vendor::Anthropic, ("claude-opus-4-8", 1_000_000, 128_000, CLAUDE_4_7, &[
        "claude-opus-4.8",
    ])),
    row(Vendor::Anthropic, ("claude-opus-5", 1_000_000, 128_000, CLAUDE_4_7, &[])),
    row(Vendor::Anthropic, ("claude-opus-5-5", 1_000_000, 128_000, CLAUDE_4_7, &[
        "claude-opus-5.5",
    ])),
    row(Vendor::Anthropic, ("claude-sonnet-4", 200_000, 64_000, CLAUDE_3, &[
        "claude-sonnet-4-0", "claude-4-sonnet",
    ])),
    row(Vendor::Anthropic, ("claude-sonnet-4-5", 200_000, 64_000, CLAUDE_3, &[
        "claude-sonnet-4.5", "claude-4.5-sonnet", "claude-4-5-sonnet",
    ])),
    row(Vendor::Anthropic, ("claude-sonnet-4-6", 1_000_000, 64_000, CLAUDE_3, &[
        "claude-sonnet-4.6",
    ])),
    row(Vendor::Anthropic, ("claude-sonnet-5", 1_000_000, 128_000, CLAUDE_4_7, &[])),
    row(Vendor::Anthropic, ("claude-sonnet-5-5", 1_000_000, 128_000, CLAUDE_4_7, &[
        "claude-sonnet-5.5",
    ])),
    row(Vendor::OpenAi, ("codex-mini-latest", 200_000, 100_000, O200K, &["codex-mini"])),
    row(Vendor::DeepSeek, ("deepseek-chat", 131_072, 8_192, DEEPSEEK, &[])),
    row(Vendor::DeepSeek, ("deepseek-r1", 65_536, 8_192, DEEPSEEK, &[])),
    row(Vendor::DeepSeek, ("deepseek-reasoner", 131_072, 65_536, DEEPSEEK, &[])),
    row(Vendor::DeepSeek, ("deepseek-v3", 65_536, 8_192, DEEPSEEK, &[])),
    row(Vendor::DeepSeek, ("deepseek-v3.1", 131_072, 32_768, DEEPSEEK, &[])),
    row(Vendor::DeepSeek, ("deepseek-v3.2", 131_072, 65_536, DEEPSEEK, &[])),
    row(Vendor::DeepSeek, ("deepseek-v4-flash", 1_000_000, 8_192, DEEPSEEK, &[])),
    row(Vendor::DeepSeek, ("deepseek-v4-pro", 1_000_000, 8_192, DEEPSEEK, &[])),
    row(Vendor::Mistral, ("devstral-small-2505", 128_000, 128_000, TEKKEN, &[])),
    row(Vendor::Mistral, ("devstral-small-2507", 128_000, 128_000, TEKKEN, &[])),
    row(Vendor::Google, ("gemini-1.5-flash", 1_048_576, 8_192, GEMINI, &[])),
    row(Vendor::Google, ("gemini-1.5-pro", 2_097_152, 8_192, GEMINI, &[])),
    row(Vendor::Google, ("gemini-2.0-flash", 1_048_576, 8_192, GEMINI, &[])),
    row(Vendor::Google, ("gemini-2.0-flash-lite", 1_048_576, 8_192, GEMINI, &[])),
    row(Vendor::Google, ("gemini-2.5-flash", 1_048_576, 65_535, GEMINI, &[
        "gemini-2.5-flash-preview-09-2025",
    ])),
    row(Vendor::Google, ("gemini-2.5-flash-lite", 1_048_576, 65_535, GEMINI, &[
        "gemini-2.5-flash-lite-preview-06-17", "gemini-2.5-flash-lite-preview-09-2025",
    ])),
    row(Vendor::Google, ("gemini-2.5-pro", 1_048_576, 65_535, GEMINI, &[])),
    row(Vendor::Google, ("gemini-3-flash-preview", 1_048_576, 65_535, GEMINI, &["gemini-3-flash"])),
    row(Vendor::Google, ("gemini-3-pro-preview", 1_048_576, 65_535, GEMINI, &["gemini-3-pro"])),
    row(Vendor::Google, ("gemini-3.1-flash-lite", 1_048_576, 65_536, GEMINI, &[
        "gemini-3.1-flash-lite-preview",
    ])),
    row(Vendor::Google, ("gemini-3.1-pro-preview", 1_048_576, 65_536, GEMINI, &["gemini-3.1-pro"])),
    row(Vendor::Google, ("gemini-3.5-flash", 1_048_576, 65_535, GEMINI, &[])),
    row(Vendor::Google, ("gemini-3.5-flash-lite", 1_048_576, 65_536, GEMINI, &[])),
    row(Vendor::Google, ("gemini-3.6-flash", 1_048_576, 65_536, GEMINI, &[])),
    row(Vendor::Google, ("gemini-3.8-flash", 1_000_000, 65_536, GEMINI, &[])),
    row(Vendor::Google, ("gemini-4-argon", 1_048_576, 65_536, GEMINI, &[])),
    row(Vendor::Zhipu, ("glm-4.5", 128_000, 32_000, GLM4, &[])),
    row(Vendor::Zhipu, ("glm-4.5-air", 128_000, 32_000, GLM4, &[])),
    row(Vendor::Zhipu, ("glm-4.5-flash", 128_000, 32_000, GLM4, &[])),
    row(Vendor::Zhipu, ("glm-4.6", 200_000, 128_000, GLM4, &[])),
    row(Vendor::Zhipu, ("glm-4.7", 200_000, 128_000, GLM4, &[])),
    row(Vendor::Zhipu, ("glm-4.7-flash", 200_000, 128_000, GLM4, &[])),
    row(Vendor::Zhipu, ("glm-5", 200_000, 128_000, GLM5, &[])),
    row(Vendor::Zhipu, ("glm-5.1", 200_000, 128_000, GLM5, &[])),
    row(Vendor::Zhipu, ("glm-5.2", 1_000_000, 131_072, GLM5, &[])),
    row(Vendor::OpenAi, ("gpt-3.5-turbo", 16_385, 4_096, CL100K, &[
        "gpt-3.5-turbo-0125", "gpt-3.5-turbo-1106", "gpt-3.5-turbo-16k", "gpt-35-turbo",
    ])),
    row(Vendor::OpenAi, ("gpt-4", 8_192, 4_096, CL100K, &["gpt-4-0314", "gpt-4-0613"])),
    row(Vendor::OpenAi, ("gpt-4-turbo", 128_000, 4_096, CL100K, &[
        "gpt-4-0125-preview", "gpt-4-1106-preview", "gpt-4-turbo-preview",
    ])),
    row(Vendor::OpenAi, ("gpt-4.1", 1_047_576, 32_768, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-4.1-mini", 1_047_576, 32_768, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-4.1-nano", 1_047_576, 32_768, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-4o", 128_000, 16_384, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-4o-2024-05-13", 128_000, 4_096, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-4o-mini", 128_000, 16_384, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5-chat-latest", 128_000, 16_384, O200K, &["gpt-5-chat"])),
    row(Vendor::OpenAi, ("gpt-5-codex", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5-mini", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5-nano", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5-pro", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.1", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.1-chat-latest", 128_000, 16_384, O200K, &["gpt-5.1-chat"])),
    row(Vendor::OpenAi, ("gpt-5.1-codex", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.1-codex-max", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.1-codex-mini", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.2", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.2-chat-latest", 128_000, 16_384, O200K, &["gpt-5.2-chat"])),
    row(Vendor::OpenAi, ("gpt-5.2-codex", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.2-pro", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.3-chat-latest", 128_000, 16_384, O200K, &["gpt-5.3-chat"])),
    row(Vendor::OpenAi, ("gpt-5.3-codex", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.4", 1_050_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.4-mini", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.4-nano", 400_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.4-pro", 1_050_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.5", 1_050_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.5-pro", 1_050_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.6", 1_050_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.6-luna", 1_050_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.6-sol", 1_050_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-5.6-terra", 1_050_000, 128_000, O200K, &[])),
    row(Vendor::OpenAi, ("gpt-oss-120b", 131_072, 32_768, O200K, &[
        "gpt-oss:120b", "gpt-oss-120b-1",
    ])),
    row(Vendor::OpenAi, ("gpt-oss-20b", 131_072, 32_768, O200K, &["gpt-oss:20b", "gpt-oss-20b-1"])),
    row(Vendor::Moonshot, ("kimi-k2-0711-preview", 131_072, 16_384, KIMI, &[
        "kimi-k2", "kimi-k2-instruct",
    ])),
    row(Vendor::Moonshot, ("kimi-k2-0905-preview", 262_144, 262_144, KIMI, &[
        "kimi-k2-0905", "kimi-k2-instruct-0905",
    ])),
    row(Vendor::Moonshot, ("kimi-k2-thinking", 262_144, 262_144, KIMI, &[])),
    row(Vendor::Moonshot, ("kimi-k2-thinking-turbo", 262_144, 262_144, KIMI, &[])),
    row(Vendor::Moonshot, ("kimi-k2-turbo-preview", 262_144, 262_144, KIMI, &[])),
    row(Vendor::Moonshot, ("kimi-k2.5", 262_144, 262_144, KIMI, &[])),
    row(Vendor::Moonshot, ("kimi-k2.6", 262_144, 262_144, KIMI, &[])),
    row(Vendor::Meta, ("llama-3-70b", 8_192, 8_192, LLAMA3, &[
        "llama-3-70b-instruct", "meta-llama-3-70b-instruct", "llama3-70b-instruct", "llama3:70b",
        "llama3-70b",
    ])),
    row(Vendor::Meta, ("llama-3-8b", 8_192, 8_192, LLAMA3, &[
        "llama-3-8b-instruct", "meta-llama-3-8b-instruct", "llama3-8b-instruct", "llama3:8b",
        "llama3-8b",
    ])),
    row(Vendor::Meta, ("llama-3.1-405b", 128_000, 4_096, LLAMA3, &[
        "llama-3.1-405b-instruct", "meta-llama-3.1-405b-instruct", "llama3-1-405b-instruct",
        "llama3.1:405b", "llama3.1-405b",
    ])),
    row(Vendor::Meta, ("llama-3.1-70b", 128_000, 4_096, LLAMA3, &[
        "llama-3.1-70b-instruct", "meta-llama-3.1-70b-instruct", "llama3-1-70b-instruct",
        "llama3.1:70b", "llama3.1-70b",
    ])),
    row(Vendor::Meta, ("llama-3.1-8b", 128_000, 4_096, LLAMA3, &[
        "llama-3.1-8b-instruct", "meta-llama-3.1-8b-instruct", "llama3-1-8b-instruct",
        "llama3.1:8b", "llama3.1-8b", "llama-3.1-8b-instant",
    ])),
    row(Vendor::Meta, ("llama-3.2-11b", 128_000, 4_096, LLAMA3, &[
        "llama-3.2-11b-vision-instruct", "llama3-2-11b-instruct", "llama3.2-vision:11b",
        "llama3.2-11b",
    ])),
    row(Vendor::Meta, ("llama-3.2-1b", 128_000, 4_096, LLAMA3, &[
        "llama-3.2-1b-instruct", "llama3-2-1b-instruct", "llama3.2:1b", "llama3.2-1b",
    ])),
    row(Vendor::Meta, ("llama-3.2-3b", 128_000, 4_096, LLAMA3, &[
        "llama-3.2-3b-instruct", "llama3-2-3b-instruct", "llama3.2:3b", "llama3.2-3b",
    ])),
    row(Vendor::Meta, ("llama-3.2-90b", 128_000, 4_096, LLAMA3, &[
        "llama-3.2-90b-vision-instruct", "llama3-2-90b-instruct", "llama3.2-vision:90b",
        "llama3.2-90b",
    ])),
    row(Vendor::Meta, ("llama-3.3-70b", 128_000, 4_096, LLAMA3, &[
        "llama-3.3-70b-instruct", "llama3-3-70b-instruct", "llama3.3:70b", "llama3.3-70b",
        "llama-3.3-70b-versatile",
    ])),
    row(Vendor::Mistral, ("magistral-small-2506", 40_000, 40_000, TEKKEN, &[])),
    row(Vendor::MiniMax, ("minimax-m2", 196_608, 8_192, MINIMAX, &[])),
    row(Vendor::MiniMax, ("minimax-m2.1", 204_800, 8_192, MINIMAX, &[])),
    row(Vendor::MiniMax, ("minimax-m2.5", 204_800, 8_192, MINIMAX, &[])),
    row(Vendor::MiniMax, ("minimax-m2.7", 204_800, 131_072, MINIMAX, &[])),
    row(Vendor::Mistral, ("mistral-small-3.2", 128_000, 16_384, TEKKEN, &[
        "mistral-small-2506", "mistral-small-3-2-2506", "mistral-small-3.2-24b-instruct",
        "mistral-small-3.2-24b-instruct-2506",
    ])),
    row(Vendor::OpenAi, ("o1", 200_000, 100_000, O200K, &[])),
    row(Vendor::OpenAi, ("o1-mini", 128_000, 65_536, O200K, &[])),
    row(Vendor::OpenAi, ("o1-preview", 128_000, 32_768, O200K, &[])),
    row(Vendor::OpenAi, ("o1-pro", 200_000, 100_000, O200K, &[])),
    row(Vendor::OpenAi, ("o3", 200_000, 100_000, O200K, &[])),
    row(Vendor::OpenAi, ("o3-deep-research", 200_000, 100_000, O200K, &[])),
    row(Vendor::OpenAi, ("o3-mini", 200_000, 100_000, O200K, &[])),
    row(Vendor::OpenAi, ("o3-pro", 200_000, 100_000, O200K, &[])),
    row(Vendor::OpenAi, ("o4-mini", 200_000, 100_000, O200K, &[])),
    row(Vendor::OpenAi, ("o4-mini-deep-research", 200_000, 100_000, O200K, &[])),
    row(Vendor::Mistral, ("open-mistral-nemo", 128_000, 128_000, TEKKEN, &[
        "mistral-nemo", "open-mistral-nemo-2407", "mistral-nemo-2407",
        "mistral-nemo-instruct-2407",
    ])),
    row(Vendor::Mistral, ("pixtral-12b", 128_000, 128_000, TEKKEN, &["pixtral-12b-2409"])),
    row(Vendor::Alibaba, ("qwen2.5-14b-instruct", 131_072, 8_192, QWEN, &[
        "qwen2.5-14b", "qwen2.5:14b", "qwen2-5-14b-instruct", "qwen-2.5-14b-instruct",
    ])),
    row(Vendor::Alibaba, ("qwen2.5-32b-instruct", 131_072, 8_192, QWEN, &[
        "qwen2.5-32b", "qwen2.5:32b", "qwen2-5-32b-instruct", "qwen-2.5-32b-instruct",
    ])),
    row(Vendor::Alibaba, ("qwen2.5-72b-instruct", 131_072, 8_192, QWEN, &[
        "qwen2.5-72b", "qwen2.5:72b", "qwen2-5-72b-instruct", "qwen-2.5-72b-instruct",
    ])),
    row(Vendor::Alibaba, ("qwen2.5-7b-instruct", 131_072, 8_192, QWEN, &[
        "qwen2.5-7b", "qwen2.5:7b", "qwen2-5-7b-instruct", "qwen-2.5-7b-instruct",
    ])),
    row(Vendor::Alibaba, ("qwen3-14b", 131_072, 8_192, QWEN, &["qwen3:14b"])),
    row(Vendor::Alibaba, ("qwen3-235b-a22b", 131_072, 16_384, QWEN, &["qwen3:235b-a22b"])),
    row(Vendor::Alibaba, ("qwen3-30b-a3b", 129_024, 16_384, QWEN, &["qwen3:30b-a3b"])),
    row(Vendor::Alibaba, ("qwen3-32b", 131_072, 16_384, QWEN, &["qwen3:32b"])),
    row(Vendor::Alibaba, ("qwen3-8b", 131_072, 8_192, QWEN, &["qwen3:8b"])),
    row(Vendor::Alibaba, ("qwen3-coder-30b-a3b-instruct", 262_144, 65_536, QWEN, &[
        "qwen3-coder-30b-a3b",
    ])),
    row(Vendor::Alibaba, ("qwen3-coder-480b-a35b-instruct", 262_144, 65_536, QWEN, &[
        "qwen3-coder-480b-a35b",
    ])),
    row(Vendor::Alibaba, ("qwen3-next-80b-a3b-instruct", 131_072, 32_768, QWEN, &[])),
    row(Vendor::Alibaba, ("qwen3-next-80b-a3b-thinking", 131_072, 32_768, QWEN, &[])),
    row(Vendor::OpenAi, ("text-embedding-3-large", 8_191, 0, CL100K, &[])),
    row(Vendor::OpenAi, ("text-embedding-3-small", 8_191, 0, CL100K, &[])),
    row(Vendor::OpenAi, ("text-embedding-ada-002", 8_191, 0, CL100K, &[])),
];
