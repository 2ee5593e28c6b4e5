//! Traces: the caller's own name for what it does across servers (W3C Trace Context), and, with the
//! feature `otlp`, spans of it for an OpenTelemetry collector. No text, query, user or workspace is
//! in a span: routes are told as patterns, tools and steps by name.

#[cfg(not(feature = "otlp"))]
mod disabled;
#[cfg(feature = "otlp")]
mod enabled;

use axum::http::HeaderMap;

#[cfg(not(feature = "otlp"))]
pub(crate) use disabled::{Span, Tracer};
#[cfg(feature = "otlp")]
pub(crate) use enabled::{Span, Tracer};

/// Whether this program can send traces: whether it was built with the feature `otlp`.
pub const CAN_SEND: bool = cfg!(feature = "otlp");

/// Longest header that is looked at. Versions to come may say more after what is known.
const BYTES_MAX: usize = 256;

/// What a caller says of the trace that a request is part of: `traceparent`, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Traceparent(String);

impl Traceparent {
    /// What the headers say.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Traceparent> {
        let mut all = headers.get_all("traceparent").iter();
        // Of two, nobody knows which.
        let only = all.next().filter(|_| all.next().is_none());
        Traceparent::parse(only?.to_str().ok()?)
    }

    /// Reads `version-trace-parent-flags`. What is wrong is left out, as the standard has it.
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
        // The first version says no more than this.
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
        assert!(Traceparent::of(&headers).is_some());
        headers.append("traceparent", GOOD.parse().unwrap());
        assert_eq!(Traceparent::of(&headers), None, "two");
    }
}
