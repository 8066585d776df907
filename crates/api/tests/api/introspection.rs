//! `POST /oauth2/introspect` and `POST /oauth2/revoke`.

use domain::ProblemCode;
use serde_json::json;

use crate::{
    api_server::ApiServer,
    oauth::{Bearer, Client, endpoint, parts},
    user_tokens::{BACKEND, backend, token},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_valid_token_is_described_to_clients_of_its_tenant() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read", "chat:write"]).await;
    let colleague = Client::make(&api, &["events:read"]).await;
    let token = client.token(&api).await;
    let (_, claims) = parts(&token);
    let url = format!("http://{}", api.address);
    let expected = json!({
        "active": true, "scope": "agents:read chat:write", "client_id": client.id,
        "sub": client.id, "token_type": "Bearer", "exp": claims["exp"], "iat": claims["iat"],
        "iss": url, "aud": url, "jti": claims["jti"],
    });
    assert_eq!(client.introspect(&api, &token).await, expected);
    assert_eq!(colleague.introspect(&api, &token).await, expected);
    let hinted = [("token", &*token), ("token_type_hint", "refresh_token")];
    let response = client.ask(&api, "/oauth2/introspect", &hinted).await;
    assert_eq!(response.ok(), expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agents_that_a_token_reaches_are_told() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let (_, backend) = backend(&api, BACKEND).await;
    let agent = api.agent_id().await;
    let confined = token(&backend, json!({"userId": "ada", "agentIds": [agent]})).await;
    let found = client.introspect(&api, &confined).await;
    assert_eq!(found["agent_ids"], json!([agent]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anything_else_is_only_reported_inactive() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let other_tenant = Client::create(&api.other_tenant(), &["agents:read"]).await;
    let foreign = {
        let elsewhere = ApiServer::start().await;
        let client = Client::make(&elsewhere, &["agents:read"]).await;
        let token = client.token(&elsewhere).await;
        elsewhere.stop().await;
        token
    };
    let of_stranger = other_tenant.token(&api).await;
    for token in [
        "nonsense",
        "a.b.c",
        api.writer().key(),
        &client.secret,
        &foreign,
        &of_stranger,
    ] {
        let worth = client.introspect(&api, token).await;
        assert_eq!(worth, json!({"active": false}), "{token}");
    }
    let worth = other_tenant.introspect(&api, &of_stranger).await;
    assert_eq!(worth["active"], true);
    let response = client.ask(&api, "/oauth2/introspect", &[]).await;
    assert_eq!(response.oauth_error(), (400, "invalid_request".to_owned()));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_is_rejected_at_once() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let (token, kept) = (client.token(&api).await, client.token(&api).await);
    let bearer = Bearer::new(&api, &token);
    bearer.get("/api/agents").await.ok();
    for _ in 0..2 {
        let own = [("token", &*token)];
        let response = client.ask(&api, "/oauth2/revoke", &own).await;
        assert_eq!((response.status, response.body.len()), (200, 0));
        let response = bearer.get("/api/agents").await;
        response.problem(ProblemCode::InvalidCredentials);
    }
    assert_eq!(
        client.introspect(&api, &token).await,
        json!({"active": false})
    );
    Bearer::new(&api, &kept).get("/api/agents").await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_own_client_revokes_a_token() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let other = Client::make(&api, &["agents:read"]).await;
    let token = client.token(&api).await;
    let own = [("token", &*token)];
    let response = other.ask(&api, "/oauth2/revoke", &own).await;
    assert_eq!(response.oauth_error(), (400, "invalid_grant".to_owned()));
    let response = endpoint(&api, "/oauth2/revoke").form(&own).send().await;
    assert_eq!(response.oauth_error(), (401, "invalid_client".to_owned()));
    Bearer::new(&api, &token).get("/api/agents").await.ok();
    for nothing in ["nonsense", api.writer().key()] {
        let own = [("token", nothing)];
        let response = client.ask(&api, "/oauth2/revoke", &own).await;
        assert_eq!(response.status, 200, "{nothing}");
    }
    api.writer().get("/api/agents").await.ok();
    let response = client.ask(&api, "/oauth2/revoke", &[]).await;
    assert_eq!(response.oauth_error(), (400, "invalid_request".to_owned()));
    api.stop().await;
}
