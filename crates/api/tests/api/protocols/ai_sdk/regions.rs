//! A chat socket in a far region.

use serde_json::{Value, json};

use super::sockets::{ChatSocket, send_frame};
use crate::{api_server::id_of, regions::fixture::Regions};

/// Two regions, and an agent with the scripted engine.
async fn regions() -> (Regions, String) {
    let regions = Regions::start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&regions.home.agent(draft).await);
    (regions, agent)
}

/// Receives chunks until one has this type, and returns the text of all.
async fn text_until(socket: &mut ChatSocket, kind: &str) -> String {
    let mut text = String::new();
    loop {
        let chunk = socket.frame("chunk").await["chunk"].clone();
        text.push_str(chunk["delta"].as_str().unwrap_or_default());
        if chunk["type"] == kind {
            return text;
        }
    }
}

/// The status of the newest turn of the only conversation, at home.
async fn newest_status(regions: &Regions) -> Value {
    let home = regions.home.reader();
    let conversations = home.get("/api/conversations").await.ok();
    let id = id_of(&conversations["data"][0]);
    let turns = home.get(&format!("/api/conversations/{id}/turns")).await;
    turns.ok()["data"][0]["status"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_answered_at_home_and_can_be_resumed() {
    let (mut regions, agent) = regions().await;
    let mut socket = ChatSocket::open(&regions.far, &agent).await;
    let resume = |request: &str| json!({"type": "resume", "requestId": request, "id": "c:1@a"});
    socket.send(resume("r0")).await;
    assert_eq!(socket.frame("no-active").await["requestId"], "r0");

    socket.send(send_frame("r1", "c:1@a", "Hello")).await;
    assert_eq!(socket.frame("start").await["requestId"], "r1");
    let call = regions.script.next_call().await;
    call.send_text("Well, ").await;
    assert_eq!(text_until(&mut socket, "text-delta").await, "Well, ");
    socket.send(resume("r2")).await;
    assert_eq!(socket.frame("start").await["requestId"], "r2");
    call.answer("yes.").await;
    for _ in ["r1", "r2"] {
        socket.frame("end").await;
    }
    assert_eq!(newest_status(&regions).await, "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_the_client_stops_is_cancelled_at_home() {
    let (mut regions, agent) = regions().await;
    let mut socket = ChatSocket::open(&regions.far, &agent).await;
    socket.send(send_frame("r1", "c1", "Hello")).await;
    socket.frame("start").await;
    let call = regions.script.next_call().await;
    call.send_text("Well, ").await;
    text_until(&mut socket, "text-delta").await;
    socket
        .send(json!({"type": "abort", "requestId": "r1"}))
        .await;
    while newest_status(&regions).await == "in_progress" {
        tokio::task::yield_now().await;
    }
    assert_eq!(newest_status(&regions).await, "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_of_the_home_region_is_reported_with_its_text() {
    let (regions, agent) = regions().await;
    let unknown = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";
    let mut socket = ChatSocket::open(&regions.far, unknown).await;
    socket.send(send_frame("r1", "c1", "Hello")).await;
    let error = socket.frame("error").await;
    assert_eq!(error["requestId"], "r1");
    let text = error["errorText"].as_str().expect("a text");
    assert!(text.ends_with("(agent_not_found, request r1)"), "{text}");
    let mut socket = ChatSocket::open(&regions.far, &agent).await;
    let empty = json!({"type": "send", "requestId": "r2", "id": "c1", "messages": []});
    socket.send(empty).await;
    let error = socket.frame("error").await;
    let text = error["errorText"].as_str().expect("a text");
    assert!(text.contains("(validation_failed, request r2)"), "{text}");
}
