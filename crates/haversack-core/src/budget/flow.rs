//! Distributes a growing budget over layers: shares first, leftovers by spill order.
//!
//! Imagine the budget rising from zero. Every layer with unmet demand gets its share of each new
//! token; unclaimed shares and those of satisfied layers go to the first layer in spill order with
//! unmet demand (P4). No layer loses a token as the budget rises. So each step of each layer
//! becomes affordable at one fixed budget, and a larger budget takes the same steps and then more.

use crate::units::Share;

/// One layer's demand for tokens.
#[derive(Debug, Clone)]
pub struct Demand {
    /// Its guaranteed share.
    pub share: Share,
    /// Its rank when leftovers are distributed, lowest first. Truncation goes the other way.
    pub spill: u32,
    /// Cumulative tokens after each of its steps; never decreasing.
    pub cumulative: Vec<u64>,
}

impl Demand {
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    fn total(&self) -> f64 {
        self.cumulative.last().copied().unwrap_or(0) as f64
    }
}

/// A step of a layer, as ordered by [`due_order`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueStep {
    /// Index of the layer.
    pub layer: usize,
    /// Index of its step.
    pub step: usize,
}

/// An interval of the rising budget in which the same layers have unmet demand.
struct Phase {
    from: f64,
    length: f64,
    level: Vec<f64>,
    rate: Vec<f64>,
}

fn phases(demands: &[Demand]) -> Vec<Phase> {
    let mut phases = Vec::new();
    let mut level = vec![0.0; demands.len()];
    let mut from = 0.0;
    let mut open: Vec<usize> = (0..demands.len()).filter(|&i| demands[i].total() > 0.0).collect();
    open.sort_by_key(|&i| (demands[i].spill, i));
    while let Some(&first) = open.first() {
        let share = |i: usize| f64::from(demands[i].share.millionths()) / 1e6;
        let claimed: f64 = open.iter().map(|&i| share(i)).sum();
        let mut rate = vec![0.0; demands.len()];
        for &i in &open {
            rate[i] = share(i);
        }
        rate[first] += (1.0 - claimed).max(0.0);
        let until_full = |i: usize| (demands[i].total() - level[i]) / rate[i];
        let flowing = open.iter().copied().filter(|&i| rate[i] > 0.0);
        let length = flowing.map(until_full).fold(f64::INFINITY, f64::min);
        if !length.is_finite() {
            // Shares of 100 % leave nothing for a first layer without a share.
            debug_assert!(false, "some open layer always has a rate");
            break;
        }
        let full: Vec<usize> =
            open.iter().copied().filter(|&i| rate[i] > 0.0 && until_full(i) <= length).collect();
        phases.push(Phase { from, length, level: level.clone(), rate: rate.clone() });
        from += length;
        for &i in &open {
            level[i] += rate[i] * length;
        }
        for &i in &full {
            level[i] = demands[i].total();
        }
        open.retain(|i| !full.contains(i));
    }
    phases
}

/// All steps of all layers in the order in which a rising budget affords them; ties go by spill
/// order.
#[must_use]
pub fn due_order(demands: &[Demand]) -> Vec<DueStep> {
    let phases = phases(demands);
    let mut due: Vec<(f64, u32, DueStep)> = Vec::new();
    for (layer, demand) in demands.iter().enumerate() {
        let mut phase = 0;
        for (step, &spent) in demand.cumulative.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
            let spent = spent as f64;
            let reach = |p: &Phase| p.level[layer] + p.rate[layer] * p.length;
            while phase + 1 < phases.len() && spent > reach(&phases[phase]) {
                phase += 1;
            }
            let at = phases.get(phase).map_or(0.0, |p| {
                let into = (spent - p.level[layer]).max(0.0);
                let into = if p.rate[layer] > 0.0 { into / p.rate[layer] } else { 0.0 };
                p.from + into.min(p.length)
            });
            due.push((at, demand.spill, DueStep { layer, step }));
        }
    }
    due.sort_by(|(a, a_spill, a_due), (b, b_spill, b_due)| {
        let key = |due: &DueStep| (due.layer, due.step);
        a.total_cmp(b).then(a_spill.cmp(b_spill)).then_with(|| key(a_due).cmp(&key(b_due)))
    });
    due.into_iter().map(|(_, _, due)| due).collect()
}

/// Each layer's tokens at a budget of `room`, rounded down.
#[must_use]
pub fn levels(demands: &[Demand], room: u64) -> Vec<u64> {
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    let room = room as f64;
    let phases = phases(demands);
    let last = phases.iter().rev().find(|phase| phase.from <= room);
    (0..demands.len())
        .map(|layer| {
            let level = last.map_or(0.0, |phase| {
                phase.level[layer] + phase.rate[layer] * (room - phase.from).min(phase.length)
            });
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a level is a small positive number"
            )]
            let level = (level + 1e-6) as u64;
            level
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `"40:0:100x3"` is a share of 40 %, spill 0 and three steps of 100 tokens.
    fn demands(fixture: &str) -> Vec<Demand> {
        fixture
            .split_whitespace()
            .map(|layer| {
                let mut parts = layer.split(':');
                let mut next = || parts.next().unwrap();
                let share = Share::percent(next().parse().unwrap());
                let spill = next().parse().unwrap();
                let (cost, n) = next().split_once('x').unwrap();
                let (cost, n): (u64, u64) = (cost.parse().unwrap(), n.parse().unwrap());
                Demand { share, spill, cumulative: (1..=n).map(|k| k * cost).collect() }
            })
            .collect()
    }

    #[test]
    fn shares_are_guaranteed_and_leftovers_spill_in_order() {
        let check = |fixture: &str, room: u64, expected: &[u64]| {
            assert_eq!(levels(&demands(fixture), room), expected, "{fixture} at {room}");
        };
        // P3: enough demand everywhere.
        let all = "40:0:100x999 30:1:100x999 20:2:100x999 10:3:100x999";
        check(all, 29_000, &[11_600, 8_700, 5_800, 2_900]);
        // P4: competitive wants nothing: deal gets its part, playbooks do not.
        check("40:0:100x999 30:1:100x999 20:2:1x0 10:3:100x999", 1_000, &[600, 300, 0, 100]);
        // Deal is full: what it leaves goes to products.
        check("40:0:100x2 30:1:100x999 20:2:100x999 10:3:100x999", 1_000, &[200, 500, 200, 100]);
        // Everything fits.
        check("40:0:100x2 30:1:100x1 20:2:100x1 10:3:100x1", 1_000, &[200, 100, 100, 100]);
        // Without shares, strictly by spill order.
        check("0:1:100x9 0:0:100x2", 500, &[300, 200]);
        check("", 10, &[]);
    }

    #[test]
    fn under_pressure_the_last_in_spill_order_is_cut_first() {
        let order = due_order(&demands("40:0:100x4 10:3:100x4"));
        let layers: Vec<usize> = order.iter().map(|due| due.layer).collect();
        assert_eq!(layers, [0, 0, 0, 0, 1, 1, 1, 1]);
        let order = due_order(&demands("50:0:100x2 50:1:100x2"));
        let steps: Vec<_> = order.iter().map(|due| (due.layer, due.step)).collect();
        assert_eq!(steps, [(0, 0), (1, 0), (0, 1), (1, 1)]);
    }

    #[test]
    fn no_layer_loses_tokens_as_the_budget_grows() {
        let demands = demands("40:0:70x5 30:1:130x9 20:2:33x40 10:3:900x2 0:4:10x10");
        let mut before = vec![0; demands.len()];
        for room in 0..6_000 {
            let now = levels(&demands, room);
            assert!(now.iter().zip(&before).all(|(now, before)| now >= before), "at {room}");
            assert!(now.iter().sum::<u64>() <= room);
            before = now;
        }
    }
}
