//! The route about users.

use super::common::ADMIN;
use super::{Method, Route, content, shape};
use crate::codes::Code;
use crate::erase::UserErasure;
use crate::http::users::{WireUserName, erase};

const ERASURE: &str = r#"{"workspaces": [{"workspace": "acme", "erased": 12, "kept": 3, "receipts": 40}], "keys": 1, "auditLines": 7, "filesSearched": 31, "bytesSearched": 48211034, "left": []}"#;

pub(super) const ERASE_USER: Route = Route::new(
    Method::Post,
    "/v1/users/erase",
    "eraseUser",
    ADMIN,
    "Erases a user from all workspaces: items that nobody else can read, events, receipts, keys, stored \
     responses, and their name everywhere else; then searches every file of the data folder and reports \
     what is left. Needs a trusted key for all workspaces.",
    erase,
)
.with_body(content(shape::<WireUserName>, r#"{"user": "anna"}"#))
.with_response(200, Some(content(shape::<UserErasure>, ERASURE)))
.with_problems(&[Code::StorageFull]);
