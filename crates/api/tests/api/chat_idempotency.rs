//! Idempotency keys of chats: one turn for each key, for any number of requests in any response
//! mode.

use domain::ProblemCode;
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    engines::{contents, scripted_agent},
    response::{ApiResponse, Request},
    sse_client::EventStream,
};

fn chat(api: &ApiServer, key: &str, body: &Value) -> Request {
    let request = api.writer().request("POST", "/api/chat");
    request.header("Idempotency-Key", key).json(body)
}

#[track_caller]
fn assert_replayed(response: &ApiResponse, is_replayed: bool) {
    assert_eq!(
        response.has("idempotency-replayed"),
        is_replayed,
        "{response:?}"
    );
}

/// The last event of the stream of the first chat, as expected from the response of the same chat.
fn completed(reply: &Value) -> Value {
    let mut event = reply.clone();
    event["type"] = json!("turn.completed");
    // After the creation of the agent and the conversation, and the start of the turn.
    event["seq"] = json!(4);
    event
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_response_is_replayed() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let first = chat(&api, "k", &body).send().await;
    assert_replayed(&first, false);
    let reply = first.ok();
    // Members that only select the response mode are not part of the command.
    let again = json!({"onBusy": "reject", "message": "Hello", "agentId": agent});
    let again = chat(&api, "\"k\"", &again).send().await;
    assert_replayed(&again, true);
    assert_eq!(again.ok(), reply);
    let conversations = api.reader().get("/api/conversations").await.ok();
    assert_eq!(conversations["data"].as_array().map(Vec::len), Some(1));
    let other = json!({"agentId": agent, "message": "Bye"});
    chat(&api, "k", &other)
        .send()
        .await
        .problem(ProblemCode::IdempotencyKeyReused);
    // The key is checked before other errors.
    api.writer().delete(&format!("/api/agents/{agent}")).await;
    chat(&api, "k", &body)
        .send()
        .await
        .problem(ProblemCode::ConversationNotFound);
    chat(&api, "k", &other)
        .send()
        .await
        .problem(ProblemCode::IdempotencyKeyReused);
    chat(&api, "new", &body)
        .send()
        .await
        .problem(ProblemCode::AgentNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_has_the_requested_response_mode() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let reply = chat(&api, "k", &body).send().await.ok();
    let request = chat(&api, "k", &body).header("Accept", "text/event-stream");
    let mut stream = EventStream::open(request).await;
    assert_eq!(stream.header("idempotency-replayed"), Some("true"));
    assert_eq!(
        stream.next_of_type("turn.started").await["turnId"],
        reply["turnId"]
    );
    assert_eq!(
        stream.next_of_type("reply.delta").await["text"],
        reply["message"]
    );
    assert_eq!(
        stream.next_of_type("turn.completed").await,
        completed(&reply)
    );
    assert_eq!(stream.next().await, None);
    let later = chat(&api, "k", &body)
        .header("Prefer", "respond-async")
        .send()
        .await;
    assert_eq!(later.status, 202);
    assert_replayed(&later, true);
    let turn: Value = serde_json::from_slice(&later.body).unwrap();
    assert_eq!(
        (&turn["id"], &turn["status"]),
        (&reply["turnId"], &json!("completed"))
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_chat_joins_the_running_turn() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let mut first =
        EventStream::open(chat(&api, "k", &body).header("Accept", "text/event-stream")).await;
    let call = script.next_call().await;
    call.send_text("Good ").await;
    let mut second =
        EventStream::open(chat(&api, "k", &body).header("Accept", "text/event-stream")).await;
    let started = second.next_of_type("turn.started").await;
    assert_eq!(started, first.next_of_type("turn.started").await);
    assert_eq!(second.next_of_type("reply.delta").await["text"], "Good ");
    let third = chat(&api, "k", &body).send();
    let end = async {
        call.answer("morning").await;
        let ends = [first.remaining().await, second.remaining().await];
        ends.map(|events| events.last().unwrap().data.clone())
    };
    let (third, ends) = tokio::join!(third, end);
    assert_replayed(&third, true);
    assert_eq!(ends, [completed(&third.ok()), ends[0].clone()]);
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_repetitions_call_the_engine_once() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let requests = futures::future::join_all((0..20).map(|_| chat(&api, "k", &body).send()));
    let (responses, ()) = tokio::join!(requests, async {
        script.next_call().await.answer("Once.").await;
    });
    let first = responses[0].ok();
    assert!(responses.iter().all(|response| response.ok() == first));
    let replayed = responses.iter().filter(|it| it.has("idempotency-replayed"));
    assert_eq!(replayed.count(), 19);
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transient_failure_releases_the_key() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let unavailable = || ReplyError::Unavailable("away".into());
    let (failed, ()) = tokio::join!(chat(&api, "k", &body).send(), async {
        script.next_call().await.fail(unavailable());
    });
    failed.problem(ProblemCode::EngineUnavailable);
    assert_replayed(&failed, false);
    let (reply, ()) = tokio::join!(chat(&api, "k", &body).send(), async {
        script.next_call().await.answer("Here I am.").await;
    });
    assert_replayed(&reply, false);
    // The same conversation continues, though neither request named one.
    let conversations = api.reader().get("/api/conversations").await.ok();
    assert_eq!(conversations["data"].as_array().map(Vec::len), Some(1));
    let conversation = reply.ok()["conversationId"].as_str().unwrap().to_owned();
    assert_eq!(contents(&api, &conversation).await, ["Hello", "Here I am."]);
    let again = chat(&api, "k", &body).send().await;
    assert_replayed(&again, true);
    assert_eq!(again.ok(), reply.ok());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_key_starts_a_new_conversation_if_the_old_one_was_deleted() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let (failed, first) = tokio::join!(chat(&api, "k", &body).send(), async {
        let call = script.next_call().await;
        let turn = call.request.turn_id;
        call.fail(ReplyError::TimedOut);
        turn
    });
    failed.problem(ProblemCode::EngineTimeout);
    let turn = crate::engines::turn(&api, first).await;
    let gone = turn["conversationId"].as_str().unwrap().to_owned();
    assert_eq!(
        api.writer()
            .delete(&format!("/api/conversations/{gone}"))
            .await
            .status,
        204
    );
    let (reply, ()) = tokio::join!(chat(&api, "k", &body).send(), async {
        script.next_call().await.answer("Anew.").await;
    });
    assert_ne!(reply.ok()["conversationId"], gone);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permanent_failure_is_replayed() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "Hello"});
    let (failed, ()) = tokio::join!(chat(&api, "k", &body).send(), async {
        script
            .next_call()
            .await
            .fail(ReplyError::Rejected("no".into()));
    });
    failed.problem(ProblemCode::EngineFailed);
    let again = chat(&api, "k", &body).send().await;
    again.problem(ProblemCode::EngineFailed);
    assert_replayed(&again, true);
    script.assert_no_more_calls();
    api.stop().await;
}
