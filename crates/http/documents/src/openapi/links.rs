//! OpenAPI links from the response of one operation to the parameters of another.

use serde_json::{Value, json};

/// Many tools accept no body of a request in a link, except a string.
const AGENT_ID: &str = "Send `id` as `agentId` in the body.";

/// Adds the links from creations to what can be done with what was made.
pub(super) fn add(document: &mut Value) {
    let agent_links = by_id(&[
        "get_agent",
        "patch_agent",
        "get_agent_config",
        "put_agent_config",
        "delete_agent",
    ]);
    put(
        document,
        "/paths/~1api~1agents/post/responses/201",
        agent_links,
    );
    put(
        document,
        "/paths/~1api~1agents/post/responses/201",
        json!({
            "chat": {"operationId": "chat", "description": AGENT_ID},
            "create_conversation": {"operationId": "create_conversation", "description": AGENT_ID},
        }),
    );
    let conversation_links = by_id(&[
        "get_conversation",
        "patch_conversation",
        "list_messages",
        "delete_conversation",
    ]);
    put(
        document,
        "/paths/~1api~1conversations/post/responses/201",
        conversation_links,
    );
    put(
        document,
        "/paths/~1api~1chat/post/responses/200",
        json!({
            "get_turn": {"operationId": "get_turn", "parameters": {"id": "$response.body#/turnId"}},
            "cancel_turn": {"operationId": "cancel_turn", "parameters": {"id": "$response.body#/turnId"}},
            "get_conversation": {"operationId": "get_conversation", "parameters": {"id": "$response.body#/conversationId"}},
            "list_messages": {"operationId": "list_messages", "parameters": {"id": "$response.body#/conversationId"}},
        }),
    );
}

fn by_id(operations: &[&str]) -> Value {
    let links = operations.iter().map(|operation| {
        let link = json!({
            "operationId": operation, "parameters": {"id": "$response.body#/id"},
        });
        ((*operation).to_owned(), link)
    });
    Value::Object(links.collect())
}

fn put(document: &mut Value, pointer: &str, links: Value) {
    let Some(response) = document.pointer_mut(pointer) else {
        return;
    };
    if !response["links"].is_object() {
        response["links"] = json!({});
    }
    if let (Some(target), Value::Object(links)) = (response["links"].as_object_mut(), links) {
        target.extend(links);
    }
}
