//! Issue, contents and verification of access tokens.

use std::{sync::Arc, time::Duration};

use access::{
    AccessError, AuthContext,
    oauth_server::{ClientCredentials, OAuthError},
};
use domain::{
    CredentialKind, CredentialSource, LimitOverrides, Principal, PrincipalId, Scope, Scopes,
};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Value, json};

use crate::{
    fixture::{Fixture, START},
    node::{ISSUER, Node, basic},
};

const NOW: i64 = START.milliseconds() / 1_000;

fn scopes(scopes: &[Scope]) -> Scopes {
    scopes.iter().copied().collect()
}

/// The header and claims of a token, decoded by another library with the published key.
fn read_elsewhere(token: &str, published: &Value) -> (Value, Value) {
    let jwk = serde_json::from_value(published.clone()).expect("a JWK");
    let key = DecodingKey::from_jwk(&jwk).expect("a key");
    let mut validation = Validation::new(Algorithm::ES256);
    validation.set_audience(&[ISSUER]);
    validation.validate_exp = false;
    let read = jsonwebtoken::decode::<Value>(token, &key, &validation).expect("a good token");
    let header = serde_json::to_value(read.header).expect("JSON");
    (header, read.claims)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_contains_only_the_claims_of_rfc_9068() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (client, secret) = fixture.client(|_| {}).await;
    let issued = node.request_token(&basic(&secret), |_| {}).await.unwrap();
    assert_eq!(issued.expires_in, 600);
    assert_eq!(issued.scopes, client.scopes);
    let published = &node.server.published_keys()[0];
    let (header, mut claims) = read_elsewhere(&issued.text, published);
    assert_eq!(
        header,
        json!({"typ": "at+jwt", "alg": "ES256", "kid": published["kid"]})
    );
    let id = claims["jti"].take();
    assert!(uuid::Uuid::parse_str(id.as_str().expect("text")).is_ok());
    let id_of_client = client.id.as_str();
    let expected = json!({
        "iss": ISSUER, "aud": ISSUER, "sub": id_of_client, "client_id": id_of_client,
        "iat": NOW, "exp": NOW + 600, "jti": null, "scope": "agents:read chat:write",
    });
    assert_eq!(claims, expected);
    assert_eq!(
        format!("{issued:?}"),
        format!(
            "IssuedToken {{ expires_in: 600, scopes: {:?}, .. }}",
            issued.scopes
        ),
        "the token is hidden"
    );
    let other = node.token(&secret).await;
    assert_ne!(read_elsewhere(&other, published).1["jti"], id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_authenticates_its_client_until_it_expires() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let limits = LimitOverrides {
        chat_burst: Some(3),
        ..LimitOverrides::default()
    };
    let (client, secret) = fixture
        .client(|client| client.limits = limits.clone())
        .await;
    let token = node.token(&secret).await;
    let (header, claims) = read_elsewhere(&token, &node.server.published_keys()[0]);
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let expected = AuthContext {
        principal: Principal {
            tenant: client.tenant.clone(),
            id: PrincipalId::new(format!("client:{}", client.id)),
            scopes: client.scopes,
            user_id: None,
            agents: domain::AgentReach::ALL,
            names_user: false,
        },
        credential: Some(client.id.clone()),
        source: Arc::new(CredentialSource::OwnToken {
            id: text(&claims["jti"]).parse().expect("a UUID"),
            client: client.id.clone(),
            signing_key: text(&header["kid"]),
        }),
        allowed_origins: Vec::new(),
        limits,
        ends_at: Some(START + Duration::from_mins(10)),
    };
    assert_eq!(node.authenticate(&token).await.unwrap(), expected);
    // The clocks of other nodes may be thirty seconds behind.
    fixture.clock.forward(Duration::from_millis(629_999));
    assert_eq!(node.authenticate(&token).await.unwrap(), expected);
    fixture.clock.forward(Duration::from_millis(1));
    let outcome = node.authenticate(&token).await;
    assert!(matches!(outcome, Err(AccessError::Expired)), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_outlives_its_client() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let end = START + Duration::from_millis(90_500);
    let (_, secret) = fixture.client(|client| client.expires_at = Some(end)).await;
    let issued = node.request_token(&basic(&secret), |_| {}).await.unwrap();
    assert_eq!(issued.expires_in, 90);
    fixture.clock.forward(Duration::from_millis(90_499));
    assert!(node.accepts(&issued.text).await);
    // In the second in which the client expires, no lifetime is left for a token.
    let outcome = node.request_token(&basic(&secret), |_| {}).await;
    assert!(
        matches!(outcome, Err(OAuthError::InvalidClient)),
        "{outcome:?}"
    );
    fixture.clock.forward(Duration::from_millis(1));
    assert!(!node.accepts(&issued.text).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_grants_the_requested_scopes_of_the_client() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let request = async |scope: &str| {
        let scope = Some(scope.to_owned());
        node.request_token(&basic(&secret), |request| request.scope = scope)
            .await
    };
    for (scope, expected) in [
        ("agents:read", scopes(&[Scope::AgentsRead])),
        (
            "chat:write agents:read",
            scopes(&[Scope::AgentsRead, Scope::ChatWrite]),
        ),
        ("chat:write chat:write", scopes(&[Scope::ChatWrite])),
    ] {
        let issued = request(scope).await.unwrap();
        assert_eq!(issued.scopes, expected);
        let auth_context = node.authenticate(&issued.text).await.unwrap();
        assert_eq!(auth_context.principal.scopes, expected);
    }
    let malformed = "scope must be names of scopes, separated by single spaces";
    for (scope, expected) in [
        ("agents:write", "the client does not hold agents:write"),
        (
            "agents:read agents:write events:read",
            "the client does not hold agents:write and events:read",
        ),
        ("agents:own", "the scope agents:own is unknown"),
        ("agents:read  chat:write", malformed),
        (" agents:read", malformed),
        ("agents:\"read\"", malformed),
        (
            "agents:read,chat:write",
            "the scope agents:read,chat:write is unknown",
        ),
        ("AGENTS:READ", "the scope AGENTS:READ is unknown"),
    ] {
        match request(scope).await {
            Err(OAuthError::InvalidScope(text)) => assert_eq!(text, expected),
            outcome => panic!("{scope}: {outcome:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_request_must_have_a_supported_target_and_grant() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let credentials = basic(&secret);
    let good = Some(ISSUER.to_owned());
    let issued = node
        .request_token(&credentials, |request| request.resource = good)
        .await;
    issued.unwrap();
    let other = Some("https://other.example".to_owned());
    let outcome = node
        .request_token(&credentials, |request| request.resource = other)
        .await;
    assert!(
        matches!(outcome, Err(OAuthError::InvalidTarget)),
        "{outcome:?}"
    );
    let other = Some("authorization_code".to_owned());
    let outcome = node
        .request_token(&credentials, |request| request.grant_type = other)
        .await;
    assert!(
        matches!(outcome, Err(OAuthError::UnsupportedGrantType)),
        "{outcome:?}"
    );
    let outcome = node
        .request_token(&credentials, |request| request.grant_type = None)
        .await;
    assert!(
        matches!(outcome, Err(OAuthError::InvalidRequest(_))),
        "{outcome:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_request_is_recorded_as_the_last_use_of_the_client() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (client, secret) = fixture.client(|_| {}).await;
    let find = async || {
        let credentials = &fixture.storage.credentials;
        let found = credentials.find(CredentialKind::Client, &client.id).await;
        found.unwrap().expect("the client").last_used_at
    };
    let (_, unused) = fixture.client(|_| {}).await;
    let guessed = ClientCredentials {
        basic: Some((client.id.to_string(), unused.reveal().to_owned())),
        ..ClientCredentials::default()
    };
    node.request_token(&guessed, |_| {}).await.unwrap_err();
    node.last_used.flush().await.unwrap();
    assert_eq!(find().await, None);
    node.token(&secret).await;
    node.last_used.flush().await.unwrap();
    assert_eq!(find().await, Some(START));
}
