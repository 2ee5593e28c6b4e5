//! The routes that take files, and rows that clients of ours read.

use super::common::{WRITE, WRITES};
use super::{Method, Route, content, shape, text_parameter};
use crate::http::files::{WireFilesAdded, upload};
use crate::http::sources::{WireSourceBatch, WireSourcePage, WireSourceWritten, get, write};

pub(super) const ADD_FILES: Route = Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/files",
        "addFiles",
        WRITE,
        "Reads files into the workspace: documents, web pages, e-mail, tables, conversations and texts. The \
         body is one file, called by `name`, or a form with several. A file replaces an earlier one of the \
         same name, and one that cannot be read is named in `skipped`.",
        upload,
    )
    .with_query(&[text_parameter("name", "What the file is called, with its extension: `docs/plan.pdf`.")])
    .with_files()
    .with_response(
        200,
        Some(content(
            shape::<WireFilesAdded>,
            r#"{"stored": 1, "unchanged": 0, "deleted": 0, "skipped": [], "notices": []}"#,
        )),
    )
    .with_problems(WRITES);

pub(super) const GET_SOURCE: Route = Route::new(
    Method::Get,
    "/v1/workspaces/{ws}/sources/{name}",
    "getSource",
    WRITE,
    "Returns what a source of rows was when it was last read, and a page of the ids of its items. For `haversack \
     sync`; needs a trusted key.",
    get,
)
.with_query(&[text_parameter("after", "The last id of the previous page.")])
.with_response(
    200,
    Some(content(
        shape::<WireSourcePage>,
        r#"{"state": {"format": 1, "watermark": "2026-01-31T09:30:00Z", "fullAt": 1769851800000, "source": "5d0c", "mapping": "77e1"}, "ids": ["7"]}"#,
    )),
);

pub(super) const WRITE_SOURCE: Route = Route::new(
    Method::Post,
    "/v1/workspaces/{ws}/sources/{name}",
    "writeSource",
    WRITE,
    "Writes rows of a source as items, deletes others, and records what the source is now, all together. Items \
     that say what they said before make no version. For `haversack sync`; needs a trusted key.",
    write,
)
.with_body(content(
    shape::<WireSourceBatch>,
    r#"{"items": [{"id": "7", "kind": "product", "title": "Roaster", "fields": {"pricing": 499}}], "deleted": ["6"]}"#,
))
.with_response(
    200,
    Some(content(
        shape::<WireSourceWritten>,
        r#"{"stored": 1, "unchanged": 0, "deleted": 1, "refused": [], "warnings": []}"#,
    )),
)
.with_problems(WRITES);
