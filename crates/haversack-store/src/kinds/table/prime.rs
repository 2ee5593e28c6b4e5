//! What an agent reads of a person: files and chat threads.

use super::{
    CREATED_AT, FieldSpec, KindSpec, UPDATED_AT, content, label, moment, one_of, reference, text,
};

const fn kind(
    name: &'static str,
    description: &'static str,
    fields: &'static [FieldSpec],
) -> KindSpec {
    KindSpec::new("prime", name, description, fields)
}

pub(super) const FILE: KindSpec = kind(
    "file",
    "a file of a person",
    &[
        content("content"),
        text("path").hidden(),
        label("contentType").hidden(),
        label("ownerUserId").hidden(),
        moment("accessedAt").hidden(),
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const THREAD: KindSpec = kind(
    "thread",
    "a conversation: its messages are its children",
    &[text("summary").or_body(), label("ownerUserId").hidden(), CREATED_AT, UPDATED_AT],
);

pub(super) const MESSAGE: KindSpec = kind(
    "message",
    "one turn of a conversation",
    &[
        content("content").required(),
        one_of("role", &["user", "assistant", "system", "tool"]).hidden(),
        label("author"),
        reference("threadId"),
        CREATED_AT,
        UPDATED_AT,
    ],
);

pub(super) const REFERENCE: KindSpec = kind(
    "reference",
    "what a thread explicitly refers to",
    &[
        reference("targetId").required().or_body(),
        text("excerpt").plain(),
        text("source"),
        reference("threadId"),
        CREATED_AT,
        UPDATED_AT,
    ],
);
