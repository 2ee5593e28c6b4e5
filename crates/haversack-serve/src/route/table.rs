//! The table of all routes.

use haversack::wire::WireRequest;

use super::common::{ADMIN, NEVER_CUT, READ, RESOURCE, WRITE, WRITES, WRITTEN, anything};
use super::files::{ADD_FILES, GET_SOURCE, WRITE_SOURCE};
use super::models::{CHANGE_MODEL, GET_DEFAULT_MODEL, GET_MODEL, SET_DEFAULT_MODEL};
use super::tokens::{ESTIMATE, VALIDATE};
use super::users::ERASE_USER;
use super::{
    MediaContent, Method, PACK_OPTIONS, PAGE_PARAMETERS, Route, content, flag_parameter,
    number_parameter, shape, text_parameter,
};
use crate::codes::Code;
use crate::resource::{WELL_KNOWN, WireResource};
use crate::who::KeyScope;
use crate::{http, inspector};

/// All routes.
pub(crate) static ROUTES: &[Route] = &[
    Route::new(
        Method::Get,
        "/",
        "inspector",
        None,
        "Returns the inspector, a page that shows packs and the reason for each candidate's outcome.",
        inspector::page,
    )
    .with_text_response(&[inspector::HTML])
    .with_etag(),
    Route::new(
        Method::Get,
        "/inspector/{file}",
        "inspectorFile",
        None,
        "Returns a file of the inspector's page.",
        inspector::file,
    )
    .with_text_response(&[inspector::CSS, inspector::JAVASCRIPT, inspector::SVG])
    .with_problems(&[Code::NotFound])
    .with_etag(),
    Route::new(Method::Get, "/livez", "livez", None, "Reports that the process runs.", http::health::live)
        .with_response(200, Some(content(anything, r#"{"status": "ok"}"#))),
    Route::new(
        Method::Get,
        "/readyz",
        "readyz",
        None,
        "Reports whether the server accepts requests and can do all of its work, and if not, why.",
        http::health::ready,
    )
    .with_response(200, Some(content(anything, r#"{"status": "ok"}"#)))
    .with_problems(&[Code::NotReady]),
    Route::new(
        Method::Get,
        "/healthz",
        "healthz",
        None,
        "Returns the server's health and version.",
        http::health::health,
    )
    .with_response(200, Some(content(anything, r#"{"status": "ok", "version": "0.1.0"}"#))),
    Route::new(
        Method::Get,
        "/metrics",
        "metrics",
        Some(KeyScope::Metrics),
        "Returns metrics for Prometheus.",
        http::health::metrics,
    )
    .with_text_response(&[http::health::METRICS_TYPE]),
    Route::new(
        Method::Get,
        "/openapi.json",
        "openapi",
        None,
        "Returns this document.",
        http::health::openapi,
    )
    .with_etag()
    .with_response(200, Some(content(anything, r#"{"openapi": "3.1.0"}"#))),
    Route::new(
        Method::Get,
        WELL_KNOWN,
        "protectedResource",
        None,
        "Returns the authorization servers of this server (RFC 9728); 404 if it accepts only API keys.",
        http::resource::metadata,
    )
    .with_response(200, Some(content(shape::<WireResource>, RESOURCE)))
    .with_problems(&[Code::NotFound]),
    Route::new(
        Method::Get,
        "/.well-known/oauth-protected-resource/mcp",
        "protectedMcp",
        None,
        "Returns the authorization servers for MCP on this server (RFC 9728, section 3.1).",
        http::resource::mcp_metadata,
    )
    .with_response(200, Some(content(shape::<WireResource>, RESOURCE)))
    .with_problems(&[Code::NotFound]),
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
    .with_body(content(
        anything,
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#,
    ))
    .with_response(200, Some(content(anything, r#"{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}"#))),
    Route::new(
        Method::Get,
        "/v1/workspaces",
        "listWorkspaces",
        READ,
        "Lists the workspaces that this key may use, in pages.",
        http::workspaces::list,
    )
    .with_query(PAGE_PARAMETERS)
    .with_response(
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
    .with_body(content(shape::<http::workspaces::WireName>, r#"{"name": "acme"}"#))
    .with_response(201, Some(content(shape::<http::workspaces::WireName>, r#"{"name": "acme"}"#)))
    .with_problems(&[Code::WorkspaceExists, Code::IdempotencyConflict])
    .with_idempotency_key(),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}",
        "getWorkspace",
        READ,
        "Returns a workspace's revision and the number of items that the caller can read.",
        http::workspaces::get,
    )
    .with_response(
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
        "Removes a workspace with all its data.",
        http::workspaces::remove,
    )
    .with_response(204, None),
    GET_DEFAULT_MODEL,
    SET_DEFAULT_MODEL,
    GET_MODEL,
    CHANGE_MODEL,
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
    .with_body(MediaContent {
        shape: shape::<Vec<crate::wire::WireNewItem>>,
        example: r#"[{"id": "n1", "kind": "note", "title": "Launch", "body": "The launch is on the third of May."}]"#,
        lines: Some(shape::<crate::wire::WireNewItem>),
    })
    .with_response(200, Some(WRITTEN))
    .with_problems(WRITES)
    .with_idempotency_key(),
    ADD_FILES,
    GET_SOURCE,
    WRITE_SOURCE,
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/items",
        "listItems",
        READ,
        "Lists items by id, in pages.",
        http::items::list,
    )
    .with_etag()
    .with_query(&[
        text_parameter("kind", "Only this kind."),
        text_parameter("parent", "Only this item and its descendants."),
        text_parameter("after", "The `next` of the previous page."),
        number_parameter("limit", "Page size: 1 to 1,000; 100 by default."),
    ])
    .with_response(
        200,
        Some(content(shape::<crate::wire::WireItemPage>, r#"{"items": [], "next": "n100"}"#)),
    ),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/items/{id}",
        "getItem",
        READ,
        "Returns an item.",
        http::items::get,
    )
    .with_etag()
    .with_response(
        200,
        Some(content(
            shape::<crate::wire::WireItem>,
            r#"{"id": "n1", "kind": "note", "title": "Launch", "body": "…", "fields": {}, "position": 0, "trust": "internal", "active": true, "revision": 7}"#,
        )),
    )
    .with_problems(&[Code::ItemNotFound]),
    Route::new(
        Method::Delete,
        "/v1/workspaces/{ws}/items/{id}",
        "deleteItem",
        WRITE,
        "Deletes an item and its descendants. With `purge=true` their history is erased as well.",
        http::items::delete,
    )
    .with_query(&[flag_parameter("purge", "Whether the history is erased as well.")])
    .with_idempotency_key()
    .with_response(200, Some(WRITTEN))
    .with_problems(&[Code::ItemNotFound, Code::StorageFull]),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/links",
        "putLinks",
        WRITE,
        "Adds and removes links between items.",
        http::items::links,
    )
    .with_body(content(
        shape::<crate::wire::WireLinks>,
        r#"{"add": [{"from": "n1", "to": "n2", "sort": "link"}]}"#,
    ))
    .with_response(200, Some(WRITTEN))
    .with_problems(WRITES)
    .with_idempotency_key(),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/events",
        "putEvents",
        WRITE,
        "Records events of items: viewed, edited, used, useful or not useful.",
        http::items::events,
    )
    .with_body(content(
        shape::<crate::wire::WireEvents>,
        r#"{"events": [{"item": "n1", "happening": "viewed", "user": "anna"}]}"#,
    ))
    .with_response(200, Some(WRITTEN))
    .with_problems(WRITES)
    .with_idempotency_key(),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/memories",
        "addMemories",
        WRITE,
        "Stores memories that say something new, and leaves out repetitions and echoes of packs.",
        http::memories::add,
    )
    .with_body(content(
        shape::<http::memories::WireMemories>,
        r#"{"memories": [{"content": "Anna drinks green tea, never coffee.", "type": "preference"}]}"#,
    ))
    .with_response(
        200,
        Some(content(
            shape::<http::memories::WireRemembered>,
            r#"{"revision": 8, "stored": ["mem-3f9c0d1b2a4e5f60"], "leftOut": []}"#,
        )),
    )
    .with_problems(WRITES)
    .with_idempotency_key(),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/memories/extract",
        "extractMemories",
        WRITE,
        "Extracts memories from a conversation by the configured model and stores those that say something new.",
        http::memories::extract,
    )
    .with_body(content(
        shape::<http::memories::WireConversation>,
        r#"{"conversation": [{"role": "user", "content": "I moved to Oslo in May."}], "dryRun": true}"#,
    ))
    .with_response(
        200,
        Some(content(
            shape::<http::memories::WireExtraction>,
            r#"{"memories": [], "leftOut": [], "stored": false, "model": "gpt-5-mini@openai"}"#,
        )),
    )
    .with_problems(WRITES),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/memories/search",
        "searchMemories",
        READ,
        "Returns matching memories, best first. `searches` holds several queries at once.",
        http::memories::search,
    )
    .with_body(content(
        shape::<http::memories::WireMemorySearch>,
        r#"{"searches": [{"query": "what does Anna drink?", "limit": 5}]}"#,
    ))
    .with_response(
        200,
        Some(content(shape::<http::memories::WireMemoryResults>, r#"{"results": [[]]}"#)),
    )
    .with_problems(NEVER_CUT),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/search",
        "search",
        READ,
        "Searches the workspace by words, meaning and spelling.",
        http::search::search,
    )
    .with_body(content(shape::<crate::wire::WireSearch>, r#"{"query": "who approves a discount?"}"#))
    .with_response(200, Some(content(shape::<crate::wire::WireFound>, r#"{"found": [], "notices": []}"#)))
    .with_problems(&[Code::Embedding, Code::StaleVectors]),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/context/{recipe}",
        "buildContext",
        READ,
        "Assembles the context for one request with a recipe. Every result has `context`, the final \
         string, and `assembly`. With `Accept: text/event-stream` an event is sent at the end of each \
         stage, then `warning` events, then `result`.",
        http::context::build,
    )
    .with_query(PACK_OPTIONS)
    .with_body(content(shape::<WireRequest>, r#"{"query": "who approves a discount?"}"#))
    .with_response(200, Some(content(anything, r#"{"context": "…", "assembly": {}}"#)))
    .with_problems(NEVER_CUT),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/frontier/{recipe}",
        "frontier",
        READ,
        "Returns the value and coverage of the pack at many budgets.",
        http::context::frontier,
    )
    .with_body(content(
        shape::<http::context::WireFrontierRequest>,
        r#"{"request": {"query": "who approves a discount?"}, "budgets": [500, 1000, 2000]}"#,
    ))
    .with_response(
        200,
        Some(content(shape::<http::context::WireFrontier>, r#"{"points": []}"#)),
    )
    .with_problems(NEVER_CUT),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/receipts/{id}",
        "getReceipt",
        READ,
        "Returns a pack's receipt: its inputs and the outcome of each candidate.",
        http::receipts::get,
    )
    .with_etag()
    .with_response(200, Some(content(shape::<haversack::Receipt>, "{}")))
    .with_problems(&[Code::ReceiptNotFound]),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/receipts/{id}/replay",
        "replay",
        READ,
        "Rebuilds a pack from its receipt and returns it with the differences.",
        http::receipts::replay,
    )
    .with_response(200, Some(content(shape::<http::receipts::WireReplay>, "{}")))
    .with_problems(NEVER_CUT),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/receipts/{a}/diff/{b}",
        "diff",
        READ,
        "Returns the differences between two packs and their causes.",
        http::receipts::diff,
    )
    .with_response(200, Some(content(shape::<haversack::receipt::Difference>, "{}")))
    .with_problems(&[Code::ReceiptNotFound]),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/feedback",
        "feedback",
        WRITE,
        "Records whether an item was useful, which changes its later scores.",
        http::receipts::feedback,
    )
    .with_body(content(
        shape::<http::receipts::WireFeedback>,
        r#"{"contextItemId": "n1", "useful": true}"#,
    ))
    .with_response(200, Some(content(shape::<http::receipts::WireNoted>, r#"{"success": true}"#)))
    .with_problems(&[Code::ItemNotFound, Code::StorageFull, Code::IdempotencyConflict])
    .with_idempotency_key(),
    Route::new(
        Method::Post,
        "/v1/workspaces/{ws}/citations",
        "citations",
        READ,
        "Returns the citations that a response used, and a Sources block that lists them.",
        http::receipts::citations,
    )
    .with_body(content(
        shape::<http::receipts::WireCitations>,
        r#"{"receipt": "…", "response": "Discounts are approved by Mara [fil-1x9k2]."}"#,
    ))
    .with_response(200, Some(content(shape::<http::receipts::WireCited>, r#"{"citations": [], "sources": ""}"#)))
    .with_problems(NEVER_CUT),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/templates",
        "listTemplates",
        READ,
        "Lists the names of the workspace's own templates, in pages.",
        http::named::templates,
    )
    .with_query(PAGE_PARAMETERS)
    .with_response(200, Some(content(shape::<http::named::WireNames>, r#"{"names": ["brief"]}"#))),
    Route::new(
        Method::Put,
        "/v1/workspaces/{ws}/templates/{name}",
        "registerTemplate",
        ADMIN,
        "Stores a template under a name.",
        http::named::put_template,
    )
    .with_body(content(
        shape::<http::named::WireTemplate>,
        r###"{"header": "## Memories\n", "item": "- {{content}} ({{timestamp}})\n"}"###,
    ))
    .with_response(204, None)
    .with_problems(&[Code::StorageFull]),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/templates/{name}",
        "getTemplate",
        READ,
        "Returns a template of the workspace.",
        http::named::get_template,
    )
    .with_response(
        200,
        Some(content(shape::<http::named::WireTemplate>, r#"{"item": "- {{content}}\n"}"#)),
    )
    .with_problems(&[Code::TemplateNotFound]),
    Route::new(
        Method::Delete,
        "/v1/workspaces/{ws}/templates/{name}",
        "removeTemplate",
        ADMIN,
        "Removes a template of the workspace.",
        http::named::remove_template,
    )
    .with_response(204, None)
    .with_problems(&[Code::TemplateNotFound, Code::StorageFull]),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/rankers",
        "listRankers",
        READ,
        "Lists the names of the workspace's own rankers, in pages.",
        http::named::rankers,
    )
    .with_query(PAGE_PARAMETERS)
    .with_response(200, Some(content(shape::<http::named::WireNames>, r#"{"names": ["fresh"]}"#))),
    Route::new(
        Method::Put,
        "/v1/workspaces/{ws}/rankers/{name}",
        "registerRanker",
        ADMIN,
        "Stores a ranker, an expression over the score components, under a name.",
        http::named::put_ranker,
    )
    .with_body(content(
        shape::<http::named::WireRankerText>,
        r#"{"expression": "semantic * 0.7 + recency * 0.3"}"#,
    ))
    .with_response(204, None)
    .with_problems(&[Code::StorageFull]),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/rankers/{name}",
        "getRanker",
        READ,
        "Returns a ranker of the workspace.",
        http::named::get_ranker,
    )
    .with_response(
        200,
        Some(content(shape::<http::named::WireRankerText>, r#"{"expression": "semantic"}"#)),
    )
    .with_problems(&[Code::RankerNotFound]),
    Route::new(
        Method::Delete,
        "/v1/workspaces/{ws}/rankers/{name}",
        "removeRanker",
        ADMIN,
        "Removes a ranker of the workspace.",
        http::named::remove_ranker,
    )
    .with_response(204, None)
    .with_problems(&[Code::RankerNotFound, Code::StorageFull]),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/recipes",
        "listRecipes",
        READ,
        "Lists the recipes of the workspace, including built-in ones, in pages.",
        http::named::recipes,
    )
    .with_query(PAGE_PARAMETERS)
    .with_response(200, Some(content(shape::<http::named::WireNames>, r#"{"names": ["memory"]}"#))),
    Route::new(
        Method::Put,
        "/v1/workspaces/{ws}/recipes/{name}",
        "putRecipe",
        ADMIN,
        "Stores a recipe under a name, or reports all its problems.",
        http::named::put_recipe,
    )
    .with_body(content(
        shape::<http::named::WireRecipe>,
        r#"{"source": "haversack = 1\nname = \"mine\"\nextends = \"memory\"\n"}"#,
    ))
    .with_response(204, None)
    .with_problems(&[Code::StorageFull]),
    Route::new(
        Method::Get,
        "/v1/workspaces/{ws}/recipes/{name}",
        "getRecipe",
        READ,
        "Returns a recipe's source.",
        http::named::get_recipe,
    )
    .with_response(200, Some(content(shape::<http::named::WireRecipe>, r#"{"source": "haversack = 1"}"#)))
    .with_problems(&[Code::RecipeNotFound]),
    Route::new(
        Method::Delete,
        "/v1/workspaces/{ws}/recipes/{name}",
        "removeRecipe",
        ADMIN,
        "Removes a recipe of the workspace; a built-in one of that name is used again.",
        http::named::remove_recipe,
    )
    .with_response(204, None)
    .with_problems(&[Code::RecipeNotFound, Code::StorageFull]),
    ESTIMATE,
    VALIDATE,
    ERASE_USER,
];
