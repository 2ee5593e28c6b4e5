//! The web inspector: a page with its style and scripts, which are in the program. It holds no data;
//! what it shows it asks from the other routes, with the reader's own key.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::call::{Answer, Call};
use crate::codes::Code;
use crate::problem::Problem;

pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const CSS: &str = "text/css; charset=utf-8";
pub(crate) const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
pub(crate) const SVG: &str = "image/svg+xml";

/// What goes with every file. Texts of the store come onto the page, so nothing may run, load or be
/// asked but what this server gives, and no other page may hold this one.
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
struct File {
    name: &'static str,
    text: &'static str,
}

impl File {
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
        &[$(File { name: $name, text: include_str!($name) }),*]
    };
}

static PAGE: File = File { name: "index.html", text: include_str!("index.html") };

/// What the page is made of beside itself. What is not listed here cannot be asked for.
static FILES: &[File] = files![
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
];

/// The names of the files.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|file| file.name)
}

pub(crate) fn page(call: Call) -> BoxFuture<'static, Answer> {
    async move { Ok(answer(&call, &PAGE)) }.boxed()
}

pub(crate) fn file(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let name = call.parameter("file");
        match FILES.iter().find(|file| file.name == name) {
            Some(file) => Ok(answer(&call, file)),
            None => Err(Problem::new(Code::NotFound, "the inspector has no such file")),
        }
    }
    .boxed()
}

fn answer(call: &Call, file: &File) -> Response {
    let tag = format!("\"{}\"", &blake3::hash(file.text.as_bytes()).to_hex()[..32]);
    let mut response = if call.has(&tag) {
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
