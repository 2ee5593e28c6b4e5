//! Spans and their export to a collector: protobuf over HTTP, with the server's own HTTP client.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use axum::http::{Method, Request, Response};
use bytes::Bytes;
use haversack::pipeline::StageObserver;
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
use crate::client::{CallError, Client, read_whole};
use crate::config::ConfigError;
use crate::route::Route;

/// Timeout of an export, and of the last one at shutdown.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest response of a collector.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Creates spans and sends them in batches; off without a collector.
#[derive(Debug, Default)]
pub(crate) struct TraceSender(Option<(SdkTracerProvider, SdkTracer)>);

impl TraceSender {
    /// Sends spans to the collector at this address, such as `http://127.0.0.1:4318`; off if it is
    /// empty. The collector need not run yet.
    pub(crate) fn open(collector: &str) -> Result<TraceSender, ConfigError> {
        if collector.is_empty() {
            return Ok(TraceSender(None));
        }
        let wrong = |message: String| ConfigError::Value { name: "log.otlp", message };
        let address = format!("{}/v1/traces", collector.trim_end_matches('/'));
        let http_client = ExportClient {
            client: Arc::new(
                Client::new(&address, None).map_err(|error| wrong(error.to_string()))?,
            ),
            runtime: Handle::current(),
            is_failing: AtomicBool::new(false),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(http_client)
            .with_endpoint(address)
            .with_protocol(Protocol::HttpBinary)
            .build()
            .map_err(|error| wrong(error.to_string()))?;
        let resource = Resource::builder_empty()
            .with_service_name("haversack")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            // The environment may override the name.
            .with_detector(Box::new(EnvResourceDetector::new()))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        let tracer = provider.tracer("haversack");
        Ok(TraceSender(Some((provider, tracer))))
    }

    /// Begins the span of a request. Public routes such as health checks have none.
    pub(crate) fn request(
        &self,
        route: &Route,
        method: &Method,
        parent: Option<&Traceparent>,
    ) -> TraceSpan {
        let Some((_, tracer)) = self.0.as_ref().filter(|_| route.scope.is_some()) else {
            return TraceSpan(None);
        };
        let method = method.as_str().to_owned();
        let attributes = [
            KeyValue::new("http.request.method", method.clone()),
            KeyValue::new("http.route", route.path),
        ];
        let within = parent.map_or_else(Context::new, remote);
        let name = format!("{method} {}", route.path);
        TraceSpan::begin(tracer, name, attributes.to_vec(), &within)
    }

    /// Sends the remaining spans.
    pub(crate) async fn close(&self) {
        let Some((provider, _)) = &self.0 else { return };
        let provider = provider.clone();
        let closing = move || provider.shutdown_with_timeout(EXPORT_TIMEOUT);
        match tokio::task::spawn_blocking(closing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(target: "haversack", %error, "some traces were not sent");
            }
            Err(error) => tracing::error!(target: "haversack", %error, "a blocking task failed"),
        }
    }
}

/// The remote parent of a span.
fn remote(parent: &Traceparent) -> Context {
    let text = &parent.0;
    // The text was checked, so parsing cannot fail.
    let trace = TraceId::from_hex(&text[3..35]).unwrap_or(TraceId::INVALID);
    let span = SpanId::from_hex(&text[36..52]).unwrap_or(SpanId::INVALID);
    let flags = u8::from_str_radix(&text[53..55], 16).unwrap_or_default();
    // Only one flag is defined.
    let flags = TraceFlags::new(flags) & TraceFlags::SAMPLED;
    let place = SpanContext::new(trace, span, flags, true, TraceState::default());
    Context::new().with_remote_span_context(place)
}

/// A span of a request or call.
#[derive(Debug, Clone, Default)]
pub(crate) struct TraceSpan(Option<Arc<OpenSpan>>);

#[derive(Debug)]
struct OpenSpan {
    tracer: SdkTracer,
    context: Context,
}

impl TraceSpan {
    fn begin(
        tracer: &SdkTracer,
        name: String,
        attributes: Vec<KeyValue>,
        within: &Context,
    ) -> TraceSpan {
        let builder = tracer.span_builder(name).with_kind(SpanKind::Server);
        let span = builder.with_attributes(attributes).start_with_context(tracer, within);
        let context = Context::new().with_span(span);
        TraceSpan(Some(Arc::new(OpenSpan { tracer: tracer.clone(), context })))
    }

    /// Begins the span of an MCP call, below the request or the parent that the call names.
    pub(crate) fn begin_call(
        &self,
        method: &'static str,
        tool: Option<&'static str>,
        parent: Option<&Traceparent>,
    ) -> TraceSpan {
        let Some(open) = &self.0 else { return TraceSpan(None) };
        let mut attributes = vec![KeyValue::new("mcp.method.name", method)];
        attributes.extend(tool.map(|tool| KeyValue::new("gen_ai.tool.name", tool)));
        let name = tool.map_or_else(|| method.to_owned(), |tool| format!("{method} {tool}"));
        let within = parent.map_or_else(|| open.context.clone(), remote);
        TraceSpan::begin(&open.tracer, name, attributes, &within)
    }

    /// Records each stage of a pack as a child span, and calls the other watch.
    pub(crate) fn watch(&self, watch: Option<StageObserver>) -> Option<StageObserver> {
        let sampled = |open: &&Arc<OpenSpan>| open.context.span().span_context().is_sampled();
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

    /// Ends the span of a request.
    pub(crate) fn end_with_status(&self, status: u16) {
        let Some(open) = &self.0 else { return };
        let span = open.context.span();
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
        if status >= 500 {
            span.set_status(Status::error(""));
        }
        span.end();
    }

    /// Ends the span of a call.
    pub(crate) fn end_with_problem(&self, problem: Option<&'static str>) {
        let Some(open) = &self.0 else { return };
        let span = open.context.span();
        if let Some(problem) = problem {
            span.set_attribute(KeyValue::new("error.type", problem));
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

/// Sends batches to the collector, from a thread outside the runtime.
#[derive(Debug)]
struct ExportClient {
    client: Arc<Client>,
    runtime: Handle,
    is_failing: AtomicBool,
}

type ExportFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl HttpClient for ExportClient {
    fn send_bytes<'life0, 'async_trait>(
        &'life0 self,
        request: Request<Bytes>,
    ) -> ExportFuture<'async_trait>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let client = Arc::clone(&self.client);
            let sending = self.runtime.spawn(async move {
                match tokio::time::timeout(EXPORT_TIMEOUT, send_batch(&client, request)).await {
                    Ok(sent) => sent,
                    Err(_) => Err(format!("no answer within {EXPORT_TIMEOUT:?}").into()),
                }
            });
            let sent = sending.await.map_err(Into::into).flatten();
            let failure = match &sent {
                Ok(answer) if answer.status().is_success() => None,
                Ok(answer) => Some(format!("it answered {}", answer.status())),
                Err(error) => Some(error.to_string()),
            };
            // Logged once per outage.
            let was_failing = self.is_failing.swap(failure.is_some(), Ordering::Relaxed);
            if let Some(error) = failure.filter(|_| !was_failing) {
                tracing::warn!(target: "haversack", error, "the collector does not take traces");
            }
            sent
        })
    }
}

async fn send_batch(
    client: &Client,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, CallError> {
    let (head, body) = client.send(request.map(Full::new)).await?.into_parts();
    Ok(Response::from_parts(head, read_whole(body, ANSWER_BYTES_MAX).await?))
}
