//! Agents as models.

use domain::ProblemCode;
use serde_json::{Value, json};

use super::{ask, completion, error, ok};
use crate::api_server::{ApiServer, id_of};

fn model(agent: &Value) -> Value {
    let created = agent["createdAt"].as_str().expect("a time");
    let created = domain::Timestamp::parse(created).expect("a time");
    json!({
        "id": agent["id"], "object": "model", "created": created.milliseconds() / 1_000,
        "owned_by": "default", "name": agent["name"],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_models() {
    let api = ApiServer::start().await;
    let ada = api.agent(json!({"name": "Ada"})).await;
    let bob = api.agent(json!({"name": "Bob/b c"})).await;
    let foreign = json!({"name": "Eve"});
    api.other_tenant()
        .post("/api/agents", foreign)
        .await
        .created();
    let reader = api.reader();
    let listed = ok(reader.request("GET", "/v1/models")).await;
    let expected = json!({"object": "list", "data": [model(&bob), model(&ada)]});
    assert_eq!(listed, expected);
    for (path, agent) in [
        (format!("/v1/models/{}", id_of(&ada)), &ada),
        ("/v1/models/Ada".to_owned(), &ada),
        ("/v1/models/Bob%2Fb%20c".to_owned(), &bob),
    ] {
        assert_eq!(ok(reader.request("GET", &path)).await, model(agent));
    }
    for path in ["/v1/models/Eve", "/v1/models/ada", "/v1/models/Ad"] {
        let request = reader.request("GET", path);
        error(request, 404, ProblemCode::AgentNotFound).await;
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_a_model_only_while_one_agent_has_it() {
    let api = ApiServer::start().await;
    let first = api.agent_id().await;
    let writer = api.writer();
    // Names that differ in case are different names.
    for name in ["ada", "ADA", "Ada Lovelace"] {
        api.agent(json!({"name": name})).await;
    }
    ok(completion(&writer, &ask("Ada", "Hello"))).await;
    let second = api.agent_id().await;
    let ambiguous = error(
        completion(&writer, &ask("Ada", "Hello")),
        404,
        ProblemCode::AgentNotFound,
    );
    let message = ambiguous.await["message"].clone();
    assert!(
        message.as_str().unwrap().contains("Several agents"),
        "{message}"
    );
    ok(completion(&writer, &ask(&first, "Hello"))).await;
    writer.delete(&format!("/api/agents/{first}")).await;
    let found = ok(writer.request("GET", "/v1/models/Ada")).await;
    assert_eq!(found["id"], second);
    // An id is never taken for a name.
    api.agent(json!({"name": first})).await;
    let deleted = completion(&writer, &ask(&first, "Hello"));
    error(deleted, 404, ProblemCode::AgentNotFound).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_has_no_pages() {
    let api = ApiServer::start().await;
    for number in 0..130 {
        api.agent(json!({"name": format!("Agent {number}")})).await;
    }
    let listed = ok(api.reader().request("GET", "/v1/models")).await;
    let data = listed["data"].as_array().expect("a list");
    assert_eq!(data.len(), 130);
    assert_eq!(
        (&data[0]["name"], &data[129]["name"]),
        (&json!("Agent 129"), &json!("Agent 0"))
    );
    api.stop().await;
}
