//! The request and response headers of operations.

use kit::operations::{Access, Operation, Served};
use serde_json::{Map, Value, json};

/// Adds the request headers of an operation.
pub(super) fn add_parameters(operation: &Operation, described: &mut Value) {
    let mut names = vec!["XRequestId"];
    if operation.idempotent {
        names.push("IdempotencyKey");
    }
    if operation.conditional {
        names.push("IfMatch");
    }
    if operation.served == Served::Replica && operation.is_api() {
        names.push("XConsistency");
    }
    if !described["responses"]["304"].is_null() {
        names.push("IfNoneMatch");
    }
    if !described["parameters"].is_array() {
        described["parameters"] = json!([]);
    }
    if let Some(parameters) = described["parameters"].as_array_mut() {
        parameters.extend(
            names
                .iter()
                .map(|name| json!({"$ref": format!("#/components/parameters/{name}")})),
        );
    }
}

/// The headers of a response beside those of every response.
pub(super) fn of_response(operation: &Operation, status: &str) -> Value {
    let mut names = vec![];
    if operation.is_oauth() {
        names.push(("Pragma", "Pragma"));
    }
    match status {
        "401" | "403" => names.push(("WWW-Authenticate", "WwwAuthenticate")),
        "426" => names.extend([
            ("Upgrade", "Upgrade"),
            ("Sec-WebSocket-Version", "SecWebSocketVersion"),
        ]),
        "429" | "503" => names.push(("Retry-After", "RetryAfter")),
        "201" => {
            if operation.located {
                names.push(("Location", "Location"));
            }
            if operation.versioned {
                names.push(("ETag", "ETag"));
            }
        }
        "200" if operation.starts_turn => names.push(("Server-Timing", "ServerTiming")),
        "202" if operation.starts_turn => names.extend([
            ("Location", "Location"),
            ("Preference-Applied", "PreferenceApplied"),
        ]),
        "200" | "304" => {
            if operation.versioned {
                names.push(("ETag", "ETag"));
            }
            if operation.reads_log {
                names.push(("X-Event-Seq", "XEventSeq"));
            }
            if operation.paged {
                names.push(("Link", "Link"));
            }
        }
        _ => {}
    }
    if operation.replays(status) {
        names.push(("Idempotency-Replayed", "IdempotencyReplayed"));
    }
    if operation.access != Access::Public && status != "401" {
        names.push(("RateLimit", "RateLimit"));
    }
    let entries = names.into_iter().map(|(header, component)| {
        (
            header.to_owned(),
            json!({"$ref": format!("#/components/headers/{component}")}),
        )
    });
    Value::Object(entries.collect::<Map<_, _>>())
}
