//! The routes: one table that generates the router, the OpenAPI document, the scopes and the tests.

mod common;
mod files;
mod models;
mod table;
mod tokens;
mod users;

use std::fmt;

use futures_util::future::BoxFuture;
use haversack::messages::Format;
use haversack::recipes::{memory, prime, proposal, sections, situation, workspace};
use haversack::wire::WireRequest;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::call::{Call, RouteResult};
use crate::codes::Code;
use crate::who::KeyScope;

pub(crate) use table::ROUTES;

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    /// Returns the name that OpenAPI uses.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "get",
            Method::Post => "post",
            Method::Put => "put",
            Method::Delete => "delete",
        }
    }
}

/// Generates a schema.
pub(crate) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// Generates the schema of a type.
pub(crate) fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A query parameter.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// The JSON type: `string`, `integer` or `boolean`.
    pub(crate) json_type: &'static str,
    /// The values of a closed set; empty if any value of the type may be given.
    pub(crate) values: &'static [&'static str],
}

const fn text_parameter(name: &'static str, what: &'static str) -> Parameter {
    Parameter { name, what, json_type: "string", values: &[] }
}

const fn number_parameter(name: &'static str, what: &'static str) -> Parameter {
    Parameter { name, what, json_type: "integer", values: &[] }
}

const fn flag_parameter(name: &'static str, what: &'static str) -> Parameter {
    Parameter { name, what, json_type: "boolean", values: &[] }
}

const fn choice_parameter(
    name: &'static str,
    what: &'static str,
    values: &'static [&'static str],
) -> Parameter {
    Parameter { name, what, json_type: "string", values }
}

/// The parameters of a page.
const PAGE_PARAMETERS: &[Parameter] = &[
    text_parameter("after", "The `next` of the previous page."),
    number_parameter("limit", "Page size: 1 to 1,000; 100 by default."),
];

/// The parameters of a pack.
const PACK_OPTIONS: &[Parameter] = &[
    flag_parameter("preview", "Whether to preview only: nothing is stored, recorded or cached."),
    flag_parameter("explain", "Whether the response includes the ledger and the quality."),
    choice_parameter(
        "messages",
        "The provider for which the response has the pack as messages, in `assembly.messages`.",
        &[Format::Anthropic.as_str(), Format::OpenAi.as_str()],
    ),
];

/// The content of a body or a response.
#[derive(Clone, Copy)]
pub(crate) struct MediaContent {
    pub(crate) shape: SchemaFn,
    /// An example, as JSON.
    pub(crate) example: &'static str,
    /// The schema of a line, if NDJSON is accepted.
    pub(crate) lines: Option<SchemaFn>,
}

impl fmt::Debug for MediaContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content").field("example", &self.example).finish_non_exhaustive()
    }
}

const fn content(shape: SchemaFn, example: &'static str) -> MediaContent {
    MediaContent { shape, example, lines: None }
}

/// A route.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The operation's name.
    pub(crate) operation: &'static str,
    /// The scope that a key needs; `None` for public routes.
    pub(crate) scope: Option<KeyScope>,
    pub(crate) what: &'static str,
    pub(crate) query: &'static [Parameter],
    pub(crate) body: Option<MediaContent>,
    /// The status and content of success.
    pub(crate) status: u16,
    pub(crate) answer: Option<MediaContent>,
    /// The media types of a response that is not JSON.
    pub(crate) texts: &'static [&'static str],
    /// Problems of this route beside the common ones.
    pub(crate) problems: &'static [Code],
    /// Whether it supports idempotency keys.
    pub(crate) takes_idempotency_key: bool,
    /// Whether the response has an `ETag`.
    pub(crate) tagged: bool,
    /// Whether the body is a file, or a form with files.
    pub(crate) takes_files: bool,
    pub(crate) run: fn(Call) -> BoxFuture<'static, RouteResult>,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method.as_str(), self.path)
    }
}

impl Route {
    const fn new(
        method: Method,
        path: &'static str,
        operation: &'static str,
        scope: Option<KeyScope>,
        what: &'static str,
        run: fn(Call) -> BoxFuture<'static, RouteResult>,
    ) -> Route {
        Route {
            method,
            path,
            operation,
            scope,
            what,
            query: &[],
            body: None,
            status: 200,
            answer: None,
            texts: &[],
            problems: &[],
            takes_idempotency_key: false,
            tagged: false,
            takes_files: false,
            run,
        }
    }

    /// Creates a route for requests that match none; it is not in the table.
    pub(crate) const fn unlisted(
        operation: &'static str,
        run: fn(Call) -> BoxFuture<'static, RouteResult>,
    ) -> Route {
        Route::new(Method::Get, "", operation, None, "", run)
    }

    const fn with_body(mut self, body: MediaContent) -> Route {
        self.body = Some(body);
        self
    }

    const fn with_response(mut self, status: u16, answer: Option<MediaContent>) -> Route {
        self.status = status;
        self.answer = answer;
        self
    }

    const fn with_text_response(mut self, media_types: &'static [&'static str]) -> Route {
        self.texts = media_types;
        self
    }

    const fn with_query(mut self, query: &'static [Parameter]) -> Route {
        self.query = query;
        self
    }

    const fn with_problems(mut self, problems: &'static [Code]) -> Route {
        self.problems = problems;
        self
    }

    const fn with_files(mut self) -> Route {
        self.takes_files = true;
        self
    }

    const fn with_idempotency_key(mut self) -> Route {
        self.takes_idempotency_key = true;
        self
    }

    const fn with_etag(mut self) -> Route {
        self.tagged = true;
        self
    }

    /// Whether the route belongs to one workspace.
    pub(crate) fn is_of_workspace(&self) -> bool {
        self.path.starts_with("/v1/workspaces/{ws}")
    }
}

/// A recipe's own request and result.
pub(crate) struct RecipeShape {
    pub(crate) name: &'static str,
    pub(crate) request: MediaContent,
    pub(crate) result: SchemaFn,
}

/// The recipes that come with Haversack.
pub(crate) static RECIPES: [RecipeShape; 6] = [
    RecipeShape {
        name: "everything",
        request: content(
            shape::<WireRequest>,
            r#"{"query": "who approves a discount?", "tokenBudget": 1500, "user": "anna"}"#,
        ),
        result: shape::<sections::SectionsContext>,
    },
    RecipeShape {
        name: "proposal",
        request: content(
            shape::<proposal::ProposalRequest>,
            r#"{"opportunityId": "opp-1", "userPrompt": "Write the executive summary", "targetBudget": 8000}"#,
        ),
        result: shape::<proposal::ProposalContext>,
    },
    RecipeShape {
        name: "prime",
        request: content(
            shape::<prime::PrimeRequest>,
            r#"{"threadId": "thread-1", "message": "what did we decide about the login page?"}"#,
        ),
        result: shape::<prime::PrimeAnswer>,
    },
    RecipeShape {
        name: "workspace",
        request: content(
            shape::<workspace::WorkspaceRequest>,
            r#"{"query": "What tasks are overdue?", "type": "assist", "user": "mara"}"#,
        ),
        result: shape::<workspace::WorkspaceContext>,
    },
    RecipeShape {
        name: "situation",
        request: content(
            shape::<situation::SituationRequest>,
            r#"{"currentContext": "deploy", "situation": {"environment": "production"}}"#,
        ),
        result: shape::<situation::SituationContext>,
    },
    RecipeShape {
        name: "memory",
        request: content(
            shape::<memory::MemoryRequest>,
            r#"{"query": "what should I cook for Anna?", "tokenBudget": 800}"#,
        ),
        result: memory_result,
    },
];

/// The schema of built or previewed memories.
fn memory_result(generator: &mut SchemaGenerator) -> Schema {
    let shapes = [
        generator.subschema_for::<memory::MemoryContext>(),
        generator.subschema_for::<memory::MemoryPreview>(),
    ];
    schemars::json_schema!({ "anyOf": shapes })
}

/// Parses an example.
pub(crate) fn parse_example(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}
