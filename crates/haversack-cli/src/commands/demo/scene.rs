//! The scenes: one question to each sample, and how its answer is shown.

use std::fmt::Write as _;

use anyhow::Result;
use haversack::{Assembled, Request};
use haversack_eval::samples::SampleQuestion;

use super::{COLUMNS, PlayedScene, promise};
use crate::args::Application;
use crate::commands::show::{Depth, PackReport, bar, clipped, duration, lines_of, plural};
use crate::output::grouped;
use crate::paint::Paint;

/// How many candidates of a layer are named: in, shortened, left out.
const DEPTH: Depth = Depth::Best([4, 2, 2]);

/// The column at which questions begin.
const COLUMN: usize = 11;

/// How many lines of a context are shown.
const LINES: usize = 24;

/// One question to one sample.
pub(super) struct Scene {
    pub(super) application: Application,
    question: usize,
    pub(super) budget: u32,
    /// What the application is for, in a sentence.
    about: &'static str,
}

pub(super) const SCENES: [Scene; 5] = [
    Scene {
        application: Application::Proposal,
        question: 0,
        budget: 6_000,
        about: "Who we are and how we write is always in, whole. The rest shares what is left: the \
                deal first, then products, competitors, playbooks.",
    },
    Scene {
        application: Application::Prime,
        question: 0,
        budget: 1_800,
        about: "What the thread refers to, what was said in it, and what words, spelling and meaning \
                find in the files: one list, best value for a token first.",
    },
    Scene {
        application: Application::Workspace,
        question: 0,
        budget: 2_000,
        about: "What means the same, what is linked, what was done of late, each with its part of \
                the budget.",
    },
    Scene {
        application: Application::Situation,
        question: 0,
        budget: 1_300,
        about: "A task inherits from project, team and organisation; rules bring in more where they \
                hold. What does not fit is reduced to name, goal and intent.",
    },
    Scene {
        application: Application::Memory,
        question: 0,
        budget: 300,
        about: "What matters to this message out of a year of conversations, with what is related to \
                it.",
    },
];

impl Scene {
    pub(super) fn question(&self) -> &'static SampleQuestion {
        &self.application.sample().questions[self.question]
    }

    pub(super) fn request(&self) -> Result<Request> {
        Ok(self.application.sample().request(self.question(), self.budget)?)
    }

    /// What else the request says, in one line of JSON.
    fn with(&self) -> String {
        self.question().with.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The question as it is typed at a command line.
    pub(super) fn command_line(&self) -> String {
        let question = self.question();
        let with = format!(" --request '{}'", self.with());
        format!(
            "pack \"{}\" --recipe {} --user {} --budget {} --now {}{with}",
            question.text,
            self.application.sample().name,
            question.user,
            self.budget,
            haversack_eval::samples::NOW,
        )
    }
}

/// The result of a scene in lines.
pub(super) async fn render(played: &PlayedScene, paint: Paint) -> Result<String> {
    let PlayedScene { scene, assembled, .. } = played;
    let mut out = String::new();
    let question = scene.question();
    let asked = indented(&format!("“{}”", question.text), COLUMN);
    let _ = writeln!(out, "  {:<8} {}", question.user, paint.bold(asked.trim_start()));
    let with = format!("in at most {} tokens, with {}", grouped(scene.budget), scene.with());
    let _ = writeln!(out, "{}", indented(&with, COLUMN));
    let _ = writeln!(out, "{}\n", paint.dim(&indented(scene.about, COLUMN)));
    let report = PackReport::of_pack(assembled);
    out.push_str(&bar(&report, paint));
    for layer in &report.layers {
        let lines = lines_of(layer, DEPTH, paint);
        if !lines.is_empty() {
            let _ = writeln!(out, "\n  {}\n{}", paint.bold(&layer.title), lines.trim_end());
        }
    }
    out.push_str(&notices(assembled, paint));
    for line in promise::passed_checks(played).await? {
        let _ = writeln!(out, "\n  {} {}", paint.good("✓"), paint.bold(&line.says));
        for shown in line.shown {
            let _ = writeln!(out, "{}", indented(&shown, 4));
        }
    }
    let _ = writeln!(out, "\n  {}", paint.bold("What the model gets to read"));
    out.push_str(&beginning(assembled.text(), paint));
    let candidates = plural(assembled.pack.ledger.len(), "candidate", "candidates");
    let _ = writeln!(
        out,
        "\n  {} tokens by {} ({}), from {candidates}, in {}; receipt {}",
        grouped(assembled.pack.tokens),
        assembled.pack.tokenizer,
        assembled.pack.accuracy,
        duration(assembled.timings.total()),
        assembled.receipt(),
    );
    Ok(out)
}

/// What the caller should know, the first of each sort.
fn notices(assembled: &Assembled, paint: Paint) -> String {
    let mut out = String::new();
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for notice in &assembled.notices {
        let code = notice.code.as_str();
        if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == code) {
            *count += 1;
            continue;
        }
        counts.push((code, 0));
        let _ = writeln!(out, "  {}", paint.warning(&format!("! {}", notice.message)));
        if let Some(first) = notice.suggestions.first() {
            let _ = writeln!(out, "{}", indented(&format!("try: {first}"), 4));
        }
    }
    for (code, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        let _ = writeln!(out, "    {}", paint.dim(&format!("… {count} more {code}")));
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

/// A sentence in lines that begin at a column.
fn indented(text: &str, column: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > COLUMNS - column {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    let margin = " ".repeat(column);
    lines.iter().map(|line| format!("{margin}{line}")).collect::<Vec<_>>().join("\n")
}

/// The first lines of a context.
fn beginning(text: &str, paint: Paint) -> String {
    let mut out = String::new();
    let bar = paint.dim("│");
    let lines: Vec<&str> = text.lines().collect();
    for line in lines.iter().take(LINES) {
        let indent = (line.len() - line.trim_start().len()).min(COLUMNS / 2);
        let shown = clipped(line, COLUMNS - 4 - indent);
        let shown = format!("  {bar} {}{shown}", " ".repeat(indent));
        let _ = writeln!(out, "{}", shown.trim_end());
    }
    if lines.len() > LINES {
        let more = plural(lines.len() - LINES, "more line", "more lines");
        let _ = writeln!(out, "  {bar} {}", paint.dim(&format!("… {more}")));
    }
    out
}
