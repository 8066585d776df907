//! Tokens of external identity providers: which are valid, and which claims are used.

use std::time::{Duration, Instant};

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    issuer::{ExternalIssuer, ProviderKind, UNTIL_KEYS_ARE_FETCHED_AGAIN, get_with_keys, variable},
    response::ApiResponse,
};

/// The claims with which each provider grants access to agents and events.
fn claims_with_read_access(provider: ProviderKind, login: Option<&str>) -> Value {
    let mut order = match (provider, login) {
        (ProviderKind::Keycloak, _) => json!({"roles": ["reader", "offline_access"]}),
        (ProviderKind::Auth0, None) => {
            json!({"roles": ["agents:read", "events:read", "other:read"]})
        }
        (ProviderKind::Auth0, Some(_)) => {
            json!({"roles": ["events:read"], "scope": "openid agents:read"})
        }
        (ProviderKind::Entra, None) => json!({"roles": ["Agents.Read.All"]}),
        (ProviderKind::Entra, Some(_)) => json!({"scope": "openid agents:read events:read"}),
    };
    if let Some(login) = login {
        order["login"] = json!(login);
    }
    order
}

/// A token is accepted only as bearer token, not in another header.
async fn agents_by_key_header(api: &ApiServer, token: &str) -> ApiResponse {
    let request = api.anonymous().request("GET", "/api/agents");
    request.header("X-API-Key", token).send().await
}

async fn agents(api: &ApiServer, token: &str) -> ApiResponse {
    get_with_keys(&api.caller(Some(token)), "/api/agents").await
}

#[tokio::test(flavor = "multi_thread")]
async fn users_and_machines_have_the_scopes_of_their_tokens() {
    for provider in ProviderKind::ALL {
        let mut issuer = ExternalIssuer::start(provider).await;
        let api = issuer.trusting_server().start().await;
        for login in [None, Some("auth0|5f7c8ec7c33c6c004bbafe82")] {
            let minted = issuer
                .issue_tokens(claims_with_read_access(provider, login))
                .await;
            let caller = api.caller(Some(minted.token()));
            get_with_keys(&caller, "/api/agents").await.ok();
            caller.get("/api/events?since=0").await.ok();
            for (path, body) in [
                ("/api/agents", json!({"name": "Ada"})),
                ("/api/chat", json!({})),
            ] {
                let response = caller.post(path, body).await;
                response.problem(ProblemCode::InsufficientScope);
            }
            let response = caller.get("/api/conversations").await;
            response.problem(ProblemCode::InsufficientScope);
        }
        api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_of_other_applications_grant_nothing() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Keycloak).await;
    let api = issuer.trusting_server().start().await;
    for claims in [
        json!({"realm_access": {"roles": ["reader"]}, "resource_access": {}}),
        json!({"resource_access": {"account": {"roles": ["reader"]}}}),
        json!({"resource_access": {"agent-service": {"roles": ["Reader", "", "reader writer"]}}}),
        json!({"resource_access": {"agent-service": "reader"}, "scope": "agents:read"}),
    ] {
        let minted = issuer.issue_tokens(json!({"claims": claims})).await;
        let response = agents(&api, minted.token()).await;
        response.problem(ProblemCode::InsufficientScope);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_tokens_that_the_provider_signed_for_other_uses() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Auth0).await;
    let api = issuer.trusting_server().start().await;
    let good = claims_with_read_access(ProviderKind::Auth0, Some("ada"));
    let with = |changes: Value| {
        let mut order = good.clone();
        let members = changes.as_object().expect("an object").clone();
        order.as_object_mut().expect("an object").extend(members);
        order
    };
    let minted = issuer.issue_tokens(good.clone()).await;
    agents(&api, minted.token()).await.ok();
    for response in [
        agents(&api, minted.id_token()).await,
        agents_by_key_header(&api, minted.token()).await,
    ] {
        response.problem(ProblemCode::InvalidCredentials);
    }

    let long = "a".repeat(256);
    let soon = minted.issued_at() + 3_600;
    for changes in [
        json!({"claims": {"iss": "https://id.example/"}}),
        json!({"claims": {"iss": null}}),
        json!({"claims": {"aud": "https://agents.example/"}}),
        json!({"claims": {"aud": ["https://agents.example/ap", "shop"]}}),
        json!({"claims": {"aud": {"https://agents.example/api": true}}}),
        json!({"claims": {"sub": null}}),
        json!({"claims": {"sub": ""}}),
        json!({"claims": {"sub": 7}}),
        json!({"claims": {"sub": "ada\u{0}"}}),
        json!({"claims": {"exp": null}}),
        json!({"claims": {"exp": "tomorrow"}}),
        json!({"claims": {"nbf": soon}}),
        json!({"type": "JWT"}),
        json!({"type": "logout+jwt"}),
        json!({"algorithm": "ES256"}),
        json!({"algorithm": "PS256"}),
        json!({"algorithm": "EdDSA"}),
        json!({"login": long}),
    ] {
        let minted = issuer.issue_tokens(with(changes.clone())).await;
        let response = agents(&api, minted.token()).await;
        assert_eq!(response.status, 401, "{changes}: {}", response.text());
        response.problem(ProblemCode::InvalidCredentials);
        assert!(
            response
                .header("www-authenticate")
                .contains("error=\"invalid_token\"")
        );
    }
    let minted = issuer.issue_tokens(with(json!({"lifetime": -60}))).await;
    let response = agents(&api, minted.token()).await;
    response.problem(ProblemCode::TokenExpired);

    let longest = "a".repeat(255);
    let minted = issuer.issue_tokens(with(json!({"login": longest}))).await;
    agents(&api, minted.token()).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_an_id_token_even_with_lenient_settings() {
    for provider in [ProviderKind::Keycloak, ProviderKind::Entra] {
        let mut issuer = ExternalIssuer::start(provider).await;
        let audiences = format!("{},shop", issuer.description["audience"].as_str().unwrap());
        let builder = issuer
            .trusting_server()
            .setting(&variable("AUDIENCES"), &audiences);
        let api = builder.start().await;
        let minted = issuer.issue_tokens(json!({"login": "ada"})).await;
        let response = agents(&api, minted.id_token()).await;
        response.problem(ProblemCode::InvalidCredentials);
        api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_tokens_of_an_unconfigured_issuer() {
    let issuer = ExternalIssuer::start(ProviderKind::Auth0).await;
    let mut other = ExternalIssuer::start(ProviderKind::Auth0).await;
    let api = issuer.trusting_server().start().await;
    let foreign = other
        .issue_tokens(claims_with_read_access(ProviderKind::Auth0, None))
        .await;
    // Also if it contains the trusted issuer and the right key set URL.
    let mut order = claims_with_read_access(ProviderKind::Auth0, None);
    order["claims"] = json!({"iss": issuer.description["issuer"]});
    let pretended = other.issue_tokens(order).await;
    for minted in [foreign, pretended] {
        let response = agents(&api, minted.token()).await;
        response.problem(ProblemCode::InvalidCredentials);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn follows_a_provider_that_changes_its_keys() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Keycloak).await;
    let api = issuer.trusting_server().start().await;
    let order = claims_with_read_access(ProviderKind::Keycloak, Some("ada"));
    let before = issuer.issue_tokens(order.clone()).await;
    agents(&api, before.token()).await.ok();
    assert_eq!(issuer.fetch_count().await, 1);

    issuer.rotate(true).await;
    let after = issuer.issue_tokens(order.clone()).await;
    until_accepted_again(&api, after.token()).await;
    assert_eq!(issuer.fetch_count().await, 2, "not once for each refusal");
    // A published key stays valid, also for new tokens.
    agents(&api, before.token()).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_stay_valid_while_a_provider_is_down() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Entra).await;
    let api = issuer.trusting_server().start().await;
    let order = claims_with_read_access(ProviderKind::Entra, Some("ada"));
    let (first, second) = (
        issuer.issue_tokens(order.clone()).await,
        issuer.issue_tokens(order).await,
    );
    agents(&api, first.token()).await.ok();
    issuer.disconnect().await;
    // The token is not remembered: its signature is verified with the keys in memory.
    agents(&api, second.token()).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_an_unavailable_provider_are_fetched_again() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Auth0).await;
    let api = issuer.trusting_server().start().await;
    let minted = issuer
        .issue_tokens(claims_with_read_access(ProviderKind::Auth0, None))
        .await;
    issuer.disconnect().await;
    let response = api.caller(Some(minted.token())).get("/api/agents").await;
    response.problem(ProblemCode::IssuerUnavailable);
    // Other callers are not affected.
    api.reader().get("/api/agents").await.ok();
    issuer.reconnect().await;
    until_accepted_again(&api, minted.token()).await;
    api.stop().await;
}

/// Waits until a token is accepted.
async fn until_accepted_again(api: &ApiServer, token: &str) {
    let started = Instant::now();
    while agents(api, token).await.status != 200 {
        assert!(
            started.elapsed() < UNTIL_KEYS_ARE_FETCHED_AGAIN,
            "still refused"
        );
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_selects_the_tenant_of_a_user() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Auth0).await;
    let builder = issuer.trusting_server();
    let builder = builder.setting(&variable("TENANT_CLAIM"), "https://agents.example/tenant");
    let api = builder.start().await;
    let agent = api.agent_id().await;
    let mut tokens = Vec::new();
    for tenant in [
        json!("default"),
        json!("other"),
        json!("nobody"),
        json!(7),
        json!(null),
    ] {
        let mut order = claims_with_read_access(ProviderKind::Auth0, Some("ada"));
        order["claims"] = json!({"https://agents.example/tenant": tenant});
        tokens.push(issuer.issue_tokens(order).await);
    }
    let path = format!("/api/agents/{agent}");
    let get = |at: usize| {
        let caller = api.caller(Some(tokens[at].token()));
        let path = &path;
        async move { get_with_keys(&caller, path).await }
    };
    get(0).await.ok();
    get(1).await.problem(ProblemCode::AgentNotFound);
    for at in 2..tokens.len() {
        get(at).await.problem(ProblemCode::InvalidCredentials);
    }
    api.stop().await;
}
