//! The token endpoint and the interface behind it as OAuth libraries of others see them.

use serde_json::{Value, json};

use crate::{harness::Api, partner};

const BY_SECRET: [&str; 2] = ["client_secret_basic", "client_secret_post"];

/// Has a library of others go the whole way, as a new client with these members: it finds the
/// service, fetches tokens, uses them, has them introspected and revokes them.
async fn talk(api: &Api, script: &str, client: Value, key: Option<&Value>) -> Value {
    let mut draft = client;
    draft["name"] = json!(script);
    draft["scopes"] = json!(["agents:read"]);
    let made = api.writer().post("/api/oauth-clients", draft).await.made();
    let mut order = json!({
        "baseUrl": format!("http://{}", api.address),
        "clientId": made["id"],
        "scope": "agents:read",
    });
    match key {
        Some(key) => {
            assert!(made["secret"].is_null(), "a client with keys has no secret");
            order["privateKey"] = key.clone();
        }
        None => order["clientSecret"] = made["secret"].clone(),
    }
    partner::run(script, &[], &order).await
}

/// Goes the whole way with a secret.
async fn talk_by_secret(api: &Api, script: &str) -> Value {
    let told = talk(api, script, json!({}), None).await;
    for method in BY_SECRET {
        check(&told, method);
    }
    told
}

/// Goes the whole way with a key of each kind.
async fn talk_by_key(api: &Api, script: &str) -> Value {
    let mut told = Value::Null;
    for algorithm in ["ES256", "RS256", "PS256"] {
        let keys = partner::run("client_key.mjs", &[algorithm], &Value::Null).await;
        let client = json!({"jwks": keys["jwks"]});
        told = talk(api, script, client, Some(&keys["privateKey"])).await;
        check(&told, "private_key_jwt");
    }
    told
}

/// The script itself fails when something is not as it should be; this is that it was tried.
fn check(told: &Value, method: &str) {
    let way = &told["methods"][method];
    assert_eq!(way["expiresIn"], 600, "{told}");
    let refused = json!({"status": 401, "error": "invalid_token"});
    assert_eq!(way["refused"], refused, "{told}");
}

fn refusal(status: u16, error: &str) -> Value {
    json!({"status": status, "error": error})
}

#[tokio::test(flavor = "multi_thread")]
async fn openid_client_goes_the_whole_way() {
    let api = Api::start().await;
    let told = talk_by_secret(&api, "openid_client.mjs").await;
    let encoded = &told["methods"]["client_secret_basic"]["formEncoded"];
    assert_eq!(encoded, true, "it escapes what need not be escaped: {told}");
    assert_eq!(
        told["refusals"]["wrongSecret"],
        refusal(401, "invalid_client")
    );
    assert_eq!(
        told["refusals"]["unknownScope"],
        refusal(400, "invalid_scope")
    );
    talk_by_key(&api, "openid_client.mjs").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn oauth4webapi_goes_the_whole_way_and_takes_our_tokens_for_what_they_are() {
    let api = Api::start().await;
    let told = talk_by_secret(&api, "oauth4webapi.mjs").await;
    let basic = &told["methods"]["client_secret_basic"];
    assert_eq!(basic["formEncoded"], true, "{told}");
    assert_eq!(basic["forbidden"], refusal(403, "insufficient_scope"));
    assert_eq!(
        told["refusals"]["wrongSecret"],
        refusal(401, "invalid_client")
    );
    assert_eq!(
        told["refusals"]["wrongSecretInBody"],
        refusal(401, "invalid_client")
    );
    assert_eq!(
        told["refusals"]["unknownScope"],
        refusal(400, "invalid_scope")
    );
    talk_by_key(&api, "oauth4webapi.mjs").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_goes_the_whole_way_and_takes_our_tokens_for_what_they_are() {
    let api = Api::start().await;
    let told = talk_by_secret(&api, "authlib_client.py").await;
    assert_eq!(told["refusals"]["wrongSecret"], "invalid_client");
    assert_eq!(told["refusals"]["unknownScope"], "invalid_scope");
    let told = talk_by_key(&api, "authlib_client.py").await;
    // Its own choice of an audience is the token endpoint; ours is the issuer and nothing else.
    assert_eq!(told["refusals"]["otherAudience"], "invalid_client");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn oauthlib_goes_the_whole_way() {
    let api = Api::start().await;
    let told = talk_by_secret(&api, "oauthlib_client.py").await;
    assert_eq!(told["refusals"]["wrongSecret"], "invalid_client");
    assert_eq!(told["refusals"]["unknownScope"], "invalid_scope");
    api.stop().await;
}
