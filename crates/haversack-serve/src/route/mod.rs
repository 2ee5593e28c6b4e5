//! The routes: one table from which the router, the OpenAPI document, the scopes and the tests are
//! made, so that none of them can know a route that the others do not.

mod table;

use std::fmt;

use futures_util::future::BoxFuture;
use haversack::recipes::{memory, prime, proposal, sections, situation, workspace};
use haversack::wire::WireRequest;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::call::{Answer, Call};
use crate::codes::Code;
use crate::who::Scope;

pub(crate) use table::ROUTES;

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    /// As OpenAPI writes it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "get",
            Method::Post => "post",
            Method::Put => "put",
            Method::Delete => "delete",
        }
    }
}

/// Makes a schema.
pub(crate) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// A shape of the code.
pub(crate) fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Something in the query string.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// `string`, `integer` or `boolean`.
    pub(crate) sort: &'static str,
}

const fn text(name: &'static str, what: &'static str) -> Parameter {
    Parameter { name, what, sort: "string" }
}

const fn number(name: &'static str, what: &'static str) -> Parameter {
    Parameter { name, what, sort: "integer" }
}

const fn flag(name: &'static str, what: &'static str) -> Parameter {
    Parameter { name, what, sort: "boolean" }
}

/// Which page of a list of names.
const PAGES: &[Parameter] = &[
    text("after", "The `next` of the page before."),
    number("limit", "How many at most: 1 to 1,000; 100 when left out."),
];

/// What a body or an answer is.
#[derive(Clone, Copy)]
pub(crate) struct Content {
    pub(crate) shape: Shape,
    /// An example, as JSON.
    pub(crate) example: &'static str,
    /// Whether lines of it can be streamed.
    pub(crate) lines: Option<Shape>,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content").field("example", &self.example).finish_non_exhaustive()
    }
}

const fn content(shape: Shape, example: &'static str) -> Content {
    Content { shape, example, lines: None }
}

/// A route.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The operation's name.
    pub(crate) operation: &'static str,
    /// What a key must reach; nothing for what anybody may ask.
    pub(crate) scope: Option<Scope>,
    pub(crate) what: &'static str,
    pub(crate) query: &'static [Parameter],
    pub(crate) body: Option<Content>,
    /// The status of success, and what then comes.
    pub(crate) status: u16,
    pub(crate) answer: Option<Content>,
    /// The media types of an answer that is not JSON.
    pub(crate) texts: &'static [&'static str],
    /// What can go wrong here beside what can go wrong everywhere.
    pub(crate) problems: &'static [Code],
    /// Whether an idempotency key is heeded.
    pub(crate) repeats: bool,
    /// Whether the answer has a tag, by which a client learns that what it has is current.
    pub(crate) tagged: bool,
    pub(crate) run: fn(Call) -> BoxFuture<'static, Answer>,
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
        scope: Option<Scope>,
        what: &'static str,
        run: fn(Call) -> BoxFuture<'static, Answer>,
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
            repeats: false,
            tagged: false,
            run,
        }
    }

    /// What is done where there is no route; it is in no table.
    pub(crate) const fn outside(
        operation: &'static str,
        run: fn(Call) -> BoxFuture<'static, Answer>,
    ) -> Route {
        Route::new(Method::Get, "", operation, None, "", run)
    }

    const fn takes(mut self, body: Content) -> Route {
        self.body = Some(body);
        self
    }

    const fn gives(mut self, status: u16, answer: Option<Content>) -> Route {
        self.status = status;
        self.answer = answer;
        self
    }

    const fn gives_text(mut self, media_types: &'static [&'static str]) -> Route {
        self.texts = media_types;
        self
    }

    const fn asks(mut self, query: &'static [Parameter]) -> Route {
        self.query = query;
        self
    }

    const fn fails(mut self, problems: &'static [Code]) -> Route {
        self.problems = problems;
        self
    }

    const fn repeats(mut self) -> Route {
        self.repeats = true;
        self
    }

    const fn tagged(mut self) -> Route {
        self.tagged = true;
        self
    }

    /// Whether it is about one workspace.
    pub(crate) fn is_of_workspace(&self) -> bool {
        self.path.starts_with("/v1/workspaces/{ws}")
    }
}

/// A recipe's own request and result, under the names of its own documents.
pub(crate) struct RecipeShape {
    pub(crate) name: &'static str,
    pub(crate) request: Content,
    pub(crate) result: Shape,
}

/// The recipes that come with Haversack.
pub(crate) static RECIPES: [RecipeShape; 6] = [
    RecipeShape {
        name: "everything",
        request: content(
            shape::<WireRequest>,
            r#"{"query": "who approves a discount?", "tokenBudget": 1500, "user": "anna"}"#,
        ),
        result: shape::<sections::Context>,
    },
    RecipeShape {
        name: "proposal",
        request: content(
            shape::<proposal::Request>,
            r#"{"opportunityId": "opp-1", "userPrompt": "Write the executive summary", "targetBudget": 8000}"#,
        ),
        result: shape::<proposal::Context>,
    },
    RecipeShape {
        name: "prime",
        request: content(
            shape::<prime::Request>,
            r#"{"threadId": "thread-1", "message": "what did we decide about the login page?"}"#,
        ),
        result: shape::<prime::Answer>,
    },
    RecipeShape {
        name: "workspace",
        request: content(
            shape::<workspace::Request>,
            r#"{"query": "What tasks are overdue?", "type": "assist", "user": "mara"}"#,
        ),
        result: shape::<workspace::Context>,
    },
    RecipeShape {
        name: "situation",
        request: content(
            shape::<situation::Request>,
            r#"{"currentContext": "deploy", "situation": {"environment": "production"}}"#,
        ),
        result: shape::<situation::Context>,
    },
    RecipeShape {
        name: "memory",
        request: content(
            shape::<memory::Request>,
            r#"{"query": "what should I cook for Anna?", "tokenBudget": 800}"#,
        ),
        result: built_or_previewed,
    },
];

/// Memories as a build gives them, or as a preview, which says more.
fn built_or_previewed(generator: &mut SchemaGenerator) -> Schema {
    let shapes = [
        generator.subschema_for::<memory::Context>(),
        generator.subschema_for::<memory::Preview>(),
    ];
    schemars::json_schema!({ "anyOf": shapes })
}

/// What an example says, as JSON.
pub(crate) fn example(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}
