//! The blocks of a workspace. Tree, order, links and readers belong to the item, not to its fields.

use super::super::spec::Type;
use super::{
    CREATED_AT, FieldSpec, KindSpec, UPDATED_AT, boolean, content, date, label, labels, objects,
    open, references, text, texts,
};

const fn kind(
    name: &'static str,
    description: &'static str,
    fields: &'static [FieldSpec],
) -> KindSpec {
    KindSpec::new("workspace", name, description, fields)
}

pub(super) const PAGE: KindSpec = kind(
    "page",
    "a page: its blocks are its children",
    &[text("summary"), label("icon").hidden(), CREATED_AT, UPDATED_AT],
);

pub(super) const TEXT: KindSpec =
    kind("text", "a paragraph", &[content("content"), CREATED_AT, UPDATED_AT]);

pub(super) const HEADING: KindSpec = kind(
    "heading",
    "a heading inside a page",
    &[
        content("content"),
        FieldSpec::new("level", Type::Integer { min: 1, max: 6 }).hidden(),
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const TO_DO: KindSpec = kind(
    "todo",
    "a task",
    &[
        content("content"),
        boolean("completed"),
        date("dueDate"),
        labels("assignee"),
        label("priority"),
        label("status"),
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const KANBAN_CARD: KindSpec = kind(
    "kanban_card",
    "a card in a column of a board",
    &[
        content("content"),
        label("column"),
        label("status"),
        boolean("completed"),
        date("dueDate"),
        labels("assignee"),
        label("priority"),
        labels("labels"),
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const DATABASE: KindSpec = kind(
    "database",
    "a table of rows with typed columns: its rows are its children",
    &[
        text("description").or_body(),
        objects(
            "schema",
            &[
                label("name").required(),
                label("type").required(),
                labels("options"),
                FieldSpec::new("relation", Type::Reference),
            ],
        ),
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const DB_ROW: KindSpec = kind(
    "db_row",
    "a row of a database",
    &[
        FieldSpec::new("properties", Type::Record),
        objects("relations", &[label("name").required(), references("targetIds").required()])
            .hidden(),
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const CODE: KindSpec = kind(
    "code",
    "a piece of source code",
    &[content("content"), label("language"), text("caption"), CREATED_AT, UPDATED_AT],
);

pub(super) const QUOTE: KindSpec =
    kind("quote", "a quotation", &[content("content"), text("source"), CREATED_AT, UPDATED_AT]);

pub(super) const LIST: KindSpec = kind(
    "list",
    "a list of short texts",
    &[texts("items"), boolean("ordered").hidden(), CREATED_AT, UPDATED_AT],
);

pub(super) const CALLOUT: KindSpec = kind(
    "callout",
    "a highlighted paragraph",
    &[content("content"), label("icon").hidden(), CREATED_AT, UPDATED_AT],
);

pub(super) const TABLE: KindSpec = kind(
    "table",
    "a small table without types",
    &[texts("columns"), open("rows"), CREATED_AT, UPDATED_AT],
);

pub(super) const IMAGE: KindSpec = kind(
    "image",
    "a picture, found by what is written about it",
    &[text("alt"), text("caption"), text("url").hidden(), CREATED_AT, UPDATED_AT],
);
