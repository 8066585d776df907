//! Tokens for users, over real HTTP and sockets.

mod agents;
mod documented;
mod drafts;
mod ends;
mod issuing;
mod nodes;
mod protocols;

use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
};

pub(crate) const PATH: &str = "/api/user-tokens";

/// The scopes of a backend that issues tokens with all scopes that users can have.
pub(crate) const BACKEND: &[&str] = &[
    "user-tokens:issue",
    "agents:read",
    "chat:write",
    "conversations:read",
    "conversations:write",
    "events:read",
];

/// A backend with a key of its own, and the id of the key.
pub(crate) async fn backend(api: &ApiServer, scopes: &[&str]) -> (String, Caller) {
    let draft = json!({"name": "backend", "scopes": scopes});
    let made = api.writer().post("/api/keys", draft).await.created();
    (id_of(&made), api.caller(made["secret"].as_str()))
}

/// A token that the backend issues.
pub(crate) async fn token(backend: &Caller, draft: Value) -> String {
    let made = backend.post(PATH, draft).await.created();
    made["token"].as_str().expect("a token").to_owned()
}

/// A user with all scopes that users can have.
pub(crate) async fn user(api: &ApiServer, backend: &Caller, user_id: &str) -> Caller {
    let scopes = &BACKEND[1..];
    let token = token(backend, json!({"userId": user_id, "scopes": scopes})).await;
    api.caller(Some(&token))
}

/// Withdraws the tokens of a user, whose id needs no escapes.
pub(crate) async fn withdraw(backend: &Caller, user_id: &str) {
    let response = backend.delete(&format!("{PATH}?userId={user_id}")).await;
    assert_eq!(response.status, 204, "{}", response.text());
}
