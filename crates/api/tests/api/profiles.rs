//! `/api/profiles`: what pages show of agents.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    user_tokens::{BACKEND, backend, token},
};

const PROMPT: &str = "a secret prompt";

async fn agent_with_profile(api: &ApiServer) -> String {
    let agent = json!({
        "name": "Ada",
        "personality": PROMPT,
        "capabilities": [PROMPT],
        "config": {
            "instructions": PROMPT,
            "fallbackReply": PROMPT,
            "metadata": {"prompt": PROMPT},
            "greeting": "Hello!",
            "profile": {
                "description": "Knows the shop.",
                "suggestions": ["Where is my parcel?"],
                "metadata": {"colour": "teal"},
            },
        },
    });
    id_of(&api.agent(agent).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn visitors_see_the_profiles_of_agents_and_nothing_else() {
    let api = ApiServer::start().await;
    let agent = agent_with_profile(&api).await;
    let bare = id_of(&api.agent(json!({"name": "Bob"})).await);
    let (_, backend) = backend(&api, BACKEND).await;
    let token = token(&backend, json!({"userId": "ada"})).await;
    let visitor = api.caller(Some(&token));
    let profile = json!({
        "id": agent, "name": "Ada", "description": "Knows the shop.", "greeting": "Hello!",
        "suggestions": ["Where is my parcel?"], "metadata": {"colour": "teal"},
    });
    let read = visitor.get(&format!("/api/profiles/{agent}")).await.ok();
    assert_eq!(read, profile);
    let empty = json!({
        "id": bare, "name": "Bob", "description": "", "greeting": null, "suggestions": [],
        "metadata": {},
    });
    let page = visitor.get("/api/profiles?limit=1").await.ok();
    assert_eq!(
        (&page["data"], &page["hasMore"]),
        (&json!([empty]), &json!(true))
    );
    let next = format!(
        "/api/profiles?cursor={}",
        page["nextCursor"].as_str().unwrap()
    );
    let page = visitor.get(&next).await.ok();
    assert_eq!(page["data"], json!([profile]));
    for path in [
        format!("/api/agents/{agent}"),
        "/api/engines".to_owned(),
        "/api/capabilities".to_owned(),
    ] {
        visitor
            .get(&path)
            .await
            .problem(ProblemCode::InsufficientScope);
    }
    let log = visitor.get("/api/events?since=0").await;
    assert_eq!(log.ok()["data"][0]["data"]["profile"]["name"], "Ada");
    assert!(!log.text().contains(PROMPT), "{}", log.text());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_have_profiles_for_readers_without_agents_read() {
    let api = ApiServer::start().await;
    let agent = agent_with_profile(&api).await;
    let path = format!("/api/agents/{agent}");
    api.writer().patch(&path, json!({"name": "Eve"})).await.ok();
    let reader = [Scope::EventsRead, Scope::ChatWrite];
    let events = api
        .caller_with_scopes(&reader)
        .await
        .get("/api/events?since=0")
        .await;
    let names: Vec<Value> = events.ok()["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            assert_eq!(event["data"]["agent"], Value::Null);
            event["data"]["profile"]["name"].clone()
        })
        .collect();
    assert_eq!(names, ["Ada", "Eve"]);
    let whole = [Scope::EventsRead, Scope::ChatWrite, Scope::AgentsRead];
    let events = api
        .caller_with_scopes(&whole)
        .await
        .get("/api/events?since=0")
        .await;
    assert_eq!(
        events.ok()["data"][1]["data"]["agent"]["personality"],
        PROMPT
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn profiles_are_limited() {
    let api = ApiServer::start().await;
    for (profile, pointer) in [
        (
            json!({"description": "x".repeat(501)}),
            "/config/profile/description",
        ),
        (
            json!({"suggestions": vec!["x"; 9]}),
            "/config/profile/suggestions",
        ),
        (
            json!({"suggestions": ["x".repeat(201)]}),
            "/config/profile/suggestions/0",
        ),
        (json!({"metadata": {"": "x"}}), "/config/profile/metadata/"),
        (json!({"unknown": 1}), "/config/profile/unknown"),
    ] {
        let agent = json!({"name": "Ada", "config": {"profile": profile}});
        let rejected = api.writer().post("/api/agents", agent).await;
        let problem = rejected.problem(ProblemCode::ValidationFailed);
        assert_eq!(problem["errors"][0]["pointer"], pointer);
    }
    api.stop().await;
}
