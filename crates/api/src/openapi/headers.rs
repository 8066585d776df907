//! Which headers an operation looks at, and which its answers have.

use serde_json::{Map, Value, json};

use super::operation::Operation;
use crate::access::scope_table::Access;

/// Adds the request headers that an operation looks at.
pub(super) fn add_parameters(operation: &Operation<'_>, described: &mut Value) {
    let mut names = vec!["XRequestId"];
    if operation.takes_idempotency_key() {
        names.push("IdempotencyKey");
    }
    if operation.is_conditional_write() {
        names.push("IfMatch");
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

/// The headers of an answer.
pub(super) fn of_answer(operation: &Operation<'_>, status: &str) -> Value {
    let mut names = vec![
        ("X-Request-Id", "XRequestId"),
        ("Cache-Control", "CacheControl"),
    ];
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
        "201" if operation.makes_ticket() => {}
        "201" if operation.credentials().is_some() => names.push(("Location", "Location")),
        "201" => names.extend([("Location", "Location"), ("ETag", "ETag")]),
        "200" if operation.id == "chat" => names.push(("Server-Timing", "ServerTiming")),
        "202" => names.extend([
            ("Location", "Location"),
            ("Preference-Applied", "PreferenceApplied"),
        ]),
        "200" | "304" => {
            if operation.answers_versions() {
                names.push(("ETag", "ETag"));
            }
            if operation.reads_log() {
                names.push(("X-Event-Seq", "XEventSeq"));
            }
            if operation.answers_pages() {
                names.push(("Link", "Link"));
            }
        }
        _ => {}
    }
    if operation.repeats_its_answer(status) {
        names.push(("Idempotency-Replayed", "IdempotencyReplayed"));
    }
    if operation.access != Access::Public && status != "401" {
        names.extend([
            ("RateLimit", "RateLimit"),
            ("RateLimit-Policy", "RateLimitPolicy"),
        ]);
    }
    let entries = names.into_iter().map(|(header, component)| {
        (
            header.to_owned(),
            json!({"$ref": format!("#/components/headers/{component}")}),
        )
    });
    Value::Object(entries.collect::<Map<_, _>>())
}
