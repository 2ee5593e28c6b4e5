//! Packs as people read them.

mod answer;
mod bar;
mod difference;
mod format;
mod page;
mod plot;
mod report;

pub(crate) use answer::PackAnswer;
pub(crate) use bar::bar;
pub(crate) use difference::difference;
pub(crate) use format::{clipped, duration, percent, plural};
pub(crate) use page::{Depth, lines_of, page};
pub(crate) use plot::plot;
pub(crate) use report::{
    CandidateLine, PackReport, ReportLayer, candidate_label, item_label, ledger_of,
};
