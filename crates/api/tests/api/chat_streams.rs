//! Streamed and asynchronous chats.

use std::time::Duration;

use domain::ProblemCode;
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    engines::{contents, scripted_agent, turn},
    response::Request,
    sse_client::{EventStream, StreamedEvent},
};

pub(crate) fn chat(api: &ApiServer, body: &Value) -> Request {
    api.writer().request("POST", "/api/chat").json(body)
}

pub(crate) async fn stream_chat(api: &ApiServer, mut body: Value) -> EventStream {
    body["stream"] = true.into();
    EventStream::open(chat(api, &body)).await
}

pub(crate) fn names(events: &[StreamedEvent]) -> Vec<&str> {
    events.iter().map(|event| &*event.name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_calls_are_streamed_and_stored_in_the_turn() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "What is 17 * 24?"});
    let mut stream = stream_chat(&api, body).await;
    let call = script.next_call().await;
    let turn_id = json!(call.request.turn_id);
    let id = format!("{}-1", call.request.turn_id);
    let arguments = json!({"expression": "17 * 24"});
    call.send_text("Let me see.\n").await;
    call.use_tool("calculator", arguments.clone()).await;
    call.answer("408.").await;
    let started = stream.next_of_type("turn.started").await;
    assert_eq!(
        stream.next_of_type("reply.delta").await["text"],
        "Let me see.\n"
    );
    let conversation_id = &started["conversationId"];
    let called = json!({
        "type": "tool.called", "turnId": turn_id, "conversationId": conversation_id,
        "id": id, "at": 12, "name": "calculator", "arguments": arguments,
    });
    assert_eq!(stream.next_of_type("tool.called").await, called);
    let received = stream.next_of_type("tool.returned").await;
    let took = received["durationMs"].as_i64().expect("a duration");
    let returned = json!({
        "type": "tool.returned", "turnId": turn_id, "conversationId": conversation_id,
        "id": id, "at": 12, "name": "calculator", "status": "ok", "durationMs": took,
        "result": "done",
    });
    assert_eq!(received, returned);
    assert_eq!(stream.next_of_type("reply.delta").await["text"], "408.");
    let reply = stream.next_of_type("turn.completed").await;
    assert_eq!(reply["message"], "Let me see.\n408.");
    let turn = turn(&api, turn_id.as_str().unwrap()).await;
    let expected = json!([{
        "id": id, "at": 12, "name": "calculator", "arguments": arguments, "status": "ok",
        "durationMs": took, "result": "done",
    }]);
    assert_eq!(turn["toolCalls"], expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_streamed_as_it_is_produced() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let mut stream = stream_chat(&api, body).await;
    let call = script.next_call().await;
    let started = stream.next_of_type("turn.started").await;
    let turn_id = json!(call.request.turn_id);
    assert_eq!(
        (&started["turnId"], &started["agentId"]),
        (&turn_id, &json!(agent))
    );
    assert_eq!(started["agentVersion"], 1);
    call.send_text("Grüß ").await;
    let delta = |from, to, text| {
        let conversation_id = &started["conversationId"];
        json!({
            "type": "reply.delta", "turnId": turn_id, "conversationId": conversation_id,
            "from": from, "to": to, "text": text,
        })
    };
    assert_eq!(
        stream.next_of_type("reply.delta").await,
        delta(0, 7, "Grüß ")
    );
    call.send_text("Gott").await;
    assert_eq!(
        stream.next_of_type("reply.delta").await,
        delta(7, 11, "Gott")
    );
    call.end();
    let reply = stream.next_of_type("turn.completed").await;
    assert_eq!(reply["message"], "Grüß Gott");
    assert_eq!(
        (&reply["turnId"], &reply["finishReason"]),
        (&turn_id, &json!("stop"))
    );
    assert_eq!(stream.next().await, None);
    let conversation = started["conversationId"].as_str().unwrap();
    let path = format!("/api/conversations/{conversation}/messages");
    let messages = api.reader().get(&path).await.ok();
    assert_eq!(messages["data"][0]["id"], started["messageId"]);
    assert_eq!(messages["data"][1]["id"], reply["messageId"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_are_streamed_too() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let whole = api.chat(body.clone()).await;
    let request = api.writer().request("POST", "/api/chat");
    let request = request.header("Accept", "text/event-stream").json(&body);
    let events = EventStream::open(request).await.remaining().await;
    assert_eq!(
        names(&events),
        ["turn.started", "reply.delta", "turn.completed"]
    );
    assert_eq!(events[1].data["text"], whole["message"]);
    assert_eq!(events[2].data["message"], whole["message"]);
    assert_eq!(events[0].data["turnId"], events[2].data["turnId"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_before_the_first_event_is_a_problem_response() {
    let api = ApiServer::start().await;
    let anonymous = uuid::Uuid::nil();
    let body = json!({"agentId": anonymous, "message": "Hello", "stream": true});
    chat(&api, &body)
        .send()
        .await
        .problem(ProblemCode::AgentNotFound);
    let body = json!({"agentId": api.agent_id().await, "message": "", "stream": true});
    chat(&api, &body)
        .send()
        .await
        .problem(ProblemCode::ValidationFailed);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_member_overrides_the_accept_header() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    for (stream, accept, expected) in [
        (true, "application/json", "text/event-stream"),
        (false, "text/event-stream", "application/json"),
    ] {
        let body = json!({"agentId": agent, "message": "Hello", "stream": stream});
        let answered = chat(&api, &body).header("Accept", accept).send().await;
        assert_eq!(answered.header("content-type"), expected);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_error_is_the_last_event() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let mut stream = stream_chat(&api, body.clone()).await;
    let call = script.next_call().await;
    call.send_text("Well, ").await;
    call.fail(ReplyError::InvalidReply("cut".into()));
    let events = stream.remaining().await;
    assert_eq!(
        names(&events),
        ["turn.started", "reply.delta", "turn.failed"]
    );
    assert_eq!(events[2].data["error"]["code"], "engine_failed");
    assert_eq!(events[2].data["error"]["retryable"], false);
    assert_eq!(events[2].data["turnId"], events[0].data["turnId"]);

    let mut stream = stream_chat(&api, body).await;
    let call = script.next_call().await;
    call.send_text("Well, ").await;
    let path = format!("/api/turns/{}/cancel", call.request.turn_id);
    api.writer().request("POST", &path).send().await.ok();
    call.send_text_ignoring_errors("too late");
    let events = stream.remaining().await;
    assert_eq!(
        names(&events),
        ["turn.started", "reply.delta", "turn.cancelled"]
    );
    assert_eq!(events[1].data["text"], "Well, ");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_failure_contains_the_retry_delay() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let mut stream = stream_chat(&api, body).await;
    let retry_after = Some(Duration::from_millis(6_001));
    let limited = ReplyError::RateLimited { retry_after };
    script.next_call().await.fail(limited);
    stream.next_of_type("turn.started").await;
    let failed = stream.next_of_type("turn.failed").await;
    assert_eq!(failed["error"]["code"], "engine_unavailable");
    assert_eq!(failed["error"]["retryAfter"], 7);
    let path = "/api/events?since=0&types=turn.failed";
    let events = api.reader().get(path).await.ok();
    assert_eq!(events["data"][0]["data"]["turn"]["error"], failed["error"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_stream_sends_turn_queued() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let body = |message| json!({"agentId": agent, "conversationId": id, "message": message});
    let mut first = stream_chat(&api, body("one")).await;
    let call = script.next_call().await;
    let mut second = stream_chat(&api, body("two")).await;
    let queued = second.next_of_type("turn.queued").await;
    assert_eq!(queued["conversationId"], id);
    assert_eq!(
        turn(&api, queued["turnId"].as_str().unwrap()).await["status"],
        "queued"
    );
    call.answer("One.").await;
    assert_eq!(
        names(&first.remaining().await).last(),
        Some(&"turn.completed")
    );
    let started = second.next_of_type("turn.started").await;
    assert_eq!(started["turnId"], queued["turnId"]);
    script.next_call().await.answer("Two.").await;
    let events = second.remaining().await;
    assert_eq!(events.last().unwrap().data["message"], "Two.");
    assert_eq!(contents(&api, &id).await, ["one", "One.", "two", "Two."]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_async_chat_returns_the_turn() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let request = chat(&api, &body).header("Prefer", "respond-async, wait=1");
    let response = request.send().await;
    assert_eq!(response.status, 202);
    assert_eq!(response.header("preference-applied"), "respond-async");
    let begun: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(
        (&begun["status"], &begun["input"]),
        (&json!("in_progress"), &json!("Hello"))
    );
    let path = response.header("location").to_owned();
    assert_eq!(
        path,
        format!("/api/turns/{}", begun["id"].as_str().unwrap())
    );
    script.next_call().await.answer("Good morning").await;
    let ended = loop {
        let turn = api.reader().get(&path).await.ok();
        if turn["status"] != "in_progress" {
            break turn;
        }
    };
    assert_eq!(
        (&ended["status"], &ended["reply"]["content"]),
        (&json!("completed"), &json!("Good morning"))
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_streams_when_the_first_engine_fails_without_text() {
    let (api, mut script, agent) = scripted_agent(json!({"fallbacks": ["rules"]})).await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let mut stream = stream_chat(&api, body).await;
    script.next_call().await.fail(ReplyError::TimedOut);
    let events = stream.remaining().await;
    let reply = &events.last().unwrap().data;
    assert_eq!(
        (&reply["engine"], &reply["degraded"]),
        (&json!("rules"), &json!(true))
    );
    let texts: String = events
        .iter()
        .filter_map(|event| event.data["text"].as_str())
        .collect();
    assert_eq!(reply["message"], texts);
    api.stop().await;
}
