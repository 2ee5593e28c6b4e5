//! Renders a context for a model as a heading, a list and free text (S6), or its essentials (S5).

use super::context::{BehaviourRule, ContextDocument};

/// The parts of a context that are rendered for a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContextBlock {
    /// Its display name.
    pub name: String,
    /// The type of context, such as `team`; may be empty.
    pub context_type: String,
    /// Its business goal; may be empty.
    pub goal: String,
    /// The type of its intent, such as `operate`; may be empty.
    pub intent: String,
    /// How answers are to be adapted, such as `shorter answers`.
    pub adaptations: Vec<String>,
    /// What to do on which trigger.
    pub behaviour_rules: Vec<BehaviourRule>,
    /// Free text, in paragraphs.
    pub paragraphs: Vec<String>,
}

impl ContextBlock {
    /// The block of a context's own content, without what it inherits.
    #[must_use]
    pub fn from_document(context: &ContextDocument) -> ContextBlock {
        ContextBlock {
            name: context.name.clone(),
            context_type: context.context_type.clone(),
            goal: context.goal.clone(),
            intent: context.intent.clone(),
            adaptations: context.adaptations.clone(),
            behaviour_rules: context.behaviour_rules.clone(),
            paragraphs: split_paragraphs(&context.body),
        }
    }

    /// The whole block in Markdown. An empty part has no line.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.head();
        if !self.adaptations.is_empty() {
            text.push_str(&format!("\n- Adaptations: {}", self.adaptations.join("; ")));
        }
        if !self.behaviour_rules.is_empty() {
            text.push_str("\n- Behaviour rules:");
        }
        for rule in &self.behaviour_rules {
            text.push_str(&format!("\n  - {}", rule_line(rule)));
        }
        for paragraph in &self.paragraphs {
            text.push_str(&format!("\n\n{paragraph}"));
        }
        text
    }

    /// The heading, goal and intent; `None` when there is neither goal nor intent, or nothing else
    /// to leave out.
    #[must_use]
    pub fn essential_text(&self) -> Option<String> {
        let has_essentials = !self.goal.is_empty() || !self.intent.is_empty();
        let has_more = !self.adaptations.is_empty()
            || !self.behaviour_rules.is_empty()
            || !self.paragraphs.is_empty();
        (has_essentials && has_more).then(|| self.head())
    }

    fn head(&self) -> String {
        let mut head = format!("### {}", self.name);
        if !self.context_type.is_empty() {
            head.push_str(&format!(" ({})", self.context_type));
        }
        for (label, value) in [("Business goal", &self.goal), ("Intent", &self.intent)] {
            if !value.is_empty() {
                head.push_str(&format!("\n- {label}: {value}"));
            }
        }
        head
    }
}

/// Renders a behaviour rule in one line.
pub(super) fn rule_line(BehaviourRule { trigger, action }: &BehaviourRule) -> String {
    match (trigger.is_empty(), action.is_empty()) {
        (false, false) => format!("{trigger}: {action}"),
        _ => format!("{trigger}{action}"),
    }
}

/// Splits a text into paragraphs at blank lines outside fenced code.
fn split_paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut current: Vec<&str> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut end_paragraph = |lines: &mut Vec<&str>| {
        if !lines.is_empty() {
            paragraphs.push(lines.join("\n"));
            lines.clear();
        }
    };
    for line in text.lines() {
        let line = line.trim_end();
        if line.is_empty() && fence.is_none() {
            end_paragraph(&mut current);
            continue;
        }
        let delimiter =
            ["```", "~~~"].into_iter().find(|fence| line.trim_start().starts_with(fence));
        match (fence, delimiter) {
            (None, Some(_)) => fence = delimiter,
            (Some(open), Some(delimiter)) if open == delimiter => fence = None,
            _ => {}
        }
        current.push(line);
    }
    end_paragraph(&mut current);
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(split_paragraphs(text), expected);
    }

    #[test]
    fn blank_lines_outside_of_code_separate_paragraphs() {
        check("", &[]);
        check("one\ntwo\n\n\nthree  \n", &["one\ntwo", "three"]);
        check("```sh\na\n\nb\n```\n\nafter", &["```sh\na\n\nb\n```", "after"]);
        check("~~~\n```\n\nx\n~~~\n\ny", &["~~~\n```\n\nx\n~~~", "y"]);
        check("```\nnever closed\n\nx", &["```\nnever closed\n\nx"]);
    }

    #[test]
    fn a_block_renders_as_a_list_without_lines_for_empty_parts_s6() {
        let block = ContextBlock {
            name: "Payments".to_owned(),
            context_type: "team".to_owned(),
            goal: "No lost order".to_owned(),
            intent: "operate".to_owned(),
            adaptations: vec!["shorter answers".to_owned(), "German".to_owned()],
            behaviour_rules: vec![BehaviourRule {
                trigger: "a refund is asked for".to_owned(),
                action: "check the ledger first".to_owned(),
            }],
            paragraphs: vec!["Call the desk.".to_owned(), "Then wait.".to_owned()],
        };
        assert_eq!(
            block.text(),
            "### Payments (team)\n- Business goal: No lost order\n- Intent: operate\n\
             - Adaptations: shorter answers; German\n- Behaviour rules:\n  \
             - a refund is asked for: check the ledger first\n\nCall the desk.\n\nThen wait."
        );
        let essential = "### Payments (team)\n- Business goal: No lost order\n- Intent: operate";
        assert_eq!(block.essential_text().as_deref(), Some(essential));
        let bare = ContextBlock { name: "Bare".to_owned(), ..ContextBlock::default() };
        assert_eq!((bare.text().as_str(), bare.essential_text()), ("### Bare", None));
        let goal = ContextBlock { goal: "x".to_owned(), ..bare };
        assert_eq!(goal.essential_text(), None, "the whole is its own essence");
    }
}
