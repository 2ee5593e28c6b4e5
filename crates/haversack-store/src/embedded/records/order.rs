//! The order in which the changes of a batch are applied.

use std::collections::BTreeMap;

use haversack_core::ids::ItemId;

use super::write::{WriteError, WriteResult};
use crate::prepare::PreparedBatch;
use crate::store::change::{Change, DEPTH_MAX};
use crate::store::error::{ChangeProblem, CommitError};
use crate::store::item::Item;

/// The order in which changes are applied. Between two removals, puts come first: parents before
/// children, and only the last of several puts with one id. The rest follows as given.
///
/// Each entry is the change's index and, for a put, the index of its prepared item.
pub(super) fn change_order(prepared: &PreparedBatch) -> WriteResult<Vec<(usize, usize)>> {
    let changes = &prepared.batch.changes;
    let mut order = Vec::with_capacity(changes.len());
    let (mut puts, mut rest) = (Vec::new(), Vec::new());
    let mut items = 0;
    for (at, change) in changes.iter().enumerate() {
        match change {
            Change::Put(item) => {
                puts.push((at, items, &**item));
                items += 1;
            }
            _ if change.is_removal() => {
                order.extend(parents_first(&std::mem::take(&mut puts))?);
                order.append(&mut rest);
                order.push((at, usize::MAX));
            }
            _ => rest.push((at, usize::MAX)),
        }
    }
    order.extend(parents_first(&puts)?);
    order.append(&mut rest);
    Ok(order)
}

/// Orders puts so that each item comes after its parent.
fn parents_first(puts: &[(usize, usize, &Item)]) -> WriteResult<Vec<(usize, usize)>> {
    // The last put of an id wins.
    let by_id: BTreeMap<&ItemId, usize> =
        puts.iter().enumerate().map(|(index, (.., item))| (&item.id, index)).collect();
    let refused = |index: usize, message: String| {
        let (change, _, item) = puts[index];
        let problem = ChangeProblem { change, item: Some(item.id.clone()), message };
        Err(WriteError::Refused(CommitError::Invalid(vec![problem])))
    };
    let mut order = Vec::with_capacity(puts.len());
    let mut placed = vec![false; puts.len()];
    for start in 0..puts.len() {
        if by_id[&puts[start].2.id] != start {
            continue;
        }
        let mut chain: Vec<usize> = Vec::new();
        let mut next = Some(start);
        while let Some(index) = next.filter(|index| !placed[*index]) {
            let item = puts[index].2;
            if let Some(from) = chain.iter().position(|at| *at == index) {
                let cycle: Vec<&str> =
                    chain[from..].iter().map(|at| puts[*at].2.id.as_str()).collect();
                let cycle = cycle.join(" > ");
                return refused(index, format!("parent: {cycle} > {} is a cycle", item.id));
            }
            chain.push(index);
            if chain.len() > DEPTH_MAX {
                let message = format!("parent: the tree is more than {DEPTH_MAX} levels deep");
                return refused(start, message);
            }
            next = item.parent.as_ref().and_then(|parent| by_id.get(parent).copied());
        }
        for index in chain.into_iter().rev() {
            placed[index] = true;
            order.push((puts[index].0, puts[index].1));
        }
    }
    Ok(order)
}
