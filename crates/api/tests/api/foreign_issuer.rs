//! Tokens of identity providers of others: which are good, and what of them is believed.

use std::time::{Duration, Instant};

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    harness::Api,
    issuer::{ForeignIssuer, Imitation, UNTIL_KEYS_ARE_FETCHED_AGAIN, get_with_keys, variable},
};

/// What is in a token, so that it allows to read agents and events, as each provider says it.
fn reading(imitation: Imitation, login: Option<&str>) -> Value {
    let mut order = match (imitation, login) {
        (Imitation::Keycloak, _) => json!({"roles": ["reader", "offline_access"]}),
        (Imitation::Auth0, None) => json!({"roles": ["agents:read", "events:read", "other:read"]}),
        (Imitation::Auth0, Some(_)) => {
            json!({"roles": ["events:read"], "scope": "openid agents:read"})
        }
        (Imitation::Entra, None) => json!({"roles": ["Agents.Read.All"]}),
        (Imitation::Entra, Some(_)) => json!({"scope": "openid agents:read events:read"}),
    };
    if let Some(login) = login {
        order["login"] = json!(login);
    }
    order
}

/// A token is a bearer's, whatever header a client would like better.
async fn agents_by_key_header(api: &Api, token: &str) -> Answer {
    let request = api.anonymous().request("GET", "/api/agents");
    request.header("X-API-Key", token).send().await
}

async fn agents(api: &Api, token: &str) -> Answer {
    get_with_keys(&api.caller(Some(token)), "/api/agents").await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_provider_s_users_and_machines_may_do_what_their_tokens_say() {
    for imitation in Imitation::ALL {
        let mut issuer = ForeignIssuer::start(imitation).await;
        let api = issuer.trusted().start().await;
        for login in [None, Some("auth0|5f7c8ec7c33c6c004bbafe82")] {
            let minted = issuer.mint(reading(imitation, login)).await;
            let caller = api.caller(Some(minted.token()));
            get_with_keys(&caller, "/api/agents").await.ok();
            caller.get("/api/events?since=0").await.ok();
            for (path, body) in [
                ("/api/agents", json!({"name": "Ada"})),
                ("/api/chat", json!({})),
            ] {
                let answer = caller.post(path, body).await;
                answer.problem(ProblemCode::InsufficientScope);
            }
            let answer = caller.get("/api/conversations").await;
            answer.problem(ProblemCode::InsufficientScope);
        }
        api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_of_other_applications_allow_nothing() {
    let mut issuer = ForeignIssuer::start(Imitation::Keycloak).await;
    let api = issuer.trusted().start().await;
    for claims in [
        json!({"realm_access": {"roles": ["reader"]}, "resource_access": {}}),
        json!({"resource_access": {"account": {"roles": ["reader"]}}}),
        json!({"resource_access": {"agent-service": {"roles": ["Reader", "", "reader writer"]}}}),
        json!({"resource_access": {"agent-service": "reader"}, "scope": "agents:read"}),
    ] {
        let minted = issuer.mint(json!({"claims": claims})).await;
        let answer = agents(&api, minted.token()).await;
        answer.problem(ProblemCode::InsufficientScope);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refuses_what_the_provider_signed_for_something_else() {
    let mut issuer = ForeignIssuer::start(Imitation::Auth0).await;
    let api = issuer.trusted().start().await;
    let good = reading(Imitation::Auth0, Some("ada"));
    let with = |changes: Value| {
        let mut order = good.clone();
        let members = changes.as_object().expect("an object").clone();
        order.as_object_mut().expect("an object").extend(members);
        order
    };
    let minted = issuer.mint(good.clone()).await;
    agents(&api, minted.token()).await.ok();
    for answer in [
        agents(&api, minted.id_token()).await,
        agents_by_key_header(&api, minted.token()).await,
    ] {
        answer.problem(ProblemCode::InvalidCredentials);
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
        let minted = issuer.mint(with(changes.clone())).await;
        let answer = agents(&api, minted.token()).await;
        assert_eq!(answer.status, 401, "{changes}: {}", answer.text());
        answer.problem(ProblemCode::InvalidCredentials);
        assert!(
            answer
                .header("www-authenticate")
                .contains("error=\"invalid_token\"")
        );
    }
    let minted = issuer.mint(with(json!({"lifetime": -60}))).await;
    let answer = agents(&api, minted.token()).await;
    answer.problem(ProblemCode::TokenExpired);

    let longest = "a".repeat(255);
    let minted = issuer.mint(with(json!({"login": longest}))).await;
    agents(&api, minted.token()).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refuses_an_id_token_even_where_any_type_and_the_client_s_audience_are_taken() {
    for imitation in [Imitation::Keycloak, Imitation::Entra] {
        let mut issuer = ForeignIssuer::start(imitation).await;
        let audiences = format!("{},shop", issuer.description["audience"].as_str().unwrap());
        let plan = issuer.trusted().setting(&variable("AUDIENCES"), &audiences);
        let api = plan.start().await;
        let minted = issuer.mint(json!({"login": "ada"})).await;
        let answer = agents(&api, minted.id_token()).await;
        answer.problem(ProblemCode::InvalidCredentials);
        api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refuses_tokens_of_an_issuer_that_is_not_configured() {
    let issuer = ForeignIssuer::start(Imitation::Auth0).await;
    let mut other = ForeignIssuer::start(Imitation::Auth0).await;
    let api = issuer.trusted().start().await;
    let foreign = other.mint(reading(Imitation::Auth0, None)).await;
    // Also when it claims to be the one that is trusted, and names the right key set itself.
    let mut order = reading(Imitation::Auth0, None);
    order["claims"] = json!({"iss": issuer.description["issuer"]});
    let pretended = other.mint(order).await;
    for minted in [foreign, pretended] {
        let answer = agents(&api, minted.token()).await;
        answer.problem(ProblemCode::InvalidCredentials);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn follows_a_provider_that_changes_its_keys() {
    let mut issuer = ForeignIssuer::start(Imitation::Keycloak).await;
    let api = issuer.trusted().start().await;
    let order = reading(Imitation::Keycloak, Some("ada"));
    let before = issuer.mint(order.clone()).await;
    agents(&api, before.token()).await.ok();
    assert_eq!(issuer.fetches().await, 1);

    issuer.rotate(true).await;
    let after = issuer.mint(order.clone()).await;
    until_let_in(&api, after.token()).await;
    assert_eq!(issuer.fetches().await, 2, "not once for each refusal");
    // A key that is still published is still good, for a token that was not seen before too.
    agents(&api, before.token()).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn goes_on_while_a_provider_is_down() {
    let mut issuer = ForeignIssuer::start(Imitation::Entra).await;
    let api = issuer.trusted().start().await;
    let order = reading(Imitation::Entra, Some("ada"));
    let (first, second) = (issuer.mint(order.clone()).await, issuer.mint(order).await);
    agents(&api, first.token()).await.ok();
    issuer.fall().await;
    // Not remembered: its signature is checked, with the keys in memory.
    agents(&api, second.token()).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_down_from_the_start_is_asked_again() {
    let mut issuer = ForeignIssuer::start(Imitation::Auth0).await;
    let api = issuer.trusted().start().await;
    let minted = issuer.mint(reading(Imitation::Auth0, None)).await;
    issuer.fall().await;
    let answer = api.caller(Some(minted.token())).get("/api/agents").await;
    answer.problem(ProblemCode::IssuerUnavailable);
    // Who does not need the provider does not notice.
    api.reader().get("/api/agents").await.ok();
    issuer.rise().await;
    until_let_in(&api, minted.token()).await;
    api.stop().await;
}

/// Waits until a token is let in.
async fn until_let_in(api: &Api, token: &str) {
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
async fn a_claim_names_the_user_s_tenant() {
    let mut issuer = ForeignIssuer::start(Imitation::Auth0).await;
    let plan = issuer.trusted();
    let plan = plan.setting(&variable("TENANT_CLAIM"), "https://agents.example/tenant");
    let api = plan.start().await;
    let agent = api.agent_id().await;
    let mut tokens = Vec::new();
    for tenant in [
        json!("default"),
        json!("other"),
        json!("nobody"),
        json!(7),
        json!(null),
    ] {
        let mut order = reading(Imitation::Auth0, Some("ada"));
        order["claims"] = json!({"https://agents.example/tenant": tenant});
        tokens.push(issuer.mint(order).await);
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
