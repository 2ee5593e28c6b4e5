//! Spans, and the way to a collector: protobuf over HTTP, with the client that the server has for all
//! its calls.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use axum::http::{Method, Request, Response};
use bytes::Bytes;
use haversack::pipeline::Watch;
use http_body_util::Full;
use opentelemetry::trace::{
    Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId,
    TraceState, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;

use super::Traceparent;
use crate::client::{CallError, Client, whole};
use crate::config::ConfigError;
use crate::route::Route;

/// How long a collector may take, and how long is waited for it at the end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Longest answer of a collector.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Makes spans, and sends them in batches; off when there is no collector.
#[derive(Debug, Default)]
pub(crate) struct Tracer(Option<(SdkTracerProvider, SdkTracer)>);

impl Tracer {
    /// Spans for the collector at this address, such as `http://127.0.0.1:4318`; none when it is
    /// empty. It need not be there yet.
    pub(crate) fn open(collector: &str) -> Result<Tracer, ConfigError> {
        if collector.is_empty() {
            return Ok(Tracer(None));
        }
        let wrong = |message: String| ConfigError::Value { name: "log.otlp", message };
        let address = format!("{}/v1/traces", collector.trim_end_matches('/'));
        let courier = Courier {
            client: Arc::new(
                Client::new(&address, None).map_err(|error| wrong(error.to_string()))?,
            ),
            runtime: Handle::current(),
            is_failing: AtomicBool::new(false),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(courier)
            .with_endpoint(address)
            .with_protocol(Protocol::HttpBinary)
            .build()
            .map_err(|error| wrong(error.to_string()))?;
        let resource = Resource::builder_empty()
            .with_service_name("haversack")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            // Whoever runs it may call it otherwise.
            .with_detector(Box::new(EnvResourceDetector::new()))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        let tracer = provider.tracer("haversack");
        Ok(Tracer(Some((provider, tracer))))
    }

    /// The span of a request. What anybody may ask, such as for health, leaves none.
    pub(crate) fn request(
        &self,
        route: &Route,
        method: &Method,
        parent: Option<&Traceparent>,
    ) -> Span {
        let Some((_, tracer)) = self.0.as_ref().filter(|_| route.scope.is_some()) else {
            return Span(None);
        };
        let method = method.as_str().to_owned();
        let attributes = [
            KeyValue::new("http.request.method", method.clone()),
            KeyValue::new("http.route", route.path),
        ];
        let within = parent.map_or_else(Context::new, remote);
        let name = format!("{method} {}", route.path);
        Span::begin(tracer, name, attributes.to_vec(), &within)
    }

    /// Sends what waits.
    pub(crate) async fn close(&self) {
        let Some((provider, _)) = &self.0 else { return };
        let provider = provider.clone();
        let closing = move || provider.shutdown_with_timeout(PATIENCE);
        match tokio::task::spawn_blocking(closing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(target: "haversack", %error, "some traces were not sent");
            }
            Err(error) => tracing::error!(target: "haversack", %error, "work broke off"),
        }
    }
}

/// The place in a trace of somebody else.
fn remote(parent: &Traceparent) -> Context {
    let text = &parent.0;
    // What was checked reads; what would not is nobody's span.
    let trace = TraceId::from_hex(&text[3..35]).unwrap_or(TraceId::INVALID);
    let span = SpanId::from_hex(&text[36..52]).unwrap_or(SpanId::INVALID);
    let flags = u8::from_str_radix(&text[53..55], 16).unwrap_or_default();
    // Of the flags one is known.
    let flags = TraceFlags::new(flags) & TraceFlags::SAMPLED;
    let place = SpanContext::new(trace, span, flags, true, TraceState::default());
    Context::new().with_remote_span_context(place)
}

/// Something that is done, with its beginning and end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Span(Option<Arc<Open>>);

#[derive(Debug)]
struct Open {
    tracer: SdkTracer,
    context: Context,
}

impl Span {
    fn begin(
        tracer: &SdkTracer,
        name: String,
        attributes: Vec<KeyValue>,
        within: &Context,
    ) -> Span {
        let builder = tracer.span_builder(name).with_kind(SpanKind::Server);
        let span = builder.with_attributes(attributes).start_with_context(tracer, within);
        let context = Context::new().with_span(span);
        Span(Some(Arc::new(Open { tracer: tracer.clone(), context })))
    }

    /// A call of MCP within a request, or within what the call itself says it is part of.
    pub(crate) fn called(
        &self,
        method: &'static str,
        tool: Option<&'static str>,
        parent: Option<&Traceparent>,
    ) -> Span {
        let Some(open) = &self.0 else { return Span(None) };
        let mut attributes = vec![KeyValue::new("mcp.method.name", method)];
        attributes.extend(tool.map(|tool| KeyValue::new("gen_ai.tool.name", tool)));
        let name = tool.map_or_else(|| method.to_owned(), |tool| format!("{method} {tool}"));
        let within = parent.map_or_else(|| open.context.clone(), remote);
        Span::begin(&open.tracer, name, attributes, &within)
    }

    /// Notes each step of a pack as a span within this one, and tells whoever else watches.
    pub(crate) fn watch(&self, watch: Option<Watch>) -> Option<Watch> {
        let sampled = |open: &&Arc<Open>| open.context.span().span_context().is_sampled();
        let Some(open) = self.0.as_ref().filter(sampled).cloned() else { return watch };
        Some(Arc::new(move |step, took| {
            let end = SystemTime::now();
            let start = end.checked_sub(took).unwrap_or(end);
            let builder = open.tracer.span_builder(step).with_start_time(start);
            let mut span = builder.start_with_context(&open.tracer, &open.context);
            span.end_with_timestamp(end);
            if let Some(watch) = &watch {
                watch(step, took);
            }
        }))
    }

    /// A request was answered.
    pub(crate) fn answered(&self, status: u16) {
        let Some(open) = &self.0 else { return };
        let span = open.context.span();
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
        if status >= 500 {
            span.set_status(Status::error(""));
        }
        span.end();
    }

    /// A call came to its end, with a problem or without.
    pub(crate) fn ended(&self, problem: Option<&'static str>) {
        let Some(open) = &self.0 else { return };
        let span = open.context.span();
        if let Some(problem) = problem {
            span.set_attribute(KeyValue::new("error.type", problem));
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

/// Brings batches to the collector. They come from a thread that is not the runtime's.
#[derive(Debug)]
struct Courier {
    client: Arc<Client>,
    runtime: Handle,
    is_failing: AtomicBool,
}

type Brought<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl HttpClient for Courier {
    fn send_bytes<'life0, 'async_trait>(
        &'life0 self,
        request: Request<Bytes>,
    ) -> Brought<'async_trait>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let client = Arc::clone(&self.client);
            let bringing = self.runtime.spawn(async move {
                match tokio::time::timeout(PATIENCE, bring(&client, request)).await {
                    Ok(brought) => brought,
                    Err(_) => Err(format!("no answer within {PATIENCE:?}").into()),
                }
            });
            let brought = bringing.await.map_err(Into::into).flatten();
            let failure = match &brought {
                Ok(answer) if answer.status().is_success() => None,
                Ok(answer) => Some(format!("it answered {}", answer.status())),
                Err(error) => Some(error.to_string()),
            };
            // Told once, and again when it went well in between.
            let was_failing = self.is_failing.swap(failure.is_some(), Ordering::Relaxed);
            if let Some(error) = failure.filter(|_| !was_failing) {
                tracing::warn!(target: "haversack", error, "the collector does not take traces");
            }
            brought
        })
    }
}

async fn bring(client: &Client, request: Request<Bytes>) -> Result<Response<Bytes>, CallError> {
    let (head, body) = client.send(request.map(Full::new)).await?.into_parts();
    Ok(Response::from_parts(head, whole(body, ANSWER_BYTES_MAX).await?))
}
