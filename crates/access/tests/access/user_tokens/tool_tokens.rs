//! Tokens for calls of tools, which depend on the credential that sent the message.

use std::{sync::Arc, time::Duration};

use access::{ToolTokenIssuer, UserTokenRequest};
use contract::tool_provider::context;
use domain::{CredentialSource, PrincipalId, SecretDigest};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use ports::{ToolContext, ToolTokenError, ToolTokens as _};
use serde_json::{Value, json};

use super::backend::{Backend, NOW, request};
use crate::{
    fixture::Fixture,
    node::{ISSUER, Node},
};

const SERVER: &str = "https://crm.example/mcp";

/// A call in a turn of a message that was sent with this token.
async fn call_by(backend: &Backend, token: &str) -> ToolContext {
    let sender = backend.node.authenticate(token).await.expect("a token");
    ToolContext {
        user_id: sender.principal.user_id,
        started_by: sender.principal.id,
        credential: Some(sender.source),
        ..context()
    }
}

async fn issue(node: &Node, call: &ToolContext) -> Result<Option<String>, ToolTokenError> {
    let issuer = ToolTokenIssuer::new(Arc::clone(&node.authenticator));
    issuer.issue(SERVER, call).await
}

#[track_caller]
fn assert_withdrawn(issued: &Result<Option<String>, ToolTokenError>) {
    assert!(
        matches!(issued, Err(ToolTokenError::Withdrawn)),
        "{issued:?}"
    );
}

/// The header and the claims of a token, read with the published key.
fn read(node: &Node, token: &str) -> (Value, Value) {
    let jwk = serde_json::from_value(node.server.published_keys()[0].clone());
    let key = DecodingKey::from_jwk(&jwk.expect("a JWK")).expect("a key");
    let mut validation = Validation::new(Algorithm::ES256);
    validation.set_audience(&[SERVER]);
    validation.validate_exp = false;
    let read = jsonwebtoken::decode::<Value>(token, &key, &validation).expect("a good token");
    let header = serde_json::to_value(read.header).expect("JSON");
    (header, read.claims)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_names_the_user_the_call_and_the_sender() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let call = call_by(&backend, &backend.token("ada").await).await;
    let token = issue(&backend.node, &call).await.unwrap().expect("a token");
    let (header, mut claims) = read(&backend.node, &token);
    assert_eq!(header["typ"], "tool+jwt");
    let id = claims["jti"].take();
    let expected = json!({
        "iss": ISSUER, "aud": SERVER, "sub": "user:ada", "tenant": "default",
        "agent_id": call.agent_id, "conversation_id": call.conversation_id,
        "call_id": call.call_id, "act": {"sub": "user:ada"},
        "iat": NOW, "exp": NOW + 300, "jti": null,
    });
    assert_eq!(claims, expected);
    let again = issue(&backend.node, &call).await.unwrap().expect("a token");
    assert_ne!(read(&backend.node, &again).1["jti"], id);
    assert!(!backend.node.accepts(&token).await, "it is no access token");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_nobody_has_no_token() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let call = ToolContext {
        user_id: None,
        started_by: backend.issuer.principal(),
        ..context()
    };
    assert_eq!(issue(&backend.node, &call).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_of_identity_providers_keep_their_principal() {
    let fixture = Fixture::new().await;
    let node = Node::reserving(&fixture, &["main"]).await;
    for (sender, user, expected) in [
        ("main~ada", "main~ada", "main~ada"),
        // It may reach the conversations of others.
        ("main~eve", "main~ada", "user:main~ada"),
        ("other~ada", "other~ada", "user:other~ada"),
    ] {
        let call = ToolContext {
            user_id: Some(user.to_owned()),
            started_by: PrincipalId::new(sender),
            credential: Some(Arc::new(CredentialSource::ExternalToken)),
            ..context()
        };
        let token = issue(&node, &call).await.unwrap().expect("a token");
        let claims = read(&node, &token).1;
        let subjects = (&claims["sub"], &claims["act"]["sub"]);
        assert_eq!(subjects, (&json!(expected), &json!(sender)));
    }
}

/// Neither a user of an identity provider nor the key itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_names_users_of_its_own_alone() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let node = Node::reserving(&fixture, &["main"]).await;
    let key = backend.issuer.principal();
    for user in ["main~ada", "ada", key.as_str()] {
        let call = ToolContext {
            user_id: Some(user.to_owned()),
            started_by: key.clone(),
            ..context()
        };
        let token = issue(&node, &call).await.unwrap().expect("a token");
        assert_eq!(read(&node, &token).1["sub"], format!("user:{user}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_token_ends_the_calls_of_its_turns() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let before = call_by(&backend, &backend.token("ada").await).await;
    let other = call_by(&backend, &backend.token("bob").await).await;
    backend.withdraw("ada").await;
    assert_withdrawn(&issue(&backend.node, &before).await);
    assert!(issue(&backend.node, &other).await.is_ok());
    let after = call_by(&backend, &backend.token("ada").await).await;
    assert!(issue(&backend.node, &after).await.is_ok());
    fixture.revoke(&backend.issuer).await;
    for call in [&after, &other] {
        assert_withdrawn(&issue(&backend.node, call).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_token_was_not_withdrawn() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let short = UserTokenRequest {
        expires_in: 1,
        ..request("ada")
    };
    let token = backend.issue(short).await.unwrap().text;
    let call = call_by(&backend, &token).await;
    fixture.clock.forward(Duration::from_mins(2));
    assert!(issue(&backend.node, &call).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_checked_whichever_of_its_secrets_sent_the_message() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let replaced = CredentialSource::Key {
        id: backend.issuer.id.clone(),
        digest: SecretDigest::new([9; 32]),
    };
    for credential in [Some(Arc::new(replaced)), None] {
        let call = ToolContext {
            started_by: backend.issuer.principal(),
            credential,
            ..context()
        };
        let token = issue(&backend.node, &call).await.unwrap().expect("a token");
        let (_, claims) = read(&backend.node, &token);
        let sender = backend.issuer.principal();
        assert_eq!(claims["sub"], "user:ada");
        assert_eq!(claims["act"], json!({"sub": sender}));
    }
    fixture.revoke(&backend.issuer).await;
    let call = ToolContext {
        started_by: backend.issuer.principal(),
        ..context()
    };
    assert_withdrawn(&issue(&backend.node, &call).await);
}

/// The message was received by another process, which alone knows its token.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_token_is_valid_if_none_of_the_user_was_ever_withdrawn() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let known = call_by(&backend, &backend.token("ada").await).await;
    let unknown = ToolContext {
        credential: None,
        ..known
    };
    assert!(issue(&backend.node, &unknown).await.is_ok());
    backend.withdraw("ada").await;
    let issued = issue(&backend.node, &unknown).await;
    assert!(matches!(issued, Err(ToolTokenError::Unknown)), "{issued:?}");
}
