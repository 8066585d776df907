//! What the log tells, and what it must not.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use contract::reply_engine::request;
use domain::LlmSettings;
use llm_engine::LlmReplyEngine;
use ports::ReplyRequest;
use serde_json::json;
use tracing::{Level, subscriber::DefaultGuard};

use crate::{
    given::{KEY, hear, options},
    tools::{Bench, tool},
    upstream::{Upstream, calling, delta, status, stream, whole},
};

/// All that is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Begins to listen, to the least of words; ends with what it answers.
    fn listen(&self) -> DefaultGuard {
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

/// A message to an agent that has a tool, every word of which is a secret, and a model.
fn secret_request(model: &str) -> ReplyRequest {
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
    request.tools = vec![tool(&Arc::<Bench>::default(), "fails")];
    request
}

#[tokio::test]
async fn tells_the_operator_what_an_upstream_does_not_know() {
    let log = Log::default();
    let _listening = log.listen();
    let error = json!({"error": {"message": "secret-message\n at the upstream"}});
    let upstream = Upstream::answering([whole(404, "", &error)]).await;
    let address = upstream.base_url() + "/misspelt?key=secret-of-the-address";
    let engine = LlmReplyEngine::new(options(address)).unwrap();
    let said = hear(&engine, secret_request("no-such\u{1b}\nmodel")).await;
    let expected = "the engine refused: the upstream answered 404";
    assert_eq!(said.failure(), expected);
    let log = log.text();
    let told: Vec<_> = log.lines().filter(|line| line.contains("WARN")).collect();
    let [told] = told[..] else { panic!("{log}") };
    assert!(told.contains("engine=\"spare\""), "{told}");
    assert!(told.contains("the upstream answered 404"), "{told}");
    assert!(told.contains("/v1/misspelt/chat/completions"), "{told}");
    assert!(
        told.contains("no-such") && told.contains("nmodel"),
        "{told}"
    );
    assert!(!told.contains('\u{1b}'), "{told}");
    assert!(!log.contains("secret"), "{log}");
}

#[tokio::test]
async fn tells_nothing_of_what_is_said() {
    let log = Log::default();
    let _listening = log.listen();
    let failed =
        json!({"error": {"message": "secret-message", "code": "secret words", "type": KEY}});
    let answers = [
        whole(503, "", &failed),
        calling(&[
            ("a", "fails", r#"{"a": "secret-argument"}"#),
            ("b", "secret-tool", "secret, and no JSON"),
        ]),
        status(500),
        stream(&[delta("secret-answer"), json!("secret, and no answer")]),
    ];
    let upstream = Upstream::answering(answers).await;
    let address = upstream.base_url() + "?key=secret-of-the-address";
    let engine = LlmReplyEngine::new(options(address)).unwrap();
    let said = hear(&engine, secret_request("model")).await;
    let failure = said.failure();
    assert!(
        failure.contains("malformed") && !failure.contains("secret"),
        "{failure}"
    );
    assert_eq!(upstream.asked().len(), 4);
    let log = log.text();
    let repeat = log.lines().find(|line| line.contains("asked again"));
    let repeat = repeat.unwrap_or_else(|| panic!("{log}"));
    assert!(repeat.contains("engine=\"spare\""), "{repeat}");
    assert!(!log.contains("secret") && !log.contains(KEY), "{log}");
}
