//! `haversack pack`: the context for a question, within a budget.

use std::time::Duration;

use anyhow::Result;
use haversack::Workspace;

use super::frontier;
use super::request::{self, QueryServer, QueryTarget, QueryWorkspace};
use super::show::{Depth, PackAnswer, PackReport, ledger_of, page};
use crate::args::{DisplayArgs, PackArgs, Provider, StoreLocation};
use crate::output::{ExitOutcome, print, say};
use crate::paint::Paint;
use crate::remote::RemotePackOptions;
use crate::runtime::wait;

/// How long the command stays for summaries.
const SUMMARIES_WITHIN: Duration = Duration::from_secs(60);

pub(crate) fn run(location: &StoreLocation, args: &PackArgs) -> Result<ExitOutcome> {
    let target = request::open(location, &args.request)?;
    if args.frontier {
        return frontier::show(&frontier::of_target(&target, &args.request, &[])?, &[], false);
    }
    let (answer, kept) = match &target {
        QueryTarget::Workspace(target) => wait(async {
            let packed = Box::pin(pack_locally(target, args)).await;
            target.workspace.flush().await;
            packed
        })?,
        QueryTarget::Server(target) => (pack_by_server(target, args)?, !args.preview),
    };
    show(&answer, &args.display)?;
    // The engine says with a notice that nothing is relevant.
    if answer.items == 0 && !answer.is_irrelevant() {
        let found = answer.candidates > 0;
        say(if found { "nothing fits this budget" } else { "nothing answers this question" });
    }
    if !args.display.explain || args.display.json {
        answer.print_notices();
    }
    say(&answer.summary(kept));
    if let QueryTarget::Workspace(target) = &target
        && !target.is_temporary()
    {
        wait_for_summaries(&target.workspace);
    }
    Ok(if answer.items == 0 { ExitOutcome::Nothing } else { ExitOutcome::Something })
}

/// Waits until the summaries that the pack did without are made for later packs. They would be lost with the
/// process.
fn wait_for_summaries(workspace: &Workspace) {
    let count = workspace.summaries_waiting();
    if count == 0 {
        return;
    }
    let noun = if count == 1 { "summary" } else { "summaries" };
    say(&format!("making {count} {noun} for later packs, for at most a minute"));
    if !workspace.wait_for_summaries(SUMMARIES_WITHIN) {
        let left = workspace.summaries_waiting();
        say(&format!("note: {left} of them took too long; the next pack asks for them again"));
    }
}

async fn pack_locally(target: &QueryWorkspace, args: &PackArgs) -> Result<(PackAnswer, bool)> {
    let mut request = request::of_workspace(target, &args.request).await?;
    request.keep = !args.preview && !target.is_temporary();
    request.cache &= !args.fresh;
    let kept = request.keep;
    let assembled = target.workspace.pack(request).await?;
    let DisplayArgs { explain, json, provider, .. } = args.display;
    let mut answer = PackAnswer::of_pack(&assembled, explain, explain && !json);
    if let Some(provider) = provider {
        answer.add_messages(&assembled, provider.format())?;
    }
    Ok((answer, kept))
}

fn pack_by_server(target: &QueryServer, args: &PackArgs) -> Result<PackAnswer> {
    let mut fields = request::fields(&args.request, target.recipe.shape)?;
    if args.fresh {
        fields.insert("cache".to_owned(), false.into());
    }
    let DisplayArgs { explain, json, provider, .. } = args.display;
    let options = RemotePackOptions {
        preview: args.preview,
        // What is printed beside the text counts candidates, which only the ledger has exactly.
        explain: explain || !json,
        messages: provider.map(Provider::format),
    };
    let result = target.server.pack(&target.recipe.name, fields, options)?;
    let mut answer = PackAnswer::of_result(result);
    if explain && !json {
        let ledger = ledger_of(&answer.document);
        let items = target.server.labels(ledger.iter().map(|line| line.item.as_str()))?;
        let labels =
            ledger.iter().filter_map(|line| Some((line.name(), items.get(&line.item)?.clone())));
        let question = args.request.query.as_deref().unwrap_or_default();
        let asker = args.request.identity.description();
        let labels = labels.collect();
        answer.report = Some(PackReport::of_result(&answer.document, (question, &asker), &labels));
    }
    Ok(answer)
}

fn show(answer: &PackAnswer, display: &DisplayArgs) -> Result<()> {
    if display.json {
        return print(&serde_json::to_string_pretty(&answer.document)?);
    }
    if let Some(messages) = answer.messages() {
        return print(&serde_json::to_string_pretty(messages)?);
    }
    let Some(report) = &answer.report else {
        return if answer.text.is_empty() { Ok(()) } else { print(&answer.text) };
    };
    let paint = Paint::of_stdout();
    let depth = if display.all { Depth::All } else { Depth::SCREEN };
    let mut out = page(report, depth, paint);
    out.push('\n');
    for line in answer.notices.iter().flat_map(|notice| notice.lines()) {
        out.push_str(&paint.warning(&line));
        out.push('\n');
    }
    out.push_str(&answer.figures(paint));
    print(&out)
}
