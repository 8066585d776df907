//! `POST /oauth2/token`: issuing and using tokens.

use std::time::{Duration, Instant};

use domain::ProblemCode;
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    oauth::{Bearer, Client, GRANT, SigningClient, basic, endpoint, parts},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_client_gets_a_token_by_its_secret_and_uses_it() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read", "chat:write"]).await;
    let in_header = client.ask(&api, "/oauth2/token", &[GRANT]).await;
    let request = endpoint(&api, "/oauth2/token").form(&client.form(&[GRANT]));
    let in_form = request.send().await;
    for response in [in_header, in_form] {
        assert_eq!(response.header("content-type"), "application/json");
        let mut body = response.ok();
        let token = body["access_token"].take();
        let expected = json!({
            "access_token": null, "token_type": "Bearer", "expires_in": 600,
            "scope": "agents:read chat:write",
        });
        assert_eq!(body, expected);
        let bearer = Bearer::new(&api, token.as_str().expect("a token"));
        bearer.get("/api/agents").await.ok();
        let draft = json!({"name": "Ada"});
        let rejected = bearer.request("POST", "/api/agents").json(&draft).send();
        rejected.await.problem(ProblemCode::InsufficientScope);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn basic_credentials_are_form_decoded() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let secret = client.secret.replace('_', "%5f");
    assert_ne!(secret, client.secret);
    let request = endpoint(&api, "/oauth2/token").form(&[GRANT]);
    let request = request.header("Authorization", &basic(&client.id, &secret));
    request.send().await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_issuer_subject_and_audience() {
    let url = "https://agents.example.org/v";
    let builder = ApiServerBuilder::default().setting("SERVER__PUBLIC_URL", url);
    let api = builder.start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let token = client.token(&api).await;
    let (header, claims) = parts(&token);
    let keys = api.anonymous().get("/.well-known/jwks.json").await.ok();
    let kid = &keys["keys"][0]["kid"];
    assert_eq!(header, json!({"typ": "at+jwt", "alg": "ES256", "kid": kid}));
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!(url), &json!(url)));
    let id = json!(client.id);
    assert_eq!((&claims["sub"], &claims["client_id"]), (&id, &id));
    Bearer::new(&api, &token).get("/api/agents").await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_may_have_fewer_scopes_than_its_client() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read", "chat:write"]).await;
    let own = [GRANT, ("scope", "chat:write")];
    let issued = client.ask(&api, "/oauth2/token", &own).await.ok();
    assert_eq!(issued["scope"], "chat:write");
    let token = issued["access_token"].as_str().expect("a token");
    let response = Bearer::new(&api, token).get("/api/agents").await;
    response.problem(ProblemCode::InsufficientScope);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_public_url_is_the_audience_of_assertions() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let url = format!("http://{}", api.address);
    let own = [GRANT, ("resource", url.as_str()), ("unheard_of", "x")];
    client.ask(&api, "/oauth2/token", &own).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_gets_a_token_by_its_signature_once() {
    let api = ApiServer::start().await;
    let client = SigningClient::make(&api, &["agents:read"]).await;
    let url = format!("http://{}", api.address);
    let assertion = client.assertion(&url, "1");
    let issued = client.ask(&api, &assertion).await.ok();
    let token = issued["access_token"].as_str().expect("a token");
    Bearer::new(&api, token).get("/api/agents").await.ok();
    let expected = (401, "invalid_client".to_owned());
    assert_eq!(client.ask(&api, &assertion).await.oauth_error(), expected);
    for other in [
        "https://other.example".to_owned(),
        format!("{url}/"),
        format!("{url}/oauth2/token"),
    ] {
        let assertion = client.assertion(&other, &other);
        let response = client.ask(&api, &assertion).await;
        assert_eq!(response.oauth_error(), expected, "{other}");
    }
    client.ask(&api, &client.assertion(&url, "2")).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_grants_access_only_to_the_tenant_of_its_client() {
    let api = ApiServer::start().await;
    api.agent(json!({"name": "Ada"})).await;
    let other_tenant = Client::create(&api.other_tenant(), &["agents:read"]).await;
    let bearer = Bearer::new(&api, &other_tenant.token(&api).await);
    assert_eq!(bearer.get("/api/agents").await.ok()["data"], json!([]));
    let own = Client::make(&api, &["agents:read"]).await;
    let bearer = Bearer::new(&api, &own.token(&api).await);
    let listed = bearer.get("/api/agents").await.ok();
    assert_eq!(listed["data"][0]["name"], "Ada");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_event_log_contains_the_acting_client() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:write"]).await;
    let bearer = Bearer::new(&api, &client.token(&api).await);
    let draft = json!({"name": "Ada"});
    let made = bearer.request("POST", "/api/agents").json(&draft).send();
    made.await.created();
    let events = api.writer().get("/api/events?since=0").await.ok();
    let expected = format!("client:{}", client.id);
    assert_eq!(events["data"][0]["actor"], expected, "{events}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_stay_valid_after_a_restart() {
    let url = "https://agents.example.org";
    let builder = || ApiServerBuilder::default().setting("SERVER__PUBLIC_URL", url);
    let api = builder().start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let token = client.token(&api).await;
    let keys = api.anonymous().get("/.well-known/jwks.json").await.ok();
    let api = api.restart(builder()).await;
    Bearer::new(&api, &token).get("/api/agents").await.ok();
    let again = api.anonymous().get("/.well-known/jwks.json").await.ok();
    assert_eq!(again, keys);
    api.stop().await;
    // Under another public URL it is another audience.
    let api = ApiServerBuilder::default().start().await;
    let response = Bearer::new(&api, &token).get("/api/agents").await;
    response.problem(ProblemCode::InvalidCredentials);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_client_and_its_tokens_are_rejected_at_once() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let bearer = Bearer::new(&api, &client.token(&api).await);
    bearer.get("/api/agents").await.ok();
    let path = format!("/api/oauth-clients/{}", client.id);
    assert_eq!(api.writer().delete(&path).await.status, 204);
    let response = bearer.get("/api/agents").await;
    response.problem(ProblemCode::InvalidCredentials);
    let response = client.ask(&api, "/oauth2/token", &[GRANT]).await;
    assert_eq!(response.oauth_error(), (401, "invalid_client".to_owned()));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_signing_key_is_invalid_within_a_second() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let mut quickest = Duration::MAX;
    // A machine may stall for a second, but hardly at every attempt.
    for _ in 0..5 {
        let bearer = Bearer::new(&api, &client.token(&api).await);
        bearer.get("/api/agents").await.ok();
        let before = api.anonymous().get("/.well-known/jwks.json").await.ok();
        let dropped = Instant::now();
        let new = rotate_in_other_process(&api).await;
        while bearer.get("/api/agents").await.status == 200 {
            assert!(dropped.elapsed().as_secs() < 30, "the old key still counts");
        }
        quickest = quickest.min(dropped.elapsed());
        let after = api.anonymous().get("/.well-known/jwks.json").await.ok();
        assert_eq!(after["keys"].as_array().map(Vec::len), Some(1));
        assert_eq!(after["keys"][0]["kid"], new);
        assert_ne!(after, before);
        if quickest.as_millis() < 1_000 {
            break;
        }
    }
    assert!(quickest.as_millis() < 1_000, "{quickest:?}");
    let bearer = Bearer::new(&api, &client.token(&api).await);
    bearer.get("/api/agents").await.ok();
    api.stop().await;
}

/// Drops all signing keys and creates one, like the command in another process; returns its id.
async fn rotate_in_other_process(api: &ApiServer) -> String {
    let (clock, ids) = api::wiring::system();
    let settings = api::settings::Settings::load(None, []).expect("no settings");
    let keys = api::wiring::signing_keys(&settings, &api.storage, &clock, &ids);
    let rotated = keys.rotate(access::signing_keys::PreviousKeys::Drop);
    rotated.await.expect("a new key")
}
