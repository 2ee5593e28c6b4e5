//! Looks up the subjects of a request, and derives facts and texts from them.

use futures_util::future::try_join;
use haversack_core::ids::ItemId;
use haversack_core::query::analyse;
use haversack_core::units::Timestamp;
use haversack_store::store::Snapshot;
use haversack_store::store::item::Stored;
use haversack_store::store::query::{Filter, ListOrder, Page};
use serde_json::{Value, json};

use crate::collect::{Subject, Subjects};
use crate::condition::Facts;
use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{QueryPart, Recipe, SubjectSpec};
use crate::request::Request;

/// Most items of the first subject that are read for a request.
const ITEMS_MAX: usize = 200;
/// Most bytes of the first subject's text in the query's vector.
const TEXT_BYTES_MAX: usize = 2_000;
/// Keywords that a subject's own text needs to be searched by, when it has no other items.
const KEYWORDS_LEAST: usize = 20;

/// Looks up the subjects that a request names. A wrong id is an error: else its items would be
/// missing silently.
///
/// # Errors
/// When a subject does not exist or is of another kind.
pub(super) async fn look_up_subjects(
    snapshot: &dyn Snapshot,
    recipe: &Recipe,
    request: &Request,
) -> Result<Subjects, Error> {
    let first = recipe.subjects.first().map(|subject| subject.name.clone()).unwrap_or_default();
    let mut all = Vec::new();
    for spec in &recipe.subjects {
        let Some(id) = request.subjects.get(&spec.name) else { continue };
        let items = async {
            match spec.name == first && needs_subject_items(recipe) {
                true => subject_items(snapshot, spec, id).await,
                false => Ok(Vec::new()),
            }
        };
        let (item, items) = try_join(look_up_item(snapshot, spec, id), items).await?;
        all.push(Subject { spec: spec.clone(), id: id.clone(), item, items });
    }
    Ok(Subjects { all, first })
}

/// Returns notices about subjects that the recipe does not define.
pub(super) fn unused_subject_notices(
    recipe: &Recipe,
    request: &Request,
) -> impl Iterator<Item = Notice> {
    let names = request.subjects.keys().filter(|name| recipe.subject(name).is_none());
    names.map(|name| {
        let (key, recipe) = (Request::subject_key(name), &recipe.name);
        let message =
            format!("{key}: the recipe {recipe} has no subject {name}, so it was not used");
        Notice::new(NoticeCode::NotFound, message)
    })
}

/// Whether the whole request needs the first subject's items, not only a collector.
fn needs_subject_items(recipe: &Recipe) -> bool {
    recipe.embed.contains(&QueryPart::Subject) || recipe.collects("mentions")
}

async fn look_up_item(
    snapshot: &dyn Snapshot,
    spec: &SubjectSpec,
    id: &ItemId,
) -> Result<Option<Stored>, Error> {
    let (name, field) = (&spec.name, Request::subject_key(&spec.name));
    let shown = id.as_str();
    match snapshot.get(std::slice::from_ref(id)).await?.pop().flatten() {
        Some(stored) if stored.item.kind == spec.kind => Ok(Some(stored)),
        Some(stored) => {
            let (kind, wanted) = (&stored.item.kind, &spec.kind);
            let article =
                if wanted.as_str().starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            let message = format!("{shown:?} is a {kind}, not {article} {wanted}");
            Err(Error::invalid(field, message))
        }
        None if spec.implied && snapshot.count(&naming_filter(spec, id)).await? > 0 => Ok(None),
        None => {
            let message = format!("there is no {name} {shown:?} that this user can read");
            Err(Error::invalid(field, message))
        }
    }
}

/// Makes a filter for items whose field names the subject.
fn naming_filter(spec: &SubjectSpec, id: &ItemId) -> Filter {
    let fields = vec![(spec.field.clone(), vec![json!(id.as_str())])];
    Filter { fields, ..Filter::default() }
}

/// Reads a subject's items: those that name it in their field, and its descendants, newest first.
async fn subject_items(
    snapshot: &dyn Snapshot,
    spec: &SubjectSpec,
    id: &ItemId,
) -> Result<Vec<Stored>, Error> {
    let page = Page { order: ListOrder::Newest, after: None, limit: ITEMS_MAX };
    let (naming, below) =
        (naming_filter(spec, id), Filter { under: Some(id.clone()), ..Filter::default() });
    let (mut items, below) =
        try_join(snapshot.list(&naming, &page), snapshot.list(&below, &page)).await?;
    items.extend(below);
    items.retain(|stored| stored.item.id != *id);
    items.sort_by(|a, b| {
        b.item.updated.cmp(&a.item.updated).then_with(|| a.item.id.cmp(&b.item.id))
    });
    items.dedup_by(|a, b| a.item.id == b.item.id);
    items.truncate(ITEMS_MAX);
    Ok(items)
}

/// Adds facts about the subjects for conditions (P17).
pub(super) fn add_facts(facts: &mut Facts, subjects: &Subjects) {
    for subject in &subjects.all {
        facts.set(&subject.spec.name, subject.id.as_str());
        for name in &subject.spec.facts {
            match subject.field(name) {
                // Conditions compare words in lower case.
                Some(Value::String(text)) => facts.set(name, text.trim().to_lowercase()),
                Some(value) => facts.set(name, value.clone()),
                None => {}
            }
        }
    }
    let main = subjects.main().and_then(|subject| subject.item.as_ref());
    let fields = main.map(|stored| stored.item.fields.clone()).unwrap_or_default();
    facts.set("subject", Value::Object(fields));
}

/// Returns a subject's text in short: the item itself and its newest items (P8).
pub(super) fn subject_text(subject: &Subject) -> String {
    let mut text = String::new();
    for stored in subject.all_items() {
        text.push_str(&stored.text());
        text.push('\n');
        if text.len() >= TEXT_BYTES_MAX {
            break;
        }
    }
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}

/// Whether a subject has enough text to search by (P8).
pub(super) fn is_searchable(subject: &Subject) -> bool {
    let words = |stored: &Stored| {
        let item = &stored.item;
        let text = stored.kinds.searchable(&item.kind, "", &item.body, &item.fields);
        analyse(&text, Timestamp::from_millis(0)).keywords.len()
    };
    !subject.items.is_empty()
        || subject.item.as_ref().is_some_and(|item| words(item) >= KEYWORDS_LEAST)
}
