//! What all operations have in common: security, problems, headers, links.

use domain::{EventType, ProblemCode, Scope};
use serde_json::{Map, Value, json};

use super::{
    component::{self, reference},
    document::DocumentError,
    links,
};
use crate::{
    access::scope_table::{Access, access_of},
    oauth,
    problem::LimitPolicy,
};

/// The component of problems that tell which limit was met.
const RATE_LIMIT_PROBLEM: &str = "RateLimitProblem";

/// Completes every operation of the derived document.
pub(super) fn complete(document: &mut Value) -> Result<(), DocumentError> {
    add_components(document);
    point_bodies_to_components(document);
    let Some(paths) = document["paths"].as_object_mut() else {
        return Ok(());
    };
    for (path, item) in paths {
        let Some(methods) = item.as_object_mut() else {
            continue;
        };
        for (method, operation) in methods {
            complete_operation(path, method, operation)?;
        }
    }
    list_event_types(document);
    links::add(document);
    Ok(())
}

fn complete_operation(
    path: &str,
    method: &str,
    operation: &mut Value,
) -> Result<(), DocumentError> {
    let id = operation["operationId"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let access = access_of(&id).ok_or_else(|| DocumentError::Unmapped(id.clone()))?;
    operation["security"] = security(access);
    if path.ends_with("/rotate") {
        // Without a body it says nothing.
        operation["requestBody"]["required"] = false.into();
    }
    add_header_parameters(path, method, operation);
    for code in problems(path, method, operation, access) {
        add_problem(operation, code);
    }
    let Some(responses) = operation["responses"].as_object_mut() else {
        return Ok(());
    };
    for (status, response) in responses {
        if status.starts_with(['4', '5']) {
            response["content"] = refusal(path, status);
        }
        response["headers"] = headers(path, method, &id, status);
        if access != Access::Public && status != "401" {
            for (name, component) in [
                ("RateLimit", "RateLimit"),
                ("RateLimit-Policy", "RateLimitPolicy"),
            ] {
                response["headers"][name] =
                    json!({"$ref": format!("#/components/headers/{component}")});
            }
        }
    }
    Ok(())
}

/// What a refusal says.
fn refusal(path: &str, status: &str) -> Value {
    let (media_type, schema) = match status {
        _ if oauth::is_endpoint(path) => ("application/json", "OAuthError"),
        "429" => ("application/problem+json", RATE_LIMIT_PROBLEM),
        _ => ("application/problem+json", "Problem"),
    };
    json!({media_type: {"schema": {"$ref": reference(schema)}}})
}

/// The same scopes for each way to send a credential.
fn security(access: Access) -> Value {
    let alternatives = |scopes: &[Scope]| -> Vec<Value> {
        let names: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
        ["ApiKey", "Bearer", "OAuth2"]
            .map(|scheme| json!({scheme: names}))
            .to_vec()
    };
    match access {
        Access::Public => json!([]),
        Access::AnyCredential => json!(alternatives(&[])),
        Access::AnyOf(scopes) => scopes
            .iter()
            .flat_map(|scope| alternatives(std::slice::from_ref(scope)))
            .collect(),
    }
}

/// The problems that an operation can answer with besides those its handler declares.
fn problems(path: &str, method: &str, operation: &Value, access: Access) -> Vec<ProblemCode> {
    use ProblemCode as Code;
    let mut codes = vec![Code::UriTooLong, Code::Internal];
    let is_api = path.starts_with("/api/");
    // What is wrong with a form is told in the words of OAuth.
    let is_oauth = oauth::is_endpoint(path);
    let has_body = !is_oauth && !operation["requestBody"].is_null();
    let has_query = operation["parameters"]
        .as_array()
        .is_some_and(|all| all.iter().any(|parameter| parameter["in"] == "query"));
    if is_api {
        codes.push(Code::NotAcceptable);
    }
    // Signs of life are counted nowhere.
    if !matches!(path, "/livez" | "/readyz") {
        codes.push(Code::RateLimited);
    }
    if is_api || is_oauth || path == "/metrics" {
        // A request may carry a body even where none is read.
        codes.extend([
            Code::RequestTimeout,
            Code::BodyTooLarge,
            Code::UnsupportedMediaType,
            Code::InvalidHeader,
        ]);
    }
    if path == "/readyz" || is_api || is_oauth {
        codes.push(Code::StoreUnavailable);
    }
    if access != Access::Public {
        codes.extend([Code::Unauthenticated, Code::StoreUnavailable]);
        codes.push(Code::InsufficientScope);
    }
    if path.contains('{') || (has_body && names_something(path)) {
        codes.push(not_found(path));
    }
    if has_body || has_query {
        codes.push(Code::ValidationFailed);
    }
    if makes_something(method, path) {
        codes.push(if is_of_credentials(path) {
            Code::IdempotencyKeyUsed
        } else {
            Code::IdempotencyKeyInUse
        });
        codes.push(Code::IdempotencyKeyReused);
    }
    if is_conditional_write(method, path) {
        codes.push(Code::VersionMismatch);
    }
    codes
}

fn makes_something(method: &str, path: &str) -> bool {
    method == "post"
        && path.starts_with("/api/")
        && !path.ends_with("/cancel")
        && !path.ends_with("/rotate")
}

/// Whether the body of a creation names what must be there.
fn names_something(path: &str) -> bool {
    !is_of_credentials(path) && path != "/api/agents"
}

fn not_found(path: &str) -> ProblemCode {
    if path.starts_with("/api/keys") {
        ProblemCode::KeyNotFound
    } else if path.starts_with("/api/oauth-clients") {
        ProblemCode::ClientNotFound
    } else {
        ProblemCode::AgentNotFound
    }
}

/// Keys and clients have no versions, and stand outside of the log.
fn is_of_credentials(path: &str) -> bool {
    path.starts_with("/api/keys") || path.starts_with("/api/oauth-clients")
}

fn is_conditional_write(method: &str, path: &str) -> bool {
    matches!(method, "patch" | "put" | "delete") && !is_of_credentials(path)
}

fn add_problem(operation: &mut Value, code: ProblemCode) {
    let status = code.status().to_string();
    let Some(responses) = operation["responses"].as_object_mut() else {
        return;
    };
    responses
        .entry(status)
        .or_insert_with(|| json!({"description": code.title()}));
}

fn add_header_parameters(path: &str, method: &str, operation: &mut Value) {
    let mut names = vec!["XRequestId"];
    if makes_something(method, path) {
        names.push("IdempotencyKey");
    }
    if is_conditional_write(method, path) {
        names.push("IfMatch");
    }
    if !operation["responses"]["304"].is_null() {
        names.push("IfNoneMatch");
    }
    if !operation["parameters"].is_array() {
        operation["parameters"] = json!([]);
    }
    if let Some(parameters) = operation["parameters"].as_array_mut() {
        parameters.extend(
            names
                .iter()
                .map(|name| json!({"$ref": format!("#/components/parameters/{name}")})),
        );
    }
}

/// The headers of an answer.
fn headers(path: &str, method: &str, id: &str, status: &str) -> Value {
    let mut names = vec![
        ("X-Request-Id", "XRequestId"),
        ("Cache-Control", "CacheControl"),
    ];
    if oauth::is_endpoint(path) {
        names.push(("Pragma", "Pragma"));
    }
    match status {
        "401" | "403" => names.push(("WWW-Authenticate", "WwwAuthenticate")),
        "429" | "503" => names.push(("Retry-After", "RetryAfter")),
        "201" if is_of_credentials(path) => names.push(("Location", "Location")),
        "201" => names.extend([("Location", "Location"), ("ETag", "ETag")]),
        "200" if id == "chat" => names.push(("Server-Timing", "ServerTiming")),
        "200" | "304" => {
            let in_log = !is_of_credentials(path);
            let single = path.contains("{id}") && !path.contains("turns") && in_log;
            if single && !path.ends_with("messages") || path == "/openapi.json" {
                names.push(("ETag", "ETag"));
            }
            let read = method == "get" && path.starts_with("/api/");
            let catalogue = ["list_engines", "list_capabilities", "get_limits"].contains(&id);
            if read && in_log && !catalogue {
                names.push(("X-Event-Seq", "XEventSeq"));
            }
            if id.starts_with("list_") && read && !catalogue && id != "list_events" {
                names.push(("Link", "Link"));
            }
        }
        _ => {}
    }
    let entries = names.into_iter().map(|(header, component)| {
        (
            header.to_owned(),
            json!({"$ref": format!("#/components/headers/{component}")}),
        )
    });
    Value::Object(entries.collect::<Map<_, _>>())
}

/// The types that a page of the log can be narrowed to, separated by commas.
fn list_event_types(document: &mut Value) {
    let types: Vec<String> = EventType::ALL
        .iter()
        .map(|kind| kind.as_str().replace('.', "\\."))
        .collect();
    let one = format!("({})", types.join("|"));
    let parameters = document.pointer_mut("/paths/~1api~1events/get/parameters");
    for parameter in parameters
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if parameter["name"] == "types" {
            parameter["schema"]["pattern"] = format!("^{one}(,{one})*$").into();
        }
    }
}

/// Bodies that no single type describes have components of their own.
fn point_bodies_to_components(document: &mut Value) {
    for (pointer, component) in [
        ("/paths/~1api~1agents~1{id}/patch", "AgentDraftPatch"),
        ("/paths/~1api~1agents~1{id}~1config/put", "ConfigBody"),
        (
            "/paths/~1api~1conversations~1{id}/patch",
            "ConversationDraftPatch",
        ),
    ] {
        let content = document.pointer_mut(&format!("{pointer}/requestBody/content"));
        for media_type in content.and_then(Value::as_object_mut).into_iter().flatten() {
            media_type.1["schema"] = json!({"$ref": format!("#/components/schemas/{component}")});
        }
    }
}

fn add_components(document: &mut Value) {
    let components = super::common::components();
    let Value::Object(parts) = components else {
        return;
    };
    for (kind, entries) in parts {
        document["components"][kind] = entries;
    }
    component::put(document, RATE_LIMIT_PROBLEM, rate_limit_problem());
}

/// What a 429 says beside what every problem says.
fn rate_limit_problem() -> Value {
    json!({
        "allOf": [
            {"$ref": reference("Problem")},
            {
                "type": "object",
                "properties": {
                    "violatedPolicies": {
                        "type": "array",
                        "description": "The limits that refused, by their names in `RateLimit-Policy`; `address` counts all that comes from one network address without a credential that was verified lately.",
                        "items": {"type": "string", "enum": LimitPolicy::ALL},
                    },
                },
            },
        ],
    })
}
