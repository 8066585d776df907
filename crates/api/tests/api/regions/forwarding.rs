//! The requests that a far node answers itself, and those that it forwards.

use domain::ProblemCode;
use serde_json::json;

use super::fixture::Regions;
use crate::{api_server::id_of, sse_client::EventStream};

fn served_by(response: &crate::response::ApiResponse) -> &str {
    response.header("x-served-by")
}

#[actix_web::test]
async fn reads_are_answered_by_the_replica_and_writes_at_home() {
    let regions = Regions::start().await;
    let far = regions.far.writer();
    let created = far.post("/api/agents", json!({"name": "Ada"})).await;
    assert_eq!(served_by(&created), "home");
    assert_eq!(created.header("x-consistency"), "1");
    let location = created.header("location").to_owned();
    let agent = created.created();
    assert_eq!(location, format!("/api/agents/{}", id_of(&agent)));
    let read = far.get(&location).await;
    assert_eq!(served_by(&read), "replica");
    assert_eq!(read.ok(), agent);
    let listed = far.get("/api/agents").await;
    assert_eq!(served_by(&listed), "replica");
    assert_eq!(listed.ok()["data"], json!([agent]));
    // Without events a replica cannot prove its age.
    let keys = far.get("/api/keys").await;
    assert_eq!(served_by(&keys), "home");
    keys.ok();
}

#[actix_web::test]
async fn a_chat_is_answered_at_home_as_a_whole_and_as_a_stream() {
    let regions = Regions::start().await;
    let far = regions.far.writer();
    let agent = far
        .post("/api/agents", json!({"name": "Ada"}))
        .await
        .created();
    let chat = json!({"agentId": agent["id"], "message": "Hello"});
    let response = far.post("/api/chat", chat.clone()).await;
    assert_eq!(served_by(&response), "home");
    let position = response.header("x-consistency").to_owned();
    let reply = response.ok();
    let events = regions
        .home
        .writer()
        .get("/api/events?since=0&limit=100")
        .await
        .ok();
    assert_eq!(events["headSeq"].to_string(), position, "{events}");
    let path = format!(
        "/api/conversations/{}/messages",
        reply["conversationId"].as_str().unwrap()
    );
    let messages = far.get(&path).await.ok();
    assert_eq!(messages["data"].as_array().unwrap().len(), 2);

    let streamed = json!({"agentId": agent["id"], "message": "Hello", "stream": true});
    let mut stream = EventStream::open(far.request("POST", "/api/chat").json(&streamed)).await;
    assert_eq!(stream.header("x-served-by"), Some("home"));
    let names = stream.remaining().await.into_iter().map(|event| event.name);
    let names: Vec<_> = names.collect();
    assert_eq!(names.first().map(String::as_str), Some("turn.started"));
    assert_eq!(names.last().map(String::as_str), Some("turn.completed"));
}

#[actix_web::test]
async fn home_decides_about_idempotency_versions_scopes_and_tenants() {
    let regions = Regions::start().await;
    let (home, far) = (regions.home.writer(), regions.far.writer());
    let draft = json!({"name": "Ada"});
    let create = |caller: &crate::caller::Caller| {
        let request = caller.request("POST", "/api/agents").json(&draft.clone());
        request.header("Idempotency-Key", "once")
    };
    let first = create(&far).send().await.created();
    let again = create(&home).send().await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.created(), first);

    let path = format!("/api/agents/{}", id_of(&first));
    let stale = far.request("PATCH", &path).json(&json!({"name": "Grace"}));
    let stale = stale.header("If-Match", "\"7\"").send().await;
    stale.problem(ProblemCode::VersionMismatch);
    let reader = regions.far.reader();
    let forbidden = reader.post("/api/agents", draft.clone()).await;
    forbidden.problem(ProblemCode::InsufficientScope);
    let other = regions.far.other_tenant();
    other.get(&path).await.problem(ProblemCode::AgentNotFound);
    let deleted = other.delete(&path).await;
    deleted.problem(ProblemCode::AgentNotFound);
    home.get(&path).await.ok();
}

#[actix_web::test]
async fn a_forged_or_repeated_signature_is_rejected() {
    let regions = Regions::start().await;
    let forged = regions.home.writer().request("GET", "/api/agents");
    let forged = forged.header("X-Region-Request", "e30.e30").send().await;
    forged.problem(ProblemCode::InvalidCredentials);
    // A far node ignores the header, and does not forward it.
    let far = regions
        .far
        .writer()
        .request("POST", "/api/agents")
        .json(&json!({"name": "Ada"}));
    let far = far.header("X-Region-Request", "e30.e30").send().await;
    far.created();
}

#[actix_web::test]
async fn regions_are_listed_and_answer_pings() {
    let regions = Regions::start().await;
    let pong = regions.far.reader().get("/api/ping").await.ok();
    assert_eq!(pong, json!({"region": "eu"}));
    let listed = regions.home.reader().get("/api/regions").await.ok();
    assert_eq!(listed["region"], "us");
    let names: Vec<_> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names, ["us", "eu"]);
    let unauthenticated = regions.far.anonymous().get("/api/ping").await;
    unauthenticated.problem(ProblemCode::Unauthenticated);
}
