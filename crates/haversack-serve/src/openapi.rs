//! The OpenAPI document, generated from the table of routes and the wire types.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::codes::Code;
use crate::inspector;
use crate::problem::{MEDIA_TYPE, WireProblem};
use crate::route::{MediaContent, RECIPES, ROUTES, Route, SchemaFn, parse_example};
use crate::who::KeyScope;

/// Problems of every route, and those of routes that need a key.
const EVERYWHERE: &[Code] = &[
    Code::Validation,
    Code::WrongHost,
    Code::Overloaded,
    Code::Deadline,
    Code::SlowClient,
    Code::Internal,
];

const WITH_KEY: &[Code] =
    &[Code::Unauthenticated, Code::Forbidden, Code::RateLimited, Code::TooManyDenied];

/// Returns the OpenAPI document.
#[must_use]
pub fn document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(generate);
    &DOCUMENT
}

fn generate() -> Value {
    let mut generator = Generators::new();
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES {
        let (name, body, answer) = (route.operation, route.body, route.answer);
        let described = operation(route, route.path, name, body, answer, &mut generator);
        paths.entry(route.path.to_owned()).or_default().insert(method_name(route), described);
        if route.path.ends_with("/context/{recipe}") {
            for recipe in &RECIPES {
                let path = route.path.replace("{recipe}", recipe.name);
                let name = format!("{}{}", route.operation, capitalise(recipe.name));
                let answer = MediaContent { shape: recipe.result, example: "null", lines: None };
                let body = Some(recipe.request);
                let described = operation(route, &path, &name, body, Some(answer), &mut generator);
                paths.entry(path).or_default().insert(method_name(route), described);
            }
        }
    }
    let problem = WireProblem::schema_name().into_owned();
    generator.answers.subschema_for::<WireProblem>();
    let schemas = generator.definitions();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Haversack",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Context for language models, inside an exact token budget",
            "description": "Every result has `context`, the final string, and `assembly`, what it \
                was built from. Problems are RFC 9457 documents with a stable `code`. A trusted key \
                names the user that it acts for in the header `Haversack-User` (and \
                `Haversack-Groups`), or in the body.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key: `haversack key create`.",
                },
            },
            "responses": problem_responses(&problem),
        },
    })
}

/// Separate schemas for requests and responses: requests may omit fields with a default, responses omit
/// empty fields.
struct Generators {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Generators {
    fn new() -> Generators {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Generators {
            requests: SchemaGenerator::new(settings.clone()),
            answers: SchemaGenerator::new(settings.for_serialize()),
        }
    }

    /// Returns all schemas. A type that is both sent and returned has its request schema, which allows
    /// more.
    fn definitions(mut self) -> Map<String, Value> {
        let mut all = self.answers.take_definitions(true);
        all.extend(self.requests.take_definitions(true));
        // A recipe's own request also has the fields of every request.
        let common = all.get("AnyRequest").and_then(|any| any.get("properties")).cloned();
        let Some(Value::Object(common)) = common else { return all };
        for recipe in &RECIPES {
            let name = format!("{}Request", capitalise(recipe.name));
            let own = all.get_mut(&name).and_then(|own| own.get_mut("properties"));
            let Some(Value::Object(own)) = own else { continue };
            for (field, what) in &common {
                own.entry(field.clone()).or_insert_with(|| what.clone());
            }
        }
        all.sort_keys();
        all
    }
}

fn method_name(route: &Route) -> String {
    route.method.as_str().to_owned()
}

fn capitalise(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Builds a response for each status of problems, with its codes.
fn problem_responses(schema: &str) -> Map<String, Value> {
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in Code::ALL {
        by_status.entry(code.row().status).or_default().push(code);
    }
    let response = |(status, codes): (u16, Vec<Code>)| {
        let examples: Map<String, Value> = codes
            .iter()
            .map(|code| {
                let row = code.row();
                let value = json!({
                    "code": row.name, "title": row.title, "status": row.status,
                    "detail": row.title,
                });
                (row.name.to_owned(), json!({ "value": value }))
            })
            .collect();
        let titles: Vec<&str> = codes.iter().map(|code| code.row().title).collect();
        let content = json!({
            MEDIA_TYPE: {
                "schema": { "$ref": format!("#/components/schemas/{schema}") },
                "examples": examples,
            },
        });
        let response = json!({ "description": titles.join("; "), "content": content });
        (format!("Problem{status}"), response)
    };
    by_status.into_iter().map(response).collect()
}

fn operation(
    route: &Route,
    path: &str,
    name: &str,
    body: Option<MediaContent>,
    answer: Option<MediaContent>,
    generator: &mut Generators,
) -> Value {
    let mut operation = json!({
        "operationId": name,
        "summary": route.what,
        "parameters": parameters(route, path),
        "responses": responses(route, answer, generator),
    });
    let Some(fields) = operation.as_object_mut() else { return operation };
    if let Some(body) = body {
        fields.insert("requestBody".into(), request_body(body, generator));
    }
    if route.takes_files {
        let file = json!({ "type": "string", "format": "binary" });
        let form =
            json!({ "type": "object", "properties": { "file": file }, "required": ["file"] });
        let content = json!({
            "application/octet-stream": { "schema": file },
            "multipart/form-data": { "schema": form },
        });
        fields.insert("requestBody".into(), json!({ "required": true, "content": content }));
    }
    if let Some(scope) = route.scope {
        fields.insert("security".into(), json!([{ "key": [] }]));
        fields.insert("x-scope".into(), json!(KeyScope::as_str(scope)));
    }
    operation
}

fn schema(shape: SchemaFn, generator: &mut SchemaGenerator) -> Value {
    shape(generator).to_value()
}

fn request_body(body: MediaContent, generator: &mut Generators) -> Value {
    let whole = json!({ "schema": schema(body.shape, &mut generator.requests), "example": parse_example(body.example) });
    let mut content = json!({ "application/json": whole });
    if let (Some(lines), Some(content)) = (body.lines, content.as_object_mut()) {
        let line = json!({ "itemSchema": schema(lines, &mut generator.requests) });
        content.insert("application/x-ndjson".into(), line);
    }
    json!({ "required": true, "content": content })
}

fn parameters(route: &Route, path: &str) -> Vec<Value> {
    let in_path = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<Value> = in_path
        .map(|name| {
            let mut schema = json!({ "type": "string", "minLength": 1 });
            match name {
                "name" => schema["pattern"] = json!("^[A-Za-z0-9._-]{1,128}$"),
                "file" => schema["enum"] = inspector::names().collect(),
                _ => {}
            }
            json!({ "name": name, "in": "path", "required": true, "schema": schema })
        })
        .collect();
    all.extend(route.query.iter().map(|parameter| {
        let mut schema = json!({ "type": parameter.json_type });
        if !parameter.values.is_empty() {
            schema["enum"] = json!(parameter.values);
        }
        json!({
            "name": parameter.name,
            "in": "query",
            "description": parameter.what,
            "schema": schema,
        })
    }));
    let header = |name: &str, what: &str| {
        let schema = json!({ "type": "string", "minLength": 1 });
        json!({ "name": name, "in": "header", "description": what, "schema": schema })
    };
    if route.scope.is_some() && route.is_of_workspace() {
        all.push(header(
            "Haversack-User",
            "The user that a trusted key acts for, percent-encoded.",
        ));
        all.push(header("Haversack-Groups", "Their groups, percent-encoded, with commas between."));
    }
    if route.takes_idempotency_key {
        let what = "A name for this request: a retry within a day gets the same response.";
        all.push(header("Idempotency-Key", what));
    }
    all
}

fn responses(
    route: &Route,
    answer: Option<MediaContent>,
    generator: &mut Generators,
) -> Map<String, Value> {
    let mut responses = Map::new();
    let mut good = json!({ "description": "Done." });
    if let (Some(answer), Some(good)) = (answer, good.as_object_mut()) {
        let mut content = json!({ "schema": schema(answer.shape, &mut generator.answers) });
        let shown = parse_example(answer.example);
        if let (false, Some(content)) = (shown.is_null(), content.as_object_mut()) {
            content.insert("example".into(), shown);
        }
        let mut kinds = json!({ "application/json": content });
        if let (true, Some(kinds)) = (route.operation == "buildContext", kinds.as_object_mut()) {
            let stream = json!({ "schema": { "type": "string" } });
            kinds.insert("text/event-stream".into(), stream);
        }
        good.insert("content".into(), kinds);
    } else if let (false, Some(good)) = (route.texts.is_empty(), good.as_object_mut()) {
        let name = |media_type: &&str| media_type.split(';').next().map(str::to_owned);
        let text = json!({ "schema": { "type": "string" } });
        let texts = route.texts.iter().filter_map(name).map(|name| (name, text.clone()));
        good.insert("content".into(), Value::Object(texts.collect()));
    }
    responses.insert(route.status.to_string(), good);
    if route.tagged {
        responses.insert("304".into(), json!({ "description": "The client's copy is current." }));
    }
    for status in problem_statuses(route) {
        let reference = json!({ "$ref": format!("#/components/responses/Problem{status}") });
        responses.insert(status.to_string(), reference);
    }
    responses
}

/// Returns the statuses of a route's problems.
fn problem_statuses(route: &Route) -> BTreeSet<u16> {
    let mut codes: Vec<Code> = EVERYWHERE.to_vec();
    codes.extend(route.problems);
    if route.scope.is_some() {
        codes.extend(WITH_KEY);
    }
    if route.is_of_workspace() {
        codes.push(Code::WorkspaceNotFound);
    }
    if route.body.is_some() {
        codes.extend([Code::BadJson, Code::TooLarge, Code::UnsupportedMediaType]);
    }
    codes.iter().map(|code| code.row().status).collect()
}
