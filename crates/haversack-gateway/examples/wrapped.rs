//! A small MCP server on standard streams for trying the gateway. Its tools return their arguments.
//!
//! ```sh
//! haversack mcp wrap -- target/debug/examples/wrapped
//! ```

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::stdio;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

/// A server whose tools return their arguments.
#[derive(Debug, Clone, Default)]
pub(crate) struct EchoServer;

fn tool(name: &'static str, schema: &Value) -> Tool {
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, format!("Says what it was given: {name}"), Arc::new(schema))
}

impl ServerHandler for EchoServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_instructions("Only for trying.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let text = json!({ "type": "string" });
        Ok(ListToolsResult::with_all_items(vec![
            tool("open", &json!({ "type": "object" })),
            tool("closed", &json!({ "type": "object", "additionalProperties": false })),
            tool(
                "text",
                &json!({ "type": "object", "properties": { "_context": text },
                        "additionalProperties": false }),
            ),
            tool("broken", &json!({ "type": "object" })),
            tool("wrong", &json!({ "type": "object" })),
        ]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = Value::Object(request.arguments.unwrap_or_default());
        let content = vec![ContentBlock::text(given.to_string())];
        match &*request.name {
            "broken" => {
                let data = json!({ "hint": "on purpose" });
                Err(ErrorData::new(ErrorCode(-32_050), "it is broken", Some(data)))
            }
            "wrong" => Ok(CallToolResult::error(content).into()),
            "open" | "closed" | "text" => Ok(CallToolResult::success(content).into()),
            _ => Err(ErrorData::invalid_params("there is no such tool", None)),
        }
    }
}

/// Serves on standard input and output.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    EchoServer.serve(stdio()).await?.waiting().await?;
    Ok(())
}
