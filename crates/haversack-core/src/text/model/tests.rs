use proptest::prelude::*;

use super::*;
use crate::text::tokenizer::{Accuracy, CharacterEstimate};

#[test]
fn names_are_found_as_people_type_them() {
    let check = |name: &str, expected: &str| match find(name) {
        Ok(model) => assert_eq!(model.name(), expected, "{name}"),
        Err(error) => panic!("{error}"),
    };
    check("gpt-4o", "gpt-4o");
    check("GPT-4o", "gpt-4o");
    check(" gpt-4o\n", "gpt-4o");
    check("openai/gpt-4o", "gpt-4o");
    check("openrouter/openai/gpt-4o-2024-08-06", "gpt-4o");
    check("gpt-4o-2024-05-13", "gpt-4o-2024-05-13");
    check("gpt-4o-mini-2024-07-18", "gpt-4o-mini");
    check("azure/gpt-35-turbo", "gpt-3.5-turbo");
    check("gpt-4-0613", "gpt-4");
    check("gpt-4-1106-preview", "gpt-4-turbo");
    check("gpt-5-2025-08-07", "gpt-5");
    check("gpt-5-chat-latest", "gpt-5-chat-latest");
    check("openai.gpt-oss-120b-1:0", "gpt-oss-120b");
    check("o3-mini-2025-01-31", "o3-mini");
    check("text-embedding-3-small", "text-embedding-3-small");
    check("claude-3-5-sonnet-20241022", "claude-3-5-sonnet");
    check("claude-3-5-sonnet-latest", "claude-3-5-sonnet");
    check("claude-3.5-sonnet", "claude-3-5-sonnet");
    check("vertex_ai/claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet");
    check("anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku");
    check("us.anthropic.claude-3-7-sonnet-20250219-v1:0", "claude-3-7-sonnet");
    check("bedrock/eu.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4");
    check("anthropic/claude-sonnet-4-5@20250929", "claude-sonnet-4-5");
    check("claude-opus-4-20250514", "claude-opus-4");
    check("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6");
    check("claude-opus-4-7@default", "claude-opus-4-7");
    check("models/gemini-2.5-pro", "gemini-2.5-pro");
    check("gemini-1.5-pro-002", "gemini-1.5-pro");
    check("gemini-1.5-flash-latest", "gemini-1.5-flash");
    check("google/gemini-3-pro", "gemini-3-pro-preview");
    check("meta-llama/Llama-3.3-70B-Instruct", "llama-3.3-70b");
    check("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b");
    check("us.meta.llama3-1-70b-instruct-v1:0", "llama-3.1-70b");
    check("llama3.2:3b", "llama-3.2-3b");
    check("deepseek-ai/DeepSeek-V3", "deepseek-v3");
    check("deepseek/deepseek-r1", "deepseek-r1");
    check("Qwen/Qwen2.5-72B-Instruct", "qwen2.5-72b-instruct");
    check("qwen3:8b", "qwen3-8b");
    check("mistralai/Mistral-Nemo-Instruct-2407", "open-mistral-nemo");
    check("mistral-small-2506", "mistral-small-3.2");
    check("moonshotai/kimi-k2-instruct-0905", "kimi-k2-0905-preview");
    check("zai-org/GLM-4.6", "glm-4.6");
    check("MiniMaxAI/MiniMax-M2", "minimax-m2");
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    let check = |name: &str, expected: &str| {
        assert_eq!(find(name).unwrap_err().to_string(), expected);
    };
    check("gpt-4p", "unknown model \"gpt-4p\": nearest are gpt-4, gpt-4o, gpt-4.1");
    check(
        "claude-3-5-sonet",
        "unknown model \"claude-3-5-sonet\": nearest are claude-3-5-sonnet, claude-3-7-sonnet, \
         claude-sonnet-4-5",
    );
    check("", "unknown model \"\"");
    check("zzzzzz", "unknown model \"zzzzzz\"");
    check("a\nb", "unknown model \"a b\"");
    let long = "é".repeat(1_000_000);
    check(&long, &format!("unknown model \"{}…\"", "é".repeat(100)));
}

/// What could be another model is not stripped down to a known one.
#[test]
fn a_family_is_never_guessed() {
    let check = |name: &str| assert!(find(name).is_err(), "{name}");
    check("gpt-4o-turbo");
    check("mistral-large-2407");
    check("mistral-nemo-2501");
    check("nobody/gpt-4o");
    check("gpt-4o-2024-13-01");
    check("gpt-4o-1234");
    check("claude-3-5-sonnet@beta");
    check("claude");
    check("gemini-flash-latest");
    check(&format!("gpt-4o{}", "-latest".repeat(20)));
    check("llama-4-scout");
    check("qwen3.5-plus");
}

#[test]
fn the_table_is_sorted_and_every_name_is_its_own() {
    assert!(all_models().is_sorted_by(|a, b| a.name() < b.name()));
    let mut names = Vec::new();
    for model in all_models() {
        for name in model.aliases().iter().chain([&model.name()]) {
            assert_eq!(find(name), Ok(model), "{name}");
            assert_eq!(**name, name.to_ascii_lowercase());
            names.push(*name);
        }
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn every_model_has_room_and_a_tokenizer() {
    for model in all_models() {
        let name = model.name();
        assert!(model.window() > model.output_reserve(), "{name}");
        assert!(model.output_reserve() <= model.output_max(), "{name}");
        assert!(model.context_max() > Tokens::ZERO, "{name}");
        assert!(model.context_max() <= model.input_max(), "{name}");
        let accuracy = match model.counting() {
            Counting::Exact(_) => Accuracy::Exact,
            Counting::Upper { margin_percent, .. } => Accuracy::Upper { margin_percent },
        };
        assert_eq!(model.tokenizer().accuracy(), accuracy, "{name}");
    }
}

#[test]
fn limits_and_tokenizers_are_those_of_the_sources() {
    let check = |name: &str, context_max: u32, tokenizer: &str| {
        let model = find(name).unwrap();
        assert_eq!(model.context_max(), Tokens::new(context_max), "{name}");
        assert_eq!(model.tokenizer().name(), tokenizer, "{name}");
    };
    // P3: a window of 200,000 less a reserve of 4,000.
    check("claude-3-5-sonnet", 196_000, "cl100k_base+40%");
    check("claude-opus-5", 996_000, "cl100k_base+90%");
    check("gemini-2.5-pro", 1_044_576, "mistral_v3+50%");
    check("gpt-4o", 124_000, "o200k_base");
    check("gpt-5", 272_000, "o200k_base");
    check("gpt-5.5", 922_000, "o200k_base");
    check("gpt-oss-20b", 127_072, "o200k_base");
    check("gpt-4", 4_192, "cl100k_base");
    check("text-embedding-3-large", 8_191, "cl100k_base");
    check("llama-3.1-8b", 124_000, "llama3");
    check("deepseek-r1", 61_536, "deepseek_v3");
    check("qwen3-32b", 127_072, "qwen2");
    check("mistral-nemo", 124_000, "mistral_v3");
    check("kimi-k2.5", 258_144, "kimi_k2");
    check("glm-4.6", 196_000, "glm4");
    check("glm-5", 196_000, "glm5");
    check("minimax-m2", 192_608, "minimax_m2");
}

/// The published ratios that the margins rest on, in percent of o200k. The sample texts are ours:
/// they stand for the script, not for the texts that were measured.
#[test]
fn claudes_margins_cover_the_published_ratios() {
    let check = |model: &str, text: &str, percent_of_o200k: u64| {
        let o200k = Encoding::O200k.units(text);
        let counted = find(model).unwrap().tokenizer().count(text);
        assert!(u64::from(counted.get()) * 100 >= o200k * percent_of_o200k, "{model} {text}");
    };
    let english = "All human beings are born free and equal in dignity and rights.";
    let python = "for name in sorted(names):\n    print(f\"{name}: {counts[name]}\")\n";
    check("claude-3-5-sonnet", english, 116);
    check("claude-3-5-sonnet", python, 130);
    check("claude-opus-5", english, 116 * 159 / 100);
    check("claude-opus-5", python, 130 * 129 / 100);
    for model in ["claude-3-5-sonnet", "claude-opus-5"] {
        check(model, "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。", 149);
        check(model, "Все люди рождаются свободными и равными в достоинстве и правах.", 156);
        check(model, "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.", 218);
        check(model, "सभी मनुष्यों को गौरव और अधिकारों के मामले में समानता प्राप्त है।", 236);
    }
}

#[test]
fn overrides_replace_what_they_name() {
    let gpt_5 = find("gpt-5").unwrap();
    let check = |wishes: ModelOverride, context_max: u32, tokenizer: &str| {
        let resolved = gpt_5.resolve(&wishes).unwrap();
        assert_eq!(resolved.name(), "gpt-5");
        assert_eq!(resolved.context_max(), Tokens::new(context_max));
        assert_eq!(resolved.tokenizer().name(), tokenizer);
    };
    let tokens = |count| Some(Tokens::new(count));
    let nothing = ModelOverride::default();
    check(nothing.clone(), 272_000, "o200k_base");
    check(ModelOverride { window: tokens(500_000), ..nothing.clone() }, 496_000, "o200k_base");
    let reserve = ModelOverride { output_reserve: tokens(200_000), ..nothing.clone() };
    check(reserve, 200_000, "o200k_base");
    let margin = ModelOverride { margin_percent: Some(5), ..nothing.clone() };
    check(margin.clone(), 272_000, "o200k_base+5%");
    let own = ModelOverride { tokenizer: Some(Arc::new(CharacterEstimate)), ..nothing };
    check(own.clone(), 272_000, "characters/4");
    let both = ModelOverride { margin_percent: Some(20), ..own };
    check(both, 272_000, "characters/4+20%");
    let claude = find("claude-opus-5").unwrap().resolve(&margin).unwrap();
    assert_eq!(claude.tokenizer().name(), "cl100k_base+5%");
}

#[test]
fn a_reserve_must_leave_something_of_the_window() {
    let check = |window: Option<u32>, reserve: Option<u32>, expected: &str| {
        let wishes = ModelOverride {
            window: window.map(Tokens::new),
            output_reserve: reserve.map(Tokens::new),
            ..ModelOverride::default()
        };
        let error = find("gpt-4").unwrap().resolve(&wishes).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let nothing_left = "output reserve of 8192 tokens leaves nothing of the 8192-token window of \
                        gpt-4";
    check(None, Some(8_192), nothing_left);
    let too_small = "output reserve of 4000 tokens leaves nothing of the 1000-token window of \
                     gpt-4";
    check(Some(1_000), None, too_small);
    let none = "output reserve of 0 tokens leaves nothing of the 0-token window of gpt-4";
    check(Some(0), Some(0), none);
}

proptest! {
    #[test]
    fn any_model_name_gives_a_result(name in "\\PC{0,40}|[a-z0-9@:./-]{0,40}") {
        if let Err(error) = find(&name) {
            prop_assert!(error.nearest.len() <= 3);
        }
    }

    #[test]
    fn versions_and_hosts_do_not_change_the_model(
        at in 0..all_models().len(),
        host in proptest::sample::select(&["", "openrouter/", "azure/", "us.anthropic."][..]),
        version in proptest::sample::select(&["", "@20250929", "-v1:0", "-2031-02-03"][..]),
    ) {
        let model = &all_models()[at];
        let name = format!("{host}{}{version}", model.name());
        prop_assert_eq!(find(&name), Ok(model));
    }
}
