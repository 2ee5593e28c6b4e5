//! The route that takes files.

use super::common::{WRITE, WRITES};
use super::{Method, Route, content, shape, text_parameter};
use crate::http::files::{WireFilesAdded, upload};

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
