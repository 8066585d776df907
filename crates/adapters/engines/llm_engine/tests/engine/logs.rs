//! The content of the log.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use contract::reply_engine::request;
use domain::LlmSettings;
use llm_engine::LlmReplyEngine;
use ports::ModelRequest;
use serde_json::json;
use tracing::{Level, subscriber::DefaultGuard};

use crate::{
    fixture::{KEY, collect_reply, options},
    tools::{after, tool},
    upstream::{Upstream, call_stream, delta, status, stream, whole},
};

/// Everything that is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Captures the log at all levels until the guard is dropped.
    fn capture(&self) -> DefaultGuard {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::TRACE)
            .with_ansi(false)
            .with_writer(move || log.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn text(&self) -> String {
        let bytes = self.0.lock().expect("no test panicked").clone();
        String::from_utf8(bytes).expect("text")
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no test panicked").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A message to an agent with a model and a tool, in which every word is a secret.
fn secret_request(model: &str) -> ModelRequest {
    let mut request = request(0);
    let agent = Arc::make_mut(&mut request.agent);
    agent.personality = "secret-personality".into();
    agent.config.instructions = Some("secret-instructions".to_owned());
    agent.config.llm = Some(LlmSettings {
        model: Some(model.to_owned()),
        stop: Some(vec!["secret-stop".to_owned()]),
        ..LlmSettings::default()
    });
    request.message = "secret-message".into();
    request.tools = [tool("fails")].into();
    request
}

#[tokio::test]
async fn an_unknown_path_or_model_is_logged() {
    let log = Log::default();
    let _capture = log.capture();
    let error = json!({"error": {"message": "secret-message\n at the upstream"}});
    let upstream = Upstream::start([whole(404, "", &error)]).await;
    let address = upstream.base_url() + "/misspelt?key=secret-of-the-address";
    let engine = LlmReplyEngine::new(options(address)).unwrap();
    let reply = collect_reply(&engine, secret_request("no-such\u{1b}\nmodel")).await;
    let expected = "the engine rejected the request: the upstream returned 404";
    assert_eq!(reply.failure(), expected);
    let log = log.text();
    let warning: Vec<_> = log.lines().filter(|line| line.contains("WARN")).collect();
    let [warning] = warning[..] else {
        panic!("{log}")
    };
    assert!(warning.contains("engine=\"spare\""), "{warning}");
    assert!(warning.contains("the upstream returned 404"), "{warning}");
    assert!(
        warning.contains("/v1/misspelt/chat/completions"),
        "{warning}"
    );
    assert!(
        warning.contains("no-such") && warning.contains("nmodel"),
        "{warning}"
    );
    assert!(!warning.contains('\u{1b}'), "{warning}");
    assert!(!log.contains("secret"), "{log}");
}

#[tokio::test]
async fn messages_and_secrets_are_not_logged() {
    let log = Log::default();
    let _capture = log.capture();
    let failed =
        json!({"error": {"message": "secret-message", "code": "secret words", "type": KEY}});
    let responses = [
        whole(503, "", &failed),
        call_stream(&[
            ("a", "fails", r#"{"a": "secret-argument"}"#),
            ("b", "secret-tool", "secret, and no JSON"),
        ]),
        status(500),
        stream(&[delta("secret-answer"), json!("secret, and no answer")]),
    ];
    let upstream = Upstream::start(responses).await;
    let address = upstream.base_url() + "?key=secret-of-the-address";
    let engine = LlmReplyEngine::new(options(address)).unwrap();
    let request = secret_request("model");
    let reply = collect_reply(&engine, request.clone()).await;
    let reply = collect_reply(&engine, after(request, &reply)).await;
    let failure = reply.failure();
    assert!(
        failure.contains("malformed") && !failure.contains("secret"),
        "{failure}"
    );
    assert_eq!(upstream.requests().len(), 4);
    let log = log.text();
    let repeat = log
        .lines()
        .find(|line| line.contains("LLM request failed; retrying"));
    let repeat = repeat.unwrap_or_else(|| panic!("{log}"));
    assert!(repeat.contains("engine=\"spare\""), "{repeat}");
    assert!(!log.contains("secret") && !log.contains(KEY), "{log}");
}
