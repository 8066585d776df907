//! Chat completions and models, as OpenAI clients request them.

mod clients;
mod completions;
mod frontends;
mod models;
mod stored;
mod streams;
mod unrecorded_tools;

use domain::ProblemCode;
use reqwest::Response;
use serde_json::{Value, json};

use crate::{
    caller::Caller,
    response::Request,
    sse_client::{Blocks, field},
};

/// A request for a completion.
fn completion(caller: &Caller, body: &Value) -> Request {
    let request = caller.request("POST", "/v1/chat/completions");
    request.json(body)
}

/// A body with one message.
fn ask(model: &str, message: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": message}]})
}

/// A body with one message to a stored conversation.
fn ask_stored(model: &str, message: &str, key: &str) -> Value {
    let mut body = ask(model, message);
    body["metadata"] = json!({"conversation_key": key});
    body
}

/// The value of a header.
fn header(response: &Response, name: &str) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(value.to_str().expect("text").to_owned())
}

/// The body of a 200.
async fn ok(request: Request) -> Value {
    let response = request.open().await;
    let status = response.status();
    let body: Value = response.json().await.expect("JSON");
    assert_eq!(status, 200, "{body}");
    body
}

/// The error of a response, which must have the form of OpenAI's with the code of the service.
async fn error(request: Request, status: u16, code: ProblemCode) -> Value {
    let response = request.open().await;
    let request_id = header(&response, "x-request-id");
    let should_retry = header(&response, "x-should-retry").expect("a decision about retries");
    let waits = header(&response, "retry-after").is_some();
    let received = response.status();
    assert_eq!(
        header(&response, "content-type").as_deref(),
        Some("application/json")
    );
    let body: Value = response.json().await.expect("JSON");
    assert_eq!(received, status, "{body}");
    let error = body["error"].clone();
    assert_eq!(error["code"], code.as_str(), "{body}");
    assert_eq!(error["request_id"], json!(request_id), "{body}");
    let message = error["message"].as_str().expect("a message");
    assert!(message.starts_with(code.title()), "{body}");
    assert_eq!(waits, matches!(status, 429 | 503), "{body}");
    let expected = code.is_retryable() && code != ProblemCode::ConversationBusy;
    assert_eq!(should_retry, expected.to_string(), "{body}");
    error
}

/// The data of a stream.
struct DataStream(Blocks);

impl DataStream {
    /// Sends a request with a streamed response.
    async fn open(caller: Caller, mut body: Value) -> Self {
        body["stream"] = true.into();
        Self(Blocks::of(completion(&caller, &body).open().await))
    }

    /// The next data; `None` at the clean end of the stream.
    async fn next(&mut self) -> Option<String> {
        loop {
            let block = self.0.next().await?;
            if let Some(data) = field(&block, "data") {
                return Some(data);
            }
        }
    }

    /// The next data, as JSON.
    async fn next_json(&mut self) -> Value {
        let data = self.next().await.expect("the stream goes on");
        serde_json::from_str(&data).unwrap_or_else(|error| panic!("{error}: {data}"))
    }

    /// The next delta and the reason of the end.
    async fn next_choice(&mut self) -> (Value, Value) {
        let chunk = self.next_json().await;
        let choice = &chunk["choices"][0];
        (choice["delta"].clone(), choice["finish_reason"].clone())
    }

    /// All data to the clean end.
    async fn remaining(mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(data) = self.next().await {
            all.push(data);
        }
        all
    }
}
