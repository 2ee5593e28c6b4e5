//! Calls over HTTP to other servers: one that is wrapped, one that assembles, one that has keys. No
//! redirects are followed, and addresses come from the settings alone.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use axum::http::{HeaderValue, Request, Response, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use thiserror::Error;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Why another server cannot be called.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// An address will not do.
    #[error("{address:?} will not do: {why}")]
    Address {
        /// The address.
        address: String,
        /// Why not.
        why: &'static str,
    },
    /// The certificates of this system cannot be read.
    #[error("cannot tell whom to trust: the system's certificates cannot be read")]
    Certificates(#[source] std::io::Error),
    /// A token cannot be sent.
    #[error("the bearer token holds more than visible ASCII")]
    Token,
}

/// A client of one server.
pub(crate) struct Client {
    pool: Connections,
    address: Uri,
    /// The `Authorization` header, never shown.
    bearer: Option<HeaderValue>,
}

enum Connections {
    Plain(Pool<HttpConnector, Full<Bytes>>),
    Secret(Pool<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("address", &self.address).finish_non_exhaustive()
    }
}

/// An address of http or https, with nothing in it that would be sent unseen.
pub(crate) fn address(text: &str) -> Result<Uri, ClientError> {
    let wrong = |why| ClientError::Address { address: text.to_owned(), why };
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    if !matches!(scheme.as_deref(), Some("http" | "https")) {
        return Err(wrong("only http and https are spoken"));
    }
    let uri: Uri = text.parse().map_err(|_| wrong("it is not a URL"))?;
    match uri.authority() {
        None => Err(wrong("it names no host")),
        Some(authority) if authority.as_str().contains('@') => {
            Err(wrong("it holds a user: name a variable that holds the token"))
        }
        Some(_) => Ok(uri),
    }
}

/// An address at which nobody between can read or change what is said: https, or this machine.
pub(crate) fn secure_address(text: &str) -> Result<Uri, ClientError> {
    let uri = address(text)?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let own = host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if uri.scheme_str() == Some("https") || own {
        return Ok(uri);
    }
    let why = "others could read and change what is said: use https";
    Err(ClientError::Address { address: text.to_owned(), why })
}

/// An address to which a token can be sent, if there is one to send.
pub(crate) fn address_for(text: &str, has_token: bool) -> Result<Uri, ClientError> {
    if has_token { secure_address(text) } else { address(text) }
}

/// Why a call got no answer.
pub(crate) type CallError = Box<dyn std::error::Error + Send + Sync>;

impl Client {
    /// A client of the server at this address. A token is sent only where nobody between can read it.
    pub(crate) fn new(text: &str, token: Option<&str>) -> Result<Client, ClientError> {
        let address = address_for(text, token.is_some())?;
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        let executor = TokioExecutor::new();
        let pool = if address.scheme_str() == Some("https") {
            connector.enforce_http(false);
            let connector = HttpsConnectorBuilder::new()
                .with_native_roots()
                .map_err(ClientError::Certificates)?
                .https_only()
                .enable_http1()
                .wrap_connector(connector);
            Connections::Secret(Pool::builder(executor).build(connector))
        } else {
            Connections::Plain(Pool::builder(executor).build(connector))
        };
        let bearer = token.map(|token| {
            let value = HeaderValue::from_str(&format!("Bearer {token}"));
            let mut value = value.map_err(|_| ClientError::Token)?;
            value.set_sensitive(true);
            Ok::<HeaderValue, ClientError>(value)
        });
        Ok(Client { pool, address, bearer: bearer.transpose()? })
    }

    /// The server's address.
    pub(crate) const fn address(&self) -> &Uri {
        &self.address
    }

    /// Sends a body to a path of the server, or to its own address.
    pub(crate) async fn post(
        &self,
        to: &Uri,
        headers: Vec<(&'static str, HeaderValue)>,
        body: Bytes,
    ) -> Result<Response<Incoming>, CallError> {
        let mut request = Request::post(to.clone()).body(Full::new(body))?;
        let all = request.headers_mut();
        all.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(bearer) = &self.bearer {
            all.insert(header::AUTHORIZATION, bearer.clone());
        }
        for (name, value) in headers {
            all.insert(name, value);
        }
        self.send(request).await
    }

    /// Asks for what is at the server's own address.
    pub(crate) async fn get(&self) -> Result<Response<Incoming>, CallError> {
        let mut request = Request::get(self.address.clone()).body(Full::default())?;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::ACCEPT, json);
        self.send(request).await
    }

    /// Sends a request as it is.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, CallError> {
        let answer = match &self.pool {
            Connections::Plain(pool) => pool.request(request).await,
            Connections::Secret(pool) => pool.request(request).await,
        };
        Ok(answer?)
    }
}

/// A whole body, if it is not too long.
pub(crate) async fn whole(body: Incoming, bytes_max: usize) -> Result<Bytes, CallError> {
    Ok(Limited::new(body, bytes_max).collect().await?.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_of_http_and_https_will_do_s7() {
        for good in ["http://127.0.0.1:1/mcp", "https://tools.example.com/mcp"] {
            address(good).unwrap();
        }
        for bad in ["", "file:///etc/passwd", "ftp://x/", "x", "/mcp", "http://user:pass@x/mcp"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_trusted_comes_by_https_or_from_this_machine() {
        for good in
            ["https://a.example/k", "http://127.0.0.1:1/k", "http://[::1]/k", "http://localhost/"]
        {
            secure_address(good).unwrap();
        }
        for bad in
            ["http://a.example/k", "http://127.0.0.1.a.example/", "http://10.0.0.1/", "file:///k"]
        {
            assert!(secure_address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_is_not_sent_in_the_clear_s7() {
        for good in ["http://127.0.0.1:1/mcp", "http://localhost:1/mcp"] {
            Client::new(good, Some("secret")).unwrap();
        }
        address_for("https://a.example/mcp", true).unwrap();
        for plain in ["http://a.example/mcp", "http://10.0.0.1/mcp"] {
            Client::new(plain, None).unwrap();
            let refused = Client::new(plain, Some("secret")).unwrap_err().to_string();
            assert!(refused.ends_with("use https") && !refused.contains("secret"), "{refused}");
        }
    }
}
