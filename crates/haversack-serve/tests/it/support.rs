//! A server on a free port, and a client that sends exactly the given bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use haversack::Engine;
use haversack_core::units::Timestamp;
use haversack_eval::samples::{NOW, Sample};
use haversack_provider::{DailyCap, ModelSet, ModelsConfig};
use haversack_serve::config::Auth;
use haversack_serve::who::{ActsAs, Control, Grant, KeyScope, NewKey};
use haversack_serve::{Config, Server};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that runs.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) engine: Engine,
    pub(crate) folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) text: String,
}

impl HttpReply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{error} in {:?}", self.text))
    }

    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// A configuration for tests: any free port.
pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.server.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    config
}

impl Running {
    pub(crate) async fn start() -> Running {
        Running::with(config()).await
    }

    /// A server that asks for keys.
    pub(crate) async fn locked() -> Running {
        let mut config = config();
        config.server.auth = Auth::Keys;
        Running::with(config).await
    }

    pub(crate) async fn with(config: Config) -> Running {
        Running::with_models(config, None).await
    }

    /// A server whose engine has models of providers.
    pub(crate) async fn with_models(config: Config, models: Option<ModelsConfig>) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let mut builder = Engine::builder().clock(|| NOW);
        if let Some(models) = models {
            let models = ModelSet::open(models, Some(folder.path()), &|_| None).unwrap();
            builder = builder.models(Arc::new(models));
        }
        let engine = builder.open(folder.path()).unwrap();
        let server = Server::bind(engine.clone(), folder.path(), config, false).await.unwrap();
        let address = server.address().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let until = async {
                let _ = stopped.await;
            };
            server.run(until).await.unwrap();
        });
        Running { address, engine, folder, stop: Some(stop), task }
    }

    /// Fills a workspace with a sample.
    pub(crate) fn sample(&self, name: &str) {
        let workspace = self.engine.workspace(name).unwrap();
        Sample::named(name).unwrap().load(&**workspace.blocking_store()).unwrap();
    }

    /// A key, as it is sent.
    pub(crate) fn key(&self, scopes: &[KeyScope], workspaces: Grant, acts_as: ActsAs) -> String {
        self.key_until(scopes, workspaces, acts_as, None)
    }

    pub(crate) fn key_until(
        &self,
        scopes: &[KeyScope],
        workspaces: Grant,
        acts_as: ActsAs,
        expires: Option<Timestamp>,
    ) -> String {
        let (scopes, model_cap) = (scopes.iter().copied().collect(), DailyCap::default());
        let name = "test".into();
        self.create_key(&NewKey { name, scopes, workspaces, acts_as, expires, model_cap })
    }

    pub(crate) fn create_key(&self, new: &NewKey) -> String {
        let control = Control::open(self.folder.path()).unwrap();
        control.create(new, Timestamp::from_millis(1)).unwrap().reveal()
    }

    pub(crate) fn ask<'a>(&'a self, method: &'a str, path: &'a str) -> Ask<'a> {
        Ask { running: self, method, path, headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) async fn get(&self, path: &str) -> HttpReply {
        self.ask("GET", path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> HttpReply {
        self.ask("POST", path).json(body).send().await
    }

    /// Stops the server and waits for its end.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        (&mut self.task).await.unwrap();
    }

    /// Tells the server to stop, and does not wait.
    pub(crate) fn tell_to_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Sends bytes and reads until the server closes.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut read = Vec::new();
        stream.read_to_end(&mut read).await.unwrap();
        read
    }
}

/// A request on its way.
pub(crate) struct Ask<'a> {
    running: &'a Running,
    method: &'a str,
    path: &'a str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask<'_> {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("authorization", &format!("Bearer {key}"))
    }

    pub(crate) fn json(mut self, body: &Value) -> Self {
        self.body = body.to_string().into_bytes();
        self.header("content-type", "application/json")
    }

    pub(crate) fn lines(mut self, lines: &str) -> Self {
        self.body = lines.as_bytes().to_vec();
        self.header("content-type", "application/x-ndjson")
    }

    pub(crate) fn body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }

    pub(crate) async fn send(self) -> HttpReply {
        let mut head = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", self.method, self.path);
        if !self.headers.iter().any(|(name, _)| name == "host") {
            head.push_str(&format!("host: {}\r\n", self.running.address));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", self.body.len()));
        let bytes = [head.as_bytes(), &self.body].concat();
        reply(&self.running.raw(&bytes).await)
    }
}

/// Reads an answer: status, headers, body, with its chunks put together.
pub(crate) fn reply(bytes: &[u8]) -> HttpReply {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut body = bytes[end + 4..].to_vec();
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        body = unchunked(&body);
    }
    HttpReply { status, headers, text: String::from_utf8(body).unwrap() }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        whole.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
    whole
}

/// Everything, for a key that may do everything.
pub(crate) fn all() -> [KeyScope; 4] {
    KeyScope::ALL
}
