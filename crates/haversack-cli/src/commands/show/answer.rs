//! A pack as a command prints it, whether it was made here or by a server.

use std::time::Duration;

use anyhow::Result;
use haversack::messages::Format;
use haversack::recipes::result_json;
use haversack::{Assembled, Notice};
use serde_json::Value;

use super::report::{PackReport, json_u32, ledger_of};
use super::{duration, percent};
use crate::output::{grouped, say};
use crate::paint::Paint;

/// The code of the notice that nothing relevant was found.
const NOTHING_RELEVANT: &str = "NOTHING_RELEVANT";

/// The steps of a pack that are timed, in order.
const STEPS: [&str; 6] = ["analyse", "embed", "collect", "measure", "rank", "pack"];

/// A pack with what is printed about it.
pub(crate) struct PackAnswer {
    /// The context.
    pub(crate) text: String,
    /// The result in the recipe's own shape.
    pub(crate) document: Value,
    /// The outcome of each candidate, where it was asked for.
    pub(crate) report: Option<PackReport>,
    pub(crate) notices: Vec<NoticeText>,
    /// How many candidates are in, and how many there were.
    pub(crate) items: usize,
    pub(crate) candidates: usize,
    tokens: u32,
    limit: u32,
    tokenizer: String,
    accuracy: String,
    receipt: String,
    steps: Vec<(String, Duration)>,
    total: Duration,
    quality: Option<QualityFigures>,
}

/// How good a pack is, from 0 to 1.
struct QualityFigures {
    score: f64,
    coverage: f64,
    redundancy: f64,
    freshness: f64,
    budget_use: f64,
}

/// A notice as it is printed.
pub(crate) struct NoticeText {
    pub(crate) code: String,
    message: String,
    suggestions: Vec<String>,
}

impl From<&Notice> for NoticeText {
    fn from(notice: &Notice) -> NoticeText {
        let (message, suggestions) = (notice.message.clone(), notice.suggestions.clone());
        NoticeText { code: notice.code.as_str().to_owned(), message, suggestions }
    }
}

impl NoticeText {
    /// The notice in lines: what it is, and what could be done.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("note ({}): {}", self.code, self.message)];
        if !self.suggestions.is_empty() {
            lines.push(format!("  try: {}", self.suggestions.join("; or ")));
        }
        lines
    }
}

impl PackAnswer {
    /// A pack that was made here.
    pub(crate) fn of_pack(assembled: &Assembled, explain: bool, report: bool) -> PackAnswer {
        let pack = &assembled.pack;
        let quality = assembled.quality();
        let steps = assembled.timings.steps();
        PackAnswer {
            text: assembled.text().to_owned(),
            document: result_json(assembled, explain),
            report: report.then(|| PackReport::of_pack(assembled)),
            notices: assembled.notices.iter().map(NoticeText::from).collect(),
            items: pack.sections.iter().map(|section| section.items.len()).sum(),
            candidates: pack.ledger.len(),
            tokens: pack.tokens.get(),
            limit: pack.limit.get(),
            tokenizer: pack.tokenizer.to_string(),
            accuracy: pack.accuracy.to_string(),
            receipt: pack.receipt.to_string(),
            steps: steps.iter().map(|(step, time)| ((*step).to_owned(), *time)).collect(),
            total: assembled.timings.total(),
            quality: Some(QualityFigures {
                score: quality.score.get(),
                coverage: quality.coverage.get(),
                redundancy: quality.redundancy.get(),
                freshness: quality.freshness.get(),
                budget_use: quality.budget_use.get(),
            }),
        }
    }

    /// Adds the pack as messages, as a server does that is asked for them.
    pub(crate) fn add_messages(&mut self, assembled: &Assembled, format: Format) -> Result<()> {
        let messages = serde_json::to_value(assembled.to_messages(format))?;
        self.document["assembly"]["messages"] = messages;
        self.notices.extend(assembled.omitted_turns_notice(format).as_ref().map(NoticeText::from));
        Ok(())
    }

    /// The pack as messages, where they were asked for.
    pub(crate) fn messages(&self) -> Option<&Value> {
        self.document["assembly"].get("messages")
    }

    /// A pack that a server made.
    pub(crate) fn of_result(result: Value) -> PackAnswer {
        let assembly = &result["assembly"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let notice = |notice: &Value| NoticeText {
            code: text(&notice["code"]),
            message: text(&notice["message"]),
            suggestions: list(&notice["suggestions"]).iter().map(text).collect(),
        };
        let times = &assembly["timingsMs"];
        let time = |step: &str| {
            Duration::from_secs_f64(times[step].as_f64().unwrap_or(0.0).max(0.0) / 1_000.0)
        };
        let quality = assembly["quality"].as_object().map(|figures| {
            let figure = |name: &str| figures.get(name).and_then(Value::as_f64).unwrap_or(0.0);
            QualityFigures {
                score: figure("score"),
                coverage: figure("coverage"),
                redundancy: figure("redundancy"),
                freshness: figure("freshness"),
                budget_use: figure("budgetUse"),
            }
        });
        let ledger = ledger_of(&result);
        let layers = list(&assembly["layers"]);
        let sum = |name: &str| -> usize {
            layers.iter().map(|layer| json_u32(&layer[name]) as usize).sum()
        };
        let (items, candidates) = match ledger.is_empty() {
            true => (sum("items"), sum("candidates")),
            false => {
                let items = ledger.iter().filter(|line| line.outcome != "out").count();
                (items, ledger.len())
            }
        };
        PackAnswer {
            text: text(&result["context"]),
            report: None,
            notices: list(&assembly["notices"]).iter().map(notice).collect(),
            items,
            candidates,
            tokens: json_u32(&assembly["tokens"]),
            limit: json_u32(&assembly["limit"]),
            tokenizer: text(&assembly["tokenizer"]),
            accuracy: text(&assembly["accuracy"]),
            receipt: text(&assembly["receipt"]),
            steps: STEPS.iter().map(|step| ((*step).to_owned(), time(step))).collect(),
            total: time("total"),
            quality,
            document: result,
        }
    }

    /// Whether the engine found nothing relevant, which is a notice of its own.
    pub(crate) fn is_irrelevant(&self) -> bool {
        self.notices.iter().any(|notice| notice.code == NOTHING_RELEVANT)
    }

    /// One line about the pack.
    pub(crate) fn summary(&self, kept: bool) -> String {
        let kept = if kept { "" } else { ", not kept" };
        format!(
            "{} of {} tokens ({}, {}) · {} of {} candidates · {} · receipt {}{kept}",
            grouped(self.tokens),
            grouped(self.limit),
            self.tokenizer,
            self.accuracy,
            grouped(self.items),
            grouped(self.candidates),
            duration(self.total),
            self.receipt,
        )
    }

    /// Prints the notices to standard error.
    pub(crate) fn print_notices(&self) {
        for line in self.notices.iter().flat_map(NoticeText::lines) {
            say(&line);
        }
    }

    /// How long each step took, and how good the result is.
    pub(crate) fn figures(&self, paint: Paint) -> String {
        let steps: Vec<String> =
            self.steps.iter().map(|(step, time)| format!("{step} {}", duration(*time))).collect();
        let title = paint.bold("time   ");
        let mut out = format!("{title}  {} = {}\n", steps.join(" + "), duration(self.total));
        if let Some(quality) = &self.quality {
            out.push_str(&format!(
                "{}  {:.2}: coverage {}, repeated {}, fresh {}, budget used {}\n",
                paint.bold("quality"),
                quality.score,
                percent(quality.coverage),
                percent(quality.redundancy),
                percent(quality.freshness),
                percent(quality.budget_use),
            ));
        }
        out
    }
}
