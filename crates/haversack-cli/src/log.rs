//! Log lines as JSON, one object per event, with objects where a field is one.

use std::fmt;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Fields that are maps of figures: their text is JSON, and an object on the line (P13).
const OBJECTS: [&str; 1] = ["categories"];

/// Writes events as JSON.
pub(crate) struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut line = JsonFields(Map::new());
        line.0.insert("timestamp".to_owned(), json!(time));
        line.0.insert("level".to_owned(), json!(event.metadata().level().as_str()));
        event.record(&mut line);
        writeln!(writer, "{}", Value::Object(line.0))
    }
}

/// The fields of one event.
struct JsonFields(Map<String, Value>);

impl JsonFields {
    fn insert(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for JsonFields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, json!(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, json!(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        let object = OBJECTS.contains(&field.name()).then(|| serde_json::from_str(&text).ok());
        self.insert(field, object.flatten().unwrap_or(Value::String(text)));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io;
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct CapturedLog(Arc<Mutex<Vec<u8>>>);

    impl io::Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn categories_are_an_object_p13() {
        let captured = CapturedLog::default();
        let writer = captured.clone();
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(move || writer.clone())
            .event_format(JsonLines);
        let categories = BTreeMap::from([("products", 7), ("deal \"A\"", 2)]);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
            tracing::info!(
                event = "context_assembled",
                totalTokens = 9_u32,
                truncated = false,
                latencyMs = 1.5,
                categories = ?categories,
                "context assembled"
            );
        });
        let text = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        let mut line: Value = serde_json::from_str(&text).unwrap();
        let time = line.as_object_mut().unwrap().shift_remove("timestamp").unwrap();
        assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
        let expected = json!({
            "level": "INFO",
            "message": "context assembled",
            "event": "context_assembled",
            "totalTokens": 9,
            "truncated": false,
            "latencyMs": 1.5,
            "categories": { "products": 7, "deal \"A\"": 2 },
        });
        assert_eq!(line, expected);
    }
}
