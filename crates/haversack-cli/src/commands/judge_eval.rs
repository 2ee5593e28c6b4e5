//! `haversack recipe judge-eval`: how well conditions in plain language are judged.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haversack::models::ChatJudge;
use haversack::situation::{Judge, JudgeAnswer, LocalJudge, Verdict};
use haversack_provider::ModelRole;
use serde_json::{Map, Value, json};

use crate::args::{JudgeEvalArgs, StoreLocation};
use crate::input::{now, read_text};
use crate::output::{Bar, ExitOutcome, print, say};
use crate::runtime::wait;

/// A condition, a situation, and whether the one holds in the other.
struct JudgeCase {
    situation: Map<String, Value>,
    condition: String,
    holds: bool,
}

/// How a judge did.
#[derive(Default)]
struct JudgeScore {
    name: String,
    decided: usize,
    right: usize,
    failed: usize,
    cases: usize,
    time: Duration,
}

impl JudgeScore {
    fn add(&mut self, answer: JudgeAnswer, holds: bool) {
        self.cases += 1;
        self.decided += usize::from(answer != JudgeAnswer::Undecided);
        let expected = if holds { JudgeAnswer::Yes } else { JudgeAnswer::No };
        self.right += usize::from(answer == expected);
    }

    fn line(&self) -> String {
        let percent = |part: usize, of: usize| match of {
            0 => "-".to_owned(),
            of => format!("{:.1} %", 100.0 * part as f64 / of as f64),
        };
        let each = self.time.as_secs_f64() * 1e3 / self.cases.max(1) as f64;
        format!(
            "{:<28} decided {:>7}  right of decided {:>7}  right of all {:>7}  failed {}  {each:.1} ms each",
            self.name,
            percent(self.decided, self.cases),
            percent(self.right, self.decided),
            percent(self.right, self.cases),
            self.failed,
        )
    }

    fn document(&self) -> Value {
        json!({
            "judge": self.name, "cases": self.cases, "decided": self.decided, "right": self.right,
            "failed": self.failed, "ms": self.time.as_secs_f64() * 1e3,
        })
    }
}

pub(crate) fn run(location: &StoreLocation, args: &JudgeEvalArgs) -> Result<ExitOutcome> {
    let cases = read_cases(&read_text(&args.file)?, args.limit)?;
    let mut scores: Vec<JudgeScore> = Vec::new();
    for (name, answer) in [("always yes", JudgeAnswer::Yes), ("always no", JudgeAnswer::No)] {
        let mut score = JudgeScore { name: name.to_owned(), ..JudgeScore::default() };
        cases.iter().for_each(|case| score.add(answer, case.holds));
        scores.push(score);
    }
    scores.push(wait(measure(&LocalJudge::new(), &cases))?);
    let model = match location.models()? {
        Some(models) => models.chat(ModelRole::Judge)?,
        None => None,
    };
    match model {
        Some(model) => scores.push(wait(measure(&ChatJudge::new(model), &cases))?),
        None => say("no model is configured as judge ([models.judge] in models.toml)"),
    }
    if args.json {
        let scores: Vec<Value> = scores.iter().map(JudgeScore::document).collect();
        print(&serde_json::to_string_pretty(&Value::Array(scores))?)?;
    } else {
        scores.iter().try_for_each(|score| print(&score.line()))?;
    }
    Ok(ExitOutcome::Something)
}

async fn measure(judge: &dyn Judge, cases: &[JudgeCase]) -> Result<JudgeScore> {
    let mut score = JudgeScore { name: judge.name().to_owned(), ..JudgeScore::default() };
    let mut bar = Bar::new();
    let start = Instant::now();
    for (n, case) in cases.iter().enumerate() {
        bar.show(&format!("{}: {n} of {}", judge.name(), cases.len()));
        let judged = judge.judge(&case.situation, now(), &[&case.condition]).await;
        let verdict = judged.ok().and_then(|mut verdicts| verdicts.pop());
        score.failed += usize::from(verdict.is_none());
        score.add(verdict.unwrap_or(Verdict::UNDECIDED).answer, case.holds);
    }
    bar.clear();
    score.time = start.elapsed();
    Ok(score)
}

fn read_cases(text: &str, limit: usize) -> Result<Vec<JudgeCase>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let cases: Result<Vec<JudgeCase>> = lines
        .take(limit)
        .map(|(n, line)| read_case(line).with_context(|| format!("line {}", n + 1)))
        .collect();
    let cases = cases?;
    ensure!(!cases.is_empty(), "there is no case in the file");
    Ok(cases)
}

fn read_case(line: &str) -> Result<JudgeCase> {
    let value: Value = serde_json::from_str(line)?;
    let situation = value["situation"].as_object().context("situation: must be an object")?;
    let condition = value["condition"].as_str().context("condition: must be a text")?;
    let holds = value["holds"].as_bool().context("holds: must be true or false")?;
    Ok(JudgeCase { situation: situation.clone(), condition: condition.to_owned(), holds })
}
