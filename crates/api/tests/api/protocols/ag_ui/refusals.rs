//! Requests that are refused, in the form of the event `RUN_ERROR`.

use serde_json::{Value, json};

use super::client::{get, input, post, run_path, status_and_body};
use crate::api_server::{ApiServer, ApiServerBuilder};

async fn refused(api: &ApiServer, agent: &str, body: &Value) -> (u16, Value) {
    status_and_body(post(&api.writer(), agent, body, &[]).await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_have_the_form_of_the_protocol() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let body = input("t", "r", ("m1", "Hello"));
    let response = post(&api.caller(None), &agent, &body, &[]).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    let id = response.headers()["x-request-id"].clone();
    let (status, error) = status_and_body(response).await;
    assert_eq!(status, 401);
    assert_eq!(error["type"], "RUN_ERROR");
    assert_eq!(error["code"], "unauthenticated");
    assert_eq!(error["requestId"], id.to_str().expect("text"));
    let message = error["message"].as_str().expect("text");
    assert!(message.starts_with("A credential is needed. "), "{message}");
    let (status, error) = refused(&api, "nobody", &body).await;
    assert_eq!((status, &error["code"]), (404, &json!("agent_not_found")));
    let response = get(&api.writer(), &run_path(&agent), &[]).await;
    let (status, error) = status_and_body(response).await;
    assert_eq!(
        (status, &error["errors"][0]["parameter"]),
        (422, &json!("threadId"))
    );
    let response = get(&api.writer(), "/ag-ui/nothing", &[]).await;
    let (status, error) = status_and_body(response).await;
    assert_eq!((status, &error["code"]), (404, &json!("route_not_found")));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_body_are_named() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    for (pointer, change) in [
        ("/threadId", json!({"threadId": "a b"})),
        ("/threadId", json!({"threadId": "x".repeat(129)})),
        ("/runId", json!({"runId": ""})),
        ("/messages", json!({"messages": []})),
        (
            "/messages/0/content",
            json!({"messages": [{"role": "user", "content": ""}]}),
        ),
        (
            "/messages/0/content",
            json!({"messages": [{"role": "user", "content": "a\0"}]}),
        ),
        (
            "/messages/0/content/0/source",
            json!({"messages": [{"role": "user", "content": [{"type": "image"}]}]}),
        ),
    ] {
        let mut body = input("t", "r", ("m1", "Hello"));
        for (name, value) in change.as_object().expect("an object") {
            body[name] = value.clone();
        }
        let (status, error) = refused(&api, &agent, &body).await;
        assert_eq!(
            (status, &error["code"]),
            (422, &json!("validation_failed")),
            "{body}"
        );
        assert_eq!(error["errors"][0]["pointer"], pointer);
        let message = error["message"].as_str().expect("text");
        assert!(message.contains(pointer), "{message}");
    }
    // The members of a body in their order are no body.
    let (status, error) = refused(&api, &agent, &json!(["t", "r", null, []])).await;
    assert_eq!(
        (status, &error["errors"][0]["code"]),
        (422, &json!("wrong_type"))
    );
    let body = input("t", "r", ("m1", "Hello"));
    let response = post(&api.writer(), &agent, &body, &[("Last-Event-ID", "7")]).await;
    let (status, error) = status_and_body(response).await;
    assert_eq!((status, &error["code"]), (400, &json!("invalid_header")));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_query_are_named_and_other_parameters_are_ignored() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    for (query, parameter) in [
        ("threadId=a&threadId=b", "threadId"),
        ("threadId=a%00", "threadId"),
        ("threadId=a%20b", "threadId"),
        ("runId=a&runId=b", "runId"),
        ("threadId=a&limit=many", "limit"),
        ("threadId=a&limit=-1", "limit"),
    ] {
        let path = format!("{}?{query}", run_path(&agent));
        let (status, error) = status_and_body(get(&api.writer(), &path, &[]).await).await;
        assert_eq!(
            (status, &error["code"]),
            (422, &json!("validation_failed")),
            "{query}"
        );
        assert_eq!(error["errors"][0]["parameter"], parameter, "{query}");
    }
    let path = format!("{}?threadId=a&limit=0&own=1&own=2", run_path(&agent));
    let (status, thread) = status_and_body(get(&api.writer(), &path, &[]).await).await;
    assert_eq!((status, &thread["messages"]), (200, &json!([])));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_those_of_a_chat() {
    let builder = ApiServerBuilder::default()
        .setting("LIMITS__CHAT__PER_MINUTE", "1")
        .setting("LIMITS__CHAT__BURST", "1");
    let api = builder.start().await;
    let agent = api.agent_id().await;
    let body = input("t", "r", ("m1", "Hello"));
    assert_eq!(post(&api.writer(), &agent, &body, &[]).await.status(), 200);
    let response = post(&api.writer(), &agent, &body, &[]).await;
    let wait = response.headers()["retry-after"].clone();
    let (status, error) = status_and_body(response).await;
    assert_eq!((status, &error["code"]), (429, &json!("rate_limited")));
    assert_eq!(
        error["retryAfter"].to_string(),
        wait.to_str().expect("text")
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protocol_that_is_turned_off_does_not_exist() {
    let builder = ApiServerBuilder::default().setting("PROTOCOLS__AG_UI", "false");
    let api = builder.start().await;
    let agent = api.agent_id().await;
    let (status, error) = refused(&api, &agent, &input("t", "r", ("m1", "Hello"))).await;
    assert_eq!((status, &error["code"]), (404, &json!("route_not_found")));
    api.stop().await;
}
