//! A client of the protocol.

use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    caller::Caller,
    sse_client::{Blocks, field},
};

/// An event, with its id.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunEvent {
    pub(super) id: Option<String>,
    pub(super) data: Value,
}

/// A stream of events.
pub(super) struct RunStream(Blocks);

impl RunStream {
    /// The next event; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<RunEvent> {
        let block = self.0.next().await?;
        assert_eq!(field(&block, "event"), None, "the data contains the type");
        let data = field(&block, "data").expect("data");
        Some(RunEvent {
            id: field(&block, "id"),
            data: serde_json::from_str(&data).expect("JSON"),
        })
    }

    /// The next event of this type, which is the next one.
    pub(super) async fn next_of_type(&mut self, kind: &str) -> RunEvent {
        let event = self.next().await.expect("the stream goes on");
        assert_eq!(event.data["type"], kind, "{event:?}");
        event
    }

    /// All events to the end.
    pub(super) async fn remaining(&mut self) -> Vec<RunEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

/// The body of a run of version 1.0 with one message.
pub(super) fn input(thread: &str, run: &str, message: (&str, &str)) -> Value {
    json!({
        "threadId": thread, "runId": run, "protocolVersion": "1.0", "state": {}, "context": [],
        "tools": [], "forwardedProps": {}, "somethingElse": true,
        "messages": [{"id": message.0, "role": "user", "content": message.1}],
    })
}

pub(super) fn run_path(agent: &str) -> String {
    format!("/ag-ui/agents/{agent}/run")
}

/// Sends a run with further headers.
pub(super) async fn post(
    caller: &Caller,
    agent: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> reqwest::Response {
    let mut request = caller.request("POST", &run_path(agent)).json(body);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.open().await
}

/// Starts a run.
pub(super) async fn start(api: &ApiServer, agent: &str, body: &Value) -> RunStream {
    stream(post(&api.writer(), agent, body, &[]).await)
}

/// Runs a message to its end.
pub(super) async fn run(api: &ApiServer, agent: &str, body: &Value) -> Vec<RunEvent> {
    start(api, agent, body).await.remaining().await
}

/// The stream of a response.
pub(super) fn stream(response: reqwest::Response) -> RunStream {
    RunStream(Blocks::of(response))
}

/// Reads with these headers.
pub(super) async fn get(
    caller: &Caller,
    path: &str,
    headers: &[(&str, &str)],
) -> reqwest::Response {
    let mut request = caller.request("GET", path);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.open().await
}

/// The messages, the active run and the page of a thread.
pub(super) async fn thread(caller: &Caller, agent: &str, query: &str) -> Value {
    let path = format!("{}?{query}", run_path(agent));
    let response = get(caller, &path, &[]).await;
    assert_eq!(response.status(), 200, "{response:?}");
    json_of(response).await
}

/// The status and the body of a response.
pub(super) async fn status_and_body(response: reqwest::Response) -> (u16, Value) {
    let status = response.status().as_u16();
    (status, json_of(response).await)
}

async fn json_of(response: reqwest::Response) -> Value {
    let text = response.text().await.expect("a whole body");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub(super) fn kinds(events: &[RunEvent]) -> Vec<&str> {
    let kinds = events.iter().map(|event| event.data["type"].as_str());
    kinds.map(|kind| kind.expect("a type")).collect()
}

/// The text of all messages.
pub(super) fn text(events: &[RunEvent]) -> String {
    let deltas = events
        .iter()
        .filter_map(|event| event.data["delta"].as_str());
    deltas.collect()
}

/// The turns of a thread.
pub(super) async fn turns(api: &ApiServer, agent: &str, thread: &str) -> Vec<Value> {
    let found = format!("/api/conversations?agentId={agent}&key={thread}");
    let found = api.reader().get(&found).await.ok();
    let id = found["data"][0]["id"].as_str().expect("a conversation");
    let path = format!("/api/conversations/{id}/turns");
    let turns = api.reader().get(&path).await.ok();
    turns["data"].as_array().expect("a list").clone()
}

/// The data of the last event.
pub(super) fn last(events: &[RunEvent]) -> &Value {
    &events.last().expect("an event").data
}
