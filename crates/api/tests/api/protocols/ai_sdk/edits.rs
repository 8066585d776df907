//! Messages that are edited, answered or sent again, also at the same time.

use domain::Scope;
use futures::future::join_all;
use serde_json::{Value, json};

use super::wire::{Chat, PartStream, message};
use crate::{api_server::ApiServer, caller::Caller, engines::scripted_agent};

#[tokio::test(flavor = "multi_thread")]
async fn equal_edits_at_the_same_time_are_one_turn() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let chat = Chat::new(api.writer(), &agent);
    let first = chat.send("m1", "Hello").await;
    script.next_call().await.answer("Hi").await;
    first.parts().await;
    let edit = json!({"id": "c1", "messageId": "m1", "messages": [message("m1", "Good day")]});
    let streams = join_all((0..8).map(|_| chat.post(&edit))).await;
    script.next_call().await.answer("Good day to you").await;
    let replies = join_all(streams.into_iter().map(PartStream::parts)).await;
    for parts in &replies {
        assert_eq!(parts.first(), replies[0].first());
        assert_eq!(parts.last().expect("parts")["type"], "finish");
    }
    script.assert_no_more_calls();
    let messages = chat.messages().await;
    assert_eq!(messages.as_array().map(Vec::len), Some(2), "{messages}");
    assert_eq!(messages[0]["parts"][0]["text"], "Good day");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_does_not_join_the_turn_of_another_principal() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let own = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let other = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let sent = Chat::new(own, &agent).send("m1", "Hello").await;
    let call = script.next_call().await;
    let edit = json!({"id": "c1", "messageId": "m1", "messages": [message("m1", "Hello")]});
    let mut queued = Chat::new(other, &agent).post(&edit).await;
    queued.until("data-queued").await;
    call.answer("Secret").await;
    sent.parts().await;
    script.next_call().await.answer("Hi").await;
    let parts = queued.parts().await;
    let texts: Vec<_> = parts.iter().filter_map(|it| it["delta"].as_str()).collect();
    assert_eq!(texts, ["Hi"]);
    api.stop().await;
}

/// The input of the newest turn that `caller` sees in a stream.
async fn input_of(caller: &Caller, parts: &[Value]) -> Value {
    let turn = parts[0]["messageMetadata"]["turnId"].as_str();
    let path = format!("/api/turns/{}", turn.expect("the id of the turn"));
    caller.get(&path).await.ok()["input"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_another_principal_is_neither_answered_again_nor_edited() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let own = Chat::new(api.writer(), &agent);
    let sent = own.send("m1", "Secret").await;
    script.next_call().await.answer("Noted").await;
    sent.parts().await;
    let before = own.messages().await;
    let reply = before[1]["id"].clone();

    let other = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let chat = Chat::new(other.clone(), &agent);
    for body in [
        json!({"trigger": "regenerate-message", "messageId": reply, "messages": [message("m8", "Guess 1")]}),
        json!({"messageId": "m1", "messages": [message("m9", "Guess 2")]}),
        json!({"trigger": "regenerate-message", "messages": [message("m1", "Guess 3")]}),
    ] {
        let mut body = body;
        body["id"] = "c1".into();
        let stream = chat.post(&body).await;
        let call = script.next_call().await;
        assert!(
            call.request.message.starts_with("Guess"),
            "{:?}",
            call.request
        );
        call.answer("A reply").await;
        let parts = stream.parts_with_metadata().await;
        assert_eq!(
            input_of(&other, &parts).await,
            body["messages"][0]["parts"][0]["text"]
        );
    }
    let after = own.messages().await;
    let after = after.as_array().expect("a list");
    assert_eq!(after.len(), 8);
    assert_eq!(after[..2], before.as_array().expect("a list")[..]);

    // It can do both with messages of its own.
    let again = json!({"id": "c1", "trigger": "regenerate-message", "messages": [message("m9", "Guess 2")]});
    let stream = chat.post(&again).await;
    script.next_call().await.answer("Another reply").await;
    stream.parts().await;
    assert_eq!(own.messages().await.as_array().map(Vec::len), Some(6));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_cannot_be_edited() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let chat = Chat::new(api.writer(), &agent);
    let parts = chat.send("m1", "Hello").await.parts().await;
    let reply = &parts[0]["messageId"];
    let edit = json!({"id": "c1", "messageId": reply, "messages": [message("m2", "Good day")]});
    let detail = chat.post(&edit).await.error(422).await;
    assert!(detail.contains("/messageId"), "{detail}");
    assert_eq!(chat.messages().await.as_array().map(Vec::len), Some(2));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_edits_that_are_answered_at_once_are_one_turn() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let chat = Chat::new(api.writer(), &agent);
    chat.send("m1", "Hello").await.parts().await;
    for round in 0..10 {
        let text = format!("Edit {round}");
        let edit = json!({"id": "c1", "messageId": "m1", "messages": [message("m1", &text)]});
        let streams = join_all((0..8).map(|_| chat.post(&edit))).await;
        let replies = join_all(streams.into_iter().map(PartStream::parts)).await;
        for parts in &replies {
            assert_eq!(parts, &replies[0]);
        }
        let messages = chat.messages().await;
        assert_eq!(messages.as_array().map(Vec::len), Some(2), "{messages}");
        assert_eq!(messages[0]["parts"][0]["text"], text);
        assert_eq!(messages[1]["id"], replies[0][0]["messageId"]);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn different_edits_at_the_same_time_have_one_winner() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let chat = Chat::new(api.writer(), &agent);
    chat.send("m1", "Hello").await.parts().await;
    for round in 0..5 {
        let edit = |number| {
            let edited = message("m1", &format!("Edit {round}.{number}"));
            json!({"id": "c1", "messageId": "m1", "messages": [edited]})
        };
        let edits: Vec<_> = (0..6).map(edit).collect();
        let streams = join_all(edits.iter().map(|it| chat.post(it))).await;
        let statuses: Vec<u16> = streams.iter().map(PartStream::status).collect();
        assert!(statuses.contains(&200), "{statuses:?}");
        assert!(
            statuses.iter().all(|it| [200, 409].contains(it)),
            "{statuses:?}"
        );
        let messages = chat.messages().await;
        assert_eq!(messages.as_array().map(Vec::len), Some(2), "{messages}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_sent_again_after_its_chat_was_deleted_begins_a_new_chat() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let chat = Chat::new(api.writer(), &agent);
    let path = format!("/api/conversations?agentId={agent}&key=c1");
    let mut replies = Vec::new();
    for _ in 0..3 {
        let streams = join_all((0..4).map(|_| chat.send("m1", "Hello"))).await;
        let equal = join_all(streams.into_iter().map(PartStream::parts)).await;
        for parts in &equal {
            assert_eq!(parts, &equal[0]);
        }
        assert!(!replies.contains(&equal[0][0]["messageId"]), "a new reply");
        replies.push(equal[0][0]["messageId"].clone());
        let messages = chat.messages().await;
        assert_eq!(messages.as_array().map(Vec::len), Some(2), "{messages}");
        let found = api.reader().get(&path).await.ok();
        let id = found["data"][0]["id"].as_str().expect("a conversation");
        let deleted = api
            .writer()
            .delete(&format!("/api/conversations/{id}"))
            .await;
        assert_eq!(deleted.status, 204);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_superseded_message_that_is_sent_again_has_its_old_reply() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let chat = Chat::new(api.writer(), &agent);
    let first = chat.send("m1", "Hello").await.parts().await;
    let edit = json!({"id": "c1", "messageId": "m1", "messages": [message("m1", "Good day")]});
    chat.post(&edit).await.parts().await;
    let messages = chat.messages().await;
    assert_eq!(chat.send("m1", "Hello").await.parts().await, first);
    assert_eq!(chat.messages().await, messages);
    api.stop().await;
}
