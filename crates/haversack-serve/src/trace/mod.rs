//! Traces: the caller's trace id (W3C Trace Context) and, with the feature `otlp`, spans for an
//! OpenTelemetry collector. Spans hold no text, query, user or workspace, only names of routes, tools and
//! stages.

#[cfg(not(feature = "otlp"))]
mod disabled;
#[cfg(feature = "otlp")]
mod enabled;

use axum::http::HeaderMap;

#[cfg(not(feature = "otlp"))]
pub(crate) use disabled::{NoTraceSender as TraceSender, NoTraceSpan as TraceSpan};
#[cfg(feature = "otlp")]
pub(crate) use enabled::{TraceSender, TraceSpan};

/// Whether this program can send traces: whether it was built with the feature `otlp`.
pub const CAN_SEND: bool = cfg!(feature = "otlp");

/// Longest header that is parsed. Later versions may append fields.
const BYTES_MAX: usize = 256;

/// A checked `traceparent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Traceparent(String);

impl Traceparent {
    /// Reads the header.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Traceparent> {
        let mut all = headers.get_all("traceparent").iter();
        // Two headers are ambiguous.
        let only = all.next().filter(|_| all.next().is_none());
        Traceparent::parse(only?.to_str().ok()?)
    }

    /// Parses `version-trace-parent-flags`. Invalid values are ignored, as the standard requires.
    pub(crate) fn parse(text: &str) -> Option<Traceparent> {
        let hex = |text: &str, digits: usize| {
            text.len() == digits && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
        };
        let some = |text: &str| text.bytes().any(|c| c != b'0');
        if text.len() > BYTES_MAX {
            return None;
        }
        let mut parts = text.split('-');
        let (version, trace) = (parts.next()?, parts.next()?);
        let (parent, flags) = (parts.next()?, parts.next()?);
        let sound = hex(version, 2) && hex(trace, 32) && hex(parent, 16) && hex(flags, 2);
        let named = some(trace) && some(parent) && version != "ff";
        // Version 00 has no further fields.
        let ends = version != "00" || parts.next().is_none();
        (sound && named && ends).then(|| Traceparent(format!("{version}-{trace}-{parent}-{flags}")))
    }

    /// The trace's id.
    pub(crate) fn trace(&self) -> &str {
        &self.0[3..35]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn the_trace_of_a_caller_is_read_or_left_out() {
        let read = Traceparent::parse(GOOD).unwrap();
        assert_eq!(read.trace(), "4bf92f3577b34da6a3ce929d0e0e4736");
        let later = GOOD.replacen("00", "cc", 1) + "-more";
        assert_eq!(Traceparent::parse(&later).unwrap().trace(), read.trace());
        for bad in [
            "",
            "00",
            &GOOD[1..],
            &GOOD.to_uppercase(),
            &GOOD.replacen("00", "ff", 1),
            &format!("{GOOD}-more"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
            &(GOOD.replacen("00", "cc", 1) + "-" + &"x".repeat(300)),
        ] {
            assert_eq!(Traceparent::parse(bad), None, "{bad}");
        }
        let mut headers = HeaderMap::new();
        headers.append("traceparent", GOOD.parse().unwrap());
        assert!(Traceparent::from_headers(&headers).is_some());
        headers.append("traceparent", GOOD.parse().unwrap());
        assert_eq!(Traceparent::from_headers(&headers), None, "two");
    }
}
