//! Traces without the feature `otlp`: everything compiles to nothing.

use axum::http::Method;
use haversack::pipeline::StageObserver;

use super::Traceparent;
use crate::config::ConfigError;
use crate::route::Route;

/// Sends nothing.
#[derive(Debug, Default)]
pub(crate) struct NoTraceSender(());

impl NoTraceSender {
    #[expect(clippy::unnecessary_wraps, reason = "the one that sends may fail here")]
    pub(crate) fn open(_: &str) -> Result<NoTraceSender, ConfigError> {
        Ok(NoTraceSender(()))
    }

    pub(crate) fn request(&self, _: &Route, _: &Method, _: Option<&Traceparent>) -> NoTraceSpan {
        NoTraceSpan(())
    }

    pub(crate) async fn close(&self) {}
}

/// Records nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct NoTraceSpan(());

impl NoTraceSpan {
    pub(crate) fn begin_call(
        &self,
        _: &'static str,
        _: Option<&'static str>,
        _: Option<&Traceparent>,
    ) -> NoTraceSpan {
        NoTraceSpan(())
    }

    pub(crate) fn watch(&self, watch: Option<StageObserver>) -> Option<StageObserver> {
        watch
    }

    pub(crate) fn end_with_status(&self, _: u16) {}

    pub(crate) fn end_with_problem(&self, _: Option<&'static str>) {}
}
