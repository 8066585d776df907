//! `/api/oauth-clients`: the validation of the public keys of clients.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    oauth_clients::{coordinate, created, fault, key_set, with},
};

/// Sends drafts with one error each.
async fn assert_rejected(api: &ApiServer, cases: &[(Value, &str, &str)]) {
    for (members, pointer, code) in cases {
        let response = created(api, members.clone()).await;
        response.problem(ProblemCode::ValidationFailed);
        assert_eq!(response.faults(), [fault(pointer, code)], "{members}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_keys_that_must_not_sign() {
    let api = ApiServer::start().await;
    let good = &key_set(1)["keys"][0];
    let cases = [
        (json!({"d": coordinate(2)}), "/d", "unknown_member"),
        (json!({"kty": "oct", "k": "AAAA"}), "/kty", "unknown_value"),
        (json!({"alg": "HS256"}), "/alg", "unknown_value"),
        (json!({"alg": "ES256"}), "/alg", "unknown_value"),
        (json!({"use": "enc"}), "/use", "unknown_value"),
        (json!({"crv": "X25519"}), "/crv", "unknown_value"),
        (json!({"x": "AAAA"}), "/x", "bad_format"),
        (
            json!({"kty": "RSA", "n": coordinate(1), "e": "AQAB"}),
            "/n",
            "too_short",
        ),
    ];
    for (members, pointer, code) in cases {
        let bad = with(with(good.clone(), &json!({"kid": "another"})), &members);
        let draft = json!({"jwks": {"keys": [good, bad]}});
        let pointer = format!("/jwks/keys/1{pointer}");
        assert_rejected(&api, &[(draft, &pointer, code)]).await;
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_key_sets_without_one_to_ten_keys() {
    let api = ApiServer::start().await;
    let keys = |numbers: &[u8]| -> Value {
        let keys: Vec<Value> = numbers
            .iter()
            .map(|it| key_set(*it)["keys"][0].clone())
            .collect();
        json!({"jwks": {"keys": keys}})
    };
    let eleven: Vec<u8> = (0..11).collect();
    let both = json!({"jwks": key_set(1), "jwksUri": "https://a.example"});
    let cases = [
        (keys(&[1, 1]), "/jwks/keys/1/kid", "duplicate_item"),
        (keys(&eleven), "/jwks/keys", "too_many"),
        (keys(&[]), "/jwks/keys", "too_short"),
        (json!({"jwks": {}}), "/jwks/keys", "required"),
        (json!({"jwks": "https://a.example"}), "/jwks", "wrong_type"),
        (both, "/jwksUri", "not_combinable"),
    ];
    assert_rejected(&api, &cases).await;
    created(&api, keys(&eleven[1..])).await.created();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_urls_where_keys_cannot_be_published() {
    let api = ApiServer::start().await;
    for address in [
        "http://client.example/jwks.json",
        "http://127.0.0.1/jwks.json",
        "https://user:word@client.example/jwks.json",
        "https://127.0.0.1/jwks.json",
        "https://10.0.0.1/jwks.json",
        "https://169.254.169.254/jwks.json",
        "https://[::ffff:127.0.0.1]/jwks.json",
        "https://[::]/jwks.json",
        "https://client.example/jwks.json#keys",
        "https://client.example/a b",
        "file:///etc/passwd",
        "client.example",
        "",
    ] {
        let response = created(&api, json!({"jwksUri": address})).await;
        response.problem(ProblemCode::ValidationFailed);
        assert_eq!(
            response.faults(),
            [fault("/jwksUri", "bad_format")],
            "{address}"
        );
    }
    let long = format!("https://client.example/{}", "a".repeat(2_048));
    let response = created(&api, json!({"jwksUri": long})).await;
    assert_eq!(response.faults(), [fault("/jwksUri", "too_long")]);
    let response = created(&api, json!({"allowedOrigins": []})).await;
    assert_eq!(
        response.faults(),
        [fault("/allowedOrigins", "unknown_member")]
    );
    api.stop().await;
}
