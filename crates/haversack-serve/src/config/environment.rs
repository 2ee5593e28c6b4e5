//! Settings in the environment: `HAVERSACK_`, section and name, in capitals. Other variables with that
//! prefix are refused, because an ignored setting may leave a server open.

use std::collections::BTreeMap;

use haversack_core::text::spelling::nearest;
use serde_json::Value;

use super::{COLLECTOR, Config, ConfigError};
use crate::trace::CAN_SEND;

/// The prefix of variables.
const PREFIX: &str = "HAVERSACK_";

/// Names that other parts of Haversack and its tests use.
const OTHER_NAMES: &[&str] = &[
    "BIN",
    "BLESS",
    "CACHE",
    "CANARY_CALLS",
    "CASES",
    "CLUSTER_OPERATIONS",
    "CONFIG",
    "CRASH_CYCLES",
    "CRASH_FOLDER",
    "CRASH_STEPS",
    "DATA",
    "FLIPS",
    "GRAPHS",
    "HOLD_FOLDER",
    "KEY",
    "LIMITED_FOLDER",
    "MODEL_SEEDS",
    "PROVIDERS",
    "SEED",
    "SERVER",
];

/// The prefix of names that benchmarks use.
const BENCHMARKS: &str = "BENCH_";

/// Applies the environment to a configuration.
pub(super) fn apply(
    mut config: Config,
    environment: &BTreeMap<String, String>,
) -> Result<Config, ConfigError> {
    let shape = |error: serde_json::Error| ConfigError::Value {
        name: "configuration",
        message: error.to_string(),
    };
    for (name, text) in environment {
        let Some(rest) = name.strip_prefix(PREFIX) else { continue };
        if is_used_elsewhere(rest) || is_from_kubernetes(rest, text) {
            continue;
        }
        let (section, key) = rest.split_once('_').unwrap_or((rest, ""));
        let (section, key) = (section.to_lowercase(), key.to_lowercase());
        let mut whole = config.clone();
        whole.jwt.get_or_insert_default();
        whole.journal.get_or_insert_default();
        let mut value = serde_json::to_value(&whole).map_err(shape)?;
        let wrong = |message: String| ConfigError::Variable { name: name.clone(), message };
        let Some(known) = value.get_mut(&section).and_then(|section| section.get_mut(&key)) else {
            return Err(wrong(unknown_name(name, &value)));
        };
        *known = convert(known, text);
        let whole: Config =
            serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        let jwt = if section == "jwt" { whole.jwt } else { config.jwt };
        let journal = if section == "journal" { whole.journal } else { config.journal };
        config = Config { jwt, journal, ..whole };
    }
    // It is often set for all programs of a machine, so a build without traces ignores it.
    if CAN_SEND && config.log.otlp.is_empty() {
        config.log.otlp = environment.get(COLLECTOR).cloned().unwrap_or_default();
    }
    Ok(config)
}

fn is_used_elsewhere(rest: &str) -> bool {
    OTHER_NAMES.contains(&rest) || rest.starts_with(BENCHMARKS)
}

/// Whether Kubernetes set the variable for a service named `haversack…`, as it does in all containers:
/// `HAVERSACK_SERVICE_HOST`, `HAVERSACK_PORT_7077_TCP_ADDR`. A port set by a person would be a plain
/// number.
fn is_from_kubernetes(rest: &str, text: &str) -> bool {
    let numbered = rest.split_once("PORT_").is_some_and(|(_, after)| {
        let (number, protocol) = after.split_once('_').unwrap_or((after, ""));
        let known = ["TCP", "UDP", "SCTP"].iter().any(|known| protocol.starts_with(known));
        known && number.parse::<u16>().is_ok()
    });
    let address = (rest == "PORT" || rest.ends_with("_PORT")) && text.contains("://");
    numbered || address || rest.ends_with("SERVICE_HOST") || rest.contains("SERVICE_PORT")
}

/// The message for an unknown name; `value` has all known ones.
fn unknown_name(name: &str, value: &Value) -> String {
    let mut known: Vec<String> = OTHER_NAMES.iter().map(|rest| format!("{PREFIX}{rest}")).collect();
    for (section, names) in value.as_object().into_iter().flatten() {
        for key in names.as_object().into_iter().flat_map(|names| names.keys()) {
            known.push(format!("{PREFIX}{section}_{key}").to_uppercase());
        }
    }
    let near = nearest(name, known.iter().map(|known| (&**known, &**known)));
    match near.first() {
        Some(near) => format!("is not known; did you mean {near}?"),
        None => "is not known; `haversack config check` shows all settings".to_owned(),
    }
}

/// Converts a variable to the type of its default. If that fails, it stays a text, which is refused
/// later with the reason.
fn convert(default: &Value, text: &str) -> Value {
    match default {
        // Only numbers have no default.
        Value::Number(_) | Value::Null => {
            text.parse().map_or_else(|_| Value::String(text.to_owned()), Value::Number)
        }
        Value::Array(_) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.map(|part| Value::String(part.to_owned())).collect()
        }
        _ => Value::String(text.to_owned()),
    }
}
