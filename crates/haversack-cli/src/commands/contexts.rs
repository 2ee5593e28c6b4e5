//! `haversack contexts`: stores a folder of context documents, or only checks it.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use haversack::recipe::Severity;
use haversack::situation::document::items_from_folder;
use haversack::situation::lint::{ContextFindingCode, lint, unknown_facts};
use haversack::situation::rule_cases::{self, RuleCase, check_rule_cases};
use haversack::situation::{ContextDocument, LocalJudge};
use haversack_store::store::block_on;
use haversack_store::store::change::Batch;

use crate::args::{self, StoreLocation};
use crate::input::now;
use crate::output::{ExitOutcome, grouped, print, say};
use crate::remote::WorkspaceTarget;

pub(crate) fn run(location: &StoreLocation, args: &args::ContextsArgs) -> Result<ExitOutcome> {
    let items = items_from_folder(&args.folder)?;
    let contexts: Vec<ContextDocument> = items.iter().map(ContextDocument::of_item).collect();
    let cases = args.expect.as_deref().map(read_cases).transpose()?.unwrap_or_default();
    let situations: Vec<_> = cases.iter().map(|case| case.situation.clone()).collect();
    let mut findings = lint(&contexts);
    if !situations.is_empty() {
        findings.retain(|finding| finding.code != ContextFindingCode::UnknownFact);
        findings.extend(unknown_facts(&contexts, &situations));
    }
    for finding in &findings {
        say(&format!("{}: {finding}", finding.code.severity()));
    }
    let errors = findings.iter().filter(|finding| finding.code.severity() == Severity::Error);
    let errors = errors.count();
    if args.check {
        let failed = count_failed_cases(&contexts, &cases)?;
        let mut line =
            format!("{} contexts, {} remarks", grouped(items.len()), grouped(findings.len()));
        if !cases.is_empty() {
            let (count, failed) = (grouped(cases.len()), grouped(failed));
            line.push_str(&format!(", {count} cases, {failed} not as expected"));
        }
        print(&line)?;
        return Ok(if errors + failed > 0 { ExitOutcome::Nothing } else { ExitOutcome::Something });
    }
    if items.is_empty() {
        say("there are no context documents (*.yaml, *.yml, *.json, *.md) in that folder");
        return Ok(ExitOutcome::Nothing);
    }
    let store = match location.reach(StoreLocation::store_or_new)? {
        WorkspaceTarget::Local(store) => store,
        WorkspaceTarget::Server(server) => {
            server.create_if_missing()?;
            let sent = server.send_items(items.into_iter().map(Ok), |_| {})?;
            for warning in &sent.warnings {
                say(&format!("note: {warning}"));
            }
            let (stored, unchanged) = (grouped(sent.stored), grouped(sent.unchanged));
            print(&format!("{stored} contexts stored, {unchanged} unchanged"))?;
            return Ok(ExitOutcome::Something);
        }
    };
    let mut batch = Batch::put(now(), items);
    let origin = format!("contexts-{}", batch.at.as_millis());
    batch.origin = Some(origin.clone());
    let done = block_on(store.write(batch))?;
    for warning in &done.warnings {
        say(&format!("note: {warning}"));
    }
    print(&format!(
        "{} contexts stored, {} unchanged",
        grouped(done.stored),
        grouped(done.unchanged)
    ))?;
    if done.stored > 0 {
        print(&format!("to take them back: {}", location.command(&format!("undo {origin}"))))?;
    }
    Ok(ExitOutcome::Something)
}

/// The cases of a file.
fn read_cases(path: &Path) -> Result<Vec<RuleCase>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    rule_cases::parse(&text).map_err(|wrong| anyhow!("{}: {wrong}", path.display()))
}

/// Runs the cases, prints what is wrong with each, and returns how many fail.
fn count_failed_cases(contexts: &[ContextDocument], cases: &[RuleCase]) -> Result<usize> {
    let judge = LocalJudge::new();
    let outcomes =
        crate::runtime::wait(async { Ok(check_rule_cases(contexts, cases, &judge, now()).await) })?;
    let mut failed = 0;
    for (case, wrong) in cases.iter().zip(outcomes).filter(|(_, wrong)| !wrong.is_empty()) {
        failed += 1;
        for one in wrong {
            say(&format!("error: case {:?}: {one}", case.name));
        }
    }
    Ok(failed)
}
