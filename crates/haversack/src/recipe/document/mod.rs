//! Generates the reference of the format, as Markdown, from the tables that the parser uses.

mod reference;

use std::fmt::Write as _;

use haversack_core::query::Vocabulary;

use super::words::{self, ChoiceWord};
use super::{ADAPTATIONS_MAX, CHAIN_MAX, COLLECTORS_MAX, CacheSpec, RECIPE_BYTES_MAX, keys};
use crate::condition::CONDITION_BYTES_MAX;
use crate::recipe::keys::{DEFAULT_KIND_CAP, Key};
use crate::recipe::parse::layer::new_layer;
use crate::recipe::parse::{adapt, blank, subject};

/// The example in the reference: small, complete, and parsed by a test.
const EXAMPLE: &str = include_str!("example.toml");

/// Generates the reference of the format, with every key, word, collector, component, variable and
/// fact.
#[must_use]
pub fn document() -> String {
    let (recipe, layer) = (blank(""), new_layer("", &[]));
    let mut out = String::from(INTRODUCTION);
    let _ = write!(out, "\n```toml\n{EXAMPLE}```\n");
    out.push_str(READING);
    heading(&mut out, "The document", DOCUMENT);
    keys_table(&mut out, keys::TOP, &recipe);
    heading(&mut out, "Shapes", SHAPES);
    words_table(&mut out, words::SHAPES);
    heading(&mut out, "`[budget]`", BUDGET);
    keys_table(&mut out, keys::BUDGET, &recipe);
    choice_table(&mut out, "overflow", words::OVERFLOWS);
    heading(&mut out, "`[[subject]]`", SUBJECT);
    keys_table(&mut out, keys::SUBJECT, &subject::blank());
    heading(&mut out, "`[query]`", "What is looked for.\n");
    keys_table(&mut out, keys::QUERY, &recipe);
    out.push_str("\n`embed` holds any of:\n");
    words_table(&mut out, words::QUERY_PARTS);
    heading(&mut out, "`[words]`", WORDS);
    out.push_str("\n| name | what its phrases say |\n| --- | --- |\n");
    for (name, about) in Vocabulary::NAMES {
        let _ = writeln!(out, "| `{name}` | {about} |");
    }
    out.push_str("| `kinds` | a table: the words for many items of a kind, by its name |\n");
    heading(&mut out, "`[cache]`", CACHE);
    keys_table(&mut out, keys::CACHE, &CacheSpec::default());
    heading(&mut out, "`[output]`", "The page around the layers, and how it is filled.\n");
    keys_table(&mut out, keys::OUTPUT, &recipe);
    choice_table(&mut out, "fence", words::FENCES);
    choice_table(&mut out, "selector", words::SELECTORS);
    out.push_str("\n`stop` holds:\n");
    keys_table(&mut out, keys::STOP, &keys::BLANK_STOP);
    heading(&mut out, "`[[layer]]`", LAYER);
    keys_table(&mut out, keys::LAYER, &layer);
    choice_table(&mut out, "order", words::ORDERS);
    choice_table(&mut out, "cut", words::CUTS);
    choice_table(&mut out, "arrange", words::ARRANGEMENTS);
    choice_table(&mut out, "stability", words::STABILITIES);
    out.push_str("\n`kind_cap` holds:\n");
    keys_table(&mut out, keys::KIND_CAP, &DEFAULT_KIND_CAP);
    heading(&mut out, "How room is shared", ROOM);
    reference::collectors(&mut out);
    reference::scores(&mut out);
    reference::templates(&mut out);
    heading(&mut out, "`[[adapt]]`", ADAPT);
    keys_table(&mut out, keys::ADAPT, &adapt::blank());
    reference::conditions(&mut out);
    heading(&mut out, "Extending", EXTENDING);
    heading(&mut out, "Limits", &limits());
    heading(&mut out, "Commands", COMMANDS);
    out
}

fn heading(out: &mut String, title: &str, text: &str) {
    let _ = write!(out, "\n## {title}\n\n{text}");
}

/// Writes the keys of a table, with the defaults of `blank`.
fn keys_table<T>(out: &mut String, keys: &[Key<T>], blank: &T) {
    out.push_str("\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for key in keys {
        let (value, default) = (key.value.describe(), key.default_text(blank));
        let _ = writeln!(out, "| `{}` | {value} | {default} | {} |", key.name, key.about);
    }
}

fn words_table<T>(out: &mut String, words: &[ChoiceWord<T>]) {
    out.push_str("\n| word | meaning |\n| --- | --- |\n");
    for ChoiceWord { name, about, .. } in words {
        let _ = writeln!(out, "| `\"{name}\"` | {} |", without_ids(about));
    }
}

/// Removes requirement ids in brackets, which mean nothing to authors of recipes.
fn without_ids(about: &str) -> String {
    let is_id = |word: &str| {
        let digits = word.trim_start_matches(['P', 'K', 'W', 'S', 'M', 'X']);
        digits.len() + 1 == word.len() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut out = String::with_capacity(about.len());
    let mut rest = about;
    while let Some((before, after)) = rest.split_once(" (") {
        out.push_str(before);
        let (inside, end) = after.split_once(')').unwrap_or((after, ""));
        if !inside.split([',', ' ']).all(|word| word.is_empty() || word == "to" || is_id(word)) {
            let _ = write!(out, " ({inside})");
        }
        rest = end;
    }
    out.push_str(rest);
    out
}

fn choice_table<T>(out: &mut String, key: &str, words: &[ChoiceWord<T>]) {
    let _ = writeln!(out, "\n`{key}` is one of:");
    words_table(out, words);
}

const INTRODUCTION: &str = "\
# The recipe format

A recipe says how a pack is made: which sections it has, who finds the texts of each, what a text is
worth, how much room a section may take and how it looks. It is a TOML file. The recipes that come
with Haversack are such files too: `haversack recipe show NAME` prints them, and a file of your own can
start from any of them.

This page is what `haversack recipe format` prints. It is made from the tables that recipes are
checked by, so what it lists is what there is.

## An example

A support desk wants its own voice in every answer, help articles that fit the question, and the
conversation so far. At the start there is no conversation, so the articles get all the room.
";

const READING: &str = "
## How a recipe is read

The file is read as a whole, and everything that is wrong with it is reported at once, each with its
line and column. A key that is not known is an error, never ignored; the nearest known one is named.
Numbers of tokens may be written with underscores, as in `32_000`. A part is a number from 0 to 1. Where a
limit is optional, the word `\"none\"` takes it away, which is of use on top of another recipe.

`haversack recipe check FILE` says whether a recipe can be used. `haversack recipe lint FILE` says
what can be known of it without any data: layers that nothing can reach, what shares leave over,
pinned text that may not fit.
";

const DOCUMENT: &str = "What stands at the top of the file, before any table.\n";

const SHAPES: &str = "\
Every result has the final text, its sections and its sources. The shape adds the fields that one
kind of application expects.
";

const BUDGET: &str = "\
The budget holds for the final text, headings, fences and separators included, counted by the named
tokenizer. Reserves are taken off first; what they leave is the room for the pack. A request can ask
for another total, for other reserves and for another model. Where nothing is pinned, a budget in
which nothing of what was found fits is an error that names the least one that works.
";

const SUBJECT: &str = "\
What requests are about: a deal, a thread, a ticket. A request names an item of that kind, as
`\"subjects\": {\"ticket\": \"T-17\"}`, by `--about ticket=T-17` on the command line, or in the field that the
shape has for it (`opportunityId`, `threadId`). What is not there, or of another kind, is an error.
The item itself, what names it in its field and what hangs under it are found by the collectors
`subject`, `newest`, `history` and `references`. The first subject is what the recipe is made for:
`mentions` reads its text, `matching` compares with its fields, and `embed` may name it. Conditions know
each subject's id by its name, and its `facts`: texts of them in lower case, empty when not there.
[Kinds](kinds.md) says how to define kinds of one's own.
";

const WORDS: &str = "\
Questions such as \"which of my tasks are overdue?\" are read by words and become filters over fields;
the result lists them under `query.filters`, and the words under `query.understood`. English and German
are built in. A recipe adds words of another language, or for kinds of its own, as lists of phrases
in small letters; what a base adds stays.

```toml
[words]
overdue = [\"en retard\"]
tasks = [\"tâches\"]
asking = [\"quelles\", \"quels\"]

[words.kinds]
invoice = [\"invoices\", \"factures\"]
```

Of phrases that begin at the same word the longest counts. A question in which two or more other
words say something is left to the searches.
";

const CACHE: &str = "\
The same question on the same data by the same reader gets the same answer without work. Answers
depend on everything that decides them, so a write to the workspace or another reader never meets an
old one. Without this table nothing is kept.
";

const LAYER: &str = "\
A layer is one section. They stand in the order of the file, those of a steadier `stability` first.
";

const ROOM: &str = "\
Pinned layers come first, whole. What they and the reserves leave is shared among the others, like
water that rises: each layer gets its `share` of every token as long as it wants more. What a full
layer does not need, and what no layer claims, goes to the hungry layer with the lowest `spill`. So under
pressure the layer with the highest `spill` loses first, a share is a guarantee and never a fence, and
a larger budget keeps everything that a smaller one had. `cap` is a fence: no layer takes more.

With a total of 32,000, reserves of 1,300 and pinned text of 1,700 tokens, 29,000 are left. Shares of
0.4, 0.3, 0.2 and 0.1 guarantee 11,600, 8,700, 5,800 and 2,900 tokens.

Inside a layer, `order` says which text is paid for first. The first text that does not fit is
reduced to its essential form if it has one and `essential` allows it, else shortened as `cut` says, if at
least `least` tokens of it are left.
";

const ADAPT: &str = "\
Budgets that follow the request. All adaptations whose conditions hold are used, in their order: of
two that speak of the same thing the later one wins. What a request itself asks for wins over both.
";

const EXTENDING: &str = "\
With `extends` a recipe starts from another one, and what it says wins:

- a key replaces the base's key; tables such as `[budget]` are merged key by key;
- layers are matched by name: a known one changes, a new one is added after the base's;
- lists (`collect`, `embed`, `adapt`) and inline tables of a layer (`score`, `template`) are replaced
  as a whole;
- `remove` drops layers of the base, with what adaptations say of them; a layer that is removed and
  defined again starts from nothing;
- `name` is never inherited.

```toml
haversack = 1
name = \"short\"
extends = \"everything\"
remove = [\"recent\"]

[budget]
total = 2_000

[[layer]]
name = \"found\"
cap = 1_200
```

A recipe may take the name of a built-in one and extend it: it then stands in its place.
`haversack recipe show NAME --resolved` prints what comes of it.
";

const COMMANDS: &str = "\
| command | what it does |
| --- | --- |
| `haversack recipe list` | names the recipes there are |
| `haversack recipe show NAME` | prints a recipe; `--resolved` with its base and all defaults |
| `haversack recipe new NAME` | prints a recipe to start from; `--from BASE` on top of another |
| `haversack recipe check FILE` | says what is wrong with a file, as `file:line:column: message` |
| `haversack recipe lint FILE` | says what can be known of a recipe without data |
| `haversack recipe format` | prints this page |
";

fn limits() -> String {
    let kib = RECIPE_BYTES_MAX >> 10;
    let layers = haversack_core::pack::LAYERS_MAX;
    format!(
        "A file has at most {kib} KiB and {layers} layers, a layer {COLLECTORS_MAX} collectors, a \
         recipe {ADAPTATIONS_MAX} adaptations.\nRecipes extend each other over at most {CHAIN_MAX} \
         files. A condition has at most {CONDITION_BYTES_MAX} bytes, an\nexpression {}, a part of a \
         template {} KiB.\n",
        haversack_core::rank::EXPRESSION_BYTES_MAX,
        haversack_core::assemble::TEMPLATE_BYTES_MAX >> 10,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{Places, Recipe, RecipeRegistry, Severity, lint};

    #[test]
    fn the_documentation_is_up_to_date_x6() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recipes.md");
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            kept.replace("\r\n", "\n") == document(),
            "docs/recipes.md is not what the tables say; write it anew:\n\n    \
             cargo run -q -p haversack-cli -- recipe format > docs/recipes.md\n"
        );
    }

    #[test]
    fn every_example_can_be_used_x6() {
        let document = document();
        let examples: Vec<&str> = document
            .split("```toml\n")
            .skip(1)
            .filter_map(|rest| rest.split_once("```").map(|(example, _)| example))
            .filter(|example| example.starts_with("haversack"))
            .collect();
        assert_eq!(examples.len(), 2);
        for example in examples {
            let recipe = Recipe::parse("example", example, &RecipeRegistry::default());
            let recipe = recipe.unwrap_or_else(|error| panic!("{error}"));
            let findings = lint(
                &recipe,
                &Places::default(),
                &Default::default(),
                haversack_store::kinds::Kinds::built_in(),
            );
            let wrong = findings.iter().find(|finding| finding.severity != Severity::Remark);
            assert_eq!(wrong, None, "{example}");
        }
    }

    #[test]
    fn requirements_are_not_named() {
        let check = |about: &str, expected: &str| assert_eq!(without_ids(about), expected);
        check("for a proposal (P11)", "for a proposal");
        check("rules (S1 to S5), in order", "rules, in order");
        check("near (W3, P8, P10)", "near");
        check("1 / (1 + days): a half", "1 / (1 + days): a half");
        check("Mail (unread) (M1)", "Mail (unread)");
        let document = document();
        for id in ["(P", "(K", "(W", "(S", "(M", "(X"] {
            assert!(!document.contains(id), "{id}");
        }
    }

    #[test]
    fn every_link_leads_somewhere() {
        let document = document();
        let anchors: Vec<String> = document
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .map(|title| title.to_lowercase().replace(['`', '[', ']'], "").replace(' ', "-"))
            .collect();
        for link in document.split("](#").skip(1) {
            let (anchor, _) = link.split_once(')').unwrap();
            assert!(anchors.iter().any(|known| known == anchor), "{anchor} in {anchors:?}");
        }
    }
}
