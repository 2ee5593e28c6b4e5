//! Calls over HTTP: to the wrapped server, or to a Haversack server that assembles. No redirects are
//! followed, and addresses come from the settings alone.

use std::fmt;
use std::time::Duration;

use axum::http::{HeaderValue, Request, Response, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::GatewayError;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// A client of one server.
pub(super) struct Client {
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
pub(super) fn address(text: &str) -> Result<Uri, GatewayError> {
    let wrong = |why| GatewayError::Address { address: text.to_owned(), why };
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

/// Why a call got no answer.
pub(super) type CallError = Box<dyn std::error::Error + Send + Sync>;

impl Client {
    /// A client of the server at this address.
    pub(super) fn new(text: &str, token: Option<&str>) -> Result<Client, GatewayError> {
        let address = address(text)?;
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        let executor = TokioExecutor::new();
        let pool = if address.scheme_str() == Some("https") {
            connector.enforce_http(false);
            let connector = HttpsConnectorBuilder::new()
                .with_native_roots()
                .map_err(GatewayError::Certificates)?
                .https_only()
                .enable_http1()
                .wrap_connector(connector);
            Connections::Secret(Pool::builder(executor).build(connector))
        } else {
            Connections::Plain(Pool::builder(executor).build(connector))
        };
        let bearer = token.map(|token| {
            let wrong = |_| super::SettingsError::Value {
                name: "bearer",
                message: "the token holds more than visible ASCII".to_owned(),
            };
            let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(wrong)?;
            value.set_sensitive(true);
            Ok::<HeaderValue, super::SettingsError>(value)
        });
        Ok(Client { pool, address, bearer: bearer.transpose()? })
    }

    /// The server's address.
    pub(super) const fn address(&self) -> &Uri {
        &self.address
    }

    /// Sends a body to a path of the server, or to its own address.
    pub(super) async fn post(
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
        let answer = match &self.pool {
            Connections::Plain(pool) => pool.request(request).await,
            Connections::Secret(pool) => pool.request(request).await,
        };
        Ok(answer?)
    }
}

/// A whole body, if it is not too long.
pub(super) async fn whole(body: Incoming, bytes_max: usize) -> Result<Bytes, CallError> {
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
}
