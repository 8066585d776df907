//! Messages that a later turn supersedes, forks and repeated messages.

use std::sync::Arc;

use domain::{ProblemCode, Scope};
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    engines::{contents, scripted_agent},
    storage_probe::{InjectedFault, StorageProbe},
    user_tokens::{BACKEND, backend, user},
};

/// A conversation with these messages to an agent that replies by rules.
async fn conversation(api: &ApiServer, messages: &[&str]) -> (String, Vec<Value>) {
    let agent = api.agent_id().await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    for message in messages {
        api.chat(json!({"conversationId": id, "message": message}))
            .await;
    }
    let listed = listed(api, &id, "").await;
    (id, listed)
}

async fn listed(api: &ApiServer, id: &str, query: &str) -> Vec<Value> {
    let path = format!("/api/conversations/{id}/messages?limit=100{query}");
    let page = api.reader().get(&path).await.ok();
    page["data"].as_array().expect("a page").clone()
}

fn seqs(messages: &[Value]) -> Vec<i64> {
    let seqs = messages
        .iter()
        .map(|message| message["seq"].as_i64().expect("a number"));
    seqs.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_replaces_a_message_and_all_later_ones() {
    let api = ApiServer::start().await;
    let (id, before) = conversation(&api, &["one", "two"]).await;
    let path = format!("/api/conversations/{id}");
    let etag = api.reader().get(&path).await.header("ETag").to_owned();
    let edit = json!({"conversationId": id, "supersedes": before[0]["id"], "message": "uno"});
    let reply = api.chat(edit.clone()).await;
    assert_eq!(seqs(&listed(&api, &id, "").await), [5, 6]);
    let all = listed(&api, &id, "&superseded=include").await;
    assert_eq!(seqs(&all), [1, 2, 3, 4, 5, 6]);
    assert!(
        all[..4]
            .iter()
            .all(|message| message["supersededAt"].is_string())
    );
    assert!(
        all[4..]
            .iter()
            .all(|message| message.get("supersededAt").is_none())
    );
    let conversation = api.reader().get(&path).await;
    assert_eq!(conversation.ok()["messageCount"], 2);
    assert_ne!(conversation.header("ETag"), etag);
    let events = api.reader().get("/api/events?since=0&limit=100").await.ok();
    let events = events["data"].as_array().unwrap();
    let at = events
        .iter()
        .position(|event| event["type"] == "messages.superseded")
        .unwrap();
    let expected = json!({"fromSeq": 1, "toSeq": 4, "turnId": reply["turnId"]});
    assert_eq!(events[at]["data"], expected);
    assert_eq!(events[at + 1]["type"], "turn.started");
    assert_eq!(events[at + 1]["turnId"], reply["turnId"]);
    let again = api.writer().post("/api/chat", edit).await;
    again.problem(ProblemCode::MessageSuperseded);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_generated_again_for_the_same_message() {
    let api = ApiServer::start().await;
    let (id, before) = conversation(&api, &["one", "two"]).await;
    let reply = api
        .chat(json!({"conversationId": id, "supersedes": before[3]["id"]}))
        .await;
    let after = listed(&api, &id, "").await;
    assert_eq!(seqs(&after), [1, 2, 3, 5]);
    assert_eq!(after[2]["id"], before[2]["id"]);
    assert_eq!(after[2]["turnId"], reply["turnId"]);
    assert_eq!(after[3]["id"], reply["messageId"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_edit_with_the_same_key_takes_effect_once() {
    let api = ApiServer::start().await;
    let (id, before) = conversation(&api, &["one"]).await;
    let edit = json!({"conversationId": id, "supersedes": before[0]["id"], "message": "uno"});
    let send = || {
        let request = api.writer().request("POST", "/api/chat").json(&edit);
        request.header("Idempotency-Key", "edit-1").send()
    };
    let (first, second) = (send().await, send().await);
    assert_eq!(first.ok(), second.ok());
    assert_eq!(second.header("Idempotency-Replayed"), "true");
    assert_eq!(seqs(&listed(&api, &id, "").await), [3, 4]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_superseded_is_rejected() {
    let api = ApiServer::start().await;
    let agent = api
        .agent(json!({"name": "Host", "config": {"greeting": "Welcome"}}))
        .await;
    let id = id_of(&api.conversation(json!({"agentId": id_of(&agent)})).await);
    api.chat(json!({"conversationId": id, "message": "Hello"}))
        .await;
    let messages = listed(&api, &id, "").await;
    let (greeting, user, reply) = (&messages[0]["id"], &messages[1]["id"], &messages[2]["id"]);
    for (supersedes, message, pointer, code) in [
        (greeting, None, "/supersedes", "not_combinable"),
        (user, None, "/message", "required"),
        (reply, Some("text"), "/message", "not_combinable"),
        (&json!("nothing"), None, "/supersedes", "unknown_value"),
        (
            &messages[0]["conversationId"],
            None,
            "/supersedes",
            "unknown_value",
        ),
    ] {
        let mut body = json!({"conversationId": id, "supersedes": supersedes});
        if let Some(message) = message {
            body["message"] = message.into();
        }
        let rejected = api.writer().post("/api/chat", body).await;
        rejected.problem(ProblemCode::ValidationFailed);
        assert_eq!(rejected.faults(), [(pointer.to_owned(), code.to_owned())]);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_supersedes_a_message_that_the_caller_may_not_read() {
    let api = ApiServer::start().await;
    let (id, messages) = conversation(&api, &["Secret"]).await;
    let (sent, reply) = (&messages[0]["id"], &messages[1]["id"]);
    let sender = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let edit =
        |message: &Value| json!({"conversationId": id, "supersedes": message, "message": "Mine"});
    let again = |message: &Value| json!({"conversationId": id, "supersedes": message});
    for body in [edit(sent), again(reply), edit(&json!(id))] {
        let rejected = sender.post("/api/chat", body).await;
        rejected.problem(ProblemCode::ValidationFailed);
        let expected = [("/supersedes".to_owned(), "unknown_value".to_owned())];
        assert_eq!(rejected.faults(), expected);
    }
    assert_eq!(listed(&api, &id, "").await, messages);
    // Its own messages, and those of others with the scope to read them.
    let body = json!({"conversationId": id, "message": "Mine"});
    let own = sender.post("/api/chat", body).await.ok();
    sender
        .post("/api/chat", again(&own["messageId"]))
        .await
        .ok();
    let scopes = [Scope::ChatWrite, Scope::ConversationsRead];
    let reader = api.caller_with_scopes(&scopes).await;
    reader.post("/api/chat", edit(sent)).await.ok();

    let (_, backend) = backend(&api, BACKEND).await;
    let (ada, bob) = (
        user(&api, &backend, "ada").await,
        user(&api, &backend, "bob").await,
    );
    let agent = api.agent_id().await;
    let first = json!({"agentId": agent, "conversationKey": "c1", "message": "Hello"});
    let of_ada = ada.post("/api/chat", first.clone()).await.ok();
    let of_bob = bob.post("/api/chat", first).await.ok();
    let supersede = |conversation: &Value| json!({"conversationId": conversation, "supersedes": of_ada["messageId"]});
    let rejected = bob
        .post("/api/chat", supersede(&of_ada["conversationId"]))
        .await;
    rejected.problem(ProblemCode::ConversationNotFound);
    let rejected = bob
        .post("/api/chat", supersede(&of_bob["conversationId"]))
        .await;
    rejected.problem(ProblemCode::ValidationFailed);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_superseded_while_a_turn_runs_and_engines_see_no_superseded_messages() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let first = json!({"agentId": agent, "conversationKey": "k", "message": "one"});
    let (reply, ()) = tokio::join!(writer.post("/api/chat", first), async {
        script.next_call().await.answer("first reply").await;
    });
    let reply = reply.ok();
    let id = reply["conversationId"].as_str().unwrap();
    let regenerate = json!({"conversationId": id, "supersedes": reply["messageId"]});
    let second = json!({"conversationId": id, "message": "two"});
    let (_, ()) = tokio::join!(writer.post("/api/chat", second), async {
        let call = script.next_call().await;
        let busy = api.writer().post("/api/chat", regenerate.clone()).await;
        busy.problem(ProblemCode::ConversationBusy);
        call.answer("second reply").await;
    });
    let (regenerated, history) = tokio::join!(writer.post("/api/chat", regenerate), async {
        let call = script.next_call().await;
        let history = call.request.history.clone();
        assert_eq!(&*call.request.message, "one");
        call.answer("another reply").await;
        history
    });
    regenerated.ok();
    assert!(history.is_empty());
    assert_eq!(contents(&api, id).await, ["one", "another reply"]);
    let next = json!({"conversationId": id, "message": "three"});
    let (_, history) = tokio::join!(writer.post("/api/chat", next), async {
        let call = script.next_call().await;
        let history = call.request.history.clone();
        call.answer("third reply").await;
        history
    });
    let texts: Vec<&str> = history.iter().map(|message| &*message.content).collect();
    assert_eq!(texts, ["one", "another reply"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_message_is_answered_again_with_its_key() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let send = || {
        let body = json!({"agentId": agent, "conversationKey": "k", "message": "Hello"});
        let request = api.writer().request("POST", "/api/chat").json(&body);
        request.header("Idempotency-Key", "k-1").send()
    };
    let (failed, ()) = tokio::join!(send(), async {
        let call = script.next_call().await;
        call.fail(ReplyError::TimedOut);
    });
    let failed = failed.problem(ProblemCode::EngineTimeout);
    let id = failed["conversationId"].as_str().unwrap();
    let message = &listed(&api, id, "").await[0];
    assert_eq!(message["turnStatus"], "failed");
    assert_eq!(message["error"]["code"], "engine_timeout");
    assert_eq!(message["error"]["retryable"], true);
    let (reply, ()) = tokio::join!(send(), async {
        script.next_call().await.answer("Hi").await;
    });
    let reply = reply.ok();
    let messages = listed(&api, id, "").await;
    assert_eq!(seqs(&messages), [1, 2]);
    assert_eq!(messages[0]["id"], message["id"]);
    assert_eq!(messages[0]["turnId"], reply["turnId"]);
    assert_eq!(messages[0]["turnStatus"], "completed");
    let turn = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    assert_eq!(
        api.reader().get(&turn).await.ok()["retryOf"],
        failed["turnId"]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_ends_with_the_last_message_although_it_is_edited_meanwhile() {
    let probe = Arc::new(StorageProbe::default());
    let wrapped = Arc::clone(&probe);
    let api = ApiServerBuilder::default()
        .wrap_storage(move |storage| wrapped.wrap_storage(storage))
        .start()
        .await;
    let (id, before) = conversation(&api, &["one", "two"]).await;
    // The fork has read which message is the last one.
    probe.inject("conversations.find_message", InjectedFault::Slow);
    probe.calls();
    let draft = json!({"forkOf": {"conversationId": id}});
    let request = api.writer().request("POST", "/api/conversations");
    let forking = request.json(&draft).begin();
    probe.wait_for_call("conversations.find_message").await;
    probe.remove("conversations.find_message");
    let edit = json!({"conversationId": id, "supersedes": before[2]["id"], "message": "three"});
    let edited = api.chat(edit).await;
    probe.release_waiting_calls();
    let fork = forking.await.expect("an answer").created();
    assert_eq!(fork["forkedFrom"]["messageId"], edited["messageId"]);
    let copied = listed(&api, fork["id"].as_str().unwrap(), "").await;
    let texts: Vec<_> = copied.iter().map(|message| &message["content"]).collect();
    assert_eq!((texts[0], texts[2]), (&json!("one"), &json!("three")));
    assert_eq!(copied[3]["id"], edited["messageId"]);
    assert_eq!(fork["messageCount"], 4);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_begins_with_the_messages_of_the_original() {
    let api = ApiServer::start().await;
    let (id, before) = conversation(&api, &["one", "two"]).await;
    api.chat(json!({"conversationId": id, "supersedes": before[3]["id"]}))
        .await;
    let draft = json!({"forkOf": {"conversationId": id, "messageId": before[2]["id"]}});
    let fork = api.conversation(draft).await;
    assert_eq!(fork["messageCount"], 3);
    assert_eq!(fork["excerpt"], "two");
    let origin = json!({"conversationId": id, "messageId": before[2]["id"]});
    assert_eq!(fork["forkedFrom"], origin);
    let copied = listed(&api, fork["id"].as_str().unwrap(), "").await;
    assert_eq!(seqs(&copied), [1, 2, 3]);
    assert_eq!(copied[2]["content"], "two");
    let whole = api
        .conversation(json!({"forkOf": {"conversationId": id}}))
        .await;
    assert_eq!(whole["messageCount"], 4);
    let superseded = json!({"forkOf": {"conversationId": id, "messageId": before[3]["id"]}});
    let rejected = api.writer().post("/api/conversations", superseded).await;
    assert_eq!(rejected.faults()[0].0, "/forkOf/messageId");
    let reply = api
        .chat(json!({"conversationId": fork["id"], "message": "three"}))
        .await;
    let copied = listed(&api, fork["id"].as_str().unwrap(), "").await;
    assert_eq!(seqs(&copied), [1, 2, 3, 4, 5]);
    assert_eq!(copied[4]["id"], reply["messageId"]);
    api.stop().await;
}
