//! The UI message stream, as its wire has it.

use std::time::Duration;

use domain::{Scope, sizes::PAGE_BYTES};
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    caller::Caller,
    engines::scripted_agent,
    response::Request,
};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The chat `c1` with an agent.
pub(super) struct Chat {
    caller: Caller,
    path: String,
}

impl Chat {
    pub(super) fn new(caller: Caller, agent: &str) -> Self {
        let path = format!("/ai-sdk/agents/{agent}/chat");
        Self { caller, path }
    }

    fn request(&self, method: &str, rest: &str) -> Request {
        let path = format!("{}{rest}", self.path);
        self.caller.request(method, &path)
    }

    /// Sends a message.
    pub(super) async fn send(&self, id: &str, text: &str) -> PartStream {
        self.post(&json!({"id": "c1", "messages": [message(id, text)]}))
            .await
    }

    pub(super) async fn post(&self, body: &Value) -> PartStream {
        PartStream::new(self.request("POST", "").json(body).open().await)
    }

    async fn follow(&self) -> PartStream {
        PartStream::new(self.request("GET", "/c1/stream").open().await)
    }

    pub(super) async fn stop(&self) {
        let stopped = self.request("POST", "/c1/stop").open().await;
        assert_eq!(stopped.status(), 204);
    }

    pub(super) async fn messages(&self) -> Value {
        let listed = self.request("GET", "/c1/messages").open().await;
        assert_eq!(listed.status(), 200);
        let text = listed.text().await.expect("a body");
        serde_json::from_str(&text).expect("JSON")
    }
}

pub(super) fn message(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})
}

/// A response that is a stream of parts.
pub(super) struct PartStream {
    response: reqwest::Response,
    received: String,
}

impl PartStream {
    fn new(response: reqwest::Response) -> Self {
        Self {
            response,
            received: String::new(),
        }
    }

    pub(super) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Reads until a text has arrived.
    pub(super) async fn until(&mut self, text: &str) {
        while !self.received.contains(text) {
            let chunk = self.chunk().await.expect("no cut").expect("no end");
            self.received.push_str(&chunk);
        }
    }

    async fn chunk(&mut self) -> reqwest::Result<Option<String>> {
        let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await;
        let chunk = chunk.expect("the stream goes on in time")?;
        Ok(chunk.map(|bytes| String::from_utf8(bytes.to_vec()).expect("UTF-8")))
    }

    /// Returns all parts up to the clean end, without metadata.
    pub(super) async fn parts(self) -> Vec<Value> {
        let mut parts = self.parts_with_metadata().await;
        for part in &mut parts {
            let members = part.as_object_mut().expect("an object");
            members.remove("messageMetadata");
        }
        parts
    }

    /// Returns all parts up to the clean end.
    pub(super) async fn parts_with_metadata(mut self) -> Vec<Value> {
        let headers = self.response.headers();
        assert_eq!(headers["content-type"], "text/event-stream");
        assert_eq!(headers["x-vercel-ai-ui-message-stream"], "v1");
        assert_eq!(headers["x-accel-buffering"], "no");
        assert_eq!(headers["cache-control"], "no-store, no-transform");
        while let Some(chunk) = self.chunk().await.expect("no cut") {
            self.received.push_str(&chunk);
        }
        let datas = self.received.lines();
        let mut datas: Vec<_> = datas
            .filter_map(|line| line.strip_prefix("data: "))
            .collect();
        assert_eq!(datas.pop(), Some("[DONE]"), "{}", self.received);
        let part = |data| serde_json::from_str(data).expect("JSON");
        datas.into_iter().map(part).collect()
    }

    /// Waits for the end, which must be a cut.
    async fn assert_cut(mut self) {
        loop {
            match self.chunk().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("a clean end after {}", self.received),
                Err(_) => return,
            }
        }
    }

    /// The body of an error with this status.
    pub(super) async fn error(self, status: u16) -> String {
        assert_eq!(self.response.status().as_u16(), status);
        let headers = self.response.headers();
        assert_eq!(headers["content-type"], "text/plain; charset=utf-8");
        assert!(headers.contains_key("x-request-id"));
        self.response.text().await.expect("a body")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_has_its_tools_where_they_happened_in_every_replay_and_in_messages() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let chat = Chat::new(api.writer(), &agent);
    let stream = chat.send("m1", "What is 17 * 24?").await;
    let call = script.next_call().await;
    call.send_text("Let me see.").await;
    call.use_tool("calculator", json!({"expression": "17 * 24"}))
        .await;
    call.answer("It is 408.").await;
    let parts = stream.parts().await;
    let kinds: Vec<_> = parts.iter().map(|part| part["type"].as_str()).collect();
    let expected = [
        "start",
        "start-step",
        "text-start",
        "text-delta",
        "text-end",
        "tool-input-available",
        "tool-output-available",
        "text-start",
        "text-delta",
        "text-end",
        "finish-step",
        "finish",
    ];
    assert_eq!(kinds, expected.map(Some));
    assert_eq!(parts[5]["input"], json!({"expression": "17 * 24"}));
    assert_eq!(parts[5]["toolCallId"], parts[6]["toolCallId"]);
    assert_eq!(parts[7]["id"], "13");
    assert_eq!(parts[8]["delta"], "It is 408.");
    assert_eq!(parts[11]["finishReason"], "stop");

    assert_eq!(chat.follow().await.parts().await, parts);
    let messages = chat.messages().await;
    assert_eq!(
        (&messages[0]["id"], &messages[0]["role"]),
        (&json!("m1"), &json!("user"))
    );
    assert_eq!(messages[1]["id"], parts[0]["messageId"]);
    let stored = &messages[1]["parts"];
    assert_eq!(stored[1]["text"], "Let me see.");
    assert_eq!(
        (&stored[2]["type"], &stored[2]["state"]),
        (&json!("tool-calculator"), &json!("output-available"))
    );
    assert_eq!(stored[2]["toolCallId"], parts[5]["toolCallId"]);
    assert_eq!(stored[3]["text"], "It is 408.");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_messages_is_as_large_as_a_page() {
    let api = ApiServer::start().await;
    let chat = Chat::new(api.writer(), &api.agent_id().await);
    // A quotation mark has two bytes in JSON.
    let text = "\"".repeat(32_000);
    for number in 0..20 {
        chat.send(&format!("m{number}"), &text).await.parts().await;
    }
    let messages = chat.messages().await;
    let bytes = messages.to_string().len();
    assert!(
        (PAGE_BYTES - 70_000..PAGE_BYTES + 1_000).contains(&bytes),
        "{bytes}"
    );
    let messages = messages.as_array().expect("messages");
    assert_eq!(messages[messages.len() - 2]["id"], "m19");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_reloads_follows_the_open_turn_and_a_resend_joins_it() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let chat = Chat::new(api.writer(), &agent);
    let mut lost = chat.send("m1", "Hello").await;
    let call = script.next_call().await;
    call.send_text("Good ").await;
    lost.until("Good ").await;
    drop(lost);
    let (mut followed, mut sent) = (chat.follow().await, chat.send("m1", "Hello").await);
    followed.until("Good ").await;
    sent.until("Good ").await;
    call.answer("morning").await;
    let (followed, sent) = (followed.parts().await, sent.parts().await);
    assert_eq!(followed.first(), sent.first());
    assert_eq!(followed.last().unwrap()["type"], "finish");
    assert_eq!(chat.messages().await.as_array().map(Vec::len), Some(2));
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_cancels_the_turn_and_its_stream_ends_as_aborted() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let chat = Chat::new(api.writer(), &agent);
    let stream = chat.send("m1", "Hello").await;
    let call = script.next_call().await;
    call.send_text("Good ").await;
    call.call_waiting_tool(&json!({})).await;
    chat.stop().await;
    call.wait_until_stopped().await;
    let sent = stream.parts_with_metadata().await;
    let followed = chat.follow().await.parts_with_metadata().await;
    for parts in [sent, followed] {
        let [.., open_call, metadata, abort] = parts.as_slice() else {
            panic!("{parts:?}");
        };
        assert_eq!(open_call["type"], "tool-output-error");
        let expected =
            json!({"type": "message-metadata", "messageMetadata": {"finishReason": "cancelled"}});
        assert_eq!(*metadata, expected);
        assert_eq!(abort["type"], "abort");
    }
    let messages = chat.messages().await;
    assert_eq!(messages[0]["metadata"]["turnStatus"], "cancelled");
    assert_eq!(messages[1]["metadata"]["finishReason"], "cancelled");

    let again =
        json!({"id": "c1", "trigger": "regenerate-message", "messages": [message("m1", "Hello")]});
    let stream = chat.post(&again).await;
    script.next_call().await.answer("Good morning").await;
    assert_eq!(stream.parts().await.last().unwrap()["type"], "finish");
    let messages = chat.messages().await;
    assert_eq!(messages.as_array().map(Vec::len), Some(2));
    assert_eq!(messages[1]["parts"][1]["text"], "Good morning");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_cancelled_in_the_queue_shows_no_reply() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let chat = Chat::new(api.writer(), &agent);
    let first = chat.send("m1", "Hello").await;
    let call = script.next_call().await;
    let mut queued = chat.send("m2", "Again").await;
    queued.until("data-queued").await;
    chat.stop().await;
    call.wait_until_stopped().await;
    let kinds = |parts: Vec<Value>| {
        parts
            .iter()
            .map(|it| it["type"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        kinds(queued.parts().await),
        [json!("data-queued"), json!("abort")]
    );
    assert_eq!(kinds(first.parts().await).last(), Some(&json!("abort")));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_ends_with_an_error_part() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let chat = Chat::new(api.writer(), &agent);
    let stream = chat.send("m1", "Hello").await;
    let call = script.next_call().await;
    call.send_text("Well, ").await;
    call.fail(ReplyError::TimedOut);
    let parts = stream.parts().await;
    let last = parts.last().expect("parts");
    assert_eq!(last["type"], "error");
    let text = last["errorText"].as_str().expect("text");
    assert!(
        text.starts_with("The reply engine took too long. "),
        "{text}"
    );
    assert!(text.contains("(engine_timeout, request "), "{text}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_whose_key_is_revoked_is_cut() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let made = json!({"name": "page", "scopes": ["chat:write"]});
    let key = api.writer().post("/api/keys", made).await.json();
    let page = Caller {
        key: Some(key["secret"].as_str().expect("a key").to_owned()),
        ..api.writer()
    };
    let mut stream = Chat::new(page, &agent).send("m1", "Hello").await;
    let call = script.next_call().await;
    call.send_text("Good ").await;
    stream.until("Good ").await;
    let path = format!("/api/keys/{}", key["id"].as_str().expect("an id"));
    assert_eq!(api.writer().delete(&path).await.status, 204);
    stream.assert_cut().await;
    call.answer("morning").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_does_not_exist_has_nothing() {
    let api = ApiServer::start().await;
    let agents = [api.agent_id().await, "no-id".to_owned()];
    for agent in agents {
        let chat = Chat::new(api.writer(), &agent);
        assert_eq!(chat.follow().await.response.status(), 204);
        assert_eq!(chat.messages().await, json!([]));
        chat.stop().await;
        let strange = chat.request("GET", "/not%20a%20key/stream").open().await;
        assert_eq!(strange.status(), 204);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_text_with_code_and_request_id() {
    let builder = ApiServerBuilder::default()
        .setting("LIMITS__CHAT__PER_MINUTE", "3")
        .setting("LIMITS__CHAT__BURST", "3");
    let api = builder.start().await;
    let agent = api.agent_id().await;
    let anonymous = Chat::new(api.anonymous(), &agent).send("m1", "Hello").await;
    assert!(
        anonymous
            .error(401)
            .await
            .contains("(unauthenticated, request ")
    );
    let unknown = Chat::new(api.writer(), &uuid::Uuid::nil().to_string());
    let text = unknown.send("m1", "Hello").await.error(404).await;
    assert!(text.starts_with("The agent does not exist. "), "{text}");
    let chat = Chat::new(api.writer(), &agent);
    let text = chat.send("m1", "").await.error(422).await;
    assert!(text.contains("/message: "), "{text}");
    let reply = json!({"id": "r", "role": "assistant", "parts": []});
    let body = json!({"id": "c1", "messages": [reply]});
    assert!(
        chat.post(&body)
            .await
            .error(422)
            .await
            .contains("/messages: ")
    );
    let limited = chat.send("m2", "Hello").await;
    assert!(limited.response.headers().contains_key("retry-after"));
    assert!(limited.error(429).await.contains("(rate_limited, request "));
    let reader = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let listed = Chat::new(reader, &agent).request("GET", "/c1/messages");
    assert_eq!(listed.open().await.status(), 403);
    api.stop().await;
}
