//! Bodies that are large because they contain files.

use std::time::Duration;

use domain::ProblemCode;
use serde_json::json;

use super::files::{DOORS, Door, PNG, data_url, service};
use crate::{
    raw::Connection,
    user_tokens::{BACKEND, backend, user},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_as_large_as_its_files() {
    let (api, mut script, agent) = service(&[]).await;
    let (_, backend) = backend(&api, BACKEND).await;
    let photo = [PNG, &vec![7; 3_000_000]].concat();
    for (index, door) in DOORS.into_iter().enumerate() {
        if door == Door::OpenAiUnrecorded {
            // Users need the permission of the agent.
            continue;
        }
        let ada = user(&api, &backend, "ada").await;
        let (request, _) = door.send(&ada, &agent, &format!("c{index}"), &data_url(&photo));
        let (response, ()) = tokio::join!(request.open(), async {
            let call = script.next_call().await;
            let content = call.request.file_contents.values().next().expect("a file");
            assert_eq!(content.len(), photo.len());
            call.answer("A parcel.").await;
        });
        assert_eq!(response.status(), 200, "{door:?}");
        // Other texts make no body larger.
        let long = format!("data:image/png;base64,{}", "a b ".repeat(100_000));
        let (request, _) = door.send(&ada, &agent, "long", &long);
        assert_eq!(request.open().await.status(), 413, "{door:?}");
    }
    let chat = json!({"agentId": agent, "message": "x", "title": "A".repeat(300_000)});
    let refused = api.writer().post("/api/chat", chat).await;
    refused.problem(ProblemCode::BodyTooLarge);
    api.stop().await;
}

/// The head of a request to the OpenAI protocol with a body of this size.
fn head(key: &str, bytes: usize) -> String {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {bytes}\r\n\r\n"
    )
}

/// The status of the next response.
async fn status(connection: &mut Connection) -> String {
    let received = connection.receive().await;
    let head = String::from_utf8_lossy(&received);
    head.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_for_large_bodies_is_limited() {
    const BYTES: usize = 32 << 20;
    let (api, _script, _) = service(&[
        ("LIMITS__BODY_SECONDS", "100"),
        ("LIMITS__CHAT__PER_MINUTE", "100000"),
        ("LIMITS__CHAT__BURST", "100000"),
        ("LIMITS__REQUESTS__PER_MINUTE", "100000"),
        ("LIMITS__REQUESTS__BURST", "100000"),
    ])
    .await;
    let key = api.writer().key().to_owned();
    let mut refused = Connection::open(api.address).await;
    refused.send(head(&key, BYTES + 1)).await;
    assert_eq!(status(&mut refused).await, "413");
    let part = vec![b' '; BYTES - 1];
    let mut holding = Vec::new();
    // The share of a tenant.
    for _ in 0..3 {
        let mut connection = Connection::open(api.address).await;
        connection.send(head(&key, BYTES)).await;
        connection.send(&part).await;
        holding.push(connection);
    }
    let status_of_next = async |key: &str| {
        let mut next = Connection::open(api.address).await;
        next.send(head(key, 300_000)).await;
        next.send(vec![b' '; 300_000]).await;
        status(&mut next).await
    };
    // A body that arrives would take memory that the others need, and they would be refused.
    let is_full = async || {
        let mut next = Connection::open(api.address).await;
        next.send(head(&key, 300_000)).await;
        let answer = next.receive_for(Duration::from_millis(500)).await;
        answer.starts_with(b"HTTP/1.1 503 ")
    };
    while !is_full().await {}
    // Other tenants and other requests are served meanwhile. Only files may make a body larger.
    assert_eq!(status_of_next(api.other_tenant().key()).await, "413");
    let small = json!({"model": "nobody", "messages": [{"role": "user", "content": "Hi"}]});
    let other = api.writer().request("POST", "/v1/chat/completions");
    let other = other.json(&small).open().await;
    assert_eq!(other.status(), 404);
    drop(holding);
    while status_of_next(&key).await != "413" {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_must_keep_a_pace() {
    const BYTES: usize = 300_000;
    let (api, _script, _) = service(&[("LIMITS__BODY_SECONDS", "1")]).await;
    let key = api.writer().key().to_owned();
    for (step, pause, expected) in [(512, 200, 408), (30_000, 300, 400)] {
        let mut connection = Connection::open(api.address).await;
        connection.send(head(&key, BYTES)).await;
        let mut sent = 0;
        while sent < BYTES && connection.send_if_open(vec![b' '; step]).await {
            sent += step;
            if !connection
                .receive_for(Duration::from_millis(pause))
                .await
                .is_empty()
            {
                break;
            }
        }
        let is_whole = sent >= BYTES;
        assert_eq!(is_whole, expected == 400, "{sent} of {BYTES}");
    }
    api.stop().await;
}
