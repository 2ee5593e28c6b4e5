//! Templates: parsed once, then rendered by inserting values.
//!
//! Values are inserted verbatim and never parsed, so `{{content}}` inside a value stays text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use thiserror::Error;

/// Maximum length of each part of a template in bytes.
pub const TEMPLATE_BYTES_MAX: usize = 64 << 10;

/// Maximum number of variables in each part of a template. A few kilobytes of variables would otherwise
/// insert a long query or title thousands of times.
pub const TEMPLATE_VARIABLES_MAX: usize = 32;

/// A template variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variable {
    /// The item's text.
    Content,
    /// The item's kind.
    Type,
    /// Its confidence, two decimals.
    Confidence,
    /// When it was created or changed, RFC 3339.
    Timestamp,
    /// Its similarity to the query, from 0 to 1, two decimals.
    Score,
    /// Its citation id, brackets included.
    Citation,
    /// Its title, or its path, or its id.
    Title,
    /// Its title and a colon, unless its text contains the title.
    Label,
    /// The sender of a message and a colon; else nothing.
    Speaker,
    /// Its path.
    Path,
    /// Its headings or ancestors, joined by " › "; its title when there are none.
    Breadcrumb,
    /// Its line numbers.
    Lines,
    /// Where it comes from: path or title, headings and lines, as far as known.
    Source,
    /// Its id.
    Id,
    /// Its trust level.
    Trust,
    /// The section's title; only in headers and footers.
    Section,
    /// The user's query; only in headers and footers.
    Query,
    /// Two opening braces.
    Open,
    /// Two closing braces.
    Close,
}

impl Variable {
    /// Every variable.
    pub const ALL: [Variable; 19] = [
        Variable::Content,
        Variable::Type,
        Variable::Confidence,
        Variable::Timestamp,
        Variable::Score,
        Variable::Citation,
        Variable::Title,
        Variable::Label,
        Variable::Speaker,
        Variable::Path,
        Variable::Breadcrumb,
        Variable::Lines,
        Variable::Source,
        Variable::Id,
        Variable::Trust,
        Variable::Section,
        Variable::Query,
        Variable::Open,
        Variable::Close,
    ];

    /// The name between the braces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Variable::Content => "content",
            Variable::Type => "type",
            Variable::Confidence => "confidence",
            Variable::Timestamp => "timestamp",
            Variable::Score => "score",
            Variable::Citation => "citation",
            Variable::Title => "title",
            Variable::Label => "label",
            Variable::Speaker => "speaker",
            Variable::Path => "path",
            Variable::Breadcrumb => "breadcrumb",
            Variable::Lines => "lines",
            Variable::Source => "source",
            Variable::Id => "id",
            Variable::Trust => "trust",
            Variable::Section => "section",
            Variable::Query => "query",
            Variable::Open => "open",
            Variable::Close => "close",
        }
    }

    /// Whether it is allowed in items.
    #[must_use]
    pub const fn is_for_items(self) -> bool {
        self.is_for(PatternRole::Item)
    }

    /// Whether it is allowed in headers and footers.
    #[must_use]
    pub const fn is_for_frames(self) -> bool {
        self.is_for(PatternRole::Frame)
    }

    const fn is_for(self, role: PatternRole) -> bool {
        match self {
            Variable::Open | Variable::Close => true,
            Variable::Section | Variable::Query => matches!(role, PatternRole::Frame),
            _ => matches!(role, PatternRole::Item),
        }
    }
}

/// Whether a pattern renders an item or a header or footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternRole {
    Item,
    Frame,
}

/// Why a template is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// A `{{` has no `}}`.
    #[error("the {part} opens {{{{ at byte {at} and never closes it")]
    NeverCloses {
        /// Which part of the template.
        part: &'static str,
        /// The byte offset of the opening braces.
        at: usize,
    },
    /// The variable is unknown, or not allowed in this part.
    #[error("the {part} names {name:?} at byte {at}, which is not one of {known}")]
    UnknownVariable {
        /// Which part of the template.
        part: &'static str,
        /// The name, cut to 40 characters.
        name: String,
        /// Its byte offset.
        at: usize,
        /// The names there are.
        known: String,
    },
    /// The item format lacks `{{content}}`.
    #[error("the item format has no {{{{content}}}}")]
    NoContent,
    /// `{{content}}` occurs more than once and would spend tokens on every text repeatedly.
    #[error("the item format has {{{{content}}}} {count} times; once is enough")]
    ContentRepeated {
        /// How often.
        count: usize,
    },
    /// Longer than [`TEMPLATE_BYTES_MAX`].
    #[error("the {part} has {bytes} bytes, more than the limit of {TEMPLATE_BYTES_MAX}")]
    TooLong {
        /// Which part.
        part: &'static str,
        /// Its length.
        bytes: usize,
    },
    /// More variables than [`TEMPLATE_VARIABLES_MAX`].
    #[error("the {part} has more than {TEMPLATE_VARIABLES_MAX} variables")]
    TooManyVariables {
        /// Which part.
        part: &'static str,
    },
    /// There is no template with that name (M11).
    #[error("there is no template {name:?}; there are {}", available.join(", "))]
    NotFound {
        /// The name asked for.
        name: String,
        /// The names there are.
        available: Vec<String>,
    },
    /// The name is invalid.
    #[error("a template's name must have 1 to 64 characters and no control characters")]
    BadName,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternPart {
    Literal(String),
    Variable(Variable),
}

/// A parsed pattern: text with variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<PatternPart>);

impl Pattern {
    fn parse(
        source: &str,
        part: &'static str,
        role: PatternRole,
    ) -> Result<Pattern, TemplateError> {
        if source.len() > TEMPLATE_BYTES_MAX {
            return Err(TemplateError::TooLong { part, bytes: source.len() });
        }
        let mut parts = Vec::new();
        let mut from = 0;
        while let Some(open) = source[from..].find("{{").map(|at| from + at) {
            let inner = open + 2;
            let Some(close) = source[inner..].find("}}").map(|at| inner + at) else {
                return Err(TemplateError::NeverCloses { part, at: open });
            };
            let name = source[inner..close].trim();
            let usable = |variable: &Variable| variable.is_for(role);
            let variable = Variable::ALL.into_iter().filter(usable).find(|v| v.name() == name);
            let Some(variable) = variable else {
                let known = Variable::ALL.into_iter().filter(usable).map(Variable::name);
                return Err(TemplateError::UnknownVariable {
                    part,
                    name: name.chars().take(40).collect(),
                    at: open,
                    known: known.collect::<Vec<_>>().join(", "),
                });
            };
            if open > from {
                parts.push(PatternPart::Literal(source[from..open].to_owned()));
            }
            parts.push(PatternPart::Variable(variable));
            let is_variable = |part: &&PatternPart| matches!(part, PatternPart::Variable(_));
            if parts.iter().filter(is_variable).count() > TEMPLATE_VARIABLES_MAX {
                return Err(TemplateError::TooManyVariables { part });
            }
            from = close + 2;
        }
        if from < source.len() {
            parts.push(PatternPart::Literal(source[from..].to_owned()));
        }
        Ok(Pattern(parts))
    }

    /// Parses the text of a header, footer or frame; may contain `{{query}}` and `{{section}}`.
    ///
    /// # Errors
    /// When it does not parse.
    pub fn frame(source: &str) -> Result<Pattern, TemplateError> {
        Pattern::parse(source, "frame", PatternRole::Frame)
    }

    /// The empty pattern.
    #[must_use]
    pub const fn empty() -> Pattern {
        Pattern(Vec::new())
    }

    /// Whether it contains a variable.
    #[must_use]
    pub fn shows(&self, variable: Variable) -> bool {
        self.0.contains(&PatternPart::Variable(variable))
    }

    /// Renders the pattern with its values.
    pub(super) fn render(&self, out: &mut String, value: &mut dyn FnMut(Variable, &mut String)) {
        for part in &self.0 {
            match part {
                PatternPart::Literal(text) => out.push_str(text),
                PatternPart::Variable(Variable::Open) => out.push_str("{{"),
                PatternPart::Variable(Variable::Close) => out.push_str("}}"),
                PatternPart::Variable(variable) => value(*variable, out),
            }
        }
    }

    /// The literal text that it begins with.
    pub(super) fn literal_start(&self) -> &str {
        match self.0.first() {
            Some(PatternPart::Literal(text)) => text,
            _ => "",
        }
    }

    /// The source of this pattern, for receipts.
    pub(crate) fn source(&self) -> String {
        self.0.iter().fold(String::new(), |mut source, part| {
            match part {
                PatternPart::Literal(text) => source.push_str(text),
                PatternPart::Variable(variable) => {
                    let _ = write!(source, "{{{{{}}}}}", variable.name());
                }
            }
            source
        })
    }
}

/// The template of a section: header, item, separator, footer, and the text of an empty section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub(super) header: Pattern,
    pub(super) item: Pattern,
    pub(super) separator: String,
    pub(super) footer: Pattern,
    pub(super) empty: Option<String>,
}

/// A template's source. Everything but the item format may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateText<'s> {
    /// Before the first item; may name `{{section}}` and `{{query}}`.
    pub header: &'s str,
    /// One item; must name `{{content}}` once.
    pub item: &'s str,
    /// Between two items.
    pub separator: &'s str,
    /// After the last item; may name `{{section}}` and `{{query}}`.
    pub footer: &'s str,
    /// The text of a section without items; `None` omits such a section.
    pub empty: Option<&'s str>,
}

impl TemplateText<'_> {
    /// Items one after another, a blank line between them.
    pub const PLAIN: TemplateText<'static> = TemplateText {
        header: "",
        item: "{{content}}",
        separator: "\n\n",
        footer: "\n",
        empty: None,
    };
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// When a part is too long, never closes a variable or names an unknown one, or when the item
    /// format does not hold `{{content}}` exactly once.
    pub fn new(text: TemplateText<'_>) -> Result<Template, TemplateError> {
        let TemplateText { header, item, separator, footer, empty } = text;
        for (part, text) in [("separator", separator), ("empty text", empty.unwrap_or_default())] {
            if text.len() > TEMPLATE_BYTES_MAX {
                return Err(TemplateError::TooLong { part, bytes: text.len() });
            }
        }
        let template = Template {
            header: Pattern::parse(header, "header", PatternRole::Frame)?,
            item: Pattern::parse(item, "item format", PatternRole::Item)?,
            separator: separator.to_owned(),
            footer: Pattern::parse(footer, "footer", PatternRole::Frame)?,
            empty: empty.map(str::to_owned),
        };
        let content = PatternPart::Variable(Variable::Content);
        match template.item.0.iter().filter(|part| **part == content).count() {
            0 => Err(TemplateError::NoContent),
            1 => Ok(template),
            count => Err(TemplateError::ContentRepeated { count }),
        }
    }

    /// Whether the item format contains a variable.
    #[must_use]
    pub fn shows(&self, variable: Variable) -> bool {
        self.item.shows(variable)
    }

    /// Whether header or footer contains a variable.
    #[must_use]
    pub fn frames_show(&self, variable: Variable) -> bool {
        self.header.shows(variable) || self.footer.shows(variable)
    }

    /// Appends an item's type, confidence and time, unless one of them is already shown.
    #[must_use]
    pub fn with_metadata(mut self) -> Template {
        let shown = [Variable::Type, Variable::Confidence, Variable::Timestamp];
        if !shown.into_iter().any(|variable| self.shows(variable)) {
            let literal = |text: &str| PatternPart::Literal(text.to_owned());
            self.item.0.extend([
                literal(" ["),
                PatternPart::Variable(Variable::Type),
                literal(", confidence: "),
                PatternPart::Variable(Variable::Confidence),
                literal(", "),
                PatternPart::Variable(Variable::Timestamp),
                literal("]"),
            ]);
        }
        self
    }

    /// The rendered header and footer of a section.
    #[must_use]
    pub fn render_header_and_footer(&self, section: &str, query: &str) -> (String, String) {
        let rendered = |pattern: &Pattern| {
            let mut out = String::new();
            pattern.render(&mut out, &mut |variable, out| match variable {
                Variable::Section => out.push_str(section),
                Variable::Query => out.push_str(query),
                _ => {}
            });
            out
        };
        (rendered(&self.header), rendered(&self.footer))
    }

    /// The parts' sources, for receipts.
    #[must_use]
    pub fn sources(&self) -> [String; 5] {
        let empty = self.empty.clone().map_or_else(String::new, |empty| format!("={empty}"));
        [
            self.header.source(),
            self.item.source(),
            self.separator.clone(),
            self.footer.source(),
            empty,
        ]
    }
}

/// Templates by name: the built-in ones and those registered by the application (M8).
#[derive(Debug, Clone)]
pub struct Templates(BTreeMap<String, Template>);

/// The built-in templates (M8, W10).
const BUILT_IN: [(&str, TemplateText<'static>); 5] = [
    (
        "chat",
        TemplateText {
            header: "Relevant context from past conversations:\n\n",
            item: "- {{label}}{{content}}",
            separator: "\n",
            ..TemplateText::PLAIN
        },
    ),
    (
        "detailed",
        TemplateText {
            header: "Relevant memories:\n\n",
            item: "[{{type}}] {{content}} (confidence: {{confidence}}, {{timestamp}})",
            ..TemplateText::PLAIN
        },
    ),
    ("plain", TemplateText::PLAIN),
    (
        "section",
        TemplateText {
            header: "### {{section}}\n\n",
            item: "[{{title}}] [{{type}}] {{citation}}\n{{content}}",
            footer: "\n\n",
            empty: Some("_No relevant content found._"),
            ..TemplateText::PLAIN
        },
    ),
    (
        "summary",
        TemplateText {
            header: "Key information:\n",
            separator: " | ",
            footer: "",
            ..TemplateText::PLAIN
        },
    ),
];

impl Default for Templates {
    fn default() -> Templates {
        let built_in = BUILT_IN.map(|(name, text)| {
            let template =
                Template::new(text).expect("the built-in templates parse: a test holds it");
            (name.to_owned(), template)
        });
        Templates(built_in.into())
    }
}

impl Templates {
    /// Adds a template or replaces the one of that name.
    ///
    /// # Errors
    /// When the name is empty, longer than 64 characters or holds control characters.
    pub fn register(&mut self, name: &str, template: Template) -> Result<(), TemplateError> {
        let fits = (1..=64).contains(&name.chars().count()) && !name.chars().any(char::is_control);
        if !fits {
            return Err(TemplateError::BadName);
        }
        self.0.insert(name.to_owned(), template);
        Ok(())
    }

    /// Names of all templates, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The template of that name.
    ///
    /// # Errors
    /// When there is none; the error lists the available ones.
    pub fn get(&self, name: &str) -> Result<&Template, TemplateError> {
        self.0.get(name).ok_or_else(|| TemplateError::NotFound {
            name: name.chars().take(100).collect(),
            available: self.0.keys().cloned().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(item: &str, content: &str) -> String {
        let template = Template::new(TemplateText { item, ..TemplateText::PLAIN }).unwrap();
        let mut out = String::new();
        template.item.render(&mut out, &mut |variable, out| match variable {
            Variable::Content => out.push_str(content),
            other => out.push_str(other.name()),
        });
        out
    }

    #[test]
    fn inserted_values_are_never_parsed() {
        // M8: memory text can never act as a template.
        assert_eq!(render("- {{content}}", "{{type}} $& {query}"), "- {{type}} $& {query}");
        assert_eq!(render("{{ type }}:{{content}}!", "x"), "type:x!");
        assert_eq!(render("{{open}}{{content}}{{close}}", "x"), "{{x}}");
        assert_eq!(render("{ {{content}} }", "x"), "{ x }");
    }

    #[test]
    fn errors_of_invalid_templates_name_the_problem() {
        let check = |header: &str, item: &str, expected: &str| {
            let text = TemplateText { header, item, ..TemplateText::PLAIN };
            let error = Template::new(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check("", "{{content", "the item format opens {{ at byte 0 and never closes it");
        check("", "- {{nope}}", "the item format names \"nope\" at byte 2, which is not one of co");
        check("", "no variables", "the item format has no {{content}}");
        check("", "{{content}}{{content}}", "the item format has {{content}} 2 times");
        check("{{content}}", "{{content}}", "the header names \"content\" at byte 0, which is no");
        check(&"x".repeat(65_537), "{{content}}", "the header has 65537 bytes, more than the lim");
        // S15: a template that makes much out of little.
        let bomb = "{{query}}".repeat(33);
        check(&bomb, "{{content}}", "the header has more than 32 variables");
        let bomb = format!("{{{{content}}}}{}", "{{title}}".repeat(32));
        check("", &bomb, "the item format has more than 32 variables");
    }

    #[test]
    fn a_template_says_what_it_shows() {
        let text = TemplateText {
            header: "# {{section}} for {{query}}\n",
            item: "{{citation}} {{content}}",
            footer: "{{open}}end{{close}}",
            ..TemplateText::PLAIN
        };
        let template = Template::new(text).unwrap();
        assert!(template.shows(Variable::Citation) && !template.shows(Variable::Title));
        let (before, after) = template.render_header_and_footer("Notes", "tea");
        assert_eq!((&*before, &*after), ("# Notes for tea\n", "{{end}}"));
        assert!(Variable::Query.is_for_frames() && !Variable::Query.is_for_items());
    }

    #[test]
    fn the_error_for_a_missing_template_lists_the_others() {
        let mut templates = Templates::default();
        let error = templates.get("chatt").unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no template \"chatt\"; there are chat, detailed, plain, section, summary"
        );
        let mine = Template::new(TemplateText::PLAIN).unwrap();
        templates.register("mine", mine.clone()).unwrap();
        assert_eq!(templates.get("mine"), Ok(&mine));
        assert_eq!(templates.register("", mine), Err(TemplateError::BadName));
    }
}
