//! The token endpoint and the API, used by third-party OAuth libraries.

use serde_json::{Value, json};

use crate::{api_server::ApiServer, child_program};

const BY_SECRET: [&str; 2] = ["client_secret_basic", "client_secret_post"];

/// Runs a third-party library as a new client with these members: it discovers the service, fetches
/// tokens, uses, introspects and revokes them.
async fn run_library(api: &ApiServer, script: &str, client: Value, key: Option<&Value>) -> Value {
    let mut draft = client;
    draft["name"] = json!(script);
    draft["scopes"] = json!(["agents:read"]);
    let made = api
        .writer()
        .post("/api/oauth-clients", draft)
        .await
        .created();
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
    child_program::run(script, &[], &order).await
}

/// Completes all flows with a secret.
async fn talk_by_secret(api: &ApiServer, script: &str) -> Value {
    let received = run_library(api, script, json!({}), None).await;
    for method in BY_SECRET {
        check(&received, method);
    }
    received
}

/// Completes all flows with a key of each kind.
async fn talk_by_key(api: &ApiServer, script: &str) -> Value {
    let mut received = Value::Null;
    for algorithm in ["ES256", "RS256", "PS256"] {
        let keys = child_program::run("client_key.mjs", &[algorithm], &Value::Null).await;
        let client = json!({"jwks": keys["jwks"]});
        received = run_library(api, script, client, Some(&keys["privateKey"])).await;
        check(&received, "private_key_jwt");
    }
    received
}

/// The script fails on unexpected results; this checks that the case ran.
fn check(received: &Value, method: &str) {
    let way = &received["methods"][method];
    assert_eq!(way["expiresIn"], 600, "{received}");
    let rejected = json!({"status": 401, "error": "invalid_token"});
    assert_eq!(way["refused"], rejected, "{received}");
}

fn refusal(status: u16, error: &str) -> Value {
    json!({"status": status, "error": error})
}

#[tokio::test(flavor = "multi_thread")]
async fn openid_client_completes_all_flows() {
    let api = ApiServer::start().await;
    let received = talk_by_secret(&api, "openid_client.mjs").await;
    let encoded = &received["methods"]["client_secret_basic"]["formEncoded"];
    assert_eq!(
        encoded, true,
        "it escapes what need not be escaped: {received}"
    );
    assert_eq!(
        received["refusals"]["wrongSecret"],
        refusal(401, "invalid_client")
    );
    assert_eq!(
        received["refusals"]["unknownScope"],
        refusal(400, "invalid_scope")
    );
    talk_by_key(&api, "openid_client.mjs").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn oauth4webapi_completes_all_flows_and_validates_tokens() {
    let api = ApiServer::start().await;
    let received = talk_by_secret(&api, "oauth4webapi.mjs").await;
    let basic = &received["methods"]["client_secret_basic"];
    assert_eq!(basic["formEncoded"], true, "{received}");
    assert_eq!(basic["forbidden"], refusal(403, "insufficient_scope"));
    assert_eq!(
        received["refusals"]["wrongSecret"],
        refusal(401, "invalid_client")
    );
    assert_eq!(
        received["refusals"]["wrongSecretInBody"],
        refusal(401, "invalid_client")
    );
    assert_eq!(
        received["refusals"]["unknownScope"],
        refusal(400, "invalid_scope")
    );
    talk_by_key(&api, "oauth4webapi.mjs").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_completes_all_flows_and_validates_tokens() {
    let api = ApiServer::start().await;
    let received = talk_by_secret(&api, "authlib_client.py").await;
    assert_eq!(received["refusals"]["wrongSecret"], "invalid_client");
    assert_eq!(received["refusals"]["unknownScope"], "invalid_scope");
    let received = talk_by_key(&api, "authlib_client.py").await;
    // The library's default audience is the token endpoint; the service accepts only the issuer.
    assert_eq!(received["refusals"]["otherAudience"], "invalid_client");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn oauthlib_completes_all_flows() {
    let api = ApiServer::start().await;
    let received = talk_by_secret(&api, "oauthlib_client.py").await;
    assert_eq!(received["refusals"]["wrongSecret"], "invalid_client");
    assert_eq!(received["refusals"]["unknownScope"], "invalid_scope");
    api.stop().await;
}
