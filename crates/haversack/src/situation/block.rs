//! A context as a model reads it: a heading, a list, free text (S6); and its essentials (S5).

use super::context::{BehaviourRule, Context};

/// What is shown of a context.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    /// What people call it.
    pub name: String,
    /// What sort of context it is; may be empty.
    pub sort: String,
    /// What it is meant to reach; may be empty.
    pub goal: String,
    /// The sort of intent behind it; may be empty.
    pub intent: String,
    /// What is different in it.
    pub adaptations: Vec<String>,
    /// What to do when.
    pub behaviour: Vec<BehaviourRule>,
    /// Free text, in paragraphs.
    pub paragraphs: Vec<String>,
}

impl Block {
    /// A block with what the context says itself.
    #[must_use]
    pub fn of(context: &Context) -> Block {
        Block {
            name: context.name.clone(),
            sort: context.sort.clone(),
            goal: context.goal.clone(),
            intent: context.intent.clone(),
            adaptations: context.adaptations.clone(),
            behaviour: context.behaviour.clone(),
            paragraphs: paragraphs(&context.body),
        }
    }

    /// The whole block, in Markdown. What is missing has no line.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.head();
        if !self.adaptations.is_empty() {
            text.push_str(&format!("\n- Adaptations: {}", self.adaptations.join("; ")));
        }
        if !self.behaviour.is_empty() {
            text.push_str("\n- Behaviour rules:");
        }
        for rule in &self.behaviour {
            text.push_str(&format!("\n  - {}", rule_line(rule)));
        }
        for paragraph in &self.paragraphs {
            text.push_str(&format!("\n\n{paragraph}"));
        }
        text
    }

    /// Its heading, goal and intent; `None` when there is neither goal nor intent, or nothing else
    /// to leave out.
    #[must_use]
    pub fn essential(&self) -> Option<String> {
        let says_something = !self.goal.is_empty() || !self.intent.is_empty();
        let has_more = !self.adaptations.is_empty()
            || !self.behaviour.is_empty()
            || !self.paragraphs.is_empty();
        (says_something && has_more).then(|| self.head())
    }

    fn head(&self) -> String {
        let mut head = format!("### {}", self.name);
        if !self.sort.is_empty() {
            head.push_str(&format!(" ({})", self.sort));
        }
        for (label, value) in [("Business goal", &self.goal), ("Intent", &self.intent)] {
            if !value.is_empty() {
                head.push_str(&format!("\n- {label}: {value}"));
            }
        }
        head
    }
}

/// A behaviour rule in one line.
pub(super) fn rule_line(BehaviourRule { trigger, action }: &BehaviourRule) -> String {
    match (trigger.is_empty(), action.is_empty()) {
        (false, false) => format!("{trigger}: {action}"),
        _ => format!("{trigger}{action}"),
    }
}

/// The paragraphs of a text: what blank lines part, but for those inside a fence of code.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut current: Vec<&str> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut close = |lines: &mut Vec<&str>| {
        if !lines.is_empty() {
            paragraphs.push(lines.join("\n"));
            lines.clear();
        }
    };
    for line in text.lines() {
        let line = line.trim_end();
        if line.is_empty() && fence.is_none() {
            close(&mut current);
            continue;
        }
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        current.push(line);
    }
    close(&mut current);
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(paragraphs(text), expected);
    }

    #[test]
    fn paragraphs_are_parted_by_blank_lines_outside_of_code() {
        check("", &[]);
        check("one\ntwo\n\n\nthree  \n", &["one\ntwo", "three"]);
        check("```sh\na\n\nb\n```\n\nafter", &["```sh\na\n\nb\n```", "after"]);
        check("~~~\n```\n\nx\n~~~\n\ny", &["~~~\n```\n\nx\n~~~", "y"]);
        check("```\nnever closed\n\nx", &["```\nnever closed\n\nx"]);
    }

    #[test]
    fn a_block_reads_as_a_list_without_lines_for_what_is_missing_s6() {
        let block = Block {
            name: "Payments".to_owned(),
            sort: "team".to_owned(),
            goal: "No lost order".to_owned(),
            intent: "operate".to_owned(),
            adaptations: vec!["shorter answers".to_owned(), "German".to_owned()],
            behaviour: vec![BehaviourRule {
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
        assert_eq!(block.essential().as_deref(), Some(essential));
        let bare = Block { name: "Bare".to_owned(), ..Block::default() };
        assert_eq!((bare.text().as_str(), bare.essential()), ("### Bare", None));
        let goal = Block { goal: "x".to_owned(), ..bare };
        assert_eq!(goal.essential(), None, "the whole is its own essence");
    }
}
