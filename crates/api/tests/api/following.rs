//! Following the current turn of a conversation, and its list of turns.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    engines::scripted_agent,
    sse_client::EventStream,
};

/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

async fn follow(api: &ApiServer, id: &str) -> EventStream {
    let path = format!("/api/conversations/{id}/stream");
    EventStream::open(api.reader().request("GET", &path)).await
}

async fn turns(api: &ApiServer, id: &str, query: &str) -> Vec<(String, String)> {
    let path = format!("/api/conversations/{id}/turns?{query}");
    let page = api.reader().get(&path).await.ok();
    let turns = page["data"].as_array().expect("a page").iter();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    turns
        .map(|turn| (text(&turn["input"]), text(&turn["status"])))
        .collect()
}

/// Waits until the conversation has this number of open turns, and returns them.
async fn wait_for_open_turns(api: &ApiServer, id: &str, number: usize) -> Vec<(String, String)> {
    loop {
        let open = turns(api, id, "status=open").await;
        if open.len() == number {
            return open;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_without_a_recent_turn_has_nothing_to_follow() {
    let api = ApiServer::start().await;
    let id = id_of(
        &api.conversation(json!({"agentId": api.agent_id().await}))
            .await,
    );
    let path = format!("/api/conversations/{id}/stream");
    assert_eq!(api.reader().get(&path).await.status, 204);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_turn_is_followed_from_its_beginning_to_its_end() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let body = json!({"agentId": agent, "conversationKey": "k", "message": "Tell me all"});
    let (reply, ()) = tokio::join!(writer.post("/api/chat", body), async {
        let call = script.next_call().await;
        let turn = call.request.turn_id;
        call.send_text("Once upon ").await;
        let turn = api.reader().get(&format!("/api/turns/{turn}")).await.ok();
        let id = turn["conversationId"].as_str().unwrap();
        let conversation = api
            .reader()
            .get(&format!("/api/conversations/{id}"))
            .await
            .ok();
        assert_eq!(conversation["openTurns"][0]["id"], turn["id"]);
        assert_eq!(conversation["openTurns"][0]["status"], "in_progress");
        let mut stream = follow(&api, id).await;
        let started = stream.next_of_type("turn.started").await;
        assert_eq!(started["turnId"], turn["id"]);
        assert_eq!(
            stream.next_of_type("reply.delta").await["text"],
            "Once upon "
        );
        call.send_text("a time").await;
        assert_eq!(stream.next_of_type("reply.delta").await["text"], "a time");
        call.answer("").await;
        let completed = stream.next_of_type("turn.completed").await;
        assert_eq!(completed["messageId"], started["replyId"]);
        assert!(stream.remaining().await.is_empty());
    });
    let reply = reply.ok();
    // It is replayed with the same ids.
    let mut again = follow(&api, reply["conversationId"].as_str().unwrap()).await;
    assert_eq!(
        again.next_of_type("turn.started").await["replyId"],
        reply["messageId"]
    );
    assert_eq!(
        again.next_of_type("reply.delta").await["text"],
        "Once upon a time"
    );
    assert_eq!(
        again.next_of_type("turn.completed").await["turnId"],
        reply["turnId"]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_shows_tools_where_they_were_called() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let body = json!({"agentId": agent, "message": "What is 17 * 24?"});
    let (reply, ()) = tokio::join!(writer.post("/api/chat", body), async {
        let call = script.next_call().await;
        call.send_text("Let me see.\n").await;
        call.use_tool("calculator", json!({"expression": "17 * 24"}))
            .await;
        call.answer("408.").await;
    });
    let reply = reply.ok();
    let mut stream = follow(&api, reply["conversationId"].as_str().unwrap()).await;
    assert_eq!(
        stream.next_of_type("turn.started").await["turnId"],
        reply["turnId"]
    );
    assert_eq!(
        stream.next_of_type("reply.delta").await["text"],
        "Let me see.\n"
    );
    let called = stream.next_of_type("tool.called").await;
    assert_eq!(
        (&called["name"], &called["at"]),
        (&json!("calculator"), &json!(12))
    );
    let returned = stream.next_of_type("tool.returned").await;
    assert_eq!(
        (&returned["id"], &returned["status"]),
        (&called["id"], &json!("ok"))
    );
    assert_eq!(stream.next_of_type("reply.delta").await["text"], "408.");
    stream.next_of_type("turn.completed").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_turns_of_a_conversation_are_listed_in_their_order() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let body = |message| json!({"conversationId": id, "message": message});
    let (first, second, ()) = tokio::join!(
        writer.post("/api/chat", body("one")),
        async {
            let queued = writer.request("POST", "/api/chat").json(&body("two"));
            wait_for_open_turns(&api, &id, 1).await;
            queued.header("Prefer", "respond-async").send().await
        },
        async {
            let call = script.next_call().await;
            let open = wait_for_open_turns(&api, &id, 2).await;
            let expected = [("one", "in_progress"), ("two", "queued")];
            assert_eq!(
                open,
                expected.map(|(input, status)| (input.to_owned(), status.to_owned()))
            );
            call.answer("first").await;
            script.next_call().await.answer("second").await;
        }
    );
    first.ok();
    assert_eq!(second.status, 202);
    while !turns(&api, &id, "status=open").await.is_empty() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    let completed = |input: &str| (input.to_owned(), "completed".to_owned());
    assert_eq!(
        turns(&api, &id, "order=desc").await,
        [completed("two"), completed("one")]
    );
    assert_eq!(turns(&api, &id, "limit=1").await, [completed("one")]);
    assert!(turns(&api, &id, "status=failed").await.is_empty());
    let unknown = api
        .reader()
        .get(&format!("/api/conversations/{id}/turns?status=lost"))
        .await;
    assert_eq!(unknown.status, 422);
    api.stop().await;
}
