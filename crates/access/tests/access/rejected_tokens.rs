//! Refusal of tokens that look like tokens of this service.

use domain::Scope;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use crate::{
    fixture::{Fixture, START},
    key_pairs::KeyPair,
    node::{ISSUER, Node},
};

const NOW: i64 = START.milliseconds() / 1_000;

/// A service whose signing key the test knows.
struct TokenFixture {
    node: Node,
    key: KeyPair,
    kid: String,
    client: String,
}

impl TokenFixture {
    async fn start(fixture: &Fixture) -> Self {
        let node = Node::start(fixture).await;
        let mut stored = fixture.storage.signing_keys.list().await.expect("a store");
        let stored = stored.remove(0);
        let (client, _) = fixture.client(|_| {}).await;
        Self {
            node,
            key: KeyPair::of_es256(&stored.private_key),
            kid: stored.kid,
            client: client.id.to_string(),
        }
    }

    /// The claims of a valid token, changed by `change`.
    fn claims(&self, change: impl FnOnce(&mut Value)) -> Value {
        let mut claims = json!({
            "iss": ISSUER, "aud": ISSUER, "sub": self.client, "client_id": self.client,
            "iat": NOW, "exp": NOW + 600, "jti": "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11",
            "scope": "agents:read chat:write",
        });
        change(&mut claims);
        claims
    }

    /// A token with the claims of [`Self::claims`], signed by the service's key.
    fn signed(&self, change: impl FnOnce(&mut Value)) -> String {
        self.key
            .sign(&self.kid, Some("at+jwt"), &self.claims(change))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_claim_is_checked_despite_a_valid_signature() {
    let fixture = Fixture::new().await;
    let tokens = TokenFixture::start(&fixture).await;
    assert!(tokens.node.accepts(&tokens.signed(|_| {})).await);
    let with_slash = format!("{ISSUER}/");
    for (claim, values) in [
        (
            "iss",
            vec![json!("https://other.example"), json!(with_slash)],
        ),
        (
            "aud",
            vec![
                json!("https://other.example"),
                json!(with_slash),
                json!([ISSUER, "https://other.example"]),
                json!([]),
                Value::Null,
            ],
        ),
        ("sub", vec![json!("000000000000"), Value::Null]),
        (
            "client_id",
            vec![json!("000000000000"), json!(7), Value::Null],
        ),
        ("jti", vec![json!("7"), json!(7), Value::Null]),
        ("scope", vec![json!(["agents:read"]), Value::Null]),
        ("iat", vec![json!("now"), Value::Null]),
        ("exp", vec![json!("never"), Value::Null]),
        ("nbf", vec![json!(NOW + 31), json!("now")]),
    ] {
        for value in values {
            let token = tokens.signed(|claims| {
                claims[claim] = value.clone();
                if value.is_null() {
                    claims.as_object_mut().expect("claims").remove(claim);
                }
            });
            assert!(!tokens.node.accepts(&token).await, "{claim}: {value}");
        }
    }
    let token = tokens.signed(|claims| {
        claims["sub"] = json!("000000000000");
        claims["client_id"] = json!("000000000000");
    });
    assert!(!tokens.node.accepts(&token).await, "an unknown client");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_grants_only_scopes_that_its_client_still_holds() {
    let fixture = Fixture::new().await;
    let tokens = TokenFixture::start(&fixture).await;
    let token =
        tokens.signed(|claims| claims["scope"] = json!("keys:admin agents:read agents:unknown"));
    let auth_context = tokens.node.authenticate(&token).await.unwrap();
    assert_eq!(
        auth_context.principal.scopes,
        [Scope::AgentsRead].into_iter().collect()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_access_tokens_are_access_tokens() {
    let fixture = Fixture::new().await;
    let tokens = TokenFixture::start(&fixture).await;
    for (media_type, is_good) in [
        (Some("at+jwt"), true),
        (Some("application/at+jwt"), true),
        (Some("AT+JWT"), true),
        (Some("JWT"), false),
        (Some("client-authentication+jwt"), false),
        (Some("tool+jwt"), false),
        (None, false),
    ] {
        let claims = tokens.claims(|_| {});
        let token = tokens.key.sign(&tokens.kid, media_type, &claims);
        assert_eq!(tokens.node.accepts(&token).await, is_good, "{media_type:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_signed_by_another_key_is_rejected() {
    let fixture = Fixture::new().await;
    let tokens = TokenFixture::start(&fixture).await;
    let claims = tokens.claims(|_| {});
    for algorithm in [
        Algorithm::ES256,
        Algorithm::ES384,
        Algorithm::EdDSA,
        Algorithm::RS256,
    ] {
        let outsider = KeyPair::new(algorithm);
        let token = outsider.sign(&tokens.kid, Some("at+jwt"), &claims);
        assert!(!tokens.node.accepts(&token).await, "{algorithm:?}");
        let token = outsider.sign("unknown", Some("at+jwt"), &claims);
        assert!(!tokens.node.accepts(&token).await, "{algorithm:?}");
    }
    // The header embeds the outsider's own key, or the published key serves as a shared secret.
    let outsider = KeyPair::new(Algorithm::ES256);
    let embedded = Header {
        typ: Some("at+jwt".to_owned()),
        kid: Some(tokens.kid.clone()),
        jwk: Some(serde_json::from_value(outsider.public(&tokens.kid)).expect("a JWK")),
        ..Header::new(Algorithm::ES256)
    };
    let token = outsider.sign_with(&embedded, &claims);
    assert!(!tokens.node.accepts(&token).await);
    let published = serde_json::to_vec(&tokens.node.server.published_keys()[0]).expect("JSON");
    let confused = Header {
        typ: Some("at+jwt".to_owned()),
        kid: Some(tokens.kid.clone()),
        ..Header::new(Algorithm::HS256)
    };
    let secret = EncodingKey::from_secret(&published);
    let token = jsonwebtoken::encode(&confused, &claims, &secret).expect("a signature");
    assert!(!tokens.node.accepts(&token).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_with_changed_bytes_is_rejected() {
    let fixture = Fixture::new().await;
    let tokens = TokenFixture::start(&fixture).await;
    let good = tokens.signed(|_| {});
    let parts: Vec<&str> = good.split('.').collect();
    let other = tokens.signed(|claims| claims["scope"] = json!("agents:read"));
    let others: Vec<&str> = other.split('.').collect();
    for mixed in [
        format!("{}.{}.{}", parts[0], others[1], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{good}A"),
        format!("{good}."),
    ] {
        assert!(!tokens.node.accepts(&mixed).await, "{mixed}");
    }
}
