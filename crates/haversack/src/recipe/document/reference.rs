//! Writes the long tables of the reference: collectors, components, variables, facts.

use std::fmt::Write as _;

use haversack_core::assemble::Variable;
use haversack_core::rank::{Component, Recency, Scoring};
use haversack_core::units::Score;
use haversack_store::kinds::Kinds;

use super::{heading, keys_table, without_ids, words_table};
use crate::collect;
use crate::recipe::facts::{FACTS, FactDefault};
use crate::recipe::keys::InlineTemplate;
use crate::recipe::parse::collector;
use crate::recipe::parse::score::BLANK_SCORE;
use crate::recipe::{SettingSpec, SettingType, keys, words};

const COLLECTORS: &str = "\
A layer's collectors run at the same time, on one state of the workspace, for the one who asks. What
several of them find is one candidate. One that fails or is late is left out, and the result says
so.

```toml
collect = [
    { by = \"hybrid\", kinds = [\"file\", \"page\"], limit = 40 },
    { by = \"expand\", depth = 1 },
]
```

The same can be written as `[[layer.collect]]` tables below the layer. Every collector takes these keys:
";

const SCORES: &str = "\
A score says what a text is worth. It can be a sum with weights, an expression, or a ranker by name:

```toml
score = { semantic = 0.6, recency = 0.3, usage = 0.1 }
score = \"max(semantic, keyword_match) * (0.5 + 0.5 * recency)\"
score = { ranker = \"byRecency\" }
```

Components lie between 0 and 1. Weights may be negative: what speaks against a text.
";

const TEMPLATES: &str = "\
A template is named, or written out as a table:

```toml
template = { header = \"## {{section}}\\n\\n\", item = \"{{citation}} {{content}}\", footer = \"\\n\\n\" }
```

What stands in for a variable is never read again: text can never act as a template. Each part has at most 64 KiB and
32 variables.
";

const CONDITIONS: &str = "\
A condition is an expression in CEL that is true or false, such as `type == \"search\"`,
`words < 4 && turns == 0` or `has(situation.team) && situation.team == \"sales\"`. It can name these facts;
one that the request does not say is an empty text, zero or an empty table.
";

pub(super) fn collectors(out: &mut String) {
    heading(out, "Collectors", COLLECTORS);
    keys_table(out, keys::COLLECT, &collector::blank());
    let names: Vec<String> =
        Kinds::built_in().all().iter().map(|kind| format!("`{}`", kind.name)).collect();
    let _ = writeln!(
        out,
        "\nBuilt-in kinds are {}. Others are an application's own and may have any name.",
        names.join(", ")
    );
    for collector in collect::BUILT_IN {
        let _ =
            write!(out, "\n### `{}`\n\nFinds: {}.\n", collector.name, without_ids(collector.about));
        if collector.settings.is_empty() {
            continue;
        }
        out.push_str("\n| setting | value | default | meaning |\n| --- | --- | --- | --- |\n");
        for SettingSpec { name, about, value } in collector.settings {
            let (value, default) = value_and_default(value);
            let _ = writeln!(out, "| `{name}` | {value} | {default} | {about} |");
        }
    }
}

fn value_and_default(value: &SettingType) -> (String, String) {
    let grouped = crate::recipe::read::grouped;
    match value {
        SettingType::Count { min, max, default } => {
            (format!("{} to {}", grouped(*min), grouped(*max)), format!("`{default}`"))
        }
        SettingType::Number { min, max, default } => {
            (format!("{min} to {max}"), format!("`{default}`"))
        }
        SettingType::OneOf(words) => {
            let quoted: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
            let first = quoted.first().cloned().unwrap_or_default();
            (quoted.join(", "), first)
        }
        SettingType::Subject(words) => {
            let others: Vec<String> = words.iter().map(|word| format!(", `\"{word}\"`")).collect();
            (format!("a subject's name{}", others.concat()), "the first subject".to_owned())
        }
        SettingType::Texts => ("a list of texts".to_owned(), "empty".to_owned()),
        SettingType::Flag => ("true or false".to_owned(), "`false`".to_owned()),
    }
}

pub(super) fn scores(out: &mut String) {
    heading(out, "Scores", SCORES);
    out.push_str("\n| component | what it measures | when unknown |\n| --- | --- | --- |\n");
    for component in Component::ALL {
        let unknown = if component.when_unknown() == Score::HALF { "0.5" } else { "0" };
        let _ = writeln!(out, "| `{component}` | {} | {unknown} |", measures(component));
    }
    let _ = writeln!(
        out,
        "\nBeside components, from −{max} to {max}, the table takes:",
        max = Scoring::WEIGHT_MAX
    );
    keys_table(out, keys::SCORE, &BLANK_SCORE);
    out.push_str(
        "\nAn expression has the components as names (`similarity` is another one for `semantic`), \
         numbers,\n`+ - * /`, comparisons, `a ? b : c`, and `min`, `max`, `clamp`, `exp`, `log`, \
         `sqrt`. One that gives no\nnumber for some text, as by dividing by zero, fails the \
         request; `haversack recipe lint` warns of it.\n\nRankers that are always there:\n",
    );
    out.push_str("\n| ranker | score |\n| --- | --- |\n");
    for (name, about) in words::RANKERS {
        let _ = writeln!(out, "| `\"{name}\"` | {about} |");
    }
    out.push_str("\n`recency` says how age becomes a number, by a word or by a table:\n");
    words_table(out, words::RECENCIES);
    keys_table(out, keys::RECENCY, &Recency::WORKSPACE);
}

const fn measures(component: Component) -> &'static str {
    match component {
        Component::Semantic => "how near its meaning is to the query's, by vectors",
        Component::TextSimilarity => "how near its words are to the query's",
        Component::KeywordMatch => "which part of the query's keywords it holds",
        Component::Recency => "how new it is, see below",
        Component::SourcePriority => "how direct the way was on which it was found",
        Component::Usage => "how often it was used before, up to ten times",
        Component::Structural => "how near it stands to the focus in the tree",
        Component::TypeMatch => "whether its kind fits what the query wants",
        Component::Affinity => "how much the asker has to do with it",
        Component::Confidence => "how sure its author was",
        Component::Mention => {
            "1 when the query or the subject names it; how well that answers which does, when a find does"
        }
        Component::Current => "1 for the current context",
        Component::Parent => "1 for the current context's direct parent",
        Component::Rules => "1 for a context with behaviour rules",
        Component::Collector => "what its collector thought of it",
        Component::Fusion => "what fusing several searches gave it",
        Component::Neighbour => "how well that answers which it stands beside",
        Component::Safety => {
            "how much it shares with the query's words, when it warns of a danger to somebody's health"
        }
        Component::Timing => {
            "how near it is to a time that the query speaks of: \"in May\", \"yesterday\""
        }
        Component::MaxSim => {
            "how well each word of the query is met by some word of its best stretch, rare words first"
        }
        Component::Rerank => {
            "what a reranker says that read it together with the query; 0 where none is in use"
        }
    }
}

pub(super) fn templates(out: &mut String) {
    heading(out, "Templates", TEMPLATES);
    keys_table(out, keys::TEMPLATE, &InlineTemplate::default());
    out.push_str("\n| variable | what stands in for it | where |\n| --- | --- | --- |\n");
    for variable in Variable::ALL {
        let place = match (variable.is_for_items(), variable.is_for_frames()) {
            (true, true) => "anywhere",
            (true, false) => "item",
            _ => "header, footer",
        };
        let _ = writeln!(
            out,
            "| `{{{{{}}}}}` | {} | {place} |",
            variable.name(),
            variable_meaning(variable)
        );
    }
    out.push_str(
        "\nTemplates that are always there:\n\n| template | looks like |\n| --- | --- |\n",
    );
    for (name, about) in words::TEMPLATES {
        let _ = writeln!(out, "| `\"{name}\"` | {about} |");
    }
}

const fn variable_meaning(variable: Variable) -> &'static str {
    match variable {
        Variable::Content => "the text; names it exactly once",
        Variable::Type => "its type, such as a memory's, or else its kind",
        Variable::Confidence => "how sure its author was",
        Variable::Timestamp => "when it was made or changed",
        Variable::Score => "how similar it is to the query, from 0 to 1",
        Variable::Citation => "its citation id, such as `[fil-1x9k2]`",
        Variable::Title => "its title, else its path, else its id",
        Variable::Label => "its title and a colon, where its text does not say the title itself",
        Variable::Speaker => "who says it and a colon, for a message; else nothing",
        Variable::Path => "its path",
        Variable::Breadcrumb => "its headings or ancestors, joined by ›",
        Variable::Lines => "its line numbers",
        Variable::Source => {
            "where it comes from: path or title, headings, lines; empty, and without a line of its own, where nothing but the id is known"
        }
        Variable::Id => "its id",
        Variable::Trust => "how far it is trusted",
        Variable::Section => "the layer's title",
        Variable::Query => "the question",
        Variable::Open => "two opening braces",
        Variable::Close => "two closing braces",
    }
}

pub(super) fn conditions(out: &mut String) {
    heading(out, "Conditions", CONDITIONS);
    out.push_str("\n| fact | type | meaning |\n| --- | --- | --- |\n");
    for fact in FACTS {
        let kind = match fact.default {
            FactDefault::Text => "text",
            FactDefault::Number => "number",
            FactDefault::Table => "table",
        };
        let words: Vec<String> = fact.words.iter().map(|word| format!("`\"{word}\"`")).collect();
        let words =
            if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
        let about = without_ids(fact.about);
        let _ = writeln!(out, "| `{}` | {kind} | {about}{words} |", fact.name);
    }
}
