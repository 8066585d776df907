//! Headers, parameters and security schemes that the operations share.

use domain::Scope;
use serde_json::{Map, Value, json};

/// The shared parts of `components`.
pub(super) fn components() -> Value {
    json!({
        "securitySchemes": {
            "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key of this service."},
            "Bearer": {"type": "http", "scheme": "bearer", "description": "The same API key as a bearer token, or an access token of this service or of an issuer that it trusts."},
            "OAuth2": {
                "type": "oauth2", "description": "An access token of this service, for machines.",
                "flows": {"clientCredentials": {"scopes": scopes()}},
            },
        },
        "parameters": {
            "XRequestId": {
                "name": "X-Request-Id", "in": "header", "required": false,
                "description": "The id of the request in the log. It is returned in the response, and generated if it is absent or malformed.",
                "schema": {"type": "string"},
            },
            "IdempotencyKey": {
                "name": "Idempotency-Key", "in": "header", "required": false,
                "description": "A command with the same key takes effect only once. Keys are stored for 24 hours, for each credential and operation. A repeated request receives the first response again, with `Idempotency-Replayed`, even if the resource has changed since. A repeated chat receives the current result of its turn; if the turn failed with a `retryable` problem, the key is released, and the same key starts another turn in the same conversation. If the first response contained a secret, a repeated request receives 409 `idempotency_key_used`, which contains the id. A different command with the same key receives 422 `idempotency_key_reused`.",
                "schema": {"type": "string", "pattern": "^(\"[!#-~]{1,255}\"|[!#-~]{1,255})$"},
            },
            "XConsistency": {
                "name": "X-Consistency", "in": "header", "required": false,
                "description": "A position in the event log: the newest `X-Consistency` or `seq` that the client has received. The response contains every change up to this position. Ignored by a service of one region.",
                "schema": {"type": "integer", "minimum": 0},
            },
            "IfMatch": {
                "name": "If-Match", "in": "header", "required": false,
                "description": "Comma-separated entity tags of the versions that may be changed; only the versions in them are compared. `*` means any.",
                "schema": {"type": "string", "pattern": "^(\\*|\"v[0-9]{1,15}(\\.[0-9a-f]{1,16})?\"(, *\"v[0-9]{1,15}(\\.[0-9a-f]{1,16})?\")*)$"},
            },
            "IfNoneMatch": {
                "name": "If-None-Match", "in": "header", "required": false,
                "description": "The entity tag of the client's version. If it is the current one, the response is 304.",
                "schema": {"type": "string"},
            },
        },
        "headers": {
            "Pragma": header("string", "The caching of the response, for old caches.", true),
            "WwwAuthenticate": header("string", "The challenge, with the missing credential or scope (RFC 6750).", false),
            "RateLimit": header("string", "The remaining quota (`r`) and the seconds until it grows (`t`), for each limit for which the request was counted. Absent if the caller is not authenticated or the limiter is unavailable.", false),
            "RetryAfter": header("integer", "The time in whole seconds after which to retry.", true),
            "SecWebSocketVersion": header("string", "The supported version of the WebSocket protocol.", true),
            "Upgrade": header("string", "The required protocol: `websocket`.", true),
            "Location": header("string", "The path of the created resource.", true),
            "IdempotencyReplayed": header("boolean", "`true` if this repeats the response to an earlier request with the same idempotency key. Absent otherwise.", false),
            "PreferenceApplied": header("string", "The applied preference of `Prefer`: `respond-async`.", true),
            "ETag": header("string", "The entity tag, for `If-Match` and `If-None-Match`.", true),
            "ServerTiming": header("string", "The milliseconds spent in the store, in engines, and in total. Absent for a stream.", false),
            "XEventSeq": header("integer", "A position in the event log that is not newer than the response: a client that follows the log from there misses no change.", true),
            "Link": header("string", "The next page, `rel=\"next\"` (RFC 8288).", false),
        },
    })
}

/// The headers that every response may have, and has if they are required. OpenAPI has no place for
/// them but each response.
pub(super) fn response_headers() -> Value {
    json!({
        "X-Request-Id": header("string", "The id of the request in the log.", true),
        "Cache-Control": header("string", "The caching of the response.", true),
        "RateLimit-Policy": header("string", "The quota (`q`) and its window in seconds (`w`), for each limit for which the request was counted. Absent if the caller is not authenticated.", false),
        "X-Consistency": header("integer", "A position in the event log that the write has reached. Sent to another region with a read, it is the state that the response must contain. Only in responses to writes, from a service with several regions.", false),
        "X-Served-By": header("string", "`replica` or `home`: the database that has answered. Only from a far region, and not for what each node answers by itself.", false),
    })
}

/// Returns every scope with its description.
fn scopes() -> Value {
    let scopes = Scope::ALL.iter().map(|scope| {
        let description = scope.description().trim();
        (scope.as_str().to_owned(), description.into())
    });
    Value::Object(scopes.collect::<Map<_, _>>())
}

/// Adds the address at which a server at `url` issues tokens.
pub(super) fn name_token_url(document: &mut Value, url: &str) {
    let flow = &mut document["components"]["securitySchemes"]["OAuth2"]["flows"];
    flow["clientCredentials"]["tokenUrl"] = format!("{url}/oauth2/token").into();
}

fn header(kind: &str, description: &str, required: bool) -> Value {
    json!({"description": description, "required": required, "schema": {"type": kind}})
}
