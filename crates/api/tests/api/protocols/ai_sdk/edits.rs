//! Edits that race with other requests.

use domain::Scope;
use futures::future::join_all;
use serde_json::json;

use super::wire::{Chat, PartStream, message};
use crate::engines::scripted_agent;

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
    let joined = Chat::new(other, &agent).post(&edit).await;
    let error = joined.error(409).await;
    assert!(error.contains("conversation_busy"), "{error}");
    call.answer("Secret").await;
    sent.parts().await;
    api.stop().await;
}
