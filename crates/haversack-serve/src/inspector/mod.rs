//! The web inspector: a page with embedded style and scripts. It holds no data and requests everything
//! from the other routes with the user's own key.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::call::{Call, RouteResult};
use crate::codes::Code;
use crate::problem::ApiProblem;

pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const CSS: &str = "text/css; charset=utf-8";
pub(crate) const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
pub(crate) const SVG: &str = "image/svg+xml";

/// Headers of every file. The page shows untrusted texts, so it may run and load only files of this
/// server, and no other page may embed it.
const HEADERS: [(HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-cache"),
];

/// A file of the page.
struct InspectorFile {
    name: &'static str,
    text: &'static str,
}

impl InspectorFile {
    fn media_type(&self) -> &'static str {
        match self.name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => HTML,
            Some("css") => CSS,
            Some("js") => JAVASCRIPT,
            _ => SVG,
        }
    }
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(InspectorFile { name: $name, text: include_str!($name) }),*]
    };
}

static PAGE: InspectorFile = InspectorFile { name: "index.html", text: include_str!("index.html") };

/// The files of the page. Only these can be requested.
static FILES: &[InspectorFile] = files![
    "api.js",
    "dom.js",
    "form.js",
    "format.js",
    "frontier-view.js",
    "icon.svg",
    "inspector.css",
    "ledger-view.js",
    "look-back.js",
    "main.js",
    "pack-view.js",
    "problem.js",
    "sheet.js",
    "store-views.js",
    "summary.js",
    "tabs.js",
    "upload-view.js",
];

/// The names of the files.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|file| file.name)
}

pub(crate) fn page(call: Call) -> BoxFuture<'static, RouteResult> {
    async move { Ok(answer(&call, &PAGE)) }.boxed()
}

pub(crate) fn file(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let name = call.parameter("file");
        match FILES.iter().find(|file| file.name == name) {
            Some(file) => Ok(answer(&call, file)),
            None => Err(ApiProblem::new(Code::NotFound, "the inspector has no such file")),
        }
    }
    .boxed()
}

fn answer(call: &Call, file: &InspectorFile) -> Response {
    let tag = format!("\"{}\"", &blake3::hash(file.text.as_bytes()).to_hex()[..32]);
    let mut response = if call.has_tag(&tag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        let mut response = Response::new(Body::from(file.text));
        let media_type = HeaderValue::from_static(file.media_type());
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        response
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
