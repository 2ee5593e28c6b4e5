//! An HTTP client for other servers: model providers, wrapped MCP servers, Haversack servers, key sets and
//! collectors. It follows no redirects, and addresses come from settings only.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::http::{HeaderValue, Request, Response, Uri, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use thiserror::Error;

/// Timeout of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why another server cannot be called.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// An address is invalid.
    #[error("{address:?} cannot be used: {why}")]
    Address {
        /// The address.
        address: String,
        /// Why not.
        why: &'static str,
    },
    /// The certificates of this system cannot be read.
    #[error("the system's certificates cannot be read")]
    Certificates(#[source] std::io::Error),
    /// A token cannot be sent.
    #[error("the bearer token holds more than visible ASCII")]
    Token,
}

/// A client of one server.
pub struct Client {
    pool: Connections,
    address: Uri,
    /// The `Authorization` header, never shown.
    bearer: Option<HeaderValue>,
}

enum Connections {
    Plain(Pool<HttpConnector, Full<Bytes>>),
    Tls(Pool<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Parses an address of http or https without credentials.
///
/// # Errors
/// When the address cannot be used.
pub fn address(text: &str) -> Result<Uri, ClientError> {
    let wrong = |why| ClientError::Address { address: text.to_owned(), why };
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    if !matches!(scheme.as_deref(), Some("http" | "https")) {
        return Err(wrong("only http and https are supported"));
    }
    let uri: Uri = text.parse().map_err(|_| wrong("it is not a URL"))?;
    match uri.authority() {
        None => Err(wrong("it names no host")),
        Some(authority) if authority.as_str().contains('@') => {
            Err(wrong("it contains a user: name an environment variable with the token instead"))
        }
        Some(_) => Ok(uri),
    }
}

/// Parses an address with a secure connection: https, or this machine.
///
/// # Errors
/// When the address cannot be used.
pub fn secure_address(text: &str) -> Result<Uri, ClientError> {
    let uri = address(text)?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let own = host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if uri.scheme_str() == Some("https") || own {
        return Ok(uri);
    }
    let why = "others could read and change the messages: use https";
    Err(ClientError::Address { address: text.to_owned(), why })
}

/// Parses an address, which must be secure if a token is sent.
///
/// # Errors
/// When the address cannot be used.
pub fn address_for(text: &str, has_token: bool) -> Result<Uri, ClientError> {
    if has_token { secure_address(text) } else { address(text) }
}

/// Why a call failed.
pub type CallError = Box<dyn std::error::Error + Send + Sync>;

impl Client {
    /// A client of the server at this address. A token needs a secure connection.
    ///
    /// # Errors
    /// When the address or token cannot be used.
    pub fn new(text: &str, token: Option<&str>) -> Result<Client, ClientError> {
        let address = address_for(text, token.is_some())?;
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
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
            Connections::Tls(Pool::builder(executor).build(connector))
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
    #[must_use]
    pub const fn address(&self) -> &Uri {
        &self.address
    }

    /// Posts a body to a URL of the server.
    ///
    /// # Errors
    /// When there is no response.
    pub async fn post(
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

    /// Sends a request with the bearer token, if there is one.
    ///
    /// # Errors
    /// When there is no response.
    pub async fn send_authorized(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, CallError> {
        if let Some(bearer) = &self.bearer {
            request.headers_mut().insert(header::AUTHORIZATION, bearer.clone());
        }
        self.send(request).await
    }

    /// Gets the server's own address.
    ///
    /// # Errors
    /// When there is no response.
    pub async fn get(&self) -> Result<Response<Incoming>, CallError> {
        let mut request = Request::get(self.address.clone()).body(Full::default())?;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::ACCEPT, json);
        self.send(request).await
    }

    /// Sends a request.
    ///
    /// # Errors
    /// When there is no response.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, CallError> {
        let answer = match &self.pool {
            Connections::Plain(pool) => pool.request(request).await,
            Connections::Tls(pool) => pool.request(request).await,
        };
        Ok(answer?)
    }
}

/// Reads a whole body up to a maximum length.
///
/// # Errors
/// When it is too long or ends early.
pub async fn read_whole(body: Incoming, bytes_max: usize) -> Result<Bytes, CallError> {
    Ok(Limited::new(body, bytes_max).collect().await?.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_https_addresses_without_credentials_are_accepted_s7() {
        for good in ["http://127.0.0.1:1/mcp", "https://tools.example.com/mcp"] {
            address(good).unwrap();
        }
        for bad in ["", "file:///etc/passwd", "ftp://x/", "x", "/mcp", "http://user:pass@x/mcp"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_secure_address_is_https_or_this_machine() {
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
    fn a_token_is_never_sent_unencrypted_s7() {
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
