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
                "description": "Names the request in the log; echoed. Minted when absent or malformed.",
                "schema": {"type": "string"},
            },
            "IdempotencyKey": {
                "name": "Idempotency-Key", "in": "header", "required": false,
                "description": "The same key and command take effect once; kept 24 hours for each credential and operation. A repetition gets the first answer again, with `Idempotency-Replayed`, whatever has become of its subject since; that of a chat gets what has become of the turn, but a turn that failed in a `retryable` way sets its key free, so that the same key begins another one in the same conversation; where the first answer showed a secret, it gets 409 `idempotency_key_used`, which names the id. Another command gets 422 `idempotency_key_reused`.",
                "schema": {"type": "string", "pattern": "^(\"[!#-~]{1,255}\"|[!#-~]{1,255})$"},
            },
            "IfMatch": {
                "name": "If-Match", "in": "header", "required": false,
                "description": "Entity tags of the versions that may be changed, separated by commas; only their versions are compared. `*` for any.",
                "schema": {"type": "string", "pattern": "^(\\*|\"v[0-9]{1,15}(\\.[0-9]{1,15})?\"(, *\"v[0-9]{1,15}(\\.[0-9]{1,15})?\")*)$"},
            },
            "IfNoneMatch": {
                "name": "If-None-Match", "in": "header", "required": false,
                "description": "The entity tag that the client has: then the answer is 304.",
                "schema": {"type": "string"},
            },
        },
        "headers": {
            "XRequestId": header("string", "Names the request in the log.", true),
            "CacheControl": header("string", "Whether and how long the answer may be kept.", true),
            "Pragma": header("string", "The same for old caches.", true),
            "WwwAuthenticate": header("string", "What is missing (RFC 6750).", false),
            "RateLimit": header("string", "How many more can be sent at once now (`r`), and in how many seconds more than that (`t`), for each limit that the request was counted for. Absent when the caller is not known or nothing could be counted.", false),
            "RateLimitPolicy": header("string", "How many are granted (`q`) in how many seconds (`w`), for each limit that the request was counted for. Absent when the caller is not known.", false),
            "RetryAfter": header("integer", "Whole seconds after which to try again.", true),
            "SecWebSocketVersion": header("string", "The version of the protocol that is spoken here.", true),
            "Upgrade": header("string", "The protocol to ask for: `websocket`.", true),
            "Location": header("string", "Path of what was made.", true),
            "IdempotencyReplayed": header("boolean", "`true` when this answers a request that was carried out before, with the same idempotency key. Absent otherwise.", false),
            "PreferenceApplied": header("string", "The preference of `Prefer` that was followed: `respond-async`.", true),
            "ETag": header("string", "Entity tag, for `If-Match` and `If-None-Match`.", true),
            "ServerTiming": header("string", "Milliseconds spent in the store, in engines, and in all. Absent of a stream.", false),
            "XEventSeq": header("integer", "A position of the event log known no later than the answer: following the log from there misses nothing.", true),
            "Link": header("string", "The next page, `rel=\"next\"` (RFC 8288).", false),
        },
    })
}

/// Every scope with what it allows.
fn scopes() -> Value {
    let scopes = Scope::ALL.iter().map(|scope| {
        let description = scope.description().trim();
        (scope.as_str().to_owned(), description.into())
    });
    Value::Object(scopes.collect::<Map<_, _>>())
}

/// Says where tokens are issued by a server that clients reach at `url`.
pub(super) fn name_token_url(document: &mut Value, url: &str) {
    let flow = &mut document["components"]["securitySchemes"]["OAuth2"]["flows"];
    flow["clientCredentials"]["tokenUrl"] = format!("{url}/oauth2/token").into();
}

fn header(kind: &str, description: &str, required: bool) -> Value {
    json!({"description": description, "required": required, "schema": {"type": kind}})
}
