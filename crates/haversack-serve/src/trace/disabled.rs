//! No traces: a program that was built without the feature `otlp`. All of this is nothing when it is
//! compiled.

use axum::http::Method;
use haversack::pipeline::Watch;

use super::Traceparent;
use crate::config::ConfigError;
use crate::route::Route;

/// Nothing is sent.
#[derive(Debug, Default)]
pub(crate) struct Tracer(());

impl Tracer {
    #[expect(clippy::unnecessary_wraps, reason = "the one that sends may fail here")]
    pub(crate) fn open(_: &str) -> Result<Tracer, ConfigError> {
        Ok(Tracer(()))
    }

    pub(crate) fn request(&self, _: &Route, _: &Method, _: Option<&Traceparent>) -> Span {
        Span(())
    }

    pub(crate) async fn close(&self) {}
}

/// Nothing is noted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Span(());

impl Span {
    pub(crate) fn called(
        &self,
        _: &'static str,
        _: Option<&'static str>,
        _: Option<&Traceparent>,
    ) -> Span {
        Span(())
    }

    pub(crate) fn watch(&self, watch: Option<Watch>) -> Option<Watch> {
        watch
    }

    pub(crate) fn answered(&self, _: u16) {}

    pub(crate) fn ended(&self, _: Option<&'static str>) {}
}
