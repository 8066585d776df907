//! Runs: their events, how they are continued and repeated, and how they end.

use domain::{Scope, Usage};
use ports::ReplyError;
use serde_json::{Value, json};

use super::client::{
    input, kinds, last, post, run, start, status_and_body, stream, text, thread, turns,
};
use crate::{api_server::ApiServer, engines::scripted_agent};

const TEXT: [&str; 3] = [
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
];
const CALL: [&str; 4] = [
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_with_tools_is_a_run_with_messages_in_its_order() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = input("t", "r", ("m1", "What is 17 * 24?"));
    let mut run = start(&api, &agent, &body).await;
    let call = script.next_call().await;
    call.send_text("Let me see.").await;
    let arguments = json!({"expression": "17 * 24"});
    call.use_tool("calculator", arguments.clone()).await;
    call.send_text(" 408.").await;
    let usage = Usage {
        input_tokens: 3,
        output_tokens: 2,
        ..Usage::default()
    };
    call.end_with(domain::FinishReason::Stop, Some(usage));
    let events = run.remaining().await;
    let expected = [&["RUN_STARTED"][..], &TEXT, &CALL, &TEXT, &["RUN_FINISHED"]].concat();
    assert_eq!(kinds(&events), expected);
    let data: Vec<&Value> = events.iter().map(|event| &event.data).collect();
    assert_eq!(
        *data[0],
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"})
    );
    let reply = data[1]["messageId"].as_str().expect("an id");
    assert_eq!(data[1]["role"], "assistant");
    assert_eq!(data[4]["parentMessageId"], reply);
    assert_eq!(data[4]["toolCallName"], "calculator");
    assert_eq!(data[5]["delta"], arguments.to_string());
    assert_eq!(data[7]["toolCallId"], data[4]["toolCallId"]);
    assert_eq!(data[7]["role"], "tool");
    assert_eq!(data[8]["messageId"], format!("{reply}-2"));
    assert_eq!(
        *data[11],
        json!({
            "type": "RUN_FINISHED", "threadId": "t", "runId": "r",
            "outcome": {"type": "success"},
            "usage": [{"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}],
        })
    );
    let turn = &turns(&api, &agent, "t").await[0];
    assert_eq!(turn["reply"]["id"], reply);
    assert_eq!(turn["clientMessageId"], "m1");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_show_parts_in_order_receive_one_message() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut body = input("t", "r", ("m1", "Hello"));
    body["protocolVersion"].take();
    let headers = [("X-Run-Id", "r")];
    let mut run = stream(post(&api.writer(), &agent, &body, &headers).await);
    let call = script.next_call().await;
    call.use_tool("clock", json!({})).await;
    call.answer("Noon.").await;
    let events = run.remaining().await;
    let ids = events.iter().filter_map(|it| {
        let id = it.data["parentMessageId"].as_str();
        let of_text = it.data["type"] == "TEXT_MESSAGE_START";
        id.or(it.data["messageId"].as_str().filter(|_| of_text))
    });
    let ids: Vec<&str> = ids.collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1]);
    assert_eq!(events[0].data["protocolVersion"], Value::Null);
    assert_eq!(last(&events)["outcome"], Value::Null);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_of_another_principal_is_not_continued() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let other = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let body = input("t", "r", ("m1", "Hello"));
    let mut own = start(&api, &agent, &body).await;
    let call = script.next_call().await;
    call.send_text("Secret").await;
    own.next_of_type("RUN_STARTED").await;
    own.next_of_type("TEXT_MESSAGE_START").await;
    let id = own.next_of_type("TEXT_MESSAGE_CONTENT").await.id;
    let id = id.expect("an id");
    let response = post(&other, &agent, &body, &[("Last-Event-ID", &*id)]).await;
    // Its message only has the same id.
    let mut queued = stream(response);
    queued.next_of_type("RUN_STARTED").await;
    queued.next_of_type("CUSTOM").await;
    call.answer(" 4711").await;
    own.remaining().await;
    script.next_call().await.answer("Hi").await;
    assert_eq!(text(&queued.remaining().await), "Hi");
    assert_eq!(turns(&api, &agent, "t").await.len(), 2);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_run_continues_after_the_last_event() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = input("t", "r", ("m1", "Hello"));
    let mut lost = start(&api, &agent, &body).await;
    let call = script.next_call().await;
    call.send_text("Grüß ").await;
    lost.next_of_type("RUN_STARTED").await;
    lost.next_of_type("TEXT_MESSAGE_START").await;
    let received = lost.next_of_type("TEXT_MESSAGE_CONTENT").await;
    drop(lost);
    let id = received.id.expect("an id");
    let headers = [("Last-Event-ID", &*id)];
    let mut continued = stream(post(&api.writer(), &agent, &body, &headers).await);
    call.answer("Gott").await;
    let events = continued.remaining().await;
    assert_eq!(
        kinds(&events),
        ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]
    );
    assert_eq!(text(&events), "Gott");
    // After the end, too: the run is not started again.
    let again = stream(post(&api.writer(), &agent, &body, &headers).await)
        .remaining()
        .await;
    assert_eq!(again, events);
    script.assert_no_more_calls();
    assert_eq!(turns(&api, &agent, "t").await.len(), 1);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_event_of_another_run_is_ignored() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let events = run(&api, &agent, &input("t", "r1", ("m1", "Hello"))).await;
    let id = events.iter().rev().find_map(|event| event.id.clone());
    let id = id.expect("an id");
    let headers = [("Last-Event-ID", &*id)];
    for (thread, run, turns_after) in [("t", "r2", 2), ("u", "r1", 1)] {
        let body = input(thread, run, ("m2", "Hello again"));
        let response = post(&api.writer(), &agent, &body, &headers).await;
        let events = stream(response).remaining().await;
        assert_eq!(kinds(&events)[0], "RUN_STARTED");
        assert_eq!(turns(&api, &agent, thread).await.len(), turns_after);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_that_is_requested_again_answers_its_message() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = input("t", "r", ("m1", "Hello"));
    let (failed, ()) = tokio::join!(run(&api, &agent, &body), async {
        let call = script.next_call().await;
        call.fail(ReplyError::Unavailable("no".into()));
    });
    assert_eq!(last(&failed)["type"], "RUN_ERROR");
    let (repeated, ()) = tokio::join!(run(&api, &agent, &body), async {
        script.next_call().await.answer("Hi").await;
    });
    assert_eq!(text(&repeated), "Hi");
    let turns = turns(&api, &agent, "t").await;
    let [first, second] = &*turns else {
        panic!("two turns: {turns:?}");
    };
    let (failed, retry) = if first["retryOf"].is_null() {
        (first, second)
    } else {
        (second, first)
    };
    assert_eq!(retry["retryOf"], failed["id"]);
    let thread = thread(&api.writer(), &agent, "threadId=t").await;
    assert_eq!(thread["messages"].as_array().map(Vec::len), Some(2));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_message_is_not_sent_by_another_run() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut first = start(&api, &agent, &input("t", "r1", ("m1", "One"))).await;
    let call = script.next_call().await;
    let queued = input("t", "r2", ("m2", "Two"));
    let mut second = start(&api, &agent, &queued).await;
    second.next_of_type("RUN_STARTED").await;
    second.next_of_type("CUSTOM").await;
    let other = input("t", "r3", ("m2", "Two"));
    let refused = post(&api.writer(), &agent, &other, &[]).await;
    let (status, body) = status_and_body(refused).await;
    assert_eq!((status, &body["code"]), (409, &json!("conversation_busy")));
    call.answer("1").await;
    first.remaining().await;
    script.next_call().await.answer("2").await;
    assert_eq!(text(&second.remaining().await), "2");
    assert_eq!(turns(&api, &agent, "t").await.len(), 2);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_requested_again_is_the_same_turn() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let body = input("t", "r", ("m1", "Hello"));
    let first = run(&api, &agent, &body).await;
    assert_eq!(run(&api, &agent, &body).await, first);
    assert_eq!(turns(&api, &agent, "t").await.len(), 1);
    // The same id for another message, or in another thread, is another run.
    run(&api, &agent, &input("t", "r", ("m2", "Hello again"))).await;
    assert_eq!(turns(&api, &agent, "t").await.len(), 2);
    run(&api, &agent, &input("u", "r", ("m1", "Hello"))).await;
    assert_eq!(turns(&api, &agent, "u").await.len(), 1);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_message_in_another_run_is_answered_again() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    run(&api, &agent, &input("t", "r1", ("m1", "Hello"))).await;
    let body = input("t", "r2", ("m1", "Hello"));
    let second = run(&api, &agent, &body).await;
    let turns = turns(&api, &agent, "t").await;
    assert_eq!(turns.len(), 2);
    let mut replies = second.iter().filter_map(|it| it.data["messageId"].as_str());
    let reply = replies.next_back().expect("a message");
    let thread = thread(&api.writer(), &agent, "threadId=t").await;
    let ids: Vec<&Value> = thread["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|message| &message["id"])
        .collect();
    assert_eq!(ids, ["m1", reply]);
    assert_eq!(run(&api, &agent, &body).await, second, "resent");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_cannot_be_added_are_ignored_with_a_note() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut body = input("t", "r", ("m1", "Hello"));
    body["tools"] =
        json!([{"name": "con fetti", "description": "", "parameters": {}}, {"name": "cart"}]);
    let events = run(&api, &agent, &body).await;
    let expected = json!({
        "type": "CUSTOM", "name": "tools_ignored", "value": {"tools": ["con fetti"]},
    });
    assert_eq!(events[1].data, expected);
    assert_eq!(last(&events)["type"], "RUN_FINISHED");
    api.stop().await;
}
