//! The stream of the home region to far nodes.

use serde_json::json;
use uuid::Uuid;

use super::{
    fixture::Regions,
    signed_requests::{send, sign, sign_as},
};
use crate::api_server::id_of;

/// A far node that the test plays.
struct FarNode {
    process: Uuid,
    stream: reqwest::Response,
    received: String,
}

impl FarNode {
    async fn connect(regions: &Regions, number: u128) -> Self {
        let process = Uuid::from_u128(number);
        let path = format!("/region/stream?process={process}");
        let request = regions.home.anonymous().request("GET", &path);
        let request = request.header("X-Region-Request", &sign_as("GET", &path, ""));
        let stream = request.open().await;
        assert_eq!(stream.status(), 200);
        Self {
            process,
            stream,
            received: String::new(),
        }
    }

    /// Requests the replies of a conversation.
    async fn request_replies(&self, regions: &Regions, conversation: &str) {
        let signal = json!({
            "type": "repliesRequested",
            "tenant": "default",
            "conversations": [conversation],
            "node": Uuid::from_u128(7),
            "fromStart": true,
        });
        let message = json!({"process": self.process, "number": 0, "signals": [signal]});
        let message = message.to_string();
        let path = format!("/region/signals?process={}", self.process);
        let head = sign(&path, &message);
        assert_eq!(send(regions, &path, &head, &message).await, 204);
    }

    /// Receives signals until a text.
    async fn receive_until(&mut self, text: &str) {
        while !self.received.contains(text) {
            let chunk = self.stream.chunk().await.expect("a stream");
            let chunk = chunk.expect("the stream goes on");
            self.received.push_str(&String::from_utf8_lossy(&chunk));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_far_node_receives_the_replies_that_its_readers_want() {
    let mut regions = Regions::start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&regions.home.agent(draft).await);
    let mut nodes = Vec::new();
    let mut conversations = Vec::new();
    for number in [1, 2] {
        let made = regions.home.conversation(json!({"agentId": agent})).await;
        let conversation = id_of(&made);
        let node = FarNode::connect(&regions, number).await;
        node.request_replies(&regions, &conversation).await;
        nodes.push(node);
        conversations.push(conversation);
    }
    let texts = ["first reply", "second reply"];
    for ((conversation, text), node) in conversations.iter().zip(texts).zip(&mut nodes) {
        let message = json!({"agentId": agent, "conversationId": conversation, "message": "Hello"});
        let turn = regions.home.writer().request("POST", "/api/chat");
        let turn = turn.json(&message).header("Prefer", "respond-async").send();
        assert_eq!(turn.await.status, 202);
        let call = regions.script.next_call().await;
        call.send_text(text).await;
        // A reply that has ended is not sent any more.
        node.receive_until(text).await;
        call.answer(" and its end").await;
    }
    let [first, second] = &mut nodes[..] else {
        panic!("two nodes")
    };
    assert!(
        !second.received.contains("first reply"),
        "{}",
        second.received
    );
    // The events of both conversations concern every node.
    first.receive_until("logAppended").await;
    assert!(
        !first.received.contains("second reply"),
        "{}",
        first.received
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_shuts_down_announces_the_end_of_the_stream() {
    let regions = Regions::start().await;
    let mut node = FarNode::connect(&regions, 1).await;
    let stopping = regions.home.stop();
    tokio::join!(stopping, node.receive_until("\"closing\""));
}
