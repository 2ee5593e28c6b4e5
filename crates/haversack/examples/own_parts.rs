//! An application's own collector, ranker and template, and a recipe that uses them.
//!
//! `cargo run -p haversack --example own_parts`
#![expect(clippy::print_stdout, reason = "an example is there to print")]

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::collect::{Collector, CollectorOutput, Question};
use haversack::recipe::CollectorSpec;
use haversack::{Engine, Request};
use haversack_core::assemble::TemplateText;
use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::Kind;
use haversack_core::rank::{Component, Ranker, Scoring};
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;

/// Collects a weather report. Here it is always the same.
struct Weather;

impl Collector for Weather {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        _spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let invalid = |error: haversack_core::ids::IdError| {
                ReadError::invalid("weather", error.to_string())
            };
            let id = CandidateId::whole(ItemId::new("weather").map_err(invalid)?);
            let kind = Kind::new("forecast").map_err(invalid)?;
            let text = format!("On {}: rain from noon, 9 °C.", question.now);
            let mut candidate = Candidate::new(id, kind, &text);
            candidate.signals.set(Component::Collector, Score::ONE);
            Ok(CollectorOutput { candidates: vec![candidate], ..CollectorOutput::default() })
        }
        .boxed()
    }
}

const RECIPE: &str = r#"
haversack = 1
name = "outing"
description = "What to know before going out"

[budget]
total = 300

[[layer]]
name = "weather"
title = "Weather"
share = 1.0
collect = [{ by = "weather" }]
score = { ranker = "trust" }
template = "line"
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let line = TemplateText { item: "* {{content}}", ..TemplateText::PLAIN };
    let engine = Engine::builder()
        .collector("weather", Weather)
        .ranker("trust", Ranker::Sum(Scoring::by(Component::Collector)))
        .template("line", line)?
        .recipe("outing", RECIPE)
        .open(folder.path())?;
    let home = engine.workspace("home")?;
    let pack = home.pack(Request::new("outing", "Should I take the bicycle?")).await?;
    println!("{}", pack.text());
    Ok(())
}
