//! Edits and stops on two nodes over one database at the same time.

use futures::future::join_all;
use serde_json::{Value, json};

use super::wire::{Chat, PartStream, message};
use crate::nodes::{
    pair::{NodePair, word},
    racing::agreed,
};

fn edit(text: &str) -> Value {
    json!({"id": "c1", "messageId": "m1", "messages": [message("m1", text)]})
}

/// The id of the only conversation.
async fn conversation(pair: &NodePair) -> String {
    let page = pair.a.api.reader().get("/api/conversations").await.ok();
    word(&page["data"][0]["id"])
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_edits_on_two_nodes_are_one_turn() {
    let pair = NodePair::start().await;
    let agent = pair.a.api.agent_id().await;
    let chats = [&pair.a, &pair.b].map(|node| Chat::new(node.api.writer(), &agent));
    chats[0].send("m1", "Hello").await.parts().await;
    let id = conversation(&pair).await;
    for round in 1..=5 {
        let text = format!("Edit {round}");
        let edit = edit(&text);
        let streams = join_all((0..8).map(|number| chats[number % 2].post(&edit))).await;
        let replies = join_all(streams.into_iter().map(PartStream::parts)).await;
        for parts in &replies {
            assert_eq!(parts[0]["messageId"], replies[0][0]["messageId"]);
            assert_eq!(parts.last().expect("parts")["type"], "finish");
        }
        let messages = agreed(&pair, &id).await;
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert_eq!(messages[0], (2 * round + 1, text));
    }
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_one_of_two_edits_follows_a_stop() {
    let mut pair = NodePair::start().await;
    let own = Chat::new(pair.a.api.writer(), &pair.agent);
    let other = Chat::new(pair.b.api.writer(), &pair.agent);
    let mut running = own.send("m1", "Hello").await;
    let mut call = pair.a.script.next_call().await;
    let id = conversation(&pair).await;
    for round in 0..5 {
        call.send_text_ignoring_errors("Half a ");
        let (here, there) = (format!("Here {round}"), format!("There {round}"));
        let (here, there) = (edit(&here), edit(&there));
        let (first, second, ()) = tokio::join!(own.post(&here), other.post(&there), other.stop());
        assert_eq!(
            running.parts().await.last().expect("parts")["type"],
            "abort"
        );
        let statuses = [first.status(), second.status()];
        assert!(
            statuses == [200, 409] || statuses == [409, 200] || statuses == [409, 409],
            "{statuses:?}"
        );
        // The stop may have reached the new turn, too. Otherwise, this one does.
        other.stop().await;
        for stream in [first, second].into_iter().filter(|it| it.status() == 200) {
            stream.parts().await;
        }
        agreed(&pair, &id).await;
        let path = format!("/api/conversations/{id}/turns?status=open");
        assert_eq!(pair.b.api.reader().get(&path).await.ok()["data"], json!([]));
        let next = format!("Next {round}");
        running = own.post(&edit(&next)).await;
        assert_eq!(running.status(), 200);
        while *call.request.message != *next {
            call = pair.a.script.next_call().await;
        }
    }
    call.answer("Last").await;
    running.parts().await;
    let messages = agreed(&pair, &id).await;
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(messages[1].1, "Last");
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_refused_while_the_other_node_runs_the_turn() {
    let mut pair = NodePair::start().await;
    let own = Chat::new(pair.a.api.writer(), &pair.agent);
    let other = Chat::new(pair.b.api.writer(), &pair.agent);
    let running = own.send("m1", "Hello").await;
    let call = pair.a.script.next_call().await;
    let refused = other.post(&edit("Good day")).await.error(409).await;
    assert!(refused.contains("conversation_busy"), "{refused}");
    // The message is not changed by this one, so it joins the turn.
    let joined = other.post(&edit("Hello")).await;
    call.answer("Hi").await;
    let (running, joined) = (running.parts().await, joined.parts().await);
    assert_eq!(running[0], joined[0]);
    assert_eq!(joined.last().expect("parts")["type"], "finish");
    let id = conversation(&pair).await;
    assert_eq!(agreed(&pair, &id).await.len(), 2);
    pair.stop().await;
}
