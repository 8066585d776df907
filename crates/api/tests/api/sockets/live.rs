//! Replies as they are spoken.

use serde_json::{Value, json};

use super::client::{Socket, Upgrade};
use crate::{
    engines::scripted_agent,
    harness::{Api, id_of},
};

/// Applies live frames and events as a client does, and answers the text that it ends with.
#[derive(Default)]
struct Reader {
    text: String,
    is_over: bool,
}

impl Reader {
    fn read(&mut self, frame: &Value) {
        let event = &frame["event"];
        let text = event["text"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "reply.delta" => {
                assert!(!self.is_over, "{frame} behind the end");
                let (from, to) = (place(event, "from"), place(event, "to"));
                assert_eq!(to - from, text.len());
                assert_eq!(from, self.text.len(), "{frame} leaves a gap");
                self.text.push_str(text);
            }
            "reply.snapshot" => {
                assert!(!self.is_over, "{frame} behind the end");
                assert_eq!(place(event, "to"), text.len());
                text.clone_into(&mut self.text);
            }
            "turn.completed" => {
                let whole = event["data"]["message"]["content"].as_str().expect("text");
                assert!(whole.starts_with(&self.text), "{whole} after {}", self.text);
                whole.clone_into(&mut self.text);
                self.is_over = true;
            }
            _ => {}
        }
    }
}

fn place(event: &Value, name: &str) -> usize {
    let place = event[name].as_u64().expect("a place");
    usize::try_from(place).expect("a small number")
}

async fn begin(api: &Api, agent: &str) -> String {
    let command = json!({"agentId": agent, "message": "Hello"});
    let request = api.writer().request("POST", "/api/chat");
    let answer = request
        .header("Prefer", "respond-async")
        .json(&command)
        .send()
        .await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["conversationId"]
        .as_str()
        .expect("text")
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_channel_that_a_turn_concerns_is_told_what_is_said() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut sockets = Vec::new();
    for channel in [
        "tenant".to_owned(),
        format!("agent:{agent}"),
        format!("conversation:{conversation}"),
    ] {
        sockets.push(Socket::connected(&api, &api.reader(), &[&channel]).await);
    }
    let writer = api.writer();
    let chat = json!({"agentId": agent, "conversationId": conversation, "message": "Hello"});
    let said = async {
        let call = script.next_call().await;
        for text in ["Grüß ", "Gott", "!"] {
            call.say(text).await;
        }
        call.end();
    };
    let (reply, ()) = tokio::join!(writer.post("/api/chat", chat), said);
    reply.ok();
    for socket in &mut sockets {
        let mut reader = Reader::default();
        while !reader.is_over {
            reader.read(&socket.next().await);
        }
        assert_eq!(reader.text, "Grüß Gott!");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_subscribes_during_a_turn_gets_what_was_said_so_far() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let conversation = begin(&api, &agent).await;
    let call = script.next_call().await;
    call.say("Once upon ").await;
    let channel = format!("conversation:{conversation}");
    let mut socket = Socket::connected(&api, &api.reader(), &[]).await;
    socket
        .carried_out("subscribe", json!({"channel": channel}))
        .await;
    let snapshot = socket.next_of("live").await["event"].clone();
    assert_eq!(snapshot["type"], "reply.snapshot");
    assert_eq!(
        (&snapshot["to"], &snapshot["text"]),
        (&json!(10), &json!("Once upon "))
    );
    assert_eq!(snapshot["conversationId"], json!(conversation));
    call.say("a time").await;
    let delta = socket.next_of("live").await["event"].clone();
    assert_eq!(
        (&delta["type"], &delta["from"], &delta["text"]),
        (&json!("reply.delta"), &json!(10), &json!("a time"))
    );
    // Whoever asks again gets it again.
    socket
        .carried_out("subscribe", json!({"channel": channel}))
        .await;
    let snapshot = socket.next_of("live").await["event"].clone();
    assert_eq!(
        (&snapshot["type"], &snapshot["text"]),
        (&json!("reply.snapshot"), &json!("Once upon a time"))
    );
    call.end();
    assert_eq!(socket.event().await["type"], "turn.completed");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_into_a_turn_ends_with_all_that_was_said() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    begin(&api, &agent).await;
    let call = script.next_call().await;
    call.say("Once upon ").await;
    let mut socket = Upgrade::of(&api).by(&api.reader()).open().await;
    socket
        .connect(json!({"channels": ["tenant"], "since": 0}))
        .await;
    let mut reader = Reader::default();
    while reader.text.is_empty() {
        reader.read(&socket.next().await);
    }
    call.answer("a time.").await;
    while !reader.is_over {
        reader.read(&socket.next().await);
    }
    assert_eq!(reader.text, "Once upon a time.");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_elsewhere_is_not_told() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let other = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut elsewhere =
        Socket::connected(&api, &api.reader(), &[&format!("conversation:{other}")]).await;
    let mut strangers = Socket::connected(&api, &api.stranger(), &["tenant"]).await;
    let only_agents = api
        .holder_of(&[domain::Scope::EventsRead, domain::Scope::AgentsRead])
        .await;
    let mut agents = Socket::connected(&api, &only_agents, &["tenant"]).await;
    let mut there = Socket::connected(&api, &api.reader(), &["tenant"]).await;
    begin(&api, &agent).await;
    script.next_call().await.answer("Hi!").await;
    there
        .find(|frame| frame["event"]["type"] == "turn.completed")
        .await;
    for socket in [&mut elsewhere, &mut strangers, &mut agents] {
        assert_eq!(socket.rest().await, Vec::<Value>::new());
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_unsubscribes_hears_no_more() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let conversation = begin(&api, &agent).await;
    let call = script.next_call().await;
    let channel = format!("conversation:{conversation}");
    let mut socket = Socket::connected(&api, &api.reader(), &[&channel]).await;
    call.say("Once ").await;
    socket.next_of("live").await;
    socket
        .carried_out("unsubscribe", json!({"channel": channel}))
        .await;
    let mut there = Socket::connected(&api, &api.reader(), &[&channel]).await;
    call.answer("upon a time").await;
    there
        .find(|frame| frame["event"]["type"] == "turn.completed")
        .await;
    assert_eq!(socket.rest().await, Vec::<Value>::new());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_repeats_a_chat_elsewhere_gets_what_was_said_so_far_and_what_follows() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let chat = json!({"agentId": agent, "message": "Hello", "idempotencyKey": "once"});
    let mut first = Socket::connected(&api, &api.writer(), &[]).await;
    let begun = first.carried_out("chat", chat.clone()).await;
    let call = script.next_call().await;
    call.say("Once upon ").await;
    let mut readers = [Reader::default(), Reader::default()];
    while readers[0].text != "Once upon " {
        readers[0].read(&first.next().await);
    }
    let mut second = Socket::connected(&api, &api.writer(), &[]).await;
    for socket in [&mut first, &mut second] {
        let again = socket.carried_out("chat", chat.clone()).await;
        assert_eq!(again["replayed"], true);
        assert_eq!(again["turn"]["id"], begun["turn"]["id"]);
        assert_eq!(again["turn"]["status"], "in_progress");
    }
    let snapshot = second.next_of("live").await;
    assert_eq!(snapshot["event"]["type"], "reply.snapshot");
    assert_eq!(snapshot["event"]["text"], "Once upon ");
    call.answer("a time.").await;
    readers[1].read(&snapshot);
    for (socket, reader) in [first, second].iter_mut().zip(&mut readers) {
        while !reader.is_over {
            let frame = socket.next().await;
            // The first one has had all of it.
            assert_ne!(frame["event"]["type"], "reply.snapshot");
            reader.read(&frame);
        }
        assert_eq!(reader.text, "Once upon a time.");
        assert_eq!(socket.rest().await, Vec::<Value>::new());
    }
    api.stop().await;
}
