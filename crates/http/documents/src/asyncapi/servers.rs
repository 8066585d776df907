//! The servers and security schemes.

use domain::web_address::{host, path_of};
use serde_json::{Value, json};

/// The server that clients reach at `url`, once for each protocol.
pub(super) fn servers(url: &str) -> Value {
    let (scheme, socket) = if url.starts_with("https:") {
        ("https", "wss")
    } else {
        ("http", "ws")
    };
    let (host, path) = (host(url), path_of(url));
    let server = |protocol: &str, description: &str, schemes: &[&str]| {
        let schemes = schemes
            .iter()
            .map(|name| json!({"$ref": format!("#/components/securitySchemes/{name}")}));
        let mut server = json!({
            "host": host,
            "protocol": protocol,
            "description": description,
            "security": schemes.collect::<Vec<_>>(),
        });
        if !path.is_empty() {
            server["pathname"] = path.clone().into();
        }
        server
    };
    json!({
        "socket": server(
            socket,
            "For sockets. Without a credential in the upgrade, the first frame contains one.",
            &["ApiKey", "Bearer", "OAuth2", "Ticket"],
        ),
        "http": server(scheme, "For streams.", &["ApiKey", "Bearer", "OAuth2"]),
    })
}

/// The security schemes of the OpenAPI document in AsyncAPI's terms, and tickets.
pub(super) fn security_schemes(openapi: &Value) -> Value {
    let schemes = &openapi["components"]["securitySchemes"];
    let api_key = &schemes["ApiKey"];
    let flow = &schemes["OAuth2"]["flows"]["clientCredentials"];
    json!({
        "ApiKey": {
            "type": "httpApiKey",
            "in": api_key["in"],
            "name": api_key["name"],
            "description": api_key["description"],
        },
        "Bearer": schemes["Bearer"],
        "OAuth2": {
            "type": "oauth2",
            "description": schemes["OAuth2"]["description"],
            "flows": {"clientCredentials": {
                "tokenUrl": flow["tokenUrl"],
                "availableScopes": flow["scopes"],
            }},
        },
        "Ticket": {
            "type": "httpApiKey",
            "in": "query",
            "name": "ticket",
            "description": "A ticket of `POST /api/ws/tickets`: valid once, for 30 seconds, on pages of the origin that fetched it.",
        },
    })
}
