//! A client of a Haversack server's own HTTP interface: JSON in, JSON out, within a deadline.

use std::time::Duration;

use axum::http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use bytes::Bytes;
use http_body_util::Full;
use serde_json::Value;
use thiserror::Error;

use crate::client::{Client, ClientError, read_whole};

/// Time limit for one call, connecting included.
const DEADLINE: Duration = Duration::from_secs(300);

/// Longest response that is read.
const RESPONSE_BYTES_MAX: usize = 256 << 20;

/// Why a call to a Haversack server failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ApiError {
    /// Nothing answered at the address.
    #[error("cannot reach the server at {url}: {cause}")]
    Unreachable {
        /// The server's address.
        url: String,
        /// What went wrong on the way.
        cause: String,
    },
    /// The server did not answer in time.
    #[error("the server at {url} did not answer within {seconds} s")]
    TimedOut {
        /// The server's address.
        url: String,
        /// The time limit.
        seconds: u64,
    },
    /// The server refused the request.
    #[error("{}{detail}", field_prefix(field.as_deref()))]
    Refused {
        /// The status of the response.
        status: u16,
        /// The stable code of the problem.
        code: String,
        /// What is wrong in this case.
        detail: String,
        /// The field it is about.
        field: Option<String>,
        /// The least budget that would do.
        least: Option<u32>,
        /// The names there are, where one was not found.
        available: Vec<String>,
    },
    /// What answered is not a Haversack server.
    #[error("{url} answered with status {status} and no JSON: is it a Haversack server?")]
    NotHaversack {
        /// The address.
        url: String,
        /// The status of the response.
        status: u16,
    },
}

fn field_prefix(field: Option<&str>) -> String {
    field.map(|field| format!("{field}: ")).unwrap_or_default()
}

impl ApiError {
    /// The code of a problem that the server reported.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            ApiError::Refused { code, .. } => Some(code),
            _ => None,
        }
    }
}

/// One call to the server.
#[derive(Debug, Clone)]
pub struct ApiCall<'c> {
    method: Method,
    /// Path segments, not yet encoded.
    path: &'c [&'c str],
    query: Vec<(&'c str, String)>,
    user: Option<String>,
    groups: Vec<String>,
    body: Option<Value>,
}

impl<'c> ApiCall<'c> {
    fn new(method: Method, path: &'c [&'c str]) -> ApiCall<'c> {
        let (query, groups) = (Vec::new(), Vec::new());
        ApiCall { method, path, query, user: None, groups, body: None }
    }

    /// Reads what is at a path.
    #[must_use]
    pub fn get(path: &'c [&'c str]) -> ApiCall<'c> {
        ApiCall::new(Method::GET, path)
    }

    /// Sends a body to a path.
    #[must_use]
    pub fn post(path: &'c [&'c str], body: Value) -> ApiCall<'c> {
        ApiCall { body: Some(body), ..ApiCall::new(Method::POST, path) }
    }

    /// Sets what is at a path.
    #[must_use]
    pub fn put(path: &'c [&'c str], body: Value) -> ApiCall<'c> {
        ApiCall { body: Some(body), ..ApiCall::new(Method::PUT, path) }
    }

    /// Deletes what is at a path.
    #[must_use]
    pub fn delete(path: &'c [&'c str]) -> ApiCall<'c> {
        ApiCall::new(Method::DELETE, path)
    }

    /// Adds a query parameter.
    #[must_use]
    pub fn with(mut self, name: &'c str, value: impl Into<String>) -> ApiCall<'c> {
        self.query.push((name, value.into()));
        self
    }

    /// Acts as a user in these groups. Only a trusted credential may.
    #[must_use]
    pub fn acting_as(mut self, user: Option<&str>, groups: &[String]) -> ApiCall<'c> {
        self.user = user.map(str::to_owned);
        self.groups = groups.to_vec();
        self
    }
}

/// A client of one Haversack server.
#[derive(Debug)]
pub struct ApiClient {
    client: Client,
    url: String,
}

impl ApiClient {
    /// Makes a client of the server at `url`. The key is sent only over https or to this machine.
    ///
    /// # Errors
    /// When `url` is not an address of http or https, or the key may not be sent there.
    pub fn new(url: &str, key: Option<&str>) -> Result<ApiClient, ClientError> {
        let url = url.trim_end_matches('/');
        Ok(ApiClient { client: Client::new(url, key)?, url: url.to_owned() })
    }

    /// The server's address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Makes a call and returns the JSON of the response; null where the response has no body.
    ///
    /// # Errors
    /// When the server cannot be reached, does not answer in time, or refuses.
    pub async fn send(&self, call: ApiCall<'_>) -> Result<Value, ApiError> {
        let timed_out = |_| {
            let seconds = DEADLINE.as_secs();
            Err(ApiError::TimedOut { url: self.url.clone(), seconds })
        };
        let exchange = self.exchange(call);
        tokio::time::timeout(DEADLINE, exchange).await.unwrap_or_else(timed_out)
    }

    async fn exchange(&self, call: ApiCall<'_>) -> Result<Value, ApiError> {
        let request = self.request(call)?;
        let response = self
            .client
            .send_authorized(request)
            .await
            .map_err(|error| self.unreachable(&*error))?;
        let status = response.status();
        let body = read_whole(response.into_body(), RESPONSE_BYTES_MAX).await;
        let body = body.map_err(|error| self.unreachable(&*error))?;
        if status == StatusCode::NO_CONTENT {
            return Ok(Value::Null);
        }
        let not_json = |_| ApiError::NotHaversack { url: self.url.clone(), status: status.into() };
        let value: Value = serde_json::from_slice(&body).map_err(not_json)?;
        if status.is_success() { Ok(value) } else { Err(refused(status, &value)) }
    }

    fn request(&self, call: ApiCall<'_>) -> Result<Request<Full<Bytes>>, ApiError> {
        let mut target = self.url.clone();
        for segment in call.path {
            target.push('/');
            target.push_str(&percent_encoded(segment));
        }
        for (place, (name, value)) in call.query.iter().enumerate() {
            target.push(if place == 0 { '?' } else { '&' });
            target.push_str(&format!("{name}={}", percent_encoded(value)));
        }
        let uri: Uri = target.parse().map_err(|error| self.unreachable(&error))?;
        let body = call.body.map(|body| body.to_string());
        let mut request = Request::new(Full::new(Bytes::from(body.unwrap_or_default())));
        *request.method_mut() = call.method;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json.clone());
        headers.insert(header::ACCEPT, json);
        let groups: Vec<String> = call.groups.iter().map(|group| percent_encoded(group)).collect();
        let user = call.user.as_deref().map(percent_encoded);
        let groups = Some(groups.join(",")).filter(|groups| !groups.is_empty());
        for (name, text) in [("haversack-user", user), ("haversack-groups", groups)] {
            if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
                headers.insert(name, value);
            }
        }
        Ok(request)
    }

    fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> ApiError {
        // The last cause is the system's own word, such as "Connection refused".
        let mut last = error;
        while let Some(cause) = last.source() {
            last = cause;
        }
        ApiError::Unreachable { url: self.url.clone(), cause: last.to_string() }
    }
}

/// The problem that a response reports.
fn refused(status: StatusCode, problem: &Value) -> ApiError {
    let text = |name: &str| problem.get(name).and_then(Value::as_str).map(str::to_owned);
    let available = problem.get("available").and_then(Value::as_array);
    let names = |names: &Vec<Value>| {
        names.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    ApiError::Refused {
        status: status.as_u16(),
        code: text("code").unwrap_or_else(|| "unknown".to_owned()),
        detail: text("detail").unwrap_or_else(|| format!("the server answered {status}")),
        field: text("field"),
        least: problem.get("least").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()),
        available: available.map(names).unwrap_or_default(),
    }
}

/// A text as one segment of a path, a value of a query or of a header.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') {
            out.push(char::from(byte));
        } else if byte == b'.' && !matches!(text, "." | "..") {
            out.push('.');
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_with_slashes_are_one_segment_of_a_path() {
        assert_eq!(percent_encoded("docs/a b.md"), "docs%2Fa%20b.md");
        assert_eq!(percent_encoded(".."), "%2E%2E");
        assert_eq!(percent_encoded("é?&#%"), "%C3%A9%3F%26%23%25");
    }

    #[test]
    fn a_problem_keeps_its_code_field_and_figures() {
        let problem = json!({
            "code": "budget_too_small", "detail": "9 tokens are too few", "field": "budget",
            "least": 40, "available": ["a", "b"],
        });
        let error = refused(StatusCode::BAD_REQUEST, &problem);
        assert_eq!(error.to_string(), "budget: 9 tokens are too few");
        assert_eq!(error.code(), Some("budget_too_small"));
        let ApiError::Refused { least, available, .. } = error else { panic!("it is refused") };
        assert_eq!((least, available.len()), (Some(40), 2));
    }
}
