//! Components and texts that no handler derives.

use domain::EventType;
use kit::problem::LimitPolicy;
use serde_json::{Value, json};

use super::component::{self, reference};

/// The component of problems that name the exceeded rate limit.
pub(super) const RATE_LIMIT_PROBLEM: &str = "RateLimitProblem";
/// The component of problems that name the turn without a reply.
pub(super) const CHAT_PROBLEM: &str = "ChatProblem";

/// The types that a page of the log can be narrowed to, separated by commas.
pub(super) fn list_event_types(document: &mut Value) {
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
pub(super) fn point_bodies_to_components(document: &mut Value) {
    for (pointer, component) in [
        ("/paths/~1api~1agents~1{id}/patch", "AgentDraftPatch"),
        ("/paths/~1api~1agents~1{id}~1config/put", "ConfigBody"),
        (
            "/paths/~1api~1conversations~1{id}/patch",
            "ConversationDraftPatch",
        ),
        (
            "/paths/~1api~1conversations~1{id}~1messages~1{messageId}/patch",
            "StaffMessageDraftPatch",
        ),
        ("/paths/~1api~1users/patch", "UserDraftPatch"),
        ("/paths/~1api~1keys~1{id}/patch", "KeyDraftPatch"),
        (
            "/paths/~1api~1oauth-clients~1{id}/patch",
            "ClientDraftPatch",
        ),
    ] {
        let content = document.pointer_mut(&format!("{pointer}/requestBody/content"));
        for media_type in content.and_then(Value::as_object_mut).into_iter().flatten() {
            media_type.1["schema"] = json!({"$ref": format!("#/components/schemas/{component}")});
        }
    }
}

/// Adds the components that have no Rust type.
pub(super) fn add_components(document: &mut Value) {
    let components = super::common::components();
    let Value::Object(parts) = components else {
        return;
    };
    for (kind, entries) in parts {
        document["components"][kind] = entries;
    }
    component::put(document, RATE_LIMIT_PROBLEM, rate_limit_problem());
    component::put(document, CHAT_PROBLEM, chat_problem());
}

/// The members of the problem of a chat without a reply, besides those of every problem.
fn chat_problem() -> Value {
    let id = |name, description| json!({"$ref": reference(name), "description": description});
    json!({
        "allOf": [
            {"$ref": reference("Problem")},
            {
                "type": "object",
                "description": "Both members are present if the message was stored; otherwise both are absent.",
                "properties": {
                    "turnId": id("TurnId", "The turn that has no reply, or whose reply cannot be returned."),
                    "conversationId": id("ConversationId", "The conversation of the turn, also if this request created it."),
                },
            },
        ],
    })
}

/// The members of a 429 problem besides those of every problem.
fn rate_limit_problem() -> Value {
    json!({
        "allOf": [
            {"$ref": reference("Problem")},
            {
                "type": "object",
                "properties": {
                    "violatedPolicies": {
                        "type": "array",
                        "description": "The limits that rejected the request, by their names in `RateLimit-Policy`. `user_tokens` counts the tokens issued to users, `log_bytes` the bytes of agents' events, `files` and `file_bytes` the uploads of a day, `streams` the open streams, and `address` the requests from one network address without a recently verified credential.",
                        "items": {"type": "string", "enum": LimitPolicy::ALL},
                    },
                },
            },
        ],
    })
}
