//! One run: which rows to read, their items in batches, the watermark, and the items whose rows are gone.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;

use haversack_core::ids::ItemId;
use haversack_database::{Cell, Column, Database, RowQuery, earlier, moment_millis};
use haversack_store::store::item::Item;
use serde_json::Value;

use super::columns::{ColumnPlan, RowProblem};
use super::notices::add_notice;
use super::target::{SyncBatch, SyncTarget};
use super::{FullReason, SyncError, SyncRequest, SyncState, SyncSummary};

/// Most items of a batch.
const BATCH_ITEMS_MAX: usize = 500;

/// A batch is written when its texts have about this many bytes.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// Most warnings of a run.
const WARNINGS_MAX: usize = 100;

/// How far before its watermark a run begins, in seconds. A transaction may take so long between the moment
/// that it writes into a row and the moment that others see the row.
const OVERLAP_SECONDS: u32 = 60;

/// A row that says that it changes later than this has a wrong clock, or means no moment. The watermark stays
/// before it, or later changes would not be seen.
const AHEAD_MILLIS_MAX: i64 = 24 * 60 * 60 * 1_000;

/// Fewer items may be deleted without a second thought.
const HELD_BACK_MIN: u64 = 10;

pub(super) fn run(
    database: &mut Database,
    target: &mut dyn SyncTarget,
    request: &SyncRequest,
    progress: &mut dyn FnMut(&SyncSummary) -> ControlFlow<()>,
) -> Result<SyncSummary, SyncError> {
    if let Some(kind) = &request.kind
        && request.kinds.needs_trusted_writer(kind)
    {
        return Err(SyncError::Guidance { kind: kind.clone() });
    }
    let columns = database.columns(&request.query)?;
    let plan = ColumnPlan::new(&columns, request)?;
    let stored = target.state(request.name.as_str())?;
    let fresh = SyncState::of(request);
    let full = full_reason(request, stored.as_ref(), &fresh, plan.cursor().is_some())?;
    let is_time = plan.cursor().is_some_and(|(_, index)| is_time_column(&columns[index]));
    let watermark = stored.as_ref().and_then(|state| state.watermark.clone());
    let from =
        watermark.as_ref().filter(|_| full.is_none()).map(|from| with_overlap(from, is_time));
    let state = match (&stored, full) {
        // The watermark of another source says nothing of this one.
        (Some(stored), None) => stored.clone(),
        _ => fresh,
    };
    let mut run = SyncRun {
        request,
        target,
        plan: &plan,
        is_time,
        state,
        is_moved: false,
        pending: Vec::new(),
        pending_bytes: 0,
        seen: HashSet::new(),
        summary: SyncSummary { full, ..SyncSummary::default() },
        progress,
    };
    let query = RowQuery {
        sql: &request.query,
        id: plan.id_column(),
        cursor: plan.cursor().map(|(name, _)| name),
        from: from.as_ref(),
    };
    database.read(&query, &mut |cells| run.take_row(cells))?;
    run.finish()
}

/// Why all rows must be read; `None` if those from the watermark on are enough.
fn full_reason(
    request: &SyncRequest,
    stored: Option<&SyncState>,
    fresh: &SyncState,
    has_cursor: bool,
) -> Result<Option<FullReason>, SyncError> {
    let Some(stored) = stored else { return Ok(Some(FullReason::First)) };
    let is_other = stored.source != fresh.source;
    if is_other && !request.name.is_given {
        return Err(SyncError::NameTaken { name: request.name.as_str().to_owned() });
    }
    let age_millis = request.at.as_millis().saturating_sub(stored.full_at.as_millis());
    // A clock that went backwards says nothing of the age.
    let is_old = |limit: std::time::Duration| {
        u128::try_from(age_millis).map_or(true, |age| age >= limit.as_millis())
    };
    Ok(match () {
        () if request.full => Some(FullReason::Requested),
        () if !has_cursor => Some(FullReason::NoUpdatedColumn),
        () if is_other || stored.mapping != fresh.mapping => Some(FullReason::Changed),
        () if stored.watermark.is_none() => Some(FullReason::First),
        () if request.full_every.is_some_and(is_old) => Some(FullReason::Age),
        () => None,
    })
}

fn is_time_column(column: &Column) -> bool {
    matches!(column.type_name.as_deref(), Some("timestamp" | "timestamptz" | "date"))
}

/// The value to read from: the watermark, or a little before it when it is a moment of a server with several
/// writers.
fn with_overlap(watermark: &Value, is_time: bool) -> Value {
    let before = watermark.as_str().filter(|_| is_time).and_then(|it| earlier(it, OVERLAP_SECONDS));
    before.map_or_else(|| watermark.clone(), Value::from)
}

struct SyncRun<'a> {
    request: &'a SyncRequest,
    target: &'a mut dyn SyncTarget,
    plan: &'a ColumnPlan<'a>,
    /// Whether the cursor is a column of moments.
    is_time: bool,
    /// What the source is after the rows so far.
    state: SyncState,
    /// Whether the watermark is another than the stored one.
    is_moved: bool,
    pending: Vec<Item>,
    pending_bytes: usize,
    /// Hashes of the ids of all rows. A chance collision only keeps an item that could have been deleted.
    seen: HashSet<u64>,
    summary: SyncSummary,
    progress: &'a mut dyn FnMut(&SyncSummary) -> ControlFlow<()>,
}

fn hash_id(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

impl SyncRun<'_> {
    fn take_row(&mut self, cells: Vec<Cell>) -> Result<(), SyncError> {
        self.summary.rows += 1;
        let number = self.summary.rows;
        let row_name = self.plan.row_name(&cells, number);
        self.move_watermark(&cells, &row_name);
        match self.plan.item_id(&cells) {
            Ok(id) if !self.seen.insert(hash_id(&id)) => {
                let column = Some(self.plan.id_column().to_owned());
                let what = "an earlier row has this id; only the first one counts".to_owned();
                self.refuse(&row_name, &RowProblem { column, what });
            }
            // A row that cannot be an item is not gone: an earlier state of it stays.
            Ok(id) => match self.plan.item((id, cells), (number, &mut self.summary.notices)) {
                Ok(item) => {
                    self.pending_bytes += item.body.len() + item.title.len();
                    self.pending.push(item);
                }
                Err(problem) => self.refuse(&row_name, &problem),
            },
            Err(problem) => self.refuse(&row_name, &problem),
        }
        if self.pending.len() >= BATCH_ITEMS_MAX || self.pending_bytes >= BATCH_BYTES_MAX {
            // A full pass records nothing before its end: until then it is not known what is gone.
            let state = self.summary.full.is_none().then(|| self.state.clone());
            self.write(Vec::new(), state)?;
        }
        Ok(())
    }

    fn refuse(&mut self, row_name: &str, problem: &RowProblem) {
        self.summary.refused += 1;
        let column = problem.column.as_deref();
        add_notice(&mut self.summary.notices, row_name, column, &problem.what);
    }

    /// Rows come in the order of the cursor, so the last value is the greatest.
    fn move_watermark(&mut self, cells: &[Cell], row_name: &str) {
        let Some((column, index)) = self.plan.cursor() else { return };
        let mut notice = |what: &str| {
            add_notice(&mut self.summary.notices, row_name, Some(column), what);
        };
        let value = match cells.get(index) {
            Some(Cell::Value(Value::Null)) => {
                return notice("is NULL, so every run reads this row");
            }
            Some(Cell::Value(value @ (Value::String(_) | Value::Number(_)))) => value,
            _ => {
                return notice(
                    "is neither a time, a number nor a text, so every run reads this row",
                );
            }
        };
        let ahead = self.request.at.as_millis().saturating_add(AHEAD_MILLIS_MAX);
        let is_sound = match moment_millis(value) {
            Some(moment) => moment <= ahead,
            None => !self.is_time,
        };
        if !is_sound {
            return notice("is in the future, so every run reads this row");
        }
        self.is_moved = self.is_moved || self.state.watermark.as_ref() != Some(value);
        self.state.watermark = Some(value.clone());
    }

    fn write(&mut self, deleted: Vec<ItemId>, state: Option<SyncState>) -> Result<(), SyncError> {
        self.pending_bytes = 0;
        let report = self.target.write(SyncBatch {
            name: self.request.name.as_str().to_owned(),
            at: self.request.at,
            origin: self.request.origin.clone(),
            dry_run: self.request.dry_run,
            items: std::mem::take(&mut self.pending),
            deleted,
            state,
        })?;
        let summary = &mut self.summary;
        summary.stored += report.stored;
        summary.unchanged += report.unchanged;
        summary.deleted += report.deleted;
        summary.refused += report.refused.len() as u64;
        for refused in report.refused {
            add_notice(&mut summary.notices, &refused.id, None, &refused.reason);
        }
        let room = WARNINGS_MAX.saturating_sub(summary.warnings.len());
        summary.warnings.extend(report.warnings.into_iter().take(room));
        match (self.progress)(summary) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(SyncError::Stopped),
        }
    }

    fn finish(mut self) -> Result<SyncSummary, SyncError> {
        if self.summary.full.is_none() {
            if self.is_moved || !self.pending.is_empty() {
                let state = self.state.clone();
                self.write(Vec::new(), Some(state))?;
            }
            return Ok(self.summary);
        }
        if !self.pending.is_empty() {
            self.write(Vec::new(), None)?;
        }
        self.delete_missing()?;
        let state = SyncState { full_at: self.request.at, ..self.state.clone() };
        self.write(Vec::new(), Some(state))?;
        Ok(self.summary)
    }

    /// Deletes the items whose rows are gone. If they are most of all and nobody asked for a full pass, the
    /// query is more likely wrong than the table empty.
    fn delete_missing(&mut self) -> Result<(), SyncError> {
        if !self.request.full {
            let (mut after, mut all, mut missing) = (None, 0_u64, 0_u64);
            while let Some(ids) = self.next_ids(&mut after)? {
                all += ids.len() as u64;
                missing += ids.iter().filter(|id| self.is_missing(id)).count() as u64;
            }
            if missing >= HELD_BACK_MIN && missing > all / 2 {
                self.summary.held_back = missing;
                return Ok(());
            }
        }
        let mut after = None;
        while let Some(ids) = self.next_ids(&mut after)? {
            let gone: Vec<ItemId> = ids.into_iter().filter(|id| self.is_missing(id)).collect();
            for gone in gone.chunks(BATCH_ITEMS_MAX) {
                self.write(gone.to_vec(), None)?;
            }
        }
        Ok(())
    }

    /// The next ids of the source's items; `None` after the last.
    fn next_ids(&mut self, after: &mut Option<ItemId>) -> Result<Option<Vec<ItemId>>, SyncError> {
        let ids = self.target.ids_after(self.request.name.as_str(), after.as_ref())?;
        let Some(last) = ids.last() else { return Ok(None) };
        *after = Some(last.clone());
        Ok(Some(ids))
    }

    fn is_missing(&self, id: &ItemId) -> bool {
        !self.seen.contains(&hash_id(id.as_str()))
    }
}
