//! A workspace behind a running server: the same operations as on the data folder, over HTTP.

mod forward;
mod items;
mod packs;
mod search;
mod sync;

use std::fmt;

use anyhow::{Context, Result};
use haversack_serve::erase::UserErasure;
use haversack_serve::{ApiCall, ApiClient, ApiError};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

pub(crate) use forward::ForwardingStore;
pub(crate) use packs::RemotePackOptions;

/// The environment variable that holds the key, unless `--key-env` names another.
pub(crate) const KEY_VARIABLE: &str = "HAVERSACK_KEY";

/// Names on one page of a list.
const PAGE: usize = 1_000;

/// What a command works on: what it opened in the data folder, or a workspace behind a server.
#[expect(clippy::large_enum_variant, reason = "a command has one")]
pub(crate) enum WorkspaceTarget<L> {
    Local(L),
    Server(RemoteWorkspace),
}

/// One workspace of a server.
pub(crate) struct RemoteWorkspace {
    client: ApiClient,
    /// Drives the client, whose connections live as long as this.
    runtime: Runtime,
    name: String,
}

impl fmt::Debug for RemoteWorkspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RemoteWorkspace");
        shown.field("url", &self.client.url()).field("name", &self.name).finish_non_exhaustive()
    }
}

impl RemoteWorkspace {
    /// A workspace of the server at `url`. Nothing is sent yet.
    pub(crate) fn new(url: &str, key_variable: &str, name: &str) -> Result<RemoteWorkspace> {
        let key = std::env::var(key_variable).ok().filter(|key| !key.is_empty());
        let client = ApiClient::new(url, key.as_deref()).context("the server's address")?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot start the thread that waits for the server")?;
        Ok(RemoteWorkspace { client, runtime, name: name.to_owned() })
    }

    /// The server's address.
    pub(crate) fn url(&self) -> &str {
        self.client.url()
    }

    fn send(&self, call: ApiCall<'_>) -> Result<Value, ApiError> {
        self.runtime.block_on(self.client.send(call))
    }

    /// The path of something in this workspace.
    fn path<'p>(&'p self, rest: &[&'p str]) -> Vec<&'p str> {
        [&["v1", "workspaces", self.name.as_str()], rest].concat()
    }

    /// The workspace's name, revision and number of visible items.
    pub(crate) fn state(&self) -> Result<Value> {
        Ok(self.send(ApiCall::get(&self.path(&[])))?)
    }

    /// Creates the workspace if the server does not have it.
    pub(crate) fn create_if_missing(&self) -> Result<()> {
        match self.send(ApiCall::get(&self.path(&[]))) {
            Err(error) if error.code() == Some("workspace_not_found") => {
                let call = ApiCall::post(&["v1", "workspaces"], json!({ "name": self.name }));
                match self.send(call) {
                    Err(error) if error.code() != Some("workspace_exists") => Err(error.into()),
                    _ => Ok(()),
                }
            }
            Err(error) => Err(error.into()),
            Ok(_) => Ok(()),
        }
    }

    /// The names of the server's workspaces that the key reaches.
    pub(crate) fn workspace_names(&self) -> Result<Vec<String>> {
        self.names(&["v1", "workspaces"], |page| {
            let entries = page["workspaces"].as_array()?;
            Some(entries.iter().filter_map(|entry| text(&entry["name"])).collect())
        })
    }

    /// All names of a list that comes in pages.
    fn names(
        &self,
        path: &[&str],
        names_of: impl Fn(&Value) -> Option<Vec<String>>,
    ) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut call = ApiCall::get(path).with("limit", PAGE.to_string());
            if let Some(after) = &after {
                call = call.with("after", after);
            }
            let page = self.send(call)?;
            names.extend(names_of(&page).context("the server's list has no names")?);
            after = text(&page["next"]);
            if after.is_none() {
                return Ok(names);
            }
        }
    }

    /// Erases a user from all workspaces of the server, and returns what it did and what is left.
    pub(crate) fn erase_user(&self, user: &str) -> Result<UserErasure> {
        let call = ApiCall::post(&["v1", "users", "erase"], json!({ "user": user }));
        let answer = self.send(call)?;
        serde_json::from_value(answer).context("the server's answer is not what was asked for")
    }

    /// Has new workspaces use an embedding model, and returns that model.
    pub(crate) fn set_default_model(&self, name: &str) -> Result<String> {
        let answer = self.send(ApiCall::put(&["v1", "model"], json!({ "name": name })))?;
        text(&answer["model"]).context("the server names no model")
    }

    /// Starts to change the embedding model of a workspace.
    pub(crate) fn start_model_change(&self, workspace: &str, name: &str) -> Result<Value> {
        let path = ["v1", "workspaces", workspace, "model"];
        Ok(self.send(ApiCall::put(&path, json!({ "name": name })))?)
    }

    /// The embedding model of a workspace, and a change of it.
    pub(crate) fn model_status(&self, workspace: &str) -> Result<Value> {
        Ok(self.send(ApiCall::get(&["v1", "workspaces", workspace, "model"]))?)
    }

    /// Notes whether an item helped.
    pub(crate) fn feedback(&self, item: &str, useful: bool, user: Option<&str>) -> Result<()> {
        let mut body = json!({ "contextItemId": item, "useful": useful });
        if let Some(user) = user {
            body["user"] = json!(user);
        }
        self.send(ApiCall::post(&self.path(&["feedback"]), body))?;
        Ok(())
    }

    /// Extracts memories from a conversation by the server's model.
    pub(crate) fn extract(&self, body: &Value) -> Result<Value> {
        Ok(self.send(ApiCall::post(&self.path(&["memories", "extract"]), body.clone()))?)
    }

    /// Stores a memory if it says something new, and returns what the server did with it.
    pub(crate) fn remember(&self, memory: &Value) -> Result<Value> {
        let body = json!({ "memories": [memory] });
        Ok(self.send(ApiCall::post(&self.path(&["memories"]), body))?)
    }
}

/// The text of a JSON value, if it is one.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
