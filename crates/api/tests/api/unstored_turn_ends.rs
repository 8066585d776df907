//! Turns whose end cannot be stored, or not yet.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::ProblemCode;
use futures::{StreamExt as _, stream};
use scripted_engine::{Script as Scene, ScriptedEngine};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    engines::{contents, turn},
    script::{Script, scripted},
    sse_client::EventStream,
    storage_probe::{InjectedFault, StorageProbe},
};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The maximum number of turns that wait to be stored.
const MAX_UNSTORED: usize = 1_000;

/// A server over a store with injected faults, and an agent whose engine the test controls.
struct Fixture {
    api: ApiServer,
    probe: Arc<StorageProbe>,
    script: Script,
    agent: String,
}

impl Fixture {
    async fn start() -> Self {
        let (engine, script) = scripted();
        let (probe, builder) = server_with_probe();
        let api = builder.engine("scripted", engine).start().await;
        let agent = create_scripted_agent(&api).await;
        Self {
            api,
            probe,
            script,
            agent,
        }
    }

    fn command(&self, conversation: &str, message: &str) -> Value {
        json!({"agentId": self.agent, "conversationId": conversation, "message": message})
    }

    async fn conversation(&self) -> String {
        id_of(&self.api.conversation(json!({"agentId": self.agent})).await)
    }

    /// Starts or queues a turn without waiting for its end.
    async fn start_turn(&self, command: &Value) -> String {
        let request = self.api.writer().request("POST", "/api/chat").json(command);
        let response = request.header("Prefer", "respond-async").send().await;
        assert_eq!(response.status, 202, "{}", response.text());
        id_of(&response.json())
    }

    /// Waits for a store call with this name.
    async fn wait_for_call(&self, call: &str) {
        let began = Instant::now();
        while !self.probe.calls().contains(&call) {
            assert!(began.elapsed() < TIMEOUT, "{call} is not called");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

fn server_with_probe() -> (Arc<StorageProbe>, ApiServerBuilder) {
    let probe = Arc::new(StorageProbe::default());
    let wrapped = Arc::clone(&probe);
    let builder =
        ApiServerBuilder::default().wrap_storage(move |storage| wrapped.wrap_storage(storage));
    (probe, builder)
}

async fn create_scripted_agent(api: &ApiServer) -> String {
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    id_of(&api.agent(draft).await)
}

/// Waits until a turn has ended, and returns it.
async fn wait_for_end(api: &ApiServer, id: &str) -> Value {
    let began = Instant::now();
    loop {
        let found = turn(api, id).await;
        if !["queued", "in_progress"].contains(&found["status"].as_str().expect("text")) {
            return found;
        }
        assert!(began.elapsed() < TIMEOUT, "it stays {found}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_kept_until_the_store_is_available_again() {
    let mut fixture = Fixture::start().await;
    let id = fixture.conversation().await;
    let mut body = fixture.command(&id, "one");
    body["stream"] = true.into();
    let request = fixture
        .api
        .writer()
        .request("POST", "/api/chat")
        .json(&body);
    let mut stream = EventStream::open(request).await;
    let call = fixture.script.next_call().await;
    let second = fixture.start_turn(&fixture.command(&id, "two")).await;
    fixture
        .probe
        .inject("turns.finish_turn", InjectedFault::Unavailable);
    fixture.probe.calls();
    let first = call.request.turn_id;
    call.answer("Kept.").await;
    // More than once, while it lasts.
    for _ in 0..3 {
        fixture.wait_for_call("turns.finish_turn").await;
    }
    assert_eq!(turn(&fixture.api, first).await["status"], "in_progress");
    assert_eq!(turn(&fixture.api, &second).await["status"], "queued");
    stream.next_of_type("turn.started").await;
    assert_eq!(stream.next_of_type("reply.delta").await["text"], "Kept.");
    fixture.probe.clear_faults();
    let reply = stream.next_of_type("turn.completed").await;
    assert_eq!(reply["message"], "Kept.");
    assert_eq!(stream.next().await, None);
    fixture.script.next_call().await.answer("Two.").await;
    assert_eq!(
        wait_for_end(&fixture.api, &second).await["status"],
        "completed"
    );
    let texts = contents(&fixture.api, &id).await;
    assert_eq!(texts, ["one", "Kept.", "two", "Two."]);
    fixture.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_unstored_replies_is_bounded() {
    let ((probe, builder), engine) = (server_with_probe(), ScriptedEngine::new());
    let api = builder.engine("scripted", engine.clone()).start().await;
    let agent = create_scripted_agent(&api).await;
    let rules = json!({"agentId": api.agent_id().await, "message": "Hello"});
    let message = Scene::words(1).gate("end").to_message();
    let body = json!({"agentId": agent, "message": message});
    let chat = || {
        let request = api.writer().request("POST", "/api/chat").json(&body);
        request.header("Prefer", "respond-async").send()
    };
    let taken = stream::iter(0..MAX_UNSTORED - 1).map(|_| chat());
    let taken: Vec<u16> = taken
        .buffer_unordered(50)
        .map(|it| it.status)
        .collect()
        .await;
    assert!(taken.iter().all(|status| *status == 202), "{taken:?}");
    probe.inject("turns.finish_turn", InjectedFault::Unavailable);
    engine.open("end");
    // The next chat is the last; until all turns have ended, a few more may be accepted. Those that
    // begin together with an end fail like it.
    let (began, mut count) = (Instant::now(), taken.len());
    let rejected = loop {
        let response = chat().await;
        if response.json()["code"] == "overloaded" {
            break response;
        }
        count += usize::from(response.status == 202);
        assert!(began.elapsed() < TIMEOUT, "all are taken");
        tokio::time::sleep(POLL_INTERVAL).await;
    };
    rejected.problem(ProblemCode::Overloaded);
    assert!(count >= MAX_UNSTORED, "{count}");
    let rejected = api.writer().post("/api/chat", rules.clone()).await;
    rejected.problem(ProblemCode::Overloaded);
    probe.clear_faults();
    while completed(&api).await < count {
        assert!(began.elapsed() < 2 * TIMEOUT, "some are lost");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    api.chat(rules).await;
    api.stop().await;
}

/// The number of completed turns in the log.
async fn completed(api: &ApiServer) -> usize {
    let (mut since, mut count) = (json!(0), 0);
    loop {
        let path = format!("/api/events?types=turn.completed&limit=100&since={since}");
        let page = api.reader().get(&path).await.ok();
        count += page["data"].as_array().expect("a page").len();
        since = page["nextSince"].clone();
        if page["hasMore"] == false {
            return count;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_end_cannot_be_stored_is_detected_and_resumed() {
    let mut fixture = Fixture::start().await;
    let id = fixture.conversation().await;
    let (writer, command) = (fixture.api.writer(), fixture.command(&id, "one"));
    let ask = || {
        let request = writer.request("POST", "/api/chat");
        let request = request.header("Idempotency-Key", "k");
        request.json(&command).begin()
    };
    let first = ask();
    let call = fixture.script.next_call().await;
    let second = fixture.start_turn(&fixture.command(&id, "two")).await;
    let corrupt = InjectedFault::Corrupt;
    fixture.probe.inject("turns.finish_turn", corrupt);
    fixture.probe.calls();
    let lost = call.request.turn_id;
    call.answer("Lost.").await;
    fixture.wait_for_call("turns.finish_turn").await;
    fixture.probe.clear_faults();
    let resumed = fixture.script.next_call().await;
    assert_eq!(resumed.request.turn_id, lost);
    resumed.answer("One.").await;
    let response = first.await.expect("an answer");
    assert_eq!(response.ok()["message"], "One.");
    fixture.script.next_call().await.answer("Two.").await;
    assert_eq!(
        wait_for_end(&fixture.api, &second).await["status"],
        "completed"
    );
    let again = ask().await.expect("an answer");
    assert_eq!(again.ok()["message"], "One.");
    let texts = contents(&fixture.api, &id).await;
    assert_eq!(texts, ["one", "One.", "two", "Two."]);
    fixture.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_turn_waits_for_its_agent_or_ends_without() {
    let mut fixture = Fixture::start().await;
    let id = fixture.conversation().await;
    for (fault, expected) in [
        (InjectedFault::Unavailable, "completed"),
        (InjectedFault::Corrupt, "failed"),
    ] {
        let first = fixture.start_turn(&fixture.command(&id, "one")).await;
        let call = fixture.script.next_call().await;
        let second = fixture.start_turn(&fixture.command(&id, "two")).await;
        fixture.probe.inject("agents.find_version", fault);
        fixture.probe.calls();
        call.answer("One.").await;
        fixture.wait_for_call("agents.find_version").await;
        assert_eq!(
            wait_for_end(&fixture.api, &first).await["status"],
            "completed"
        );
        if expected == "completed" {
            assert_eq!(turn(&fixture.api, &second).await["status"], "in_progress");
            fixture.probe.clear_faults();
            fixture.script.next_call().await.answer("Two.").await;
        }
        assert_eq!(
            wait_for_end(&fixture.api, &second).await["status"],
            expected
        );
        fixture.probe.clear_faults();
    }
    fixture.script.assert_no_more_calls();
    fixture.api.stop().await;
}
