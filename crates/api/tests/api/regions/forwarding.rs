//! The requests that a far node answers itself, and those that it forwards.

use std::{future::poll_fn, time::Duration};

use bytes::Bytes;
use domain::ProblemCode;
use serde_json::json;
use tokio::net::TcpStream;

use super::fixture::{Regions, far_builder, home_builder, wait_until_ready};
use crate::{api_server::id_of, postgres::Database, sse_client::EventStream};

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

/// A service behind a path has it in the URLs of its responses, once.
#[actix_web::test]
async fn responses_have_the_url_of_the_far_region_alone() {
    let path = |name: &str| format!("https://agents.example.org/{name}");
    let database = Database::make().await;
    let home = home_builder(&database).setting("SERVER__PUBLIC_URL", &path("us"));
    let home = home.start().await;
    let far = far_builder(&database, &format!("http://{}", home.address));
    let far = far.setting("SERVER__PUBLIC_URL", &path("eu"));
    let far = far.join(&home).await;
    wait_until_ready(&far).await;
    let writer = far.writer();
    let created = writer.post("/api/agents", json!({"name": "Ada"})).await;
    let location = created.header("location").to_owned();
    let agent = created.created();
    assert_eq!(location, format!("/eu/api/agents/{}", id_of(&agent)));
}

/// HTTP/2 needs no header for a body.
#[actix_web::test]
async fn the_size_of_an_http_2_body_without_a_length_is_limited() {
    let regions = Regions::start().await;
    let connection = TcpStream::connect(regions.home.address).await.unwrap();
    let (mut requests, connection) = h2::client::handshake(connection).await.unwrap();
    let connection = actix_web::rt::spawn(connection);
    let request = http::Request::post("http://test/oauth2/token");
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let (response, mut body) = requests
        .send_request(request.body(()).unwrap(), false)
        .unwrap();
    for _ in 0..5 {
        let part = Bytes::from(vec![b'a'; 16 * 1024]);
        body.reserve_capacity(part.len());
        while body.capacity() < part.len() {
            let capacity = poll_fn(|context| body.poll_capacity(context)).await;
            capacity.expect("the service reads the body").unwrap();
        }
        body.send_data(part, false).unwrap();
    }
    let response = tokio::time::timeout(Duration::from_secs(10), response).await;
    let response = response.expect("a response before the end of the body");
    assert_eq!(response.unwrap().status(), 413);
    connection.abort();
}

#[actix_web::test]
async fn errors_of_client_protocols_are_those_of_home() {
    let regions = Regions::start().await;
    let unknown = uuid::Uuid::nil();
    let message = json!({"role": "user", "content": "Hello", "id": "1"});
    let requests = [
        (
            "/v1/chat/completions".to_owned(),
            json!({"model": unknown, "messages": [message]}),
        ),
        (
            "/v1/chat/completions".to_owned(),
            json!({"model": 5, "messages": []}),
        ),
        (format!("/ai-sdk/agents/{unknown}/chat"), json!({})),
        (format!("/ag-ui/agents/{unknown}/run"), json!({})),
    ];
    for (path, body) in requests {
        let answer = async |api: &crate::api_server::ApiServer| {
            let answer = api.writer().request("POST", &path).json(&body).open().await;
            let id = answer.headers()["x-request-id"]
                .to_str()
                .unwrap()
                .to_owned();
            let status = answer.status().as_u16();
            (status, answer.text().await.unwrap().replace(&id, ""))
        };
        let home = answer(&regions.home).await;
        assert!(matches!(home.0, 400..=499), "{path}: {home:?}");
        assert_eq!(answer(&regions.far).await, home, "{path}");
    }
}
