//! From the columns of a query to the parts of an item.

use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_database::{Cell, Column, moment_millis};
use haversack_store::kinds::{Kinds, Type};
use haversack_store::store::change::LINE_BYTES_MAX;
use haversack_store::store::item::{Fields, Item};
use haversack_store::store::viewer::Readers;
use haversack_store::transfer::{BODY_KEYS, read_row};
use serde_json::{Map, Value};

use super::fit::fit;
use super::notices::{SyncNotice, add_notice};
use super::{DEFAULT_KIND, SyncError, SyncRequest, source_path};
use crate::ingest::mapped_user;

/// The usual names of columns.
const ID: &[&str] = &["id"];
const TITLE: &[&str] = &["title", "name"];
const CREATED: &[&str] = &["created", "created_at", "createdat"];
const UPDATED: &[&str] = &["updated", "updated_at", "updatedat"];

/// What the columns of a query mean.
pub(super) struct ColumnPlan<'a> {
    request: &'a SyncRequest,
    kind: Kind,
    path: String,
    names: Vec<String>,
    id: usize,
    text: Option<usize>,
    title: Option<usize>,
    created: Option<usize>,
    updated: Option<usize>,
    /// The field that each column becomes.
    fields: Vec<Option<FieldPlan>>,
    /// Whether the kind's definition says what the text of an item is.
    is_defined: bool,
}

/// The field that a column becomes.
struct FieldPlan {
    name: String,
    /// The type that the kind defines for it.
    value: Option<Type>,
}

/// A row that does not become an item.
pub(super) struct RowProblem {
    pub(super) column: Option<String>,
    pub(super) what: String,
}

impl<'a> ColumnPlan<'a> {
    pub(super) fn new(
        columns: &[Column],
        request: &'a SyncRequest,
    ) -> Result<ColumnPlan<'a>, SyncError> {
        let kind = request
            .kind
            .clone()
            .unwrap_or_else(|| Kind::new(DEFAULT_KIND).expect("the default kind is a short name"));
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let given = &request.columns;
        let mut roles = Roles::given(
            &names,
            [&given.id, &given.text, &given.title, &given.created, &given.updated],
        )?;
        let [id, text, title, created, updated] =
            roles.with_usual(&names, [ID, &BODY_KEYS, TITLE, CREATED, UPDATED]);
        let Some(id) = id else { return Err(no_column("id", &names)) };
        let mut plan = ColumnPlan {
            id,
            text,
            title,
            created,
            updated,
            path: source_path(request.name.as_str()),
            fields: Vec::new(),
            is_defined: request.kinds.find(&kind).is_some(),
            request,
            kind,
            names,
        };
        plan.fields = plan.plan_fields(&request.kinds);
        Ok(plan)
    }

    fn plan_fields(&self, kinds: &Kinds) -> Vec<Option<FieldPlan>> {
        let defined = |column: &str| {
            kinds.find(&self.kind).and_then(|spec| {
                let is_same = |name: &str| plain(name) == plain(column);
                spec.field(column).or_else(|| spec.fields.iter().find(|field| is_same(&field.name)))
            })
        };
        let plan = |(index, column): (usize, &String)| {
            let index = Some(index);
            let field = defined(column);
            let is_consumed = index == Some(self.id)
                || [self.text, self.created, self.updated].contains(&index)
                // A kind may have a field for its name, which is then more than the title.
                || (index == self.title && field.is_none());
            // Another column may have the field's own name.
            let is_free = |name: &str| name == column || !self.names.iter().any(|it| it == name);
            let field = field.filter(|field| is_free(&field.name));
            (!is_consumed).then(|| FieldPlan {
                name: field.map_or_else(|| column.clone(), |field| field.name.clone()),
                value: field.map(|field| field.value.clone()),
            })
        };
        self.names.iter().enumerate().map(plan).collect()
    }

    /// The column that identifies a row.
    pub(super) fn id_column(&self) -> &str {
        &self.names[self.id]
    }

    /// The column that rows are ordered by, and its place, if runs are incremental.
    pub(super) fn cursor(&self) -> Option<(&str, usize)> {
        let index = self.updated.filter(|_| self.request.columns.updated.is_some())?;
        Some((&self.names[index], index))
    }

    /// How a row is called in notices.
    pub(super) fn row_name(&self, cells: &[Cell], number: u64) -> String {
        match cells.get(self.id).and_then(id_text) {
            Some(id) => id,
            None => format!("{number} of the result"),
        }
    }

    /// Converts a row. Columns that cannot be read are left out, with a notice.
    pub(super) fn item(
        &self,
        (id, cells): (String, Vec<Cell>),
        (number, notices): (u64, &mut Vec<SyncNotice>),
    ) -> Result<Item, RowProblem> {
        let row_name = self.row_name(&cells, number);
        let mut values: Vec<Value> = Vec::with_capacity(cells.len());
        for (cell, name) in cells.into_iter().zip(&self.names) {
            values.push(match cell {
                Cell::Value(value) => value,
                Cell::Unreadable(type_name) => {
                    let what = format!(
                        "{type_name} is not read and was left out: convert it in the query, or leave it out"
                    );
                    add_notice(notices, &row_name, Some(name), &what);
                    Value::Null
                }
            });
        }
        let at = |index: Option<usize>| index.and_then(|index| values.get(index));
        let time = |index| at(index).and_then(moment_millis).map(Timestamp::from_millis);
        let (created, updated) = (time(self.created), time(self.updated));
        let title = at(self.title).map(plain_text).map(truncate_title);
        let text = at(self.text).map(plain_text);
        let fields = self.take_fields(values);
        let mut row = Map::new();
        row.insert("id".to_owned(), id.into());
        row.insert("title".to_owned(), title.unwrap_or_default().into());
        let text = match text {
            None if !self.is_defined => labelled_lines(&fields),
            text => text.unwrap_or_default(),
        };
        row.insert("text".to_owned(), text.into());
        row.insert("fields".to_owned(), Value::Object(fields));
        let mut item = read_row(row, String::new, &self.kind)
            .map_err(|error| RowProblem { column: None, what: error.to_string() })?;
        if item.body.trim().is_empty() && item.title.trim().is_empty() && item.fields.is_empty() {
            let what = "it has no text, title or fields".to_owned();
            return Err(RowProblem { column: None, what });
        }
        (item.created, item.updated) = (created, updated);
        item.path = Some(self.path.clone());
        item.readers = match mapped_user(&item, &self.request.users) {
            Some(user) => Readers::Only([user.clone()].into()),
            None => self.request.readers.clone().map_or(Readers::Inherit, Readers::Only),
        };
        Ok(item)
    }

    /// The id of a row's item.
    pub(super) fn item_id(&self, cells: &[Cell]) -> Result<String, RowProblem> {
        let Some(cell) = cells.get(self.id) else { return Err(self.no_id("is missing")) };
        match (id_text(cell), cell) {
            (Some(id), _) => Ok(format!("{}{id}", self.request.id_prefix)),
            (None, Cell::Value(Value::Null)) => Err(self.no_id("is NULL, but a row needs an id")),
            (None, Cell::Value(Value::String(_))) => {
                Err(self.no_id("is empty, but a row needs an id"))
            }
            _ => {
                Err(self
                    .no_id("an id is a text, a whole number or a uuid: convert it in the query"))
            }
        }
    }

    fn no_id(&self, what: &str) -> RowProblem {
        RowProblem { column: Some(self.names[self.id].clone()), what: what.to_owned() }
    }

    fn take_fields(&self, values: Vec<Value>) -> Fields {
        let mut fields = Fields::new();
        for (value, plan) in values.into_iter().zip(&self.fields) {
            let Some(plan) = plan.as_ref().filter(|_| !value.is_null()) else { continue };
            let value = match &plan.value {
                Some(field) => fit(field, value),
                None => value,
            };
            fields.insert(plan.name.clone(), value);
        }
        fields
    }
}

/// The id that a cell holds, if it can be one.
fn id_text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Value(Value::String(text)) => (!text.is_empty()).then(|| text.clone()),
        Cell::Value(Value::Number(number)) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    }
}

/// The columns of the five roles: id, text, title, created, updated.
struct Roles([Option<usize>; 5]);

/// What a column can be named for, in this order.
const ROLE_NAMES: [&str; 5] = ["id", "text", "title", "created", "updated"];

impl Roles {
    /// The columns that the request names, each for one thing.
    fn given(names: &[String], given: [&Option<String>; 5]) -> Result<Roles, SyncError> {
        let mut roles = Roles([None; 5]);
        for (role, given) in given.into_iter().enumerate() {
            let Some(wanted) = given else { continue };
            let index = find_column(names, wanted).ok_or_else(|| no_column(wanted, names))?;
            if let Some(other) = roles.0.iter().position(|it| *it == Some(index)) {
                let (first, second) = (ROLE_NAMES[other], ROLE_NAMES[role]);
                return Err(SyncError::TwoRoles { column: wanted.clone(), first, second });
            }
            roles.0[role] = Some(index);
        }
        Ok(roles)
    }

    /// The same, with columns of usual names for what was not named.
    fn with_usual(&mut self, names: &[String], usual: [&[&str]; 5]) -> [Option<usize>; 5] {
        for (role, usual) in usual.into_iter().enumerate() {
            if self.0[role].is_none() {
                let mut found = usual.iter().filter_map(|name| find_column(names, name));
                self.0[role] = found.find(|index| !self.0.contains(&Some(*index)));
            }
        }
        self.0
    }
}

/// A column by its name; case counts only where two names differ by it.
fn find_column(names: &[String], wanted: &str) -> Option<usize> {
    let exact = names.iter().position(|name| name == wanted);
    exact.or_else(|| names.iter().position(|name| name.eq_ignore_ascii_case(wanted)))
}

fn no_column(wanted: &str, names: &[String]) -> SyncError {
    SyncError::NoColumn { wanted: wanted.to_owned(), columns: names.to_vec() }
}

/// A name without case and separators: `is_active` is `isActive`.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

/// A value as a text that people read.
fn plain_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(entries) if entries.iter().all(|it| !it.is_object() && !it.is_array()) => {
            entries.iter().map(plain_text).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// The text of a row whose kind is not defined: `column: value` lines.
fn labelled_lines(fields: &Fields) -> String {
    fields.iter().map(|(name, value)| format!("{name}: {}\n", plain_text(value))).collect()
}

fn truncate_title(mut title: String) -> String {
    title.truncate(title.floor_char_boundary(LINE_BYTES_MAX));
    title
}
