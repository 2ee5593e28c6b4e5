//! All that can be asked, in one table.

use haversack::recipes::workspace;
use haversack::wire::WireRequest;
use schemars::{Schema, SchemaGenerator};

use super::{MediaContent, Method, PAGES, Route, content, flag, number, shape, text};
use crate::codes::Code;
use crate::resource::{WELL_KNOWN, WireResource};
use crate::who::KeyScope;
use crate::{http, inspector};

const READ: Option<KeyScope> = Some(KeyScope::Read);
const WRITE: Option<KeyScope> = Some(KeyScope::Write);
const ADMIN: Option<KeyScope> = Some(KeyScope::Admin);

const WRITTEN: MediaContent =
    content(shape::<crate::wire::WireWritten>, r#"{"revision": 7, "stored": 1, "unchanged": 0}"#);

const NEVER_CUT: &[Code] = &[
    Code::BudgetTooSmall,
    Code::RecipeNotFound,
    Code::TemplateNotFound,
    Code::ReceiptNotFound,
    Code::Embedding,
    Code::StaleVectors,
];

const WRITES: &[Code] =
    &[Code::StorageFull, Code::StaleVectors, Code::IdTaken, Code::IdempotencyConflict];

const RESOURCE: &str = r#"{"resource": "https://context.example.com", "authorization_servers": ["https://login.example.com"], "scopes_supported": ["read", "write", "admin", "metrics"], "bearer_methods_supported": ["header"]}"#;

/// Any JSON object.
fn anything(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "object" })
}

/// All routes.
pub(crate) static ROUTES: &[Route] = &[
    Route::new(
        Method::Get,
        "/",
        "inspector",
        None,
        "The inspector: a page that shows packs, and why each candidate is in, cut or out.",
        inspector::page,
    )
    .gives_text(&[inspector::HTML])
    .tagged(),
    Route::new(
        Method::Get,
        "/inspector/{file}",
        "inspectorFile",
        None,
        "A file of the inspector's page.",
        inspector::file,
    )
    .gives_text(&[inspector::CSS, inspector::JAVASCRIPT, inspector::SVG])
    .fails(&[Code::NotFound])
    .tagged(),
    Route::new(Method::Get, "/livez", "livez", None, "Whether the process runs.", http::health::live)
        .gives(200, Some(content(anything, r#"{"status": "ok"}"#))),
    Route::new(
        Method::Get,
        "/readyz",
        "readyz",
        None,
        "Whether the server accepts requests; not during shutdown.",
        http::health::ready,
    )
    .gives(200, Some(content(anything, r#"{"status": "ok"}"#))),
    Route::new(
        Method::Get,
        "/healthz",
        "healthz",
        None,
        "The health of the server, with its version.",
        http::health::health,
    )
    .gives(200, Some(content(anything, r#"{"status": "ok", "version": "0.1.0"}"#))),
    Route::new(
        Method::Get,
        "/metrics",
        "metrics",
        Some(KeyScope::Metrics),
        "Metrics for Prometheus.",
        http::health::metrics,
    )
    .gives_text(&[http::health::METRICS_TYPE]),
    Route::new(
        Method::Get,
        "/openapi.json",
        "openapi",
        None,
        "This document.",
        http::health::openapi,
    )
    .tagged()
    .gives(200, Some(content(anything, r#"{"openapi": "3.1.0"}"#))),
    Route::new(
        Method::Get,
        WELL_KNOWN,
        "protectedResource",
        None,
        "The authorization servers of this server (RFC 9728); 404 if it accepts only API keys.",
        http::resource::whole,
    )
    .gives(200, Some(content(shape::<WireResource>, RESOURCE)))
    .fails(&[Code::NotFound]),
    Route::new(
        Method::Get,
        "/.well-known/oauth-protected-resource/mcp",
        "protectedMcp",
        None,
        "The authorization servers for MCP on this server (RFC 9728, section 3.1).",
        http::resource::mcp,
    )
    .gives(200, Some(content(shape::<WireResource>, RESOURCE)))
    .fails(&[Code::NotFound]),
    Route::new(
        Method::Post,
        "/mcp",
        "mcp",
        READ,
        "The Model Context Protocol over Streamable HTTP, 2026-07-28 and the revisions before it: \
         tools, resources and prompts. Tools that write need the scope `write` as well. The header \
         `Haversack-Workspace` names the workspace when calls do not.",
        http::mcp::post,
    )
    .takes(content(
        anything,
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#,
    ))
    .gives(200, Some(content(anything, r#"{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}"#))),
    Route::new(
        Method::Get,
        "/v1/workspaces",
        "listWorkspaces",
        READ,
        "The workspaces that this key may use, in pages.",
        http::workspaces::list,
    )
    .asks(PAGES)
    .gives(
        200,
        Some(content(
            shape::<http::workspaces::WireWorkspaces>,
            r#"{"workspaces": [{"name": "acme"}]}"#,
        )),
    ),
    Route::new(
        Method::Post,
        "/v1/workspaces",
        "createWorkspace",
        ADMIN,
        "Creates a workspace.",
        http::workspaces::create,
    )
    .takes(content(shape::<http::workspaces::WireName>, r#"{"name": "acme"}"#))
    .gives(201, Some(content(shape::<http::workspaces::WireName>, r#"{"name": "acme"}"#)))
    .fails(&[Code::WorkspaceExists, Code::IdempotencyConflict])
    .repeats(),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}",
        "getWorkspace",
        READ,
        "A workspace's revision, and how many items are visible.",
        http::workspaces::get,
    )
    .gives(
        200,
        Some(content(
            shape::<http::workspaces::WireWorkspace>,
            r#"{"name": "acme", "revision": 7, "items": 120}"#,
        )),
    ),
    Route::new(
        Method::Delete,
        "/v1/workspaces/{ws}",
        "removeWorkspace",
        ADMIN,
        "Removes a workspace with all its contents.",
        http::workspaces::remove,
    )
    .gives(204, None),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/items",
        "putItems",
        WRITE,
        "Adds items or replaces them. A JSON array is written all or nothing; lines of JSON \
         (`application/x-ndjson`) are written as they come, and a line that is wrong ends the stream \
         with its number and with how many are stored.",
        http::items::put,
    )
    .takes(MediaContent {
        shape: shape::<Vec<crate::wire::WireNewItem>>,
        example: r#"[{"id": "n1", "kind": "note", "title": "Launch", "body": "The launch is on the third of May."}]"#,
        lines: Some(shape::<crate::wire::WireNewItem>),
    })
    .gives(200, Some(WRITTEN))
    .fails(WRITES)
    .repeats(),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/items",
        "listItems",
        READ,
        "Items by id, in pages.",
        http::items::list,
    )
    .tagged()
    .asks(&[
        text("kind", "Only this kind."),
        text("parent", "Only this item and its descendants."),
        text("after", "The `next` of the previous page."),
        number("limit", "Page size: 1 to 1,000; 100 by default."),
    ])
    .gives(
        200,
        Some(content(shape::<crate::wire::WireItemPage>, r#"{"items": [], "next": "n100"}"#)),
    ),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/items/{id}",
        "getItem",
        READ,
        "An item.",
        http::items::get,
    )
    .tagged()
    .gives(
        200,
        Some(content(
            shape::<crate::wire::WireItem>,
            r#"{"id": "n1", "kind": "note", "title": "Launch", "body": "…", "fields": {}, "position": 0, "trust": "internal", "active": true, "revision": 7}"#,
        )),
    )
    .fails(&[Code::ItemNotFound]),
    Route::new(
        Method::Delete,
        "/v1/workspaces/{ws}/items/{id}",
        "deleteItem",
        WRITE,
        "Takes an item and what hangs under it out of sight; `purge=true` removes it for good, with \
         its history.",
        http::items::delete,
    )
    .asks(&[flag("purge", "Whether its history goes too.")])
    .gives(200, Some(WRITTEN))
    .fails(&[Code::ItemNotFound, Code::StorageFull]),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/links",
        "putLinks",
        WRITE,
        "Adds and removes links between items.",
        http::items::links,
    )
    .takes(content(
        shape::<crate::wire::WireLinks>,
        r#"{"add": [{"from": "n1", "to": "n2", "sort": "link"}]}"#,
    ))
    .gives(200, Some(WRITTEN))
    .fails(WRITES)
    .repeats(),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/events",
        "putEvents",
        WRITE,
        "Records events of items: viewed, edited, used, useful, not useful.",
        http::items::events,
    )
    .takes(content(
        shape::<crate::wire::WireEvents>,
        r#"{"events": [{"item": "n1", "happening": "viewed", "user": "anna"}]}"#,
    ))
    .gives(200, Some(WRITTEN))
    .fails(WRITES)
    .repeats(),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/memories",
        "addMemories",
        WRITE,
        "Stores memories that say something new, and leaves out repetitions and echoes of packs.",
        http::memories::add,
    )
    .takes(content(
        shape::<http::memories::WireMemories>,
        r#"{"memories": [{"content": "Anna drinks green tea, never coffee.", "type": "preference"}]}"#,
    ))
    .gives(
        200,
        Some(content(
            shape::<http::memories::WireRemembered>,
            r#"{"revision": 8, "stored": ["mem-3f9c0d1b2a4e5f60"], "leftOut": []}"#,
        )),
    )
    .fails(WRITES)
    .repeats(),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/memories/search",
        "searchMemories",
        READ,
        "Memories that match, best first; several queries at once with `searches`.",
        http::memories::search,
    )
    .takes(content(
        shape::<http::memories::WireMemorySearch>,
        r#"{"searches": [{"query": "what does Anna drink?", "limit": 5}]}"#,
    ))
    .gives(
        200,
        Some(content(shape::<http::memories::WireMemoryResults>, r#"{"results": [[]]}"#)),
    )
    .fails(NEVER_CUT),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/search",
        "search",
        READ,
        "Searches the workspace by words, meaning and spelling.",
        http::search::search,
    )
    .takes(content(shape::<crate::wire::WireSearch>, r#"{"query": "who approves a discount?"}"#))
    .gives(200, Some(content(shape::<crate::wire::WireFound>, r#"{"found": [], "notices": []}"#)))
    .fails(&[Code::Embedding, Code::StaleVectors]),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/context/{recipe}",
        "buildContext",
        READ,
        "Assembles the context for one request by a recipe. Every result has `context`, the final \
         string, and `assembly`. With `Accept: text/event-stream` the steps come as they are done, \
         then `warning` events, then `result`.",
        http::context::build,
    )
    .asks(&[
        flag("preview", "Whether nothing is kept: no receipt, no use, no cache."),
        flag("explain", "Whether the response includes the ledger and the quality."),
    ])
    .takes(content(shape::<WireRequest>, r#"{"query": "who approves a discount?"}"#))
    .gives(200, Some(content(anything, r#"{"context": "…", "assembly": {}}"#)))
    .fails(NEVER_CUT),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/frontier/{recipe}",
        "frontier",
        READ,
        "Value and coverage of the pack at many budgets.",
        http::context::frontier,
    )
    .takes(content(
        shape::<http::context::WireFrontierRequest>,
        r#"{"request": {"query": "who approves a discount?"}, "budgets": [500, 1000, 2000]}"#,
    ))
    .gives(
        200,
        Some(content(shape::<http::context::WireFrontier>, r#"{"points": []}"#)),
    )
    .fails(NEVER_CUT),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/receipts/{id}",
        "getReceipt",
        READ,
        "What a pack was built from, and the outcome of each candidate.",
        http::receipts::get,
    )
    .tagged()
    .gives(200, Some(content(shape::<haversack::Receipt>, "{}")))
    .fails(&[Code::ReceiptNotFound]),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/receipts/{id}/replay",
        "replay",
        READ,
        "Rebuilds a pack from its receipt: the same bytes, or what changed.",
        http::receipts::replay,
    )
    .gives(200, Some(content(shape::<http::receipts::WireReplay>, "{}")))
    .fails(NEVER_CUT),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/receipts/{a}/diff/{b}",
        "diff",
        READ,
        "What differs between two packs, and why.",
        http::receipts::diff,
    )
    .gives(200, Some(content(shape::<haversack::receipt::Difference>, "{}")))
    .fails(&[Code::ReceiptNotFound]),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/feedback",
        "feedback",
        WRITE,
        "Records whether an item helped; it counts in later scores.",
        http::receipts::feedback,
    )
    .takes(content(
        shape::<http::receipts::WireFeedback>,
        r#"{"contextItemId": "n1", "useful": true}"#,
    ))
    .gives(200, Some(content(shape::<http::receipts::WireNoted>, r#"{"success": true}"#)))
    .fails(&[Code::ItemNotFound, Code::StorageFull, Code::IdempotencyConflict])
    .repeats(),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/citations",
        "citations",
        READ,
        "Which of a pack's sources a response used, and a Sources block of them.",
        http::receipts::citations,
    )
    .takes(content(
        shape::<http::receipts::WireCitations>,
        r#"{"receipt": "…", "response": "Discounts are approved by Mara [fil-1x9k2]."}"#,
    ))
    .gives(200, Some(content(shape::<http::receipts::WireCited>, r#"{"citations": [], "sources": ""}"#)))
    .fails(NEVER_CUT),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/templates",
        "listTemplates",
        READ,
        "The names of the workspace's own templates, in pages.",
        http::named::templates,
    )
    .asks(PAGES)
    .gives(200, Some(content(shape::<http::named::WireNames>, r#"{"names": ["brief"]}"#))),
    Route::new(
        Method::Put,
        "/v1/workspaces/{ws}/templates/{name}",
        "registerTemplate",
        ADMIN,
        "Stores a template under a name.",
        http::named::put_template,
    )
    .takes(content(
        shape::<http::named::WireTemplate>,
        r###"{"header": "## Memories\n", "item": "- {{content}} ({{timestamp}})\n"}"###,
    ))
    .gives(204, None)
    .fails(&[Code::StorageFull]),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/templates/{name}",
        "getTemplate",
        READ,
        "A template of the workspace.",
        http::named::get_template,
    )
    .gives(
        200,
        Some(content(shape::<http::named::WireTemplate>, r#"{"item": "- {{content}}\n"}"#)),
    )
    .fails(&[Code::TemplateNotFound]),
    Route::new(
        Method::Delete,
        "/v1/workspaces/{ws}/templates/{name}",
        "removeTemplate",
        ADMIN,
        "Removes a template of the workspace.",
        http::named::remove_template,
    )
    .gives(204, None)
    .fails(&[Code::TemplateNotFound, Code::StorageFull]),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/rankers",
        "listRankers",
        READ,
        "The names of the workspace's own rankers, in pages.",
        http::named::rankers,
    )
    .asks(PAGES)
    .gives(200, Some(content(shape::<http::named::WireNames>, r#"{"names": ["fresh"]}"#))),
    Route::new(
        Method::Put,
        "/v1/workspaces/{ws}/rankers/{name}",
        "registerRanker",
        ADMIN,
        "Stores a ranker, an expression over the score components, under a name.",
        http::named::put_ranker,
    )
    .takes(content(
        shape::<http::named::WireRankerText>,
        r#"{"expression": "semantic * 0.7 + recency * 0.3"}"#,
    ))
    .gives(204, None)
    .fails(&[Code::StorageFull]),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/rankers/{name}",
        "getRanker",
        READ,
        "A ranker of the workspace.",
        http::named::get_ranker,
    )
    .gives(
        200,
        Some(content(shape::<http::named::WireRankerText>, r#"{"expression": "semantic"}"#)),
    )
    .fails(&[Code::RankerNotFound]),
    Route::new(
        Method::Delete,
        "/v1/workspaces/{ws}/rankers/{name}",
        "removeRanker",
        ADMIN,
        "Removes a ranker of the workspace.",
        http::named::remove_ranker,
    )
    .gives(204, None)
    .fails(&[Code::RankerNotFound, Code::StorageFull]),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/recipes",
        "listRecipes",
        READ,
        "The recipes of the workspace, including built-in ones, in pages.",
        http::named::recipes,
    )
    .asks(PAGES)
    .gives(200, Some(content(shape::<http::named::WireNames>, r#"{"names": ["memory"]}"#))),
    Route::new(
        Method::Put,
        "/v1/workspaces/{ws}/recipes/{name}",
        "putRecipe",
        ADMIN,
        "Stores a recipe under a name, or reports all its problems.",
        http::named::put_recipe,
    )
    .takes(content(
        shape::<http::named::WireRecipe>,
        r#"{"source": "haversack = 1\nname = \"mine\"\nextends = \"memory\"\n"}"#,
    ))
    .gives(204, None)
    .fails(&[Code::StorageFull]),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/recipes/{name}",
        "getRecipe",
        READ,
        "A recipe's source.",
        http::named::get_recipe,
    )
    .gives(200, Some(content(shape::<http::named::WireRecipe>, r#"{"source": "haversack = 1"}"#)))
    .fails(&[Code::RecipeNotFound]),
    Route::new(
        Method::Delete,
        "/v1/workspaces/{ws}/recipes/{name}",
        "removeRecipe",
        ADMIN,
        "Removes a recipe of the workspace; a built-in one of that name is used again.",
        http::named::remove_recipe,
    )
    .gives(204, None)
    .fails(&[Code::RecipeNotFound, Code::StorageFull]),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/estimate",
        "estimateTokens",
        READ,
        "Counts the tokens of a text, or of a payload's final string, by the model's own tokenizer.",
        http::tokens::estimate,
    )
    .takes(content(
        shape::<http::tokens::WireEstimate>,
        r#"{"text": "How many tokens is this?", "model": "gpt-4o"}"#,
    ))
    .gives(
        200,
        Some(content(
            shape::<http::tokens::WireCount>,
            r#"{"tokens": 6, "tokenizer": "o200k_base", "accuracy": "exact"}"#,
        )),
    ),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/validate",
        "validate",
        READ,
        "Checks a payload for its budget, permissions and duplicates.",
        http::tokens::validate,
    )
    .takes(content(shape::<http::tokens::WireValidate>, r#"{"payload": {"sections": [], "metadata": {"totalTokens": 1, "blocksIncluded": 0}, "serialized": "Hello", "assembly": {"limit": 10, "tokenizer": "o200k_base"}}}"#))
    .gives(
        200,
        Some(content(shape::<workspace::Validation>, r#"{"valid": true, "problems": []}"#)),
    ),
];
