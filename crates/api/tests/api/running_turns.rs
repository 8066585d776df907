//! Running turns: cancelled, abandoned and queued.

use std::time::{Duration, Instant};

use domain::ProblemCode;
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::sleep};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    engines::{contents, scripted_agent, turn},
    raw::Connection,
    script::scripted,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_turn_keeps_its_partial_reply() {
    let (api, mut script, agent) = scripted_agent(json!({"fallbacks": ["rules"]})).await;
    let writer = api.writer();
    let command = json!({"agentId": agent, "message": "Tell me all"});
    let (response, turn) = tokio::join!(writer.post("/api/chat", command), async {
        let call = script.next_call().await;
        call.send_text("Once upon ").await;
        let path = format!("/api/turns/{}/cancel", call.request.turn_id);
        let cancelled = api.writer().request("POST", &path).send().await.ok();
        call.wait_until_stopped().await;
        let again = api.writer().request("POST", &path).send().await.ok();
        assert_eq!(again, cancelled);
        cancelled
    });
    response.problem(ProblemCode::TurnCancelled);
    assert_eq!(
        (&turn["status"], &turn["error"]),
        (&json!("cancelled"), &Value::Null)
    );
    assert_eq!(turn["finishReason"], "cancelled");
    assert_eq!(turn["reply"]["content"], "Once upon ");
    assert_eq!(turn["reply"]["finishReason"], "cancelled");
    assert_eq!(turn["reply"]["engine"], "scripted");
    let conversation = turn["conversationId"].as_str().unwrap();
    assert_eq!(
        contents(&api, conversation).await,
        ["Tell me all", "Once upon "]
    );
    let events = api.reader().get("/api/events?since=0").await.ok();
    let last = events["data"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["type"], &last["turnId"]),
        (&json!("turn.cancelled"), &turn["id"])
    );
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_cancelled_before_its_first_text_has_no_reply() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let writer = api.writer();
    let command = |message| json!({"agentId": agent, "conversationId": id, "message": message});
    let (response, turn) = tokio::join!(writer.post("/api/chat", command("one")), async {
        let call = script.next_call().await;
        let path = format!("/api/turns/{}/cancel", call.request.turn_id);
        api.writer().request("POST", &path).send().await.ok()
    });
    response.problem(ProblemCode::TurnCancelled);
    assert_eq!(
        (&turn["status"], &turn["reply"]),
        (&json!("cancelled"), &Value::Null)
    );
    // The conversation continues.
    let (reply, ()) = tokio::join!(writer.post("/api/chat", command("two")), async {
        script.next_call().await.answer("two!").await;
    });
    reply.ok();
    assert_eq!(contents(&api, &id).await, ["one", "two", "two!"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_ends_with_its_agent_or_conversation() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let conversation = format!("/api/conversations/{id}");
    let writer = api.writer();
    for (path, command) in [
        (
            conversation,
            json!({"agentId": agent, "conversationId": id, "message": "Hello"}),
        ),
        (
            format!("/api/agents/{agent}"),
            json!({"agentId": agent, "message": "Hello"}),
        ),
    ] {
        let (response, turn_id) = tokio::join!(writer.post("/api/chat", command), async {
            let call = script.next_call().await;
            let turn_id = call.request.turn_id;
            call.send_text("Well").await;
            assert_eq!(writer.delete(&path).await.status, 204);
            assert_eq!(turn(&api, turn_id).await["status"], "cancelled");
            call.wait_until_stopped().await;
            turn_id
        });
        response.problem(ProblemCode::TurnCancelled);
        assert_eq!(turn(&api, turn_id).await["status"], "cancelled");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_continues_after_its_caller_disconnects() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "message": "Hello"}).to_string();
    let mut connection = Connection::open(api.address).await;
    connection
        .send(chat_request(api.writer().key(), &body))
        .await;
    let call = script.next_call().await;
    let turn_id = call.request.turn_id;
    drop(connection);
    // The worker may or may not have noticed the disconnect.
    api.reader().get("/api/agents").await.ok();
    call.answer("Anybody there?").await;
    loop {
        let turn = turn(&api, turn_id).await;
        if turn["status"] != "in_progress" {
            assert_eq!(
                (&turn["status"], &turn["error"]),
                (&json!("completed"), &Value::Null)
            );
            assert_eq!(turn["reply"]["content"], "Anybody there?");
            break;
        }
    }
    api.stop().await;
}

fn chat_request(key: &str, body: &str) -> String {
    format!(
        "POST /api/chat HTTP/1.1\r\nHost: test\r\nConnection: close\r\nX-API-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Waits until this many turns of a conversation are running or queued.
async fn until_accepted(api: &ApiServer, conversation: &str, turns: usize) {
    let filter = format!("conversationId={conversation}&types=turn.started,turn.queued");
    let path = format!("/api/events?since=0&{filter}");
    let began = Instant::now();
    loop {
        let page = api.reader().get(&path).await.ok();
        if page["data"].as_array().expect("a page").len() == turns {
            return;
        }
        assert!(began.elapsed().as_secs() < 30, "not taken: {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_to_a_busy_conversation_wait_in_order() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut waiting = Vec::new();
    for (before, message) in ["one", "two", "three"].into_iter().enumerate() {
        let command = json!({"agentId": agent, "conversationId": id, "message": message});
        let mut connection = Connection::open(api.address).await;
        connection
            .send(chat_request(api.writer().key(), &command.to_string()))
            .await;
        until_accepted(&api, &id, before + 1).await;
        waiting.push(connection);
    }
    for (number, mut connection) in waiting.into_iter().enumerate() {
        let call = script.next_call().await;
        assert_eq!(&*call.request.message, ["one", "two", "three"][number]);
        assert_eq!(call.request.history.len(), 2 * number);
        script.assert_no_more_calls();
        call.answer("Yes.").await;
        connection.answer_to("POST", "/api/chat").await.ok();
    }
    let all = ["one", "Yes.", "two", "Yes.", "three", "Yes."];
    assert_eq!(contents(&api, &id).await, all);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_must_not_wait_is_rejected_while_busy() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let writer = api.writer();
    let command = |on_busy| json!({"agentId": agent, "conversationId": id, "message": "Hello", "onBusy": on_busy});
    let (response, ()) = tokio::join!(writer.post("/api/chat", command("reject")), async {
        let call = script.next_call().await;
        let rejected = writer.post("/api/chat", command("reject")).await;
        rejected.problem(ProblemCode::ConversationBusy);
        call.answer("Yes.").await;
    });
    response.ok();
    assert_eq!(contents(&api, &id).await, ["Hello", "Yes."]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_waits_for_running_turns() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let command = json!({"agentId": agent, "message": "Hello"});
    let (response, ()) = tokio::join!(writer.post("/api/chat", command), async {
        let call = script.next_call().await;
        let ((), ()) = tokio::join!(api.stop(), call.answer("Good-bye."));
    });
    assert_eq!(response.ok()["message"], "Good-bye.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_waits_for_turns_without_a_waiting_caller() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let address = api.address;
    let command = json!({"agentId": agent, "message": "Hello"});
    let chat = api.writer().request("POST", "/api/chat");
    let accepted = chat.header("Prefer", "respond-async").json(&command);
    let accepted = accepted.send().await;
    assert_eq!(accepted.status, 202);
    let accepted = accepted.json();
    let conversation = accepted["conversationId"].as_str().expect("an id");
    let call = script.next_call().await;
    let (engine, _script) = scripted();
    let builder = ApiServerBuilder::default().engine("scripted", engine);
    let (api, ()) = tokio::join!(api.restart(builder), async {
        // Connections are refused at once, not when the last turn has ended.
        while TcpStream::connect(address).await.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
        call.answer("Good-bye.").await;
    });
    assert_eq!(contents(&api, conversation).await, ["Hello", "Good-bye."]);
    api.stop().await;
}
