//! The routes about embedding models.

use super::common::{ADMIN, READ};
use super::{Method, Route, content, shape};
use crate::codes::Code;
use crate::http::models::{
    WireDefaultModel, WireModelName, WireModelStatus, change, get, get_default, set_default,
};

const MODEL_NAME: &str = r#"{"name": "built-in"}"#;
const DEFAULT_MODEL: &str = r#"{"model": "haversack-static@1/256"}"#;
const MODEL_STATUS: &str = r#"{"model": "haversack-static@1/256", "change": {"to": "all-MiniLM-L6-v2@1f0c/384", "done": 120, "total": 4000}}"#;

pub(super) const GET_DEFAULT_MODEL: Route = Route::new(
    Method::Get,
    "/v1/model",
    "getDefaultModel",
    ADMIN,
    "Returns the embedding model of new workspaces.",
    get_default,
)
.with_response(200, Some(content(shape::<WireDefaultModel>, DEFAULT_MODEL)));

pub(super) const SET_DEFAULT_MODEL: Route = Route::new(
        Method::Put,
        "/v1/model",
        "setDefaultModel",
        ADMIN,
        "Creates new workspaces with this embedding model from now on, also after a restart. Needs a key for \
         all workspaces. Existing workspaces keep their model until they are changed.",
        set_default,
    )
    .with_body(content(shape::<WireModelName>, MODEL_NAME))
    .with_response(200, Some(content(shape::<WireDefaultModel>, DEFAULT_MODEL)))
    .with_problems(&[Code::Model]);

pub(super) const GET_MODEL: Route = Route::new(
    Method::Get,
    "/v1/workspaces/{ws}/model",
    "getModel",
    READ,
    "Returns the embedding model of a workspace, how far a change to another one is, and what was used of models \
     today where that is capped.",
    get,
)
.with_response(200, Some(content(shape::<WireModelStatus>, MODEL_STATUS)));

pub(super) const CHANGE_MODEL: Route = Route::new(
        Method::Put,
        "/v1/workspaces/{ws}/model",
        "changeModel",
        ADMIN,
        "Starts to change a workspace to another embedding model. The old vectors answer until all texts have \
         new ones; then the workspace switches in one step.",
        change,
    )
    .with_body(content(shape::<WireModelName>, MODEL_NAME))
    .with_response(202, Some(content(shape::<WireModelStatus>, MODEL_STATUS)))
    .with_problems(&[Code::Model, Code::ModelChanging]);
