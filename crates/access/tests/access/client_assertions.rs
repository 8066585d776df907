//! Clients that authenticate with a signed assertion.

use std::time::Duration;

use access::oauth_server::{ClientCredentials, OAuthError};
use domain::{Credential, credential::PublicKeys};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use ports::UrlTrust;
use serde_json::{Value, json};

use crate::{
    fixture::{Fixture, START},
    key_pairs::KeyPair,
    node::{ISSUER, Node},
};

const NOW: i64 = START.milliseconds() / 1_000;
const TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const KEY_ADDRESS: &str = "https://client.example/jwks.json";

/// A service, and a client that signs its assertions.
struct AssertionFixture {
    base: Fixture,
    node: Node,
    key: KeyPair,
    client: Credential,
}

impl AssertionFixture {
    async fn new(algorithm: Algorithm) -> Self {
        let fixture = Fixture::new().await;
        let node = Node::start(&fixture).await;
        let key = KeyPair::new(algorithm);
        let client = fixture
            .signing_client(PublicKeys::Set(key.set("client's")))
            .await;
        Self {
            base: fixture,
            node,
            key,
            client,
        }
    }

    /// The claims of a valid assertion, changed by `change`.
    fn claims(&self, id: &str, change: impl FnOnce(&mut Value)) -> Value {
        let client = self.client.id.as_str();
        let mut claims = json!({
            "iss": client, "sub": client, "aud": ISSUER, "exp": NOW + 60, "iat": NOW, "jti": id,
        });
        change(&mut claims);
        claims
    }

    /// A signed assertion with the claims of [`Self::claims`].
    fn assertion(&self, id: &str, change: impl FnOnce(&mut Value)) -> String {
        self.key.sign("client's", None, &self.claims(id, change))
    }

    /// Returns whether a process accepts an assertion and the token that it issues for it.
    async fn is_accepted_by(&self, node: &Node, assertion: &str) -> bool {
        match node.request_token(&with_assertion(assertion), |_| {}).await {
            Ok(issued) => node.accepts(&issued.text).await,
            Err(OAuthError::InvalidClient) => false,
            Err(error) => panic!("{error:?}"),
        }
    }

    async fn is_accepted(&self, assertion: &str) -> bool {
        self.is_accepted_by(&self.node, assertion).await
    }
}

/// Client credentials that consist of an assertion only.
fn with_assertion(assertion: &str) -> ClientCredentials {
    ClientCredentials {
        assertion: Some(assertion.to_owned()),
        assertion_type: Some(TYPE.to_owned()),
        ..ClientCredentials::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_sign_with_any_of_five_algorithms() {
    for algorithm in [
        Algorithm::ES256,
        Algorithm::ES384,
        Algorithm::RS256,
        Algorithm::PS256,
        Algorithm::EdDSA,
    ] {
        let fixture = AssertionFixture::new(algorithm).await;
        let assertion = fixture.assertion("1", |_| {});
        assert!(fixture.is_accepted(&assertion).await, "{algorithm:?}");
    }
    let fixture = AssertionFixture::new(Algorithm::EdDSA).await;
    let claims = fixture.claims("2", |_| {}).to_string();
    let header = json!({"alg": "Ed25519", "kid": "client's"}).to_string();
    let by_newer_name = fixture.key.sign_text(&header, &claims);
    assert!(fixture.is_accepted(&by_newer_name).await, "{header}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_is_accepted_once_across_all_processes() {
    let fixture = AssertionFixture::new(Algorithm::ES256).await;
    let other = Node::start(&fixture.base).await;
    let assertion = fixture.assertion("1", |_| {});
    assert!(fixture.is_accepted(&assertion).await);
    assert!(!fixture.is_accepted(&assertion).await);
    assert!(!fixture.is_accepted_by(&other, &assertion).await);
    // Another assertion with the same `jti` is a replay too. The `jti` of another client is not.
    let same_id = fixture.assertion("1", |claims| claims["exp"] = json!(NOW + 120));
    assert!(!fixture.is_accepted(&same_id).await);
    assert!(fixture.is_accepted(&fixture.assertion("2", |_| {})).await);
    let keys = PublicKeys::Set(fixture.key.set("client's"));
    let second = fixture.base.signing_client(keys).await;
    let of_second = fixture.assertion("1", |claims| {
        claims["iss"] = json!(second.id);
        claims["sub"] = json!(second.id);
    });
    assert!(fixture.is_accepted(&of_second).await);
    // A replay is rejected until the end of the leeway, which is as long as the assertion is valid.
    fixture.base.clock.forward(Duration::from_millis(89_999));
    assert!(!fixture.is_accepted(&assertion).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_is_accepted_once_under_concurrency() {
    let fixture = AssertionFixture::new(Algorithm::EdDSA).await;
    let assertion = fixture.assertion("1", |_| {});
    let requests =
        futures::future::join_all((0..16).map(|_| fixture.is_accepted(&assertion))).await;
    assert_eq!(
        requests.iter().filter(|is_accepted| **is_accepted).count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_must_have_this_service_as_its_only_audience() {
    let fixture = AssertionFixture::new(Algorithm::ES256).await;
    for (number, (audience, is_accepted)) in [
        (json!(ISSUER), true),
        (json!([ISSUER]), true),
        (json!([ISSUER, "https://other.example"]), false),
        (json!([ISSUER, ISSUER]), false),
        (json!([]), false),
        (json!("https://other.example"), false),
        (json!(format!("{ISSUER}/")), false),
        (json!(format!("{ISSUER}/oauth2/token")), false),
        (json!({"a": ISSUER}), false),
        (Value::Null, false),
    ]
    .into_iter()
    .enumerate()
    {
        let assertion = fixture.assertion(&number.to_string(), |claims| {
            claims["aud"] = audience.clone();
        });
        assert_eq!(
            fixture.is_accepted(&assertion).await,
            is_accepted,
            "{audience}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_must_expire_within_an_hour() {
    let fixture = AssertionFixture::new(Algorithm::ES256).await;
    for (number, (end, is_accepted)) in [
        (json!(NOW + 60), true),
        (json!(NOW + 3_600), true),
        (json!(NOW + 3_631), false),
        (json!(NOW - 29), true),
        (json!(NOW - 30), false),
        (json!("soon"), false),
        (Value::Null, false),
    ]
    .into_iter()
    .enumerate()
    {
        let assertion = fixture.assertion(&number.to_string(), |claims| {
            claims["exp"] = end.clone();
        });
        assert_eq!(fixture.is_accepted(&assertion).await, is_accepted, "{end}");
    }
    let early = fixture.assertion("early", |claims| claims["nbf"] = json!(NOW + 31));
    assert!(!fixture.is_accepted(&early).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_must_have_an_id_and_name_its_client_as_issuer_and_subject() {
    let fixture = AssertionFixture::new(Algorithm::ES256).await;
    let keys = PublicKeys::Set(fixture.key.set("client's"));
    let other = fixture.base.signing_client(keys).await;
    let long = "x".repeat(256);
    for (claim, values) in [
        ("jti", vec![json!(""), json!(7), json!(long), Value::Null]),
        ("sub", vec![json!(other.id), json!("nobody"), Value::Null]),
        (
            "iss",
            vec![json!(other.id), json!("nobody"), json!(7), Value::Null],
        ),
    ] {
        for value in values {
            let assertion = fixture.assertion("1", |claims| claims[claim] = value.clone());
            assert!(!fixture.is_accepted(&assertion).await, "{claim}: {value}");
        }
    }
    let named = |client: &Credential| ClientCredentials {
        client_id: Some(client.id.to_string()),
        assertion: Some(fixture.assertion("1", |_| {})),
        assertion_type: Some(TYPE.to_owned()),
        ..ClientCredentials::default()
    };
    assert!(
        fixture
            .node
            .request_token(&named(&fixture.client), |_| {})
            .await
            .is_ok()
    );
    let outcome = fixture.node.request_token(&named(&other), |_| {}).await;
    assert!(
        matches!(outcome, Err(OAuthError::InvalidClient)),
        "{outcome:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assertion_with_the_key_of_another_party_is_rejected() {
    let fixture = AssertionFixture::new(Algorithm::ES256).await;
    let claims = fixture.claims("1", |_| {});
    for algorithm in [Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA] {
        let outsider = KeyPair::new(algorithm);
        for kid in ["client's", "unknown"] {
            let assertion = outsider.sign(kid, None, &claims);
            assert!(
                !fixture.is_accepted(&assertion).await,
                "{algorithm:?} {kid}"
            );
        }
    }
    let public = serde_json::to_vec(&fixture.key.public("client's")).expect("JSON");
    let confused = EncodingKey::from_secret(&public);
    let assertion = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &confused);
    assert!(!fixture.is_accepted(&assertion.expect("a signature")).await);
    // A client with a secret has no key, and its secret is not accepted as an assertion.
    let (by_secret, secret) = fixture.base.client(|_| {}).await;
    let credentials = fixture.assertion("2", |claims| {
        claims["iss"] = json!(by_secret.id);
        claims["sub"] = json!(by_secret.id);
    });
    assert!(!fixture.is_accepted(&credentials).await);
    assert!(!fixture.is_accepted(secret.reveal()).await);
    fixture.base.revoke(&fixture.client).await;
    assert!(!fixture.is_accepted(&fixture.assertion("3", |_| {})).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_publish_its_keys_and_change_them() {
    let mut fixture = AssertionFixture::new(Algorithm::ES256).await;
    let keys = PublicKeys::At(KEY_ADDRESS.to_owned());
    fixture.client = fixture.base.signing_client(keys).await;
    let early = with_assertion(&fixture.assertion("1", |_| {}));
    let outcome = fixture.node.request_token(&early, |_| {}).await;
    assert!(
        matches!(outcome, Err(OAuthError::KeysUnavailable(_))),
        "the keys are not published, so nothing is known about the client: {outcome:?}"
    );
    fixture
        .base
        .web
        .publish(KEY_ADDRESS, fixture.key.set("client's"));
    fixture.base.clock.forward(Duration::from_secs(30));
    let assertion = fixture.assertion("1", |_| {});
    assert!(fixture.is_accepted(&assertion).await);
    assert!(!fixture.is_accepted(&assertion).await);
    let next = KeyPair::new(Algorithm::PS256);
    fixture.base.web.publish(KEY_ADDRESS, next.set("next"));
    fixture.base.clock.forward(Duration::from_secs(30));
    let claims = fixture.claims("2", |_| {});
    assert!(fixture.is_accepted(&next.sign("next", None, &claims)).await);
    let old = fixture.assertion("3", |_| {});
    assert!(!fixture.is_accepted(&old).await);
    let requests = fixture.base.web.requests();
    let by_tenant = |(_, named_by): &(String, UrlTrust)| *named_by == UrlTrust::Tenant;
    assert!(
        !requests.is_empty() && requests.iter().all(by_tenant),
        "{requests:?}"
    );
}
