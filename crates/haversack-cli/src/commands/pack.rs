//! `haversack pack`: a question, answered with a context within a budget.

use anyhow::Result;
use haversack::recipes::result_of;
use haversack::{Assembled, NoticeCode};

use super::asking::{self, Desk};
use super::frontier;
use super::show::{Depth, Story, figures, notice_lines, page, summary, tell_notices};
use crate::args::{self, Place};
use crate::output::{Found, print, say};
use crate::paint::Paint;
use crate::runtime::wait;

pub(crate) fn run(place: &Place, args: &args::Pack) -> Result<Found> {
    let desk = asking::open(place, &args.asking)?;
    wait(async {
        let done = Box::pin(answer(&desk, args)).await;
        desk.workspace.settle().await;
        done
    })
}

async fn answer(desk: &Desk, args: &args::Pack) -> Result<Found> {
    let mut request = asking::request(desk, &args.asking).await?;
    if args.frontier {
        return frontier::show(&desk.workspace, request, &[], false).await;
    }
    request.keep = !args.preview && !desk.is_for_once();
    request.cache &= !args.fresh;
    let kept = request.keep;
    let assembled = desk.workspace.pack(request).await?;
    show(&assembled, &args.showing)?;
    let nothing = assembled.pack.sections.iter().all(|section| section.items.is_empty());
    let is_irrelevant =
        assembled.notices.iter().any(|notice| notice.code == NoticeCode::NothingRelevant);
    // That nothing is relevant is a notice of its own.
    if nothing && !is_irrelevant {
        let found = !assembled.pack.ledger.is_empty();
        say(if found { "nothing fits this budget" } else { "nothing answers this question" });
    }
    if !args.showing.explain || args.showing.json {
        tell_notices(&assembled.notices);
    }
    say(&summary(&assembled, kept));
    Ok(if nothing { Found::Nothing } else { Found::Something })
}

fn show(assembled: &Assembled, showing: &args::Showing) -> Result<()> {
    if showing.json {
        return print(&serde_json::to_string_pretty(&result_of(assembled, showing.explain))?);
    }
    if !showing.explain {
        let is_empty = assembled.text().is_empty();
        return if is_empty { Ok(()) } else { print(assembled.text()) };
    }
    let paint = Paint::of_stdout();
    let depth = if showing.all { Depth::All } else { Depth::SCREEN };
    let mut out = page(&Story::of(assembled), depth, paint);
    out.push('\n');
    for notice in &assembled.notices {
        for line in notice_lines(notice) {
            out.push_str(&paint.warning(&line));
            out.push('\n');
        }
    }
    out.push_str(&figures(assembled, paint));
    print(&out)
}
