//! Ranks current facts before those they replaced, and past facts first when the query is about the
//! past (B1).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::future::try_join;
use haversack_core::candidate::Candidate;
use haversack_core::ids::ItemId;
use haversack_core::rank::{Component, Ranked, is_safety_relevant, sort};
use haversack_core::text::terms::{Language, terms};
use haversack_core::units::{Score, Timestamp};
use haversack_core::zone::Zone;
use haversack_store::kinds;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Item, Stored};
use serde_json::Value;

use crate::collect::{Question, candidate_from_item, may_be_found, was_recorded_by};
use crate::recipe::LayerSpec;
use crate::request::RankerChoice;

/// How many of a layer's best candidates are examined.
const ITEMS_EXAMINED_MAX: usize = 60;

/// Most links of one item that are followed.
const LINKS_MAX: usize = 16;

/// Types of links by which an item replaces another.
const REPLACING_LINK_TYPES: [&str; 4] = ["supersedes", "replaces", "corrects", "cancels"];

/// Longest text that counts as one fact, in bytes.
const FACT_BYTES_MAX: usize = 300;

/// The share of words that two texts about the same subject have in common. Numbers do not count,
/// as they are what changes.
const SAME_SUBJECT_SHARE: f64 = 0.6;

/// Verbs that state a fact. Two texts that are equal up to one of them ("My car is a …") state the
/// same fact.
#[rustfmt::skip]
const STATING_VERBS: &[&str] = &[
    "is", "are", "lives", "works", "costs", "has", "takes", "ist", "sind", "heißt", "wohnt",
    "arbeitet", "kostet", "hat", "nimmt",
];

/// How near the scores of two texts must be when only their words suggest the same fact.
const NEAR_SCORE_FACTOR: f64 = 0.9;

/// Factor on the score of an item that is not valid at the time of the query.
const INVALID_FACTOR: f64 = 0.5;

/// Which items are outdated, and what replaced them.
#[derive(Debug, Default)]
pub(super) struct Currency {
    /// Current items, each with one that it replaced or will replace.
    pairs: Vec<Replacement>,
    /// Items that are not valid at the time of the query.
    invalid: BTreeSet<ItemId>,
    /// Notes about an item's validity, shown behind its text.
    notes: BTreeMap<ItemId, String>,
    /// Whether the request names a ranker: then that ranker decides the order, and outdated items
    /// are only marked.
    ranks_otherwise: bool,
}

#[derive(Debug)]
struct Replacement {
    current: ItemId,
    other: ItemId,
    /// Whether a link or field states the replacement; else the words suggest it.
    was_said: bool,
}

impl Currency {
    /// Finds what replaces the best candidates of each layer, and adds it where it was not found.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) async fn find(
        question: &Question,
        specs: &[LayerSpec],
        layers: &mut [Vec<Candidate>],
    ) -> Result<Currency, ReadError> {
        let ranker = question.request.ranker.as_ref();
        let is_default = |ranker: &RankerChoice| matches!(ranker, RankerChoice::Named(name) if name == "default");
        let ranks_otherwise = ranker.is_some_and(|ranker| !is_default(ranker));
        let mut currency = Currency { ranks_otherwise, ..Currency::default() };
        let at = moment_asked_about(question);
        for (spec, layer) in specs.iter().zip(layers).filter(|(spec, _)| spec.prefer_current) {
            currency.examine_layer((question, spec), at, layer).await?;
        }
        Ok(currency)
    }

    async fn examine_layer(
        &mut self,
        (question, spec): (&Question, &LayerSpec),
        at: Timestamp,
        layer: &mut Vec<Candidate>,
    ) -> Result<(), ReadError> {
        let best = best_items(layer);
        let link_types = REPLACING_LINK_TYPES.map(str::to_owned);
        let snapshot = &question.snapshot;
        let neighbours = snapshot.neighbours(&best, &link_types, LINKS_MAX);
        let (neighbours, stored) = try_join(neighbours, snapshot.get(&best)).await?;
        let mut known: BTreeMap<ItemId, Stored> = BTreeMap::new();
        let mut replaced: Vec<(ItemId, ItemId)> = Vec::new();
        let known_by = question.request.facts_moment();
        for (id, mut neighbours) in best.iter().zip(neighbours) {
            neighbours.inward.retain(|linked| was_recorded_by(&linked.stored.item, known_by));
            neighbours.outward.retain(|linked| was_recorded_by(&linked.stored.item, known_by));
            for linked in neighbours.inward {
                replaced.push((linked.stored.item.id.clone(), id.clone()));
                known.insert(linked.stored.item.id.clone(), linked.stored);
            }
            for linked in neighbours.outward {
                replaced.push((id.clone(), linked.stored.item.id.clone()));
                known.insert(linked.stored.item.id.clone(), linked.stored);
            }
        }
        let stored: Vec<Stored> = stored.into_iter().flatten().collect();
        replaced.extend(stored.iter().flat_map(|stored| replaced_by_fields(&stored.item)));
        let linked: BTreeSet<ItemId> =
            replaced.iter().flat_map(|(new, old)| [new.clone(), old.clone()]).collect();
        let n_said = replaced.len();
        replaced.extend(differing_pairs(&stored, &linked));
        for stored in stored {
            known.insert(stored.item.id.clone(), stored);
        }
        let zone = &question.request.time_zone;
        for stored in known.values() {
            if let Some(note) = validity_note(&stored.item, at, zone) {
                self.notes.insert(stored.item.id.clone(), note);
                self.invalid.insert(stored.item.id.clone());
            }
        }
        for (number, (new, old)) in replaced.into_iter().enumerate() {
            let was_said = number < n_said;
            let (Some(new), Some(old)) = (known.get(&new), known.get(&old)) else { continue };
            let is_known_then = stated_at(&new.item).is_none_or(|moment| moment <= at);
            let is_new = is_known_then && !self.invalid.contains(&new.item.id);
            if let Some(since) = change_moment(&new.item, zone) {
                let is_over = since <= question.now;
                self.note_change((new, old), &zone.day(since), (is_new, is_over, was_said));
            }
            let (current, other) = if is_new { (new, old) } else { (old, new) };
            let by = spec.collect.first();
            if was_said && by.is_some_and(|by| may_be_found(question, by, current)) {
                add_current(layer, current, &other.item.id);
            }
            let (current, other) = (current.item.id.clone(), other.item.id.clone());
            self.pairs.push(Replacement { current, other, was_said });
        }
        Ok(())
    }

    /// Notes that one item replaced another on a day: that the older one is outdated, or, when the
    /// query is about the time before, since when the newer one is valid.
    fn note_change(
        &mut self,
        (new, old): (&Stored, &Stored),
        day: &str,
        (is_new, is_over, was_said): (bool, bool, bool),
    ) {
        let probably = if was_said { "" } else { "probably " };
        let mut note = |stored: &Stored, note: String| {
            self.notes.entry(stored.item.id.clone()).or_insert(note);
        };
        // A warning is not called outdated: the newer text may only repeat it.
        let is_warning = is_safety_relevant(&old.text());
        if is_new && is_warning {
            note(old, format!("said anew on {day}"));
        } else if is_new {
            note(old, format!("{probably}outdated since {day}"));
        } else if is_over {
            note(old, format!("{probably}until {day}"));
            note(new, format!("since {day}"));
        }
    }

    /// Ranks current items before outdated ones, and adds the notes.
    pub(super) fn apply(&self, ranked: &mut [Ranked]) {
        for ranked in ranked.iter_mut() {
            let candidate = &mut ranked.candidate;
            if let Some(note) = self.notes.get(&candidate.id.item) {
                candidate.place.note = Some(note.clone());
            }
        }
        if self.ranks_otherwise || self.pairs.is_empty() && self.invalid.is_empty() {
            return;
        }
        for ranked in ranked.iter_mut() {
            if self.invalid.contains(&ranked.candidate.id.item) {
                let lowered = ranked.score.get() * INVALID_FACTOR;
                ranked.score = Score::new(lowered).unwrap_or(ranked.score);
            }
        }
        // A fact may be replaced several times over.
        for _ in 0..self.pairs.len().min(4) {
            for Replacement { current, other, was_said } in &self.pairs {
                let best_of = |id: &ItemId| {
                    let own = ranked.iter().filter(|ranked| ranked.candidate.id.item == *id);
                    own.map(|ranked| ranked.score).max()
                };
                let (Some(now), Some(then)) = (best_of(current), best_of(other)) else { continue };
                // Two texts that state the same fact answer a query equally well.
                let is_near = *was_said || now.get() >= NEAR_SCORE_FACTOR * then.get();
                if now > then || !is_near {
                    continue;
                }
                for ranked in ranked.iter_mut() {
                    let id = &ranked.candidate.id.item;
                    if id == current && ranked.score == now {
                        ranked.score = then;
                    } else if id == other && ranked.score > now {
                        ranked.score = now;
                    }
                }
            }
        }
        sort(ranked);
    }
}

/// The time that the query is about: now, unless it names a past or future one.
fn moment_asked_about(question: &Question) -> Timestamp {
    let now = question.now;
    let time = question.analysis.times.first();
    match time {
        Some(time) if time.to <= now => Timestamp::from_millis(time.to.as_millis() - 1),
        Some(time) if time.from > now => time.from,
        _ => now,
    }
}

/// Returns the items of a layer's best candidates, by their search signals.
fn best_items(layer: &[Candidate]) -> Vec<ItemId> {
    let score = |candidate: &Candidate| {
        let of = |component| candidate.signals.get(component).map_or(0.0, Score::get);
        let found = of(Component::Fusion) + of(Component::MaxSim) + of(Component::Mention);
        Score::new(found).unwrap_or(Score::ZERO)
    };
    let mut best: Vec<(std::cmp::Reverse<Score>, &ItemId)> = layer
        .iter()
        .map(|candidate| (std::cmp::Reverse(score(candidate)), &candidate.id.item))
        .collect();
    best.sort();
    let mut items: Vec<ItemId> = Vec::new();
    for (_, item) in best {
        if items.len() == ITEMS_EXAMINED_MAX {
            break;
        }
        if !items.contains(item) {
            items.push(item.clone());
        }
    }
    items
}

/// Returns the items that an item's own fields say it replaces.
fn replaced_by_fields(item: &Item) -> Vec<(ItemId, ItemId)> {
    let relationships = item.fields.get("relationships").and_then(Value::as_array);
    let target = |relationship: &Value| {
        let link_type = relationship.get("type")?.as_str()?;
        REPLACING_LINK_TYPES.contains(&link_type).then_some(())?;
        ItemId::new(relationship.get("target")?.as_str()?).ok()
    };
    let by_list = relationships.into_iter().flatten().filter_map(target);
    let by_field = item.fields.get("supersedes").and_then(Value::as_str);
    let by_field = by_field.and_then(|id| ItemId::new(id).ok());
    by_list.chain(by_field).map(|old| (item.id.clone(), old)).collect()
}

/// Returns pairs of short texts about the same subject where the later one says something else.
fn differing_pairs(stored: &[Stored], linked: &BTreeSet<ItemId>) -> Vec<(ItemId, ItemId)> {
    let facts = stored.iter().filter(|stored| !linked.contains(&stored.item.id));
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let facts: Vec<StatedFact<'_>> =
        facts.filter_map(|stored| StatedFact::from_stored(stored, &mut numbers)).collect();
    let mut pairs = Vec::new();
    for (at, one) in facts.iter().enumerate() {
        for other in &facts[at + 1..] {
            if one.moment != other.moment && one.text != other.text && one.is_about_same(other) {
                let is_later = one.moment > other.moment;
                let (new, old) = if is_later { (one, other) } else { (other, one) };
                pairs.push((new.item.id.clone(), old.item.id.clone()));
            }
        }
    }
    pairs
}

/// A short text that states a fact.
struct StatedFact<'s> {
    item: &'s Item,
    text: String,
    /// Ids of its words, sorted, without numbers. All facts share the ids.
    words: Vec<usize>,
    /// Its words up to and including the stating verb.
    subject: Option<String>,
    moment: Timestamp,
}

impl StatedFact<'_> {
    fn from_stored<'s>(
        stored: &'s Stored,
        numbers: &mut HashMap<String, usize>,
    ) -> Option<StatedFact<'s>> {
        let (item, text) = (&stored.item, stored.text());
        if text.len() > FACT_BYTES_MAX {
            return None;
        }
        let text = text.to_lowercase();
        let words = terms(&text, Language::detect(&text)).into_iter();
        let words = words.filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
        let mut words: Vec<usize> = words
            .map(|word| {
                let next = numbers.len();
                *numbers.entry(word).or_insert(next)
            })
            .collect();
        words.sort_unstable();
        words.dedup();
        let stating = |word: &str| STATING_VERBS.contains(&word);
        let until = text.split_whitespace().position(stating).filter(|at| *at > 0);
        let subject = until
            .map(|until| text.split_whitespace().take(until + 1).collect::<Vec<_>>().join(" "));
        Some(StatedFact { item, words, subject, moment: stated_at(item)?, text })
    }

    fn is_about_same(&self, other: &StatedFact<'_>) -> bool {
        // Items of different types, such as a preference and an event, do not replace each other.
        if self.item.fields.get("type") != other.item.fields.get("type") {
            return false;
        }
        // A single word, as in "She is", is too vague a subject.
        let is_telling = |subject: &String| subject.split(' ').count() > 2;
        if self.subject.as_ref().is_some_and(is_telling) && self.subject == other.subject {
            return true;
        }
        let shared =
            self.words.iter().filter(|word| other.words.binary_search(word).is_ok()).count();
        let all = self.words.len() + other.words.len() - shared;
        #[expect(clippy::cast_precision_loss, reason = "texts have few words")]
        let share = shared as f64 / all.max(1) as f64;
        shared > 1 && share >= SAME_SUBJECT_SHARE
    }
}

/// When an item was stated.
fn stated_at(item: &Item) -> Option<Timestamp> {
    item.created.or(item.updated)
}

/// Returns a validity field under either of its names.
fn validity_field<'i>(item: &'i Item, names: [&str; 2]) -> Option<&'i Value> {
    names.iter().find_map(|name| item.fields.get(*name))
}

/// Parses a moment; a day without a time starts at midnight in the zone.
fn moment_in(value: &Value, zone: &Zone) -> Option<Timestamp> {
    value.as_str().and_then(|day| zone.start_of(day)).or_else(|| kinds::moment(value))
}

/// Returns a note for an item that is not valid at a moment by its fields. An item that is valid
/// until a day is valid on that day.
fn validity_note(item: &Item, at: Timestamp, zone: &Zone) -> Option<String> {
    let from = validity_field(item, ["validFrom", "valid_from"]);
    if let Some(from) = from.and_then(|from| moment_in(from, zone)).filter(|from| *from > at) {
        return Some(format!("from {}", zone.day(from)));
    }
    let until = validity_field(item, ["validUntil", "valid_until"])?;
    let moment = moment_in(until, zone)?;
    let is_day = until.as_str().is_some_and(|day| zone.start_of(day).is_some());
    let end = match is_day {
        // Some hours into the next day, however long this one is.
        true => zone.midnight(Timestamp::from_millis(moment.as_millis() + 30 * 3_600_000)),
        false => moment,
    };
    (end <= at).then(|| format!("until {}", zone.day(moment)))
}

/// When an item replaced another.
fn change_moment(new: &Item, zone: &Zone) -> Option<Timestamp> {
    let from = validity_field(new, ["validFrom", "valid_from"]);
    from.and_then(|from| moment_in(from, zone)).or_else(|| stated_at(new))
}

/// Adds the current item to a layer where only the one it replaced was found.
fn add_current(layer: &mut Vec<Candidate>, current: &Stored, other: &ItemId) {
    let is_in = |id: &ItemId| layer.iter().any(|candidate| candidate.id.item == *id);
    if is_in(&current.item.id) || !current.item.active {
        return;
    }
    let Some(found) = layer.iter().find(|candidate| candidate.id.item == *other) else { return };
    let mut candidate = candidate_from_item(current);
    candidate.signals.strengthen(&found.signals);
    candidate.found.clone_from(&found.found);
    layer.push(candidate);
}
