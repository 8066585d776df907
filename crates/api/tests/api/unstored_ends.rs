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
    engines::{contents, turn},
    harness::{Api, Plan, id_of},
    probe::{Misfortune, Probe},
    script::{Script, scripted},
    sse_client::EventStream,
};

/// Long enough for a slow machine, short enough for a test that hangs.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether what is awaited has come.
const LOOK: Duration = Duration::from_millis(20);
/// Turns that may wait to be stored.
const MOST_UNSTORED: usize = 1_000;

/// A service over a store in which things can go wrong, and its agent in the hands of the test.
struct World {
    api: Api,
    probe: Arc<Probe>,
    script: Script,
    agent: String,
}

impl World {
    async fn start() -> Self {
        let (engine, script) = scripted();
        let (probe, plan) = probed();
        let api = plan.engine("scripted", engine).start().await;
        let agent = scripted_by(&api).await;
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

    /// Begins or queues a turn, and waits for no more than that.
    async fn later(&self, command: &Value) -> String {
        let request = self.api.writer().request("POST", "/api/chat").json(command);
        let answer = request.header("Prefer", "respond-async").send().await;
        assert_eq!(answer.status, 202, "{}", answer.text());
        id_of(&answer.json())
    }

    /// Waits until the store was called so.
    async fn called(&self, call: &str) {
        let began = Instant::now();
        while !self.probe.calls().contains(&call) {
            assert!(began.elapsed() < PATIENCE, "{call} is not called");
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn probed() -> (Arc<Probe>, Plan) {
    let probe = Arc::new(Probe::default());
    let over = Arc::clone(&probe);
    let plan = Plan::default().over(move |storage| over.over(storage));
    (probe, plan)
}

async fn scripted_by(api: &Api) -> String {
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    id_of(&api.agent(draft).await)
}

/// A turn once it has ended.
async fn ended(api: &Api, id: &str) -> Value {
    let began = Instant::now();
    loop {
        let found = turn(api, id).await;
        if !["queued", "in_progress"].contains(&found["status"].as_str().expect("text")) {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it stays {found}");
        tokio::time::sleep(LOOK).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_kept_until_the_store_is_back() {
    let mut world = World::start().await;
    let id = world.conversation().await;
    let mut body = world.command(&id, "one");
    body["stream"] = true.into();
    let request = world.api.writer().request("POST", "/api/chat").json(&body);
    let mut stream = EventStream::open(request).await;
    let call = world.script.next_call().await;
    let second = world.later(&world.command(&id, "two")).await;
    world.probe.make("turns.finish_turn", Misfortune::Away);
    world.probe.calls();
    let first = call.request.turn_id;
    call.answer("Kept.").await;
    // More than once, as long as it takes.
    for _ in 0..3 {
        world.called("turns.finish_turn").await;
    }
    assert_eq!(turn(&world.api, first).await["status"], "in_progress");
    assert_eq!(turn(&world.api, &second).await["status"], "queued");
    stream.next_of("turn.started").await;
    assert_eq!(stream.next_of("reply.delta").await["text"], "Kept.");
    world.probe.heal();
    let reply = stream.next_of("turn.completed").await;
    assert_eq!(reply["message"], "Kept.");
    assert_eq!(stream.next().await, None);
    world.script.next_call().await.answer("Two.").await;
    assert_eq!(ended(&world.api, &second).await["status"], "completed");
    let said = contents(&world.api, &id).await;
    assert_eq!(said, ["one", "Kept.", "two", "Two."]);
    world.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_chats_are_taken_than_their_replies_can_be_kept() {
    let (probe, plan) = probed();
    let api = plan.engine("scripted", ScriptedEngine::new()).start().await;
    let agent = scripted_by(&api).await;
    probe.make("turns.finish_turn", Misfortune::Away);
    let body = json!({"agentId": agent, "message": Scene::words(1).to_message()});
    let chat = || {
        let request = api.writer().request("POST", "/api/chat").json(&body);
        request.header("Prefer", "respond-async").send()
    };
    let taken = stream::iter(0..MOST_UNSTORED - 1).map(|_| chat());
    let taken: Vec<u16> = taken
        .buffer_unordered(50)
        .map(|it| it.status)
        .collect()
        .await;
    assert!(taken.iter().all(|status| *status == 202), "{taken:?}");
    // The next one is the last; until all have ended a few more may be let in.
    let (began, mut count) = (Instant::now(), taken.len());
    let refused = loop {
        let answer = chat().await;
        if answer.status != 202 {
            break answer;
        }
        count += 1;
        assert!(began.elapsed() < PATIENCE, "all are taken");
        tokio::time::sleep(LOOK).await;
    };
    refused.problem(ProblemCode::Overloaded);
    assert!(count >= MOST_UNSTORED, "{count}");
    let rules = json!({"agentId": api.agent_id().await, "message": "Hello"});
    let refused = api.writer().post("/api/chat", rules.clone()).await;
    refused.problem(ProblemCode::Overloaded);
    probe.heal();
    while completed(&api).await < count {
        assert!(began.elapsed() < 2 * PATIENCE, "some are lost");
        tokio::time::sleep(LOOK).await;
    }
    api.chat(rules).await;
    api.stop().await;
}

/// How many turns have completed, by the log.
async fn completed(api: &Api) -> usize {
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
async fn a_turn_whose_end_cannot_be_stored_is_found_and_failed() {
    is_found_and_failed(Misfortune::Corrupt).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_end_meets_a_panic_is_found_and_failed() {
    is_found_and_failed(Misfortune::Panic).await;
}

/// A turn whose end meets this fails in the end, and what waits behind it is run.
async fn is_found_and_failed(defect: Misfortune) {
    let mut world = World::start().await;
    let id = world.conversation().await;
    let (writer, command) = (world.api.writer(), world.command(&id, "one"));
    let ask = || {
        let request = writer.request("POST", "/api/chat");
        let request = request.header("Idempotency-Key", "k");
        request.json(&command).begin()
    };
    let first = ask();
    let call = world.script.next_call().await;
    let second = world.later(&world.command(&id, "two")).await;
    world.probe.make("turns.finish_turn", defect);
    world.probe.calls();
    call.answer("Lost.").await;
    world.called("turns.finish_turn").await;
    // Who finds the turn meets the same, and goes on.
    world.called("turns.finish_turn").await;
    world.probe.heal();
    let answer = first.await.expect("an answer");
    answer.problem(ProblemCode::Interrupted);
    world.script.next_call().await.answer("Two.").await;
    assert_eq!(ended(&world.api, &second).await["status"], "completed");
    // The key is free again.
    let again = ask();
    world.script.next_call().await.answer("One.").await;
    let again = again.await.expect("an answer");
    assert_eq!(again.ok()["message"], "One.");
    let said = contents(&world.api, &id).await;
    assert_eq!(said, ["one", "two", "Two.", "one", "One."]);
    world.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_turn_waits_for_its_agent_or_ends_without() {
    let mut world = World::start().await;
    let id = world.conversation().await;
    for (misfortune, expected) in [
        (Misfortune::Away, "completed"),
        (Misfortune::Corrupt, "failed"),
    ] {
        let first = world.later(&world.command(&id, "one")).await;
        let call = world.script.next_call().await;
        let second = world.later(&world.command(&id, "two")).await;
        world.probe.make("agents.find", misfortune);
        world.probe.calls();
        call.answer("One.").await;
        world.called("agents.find").await;
        assert_eq!(ended(&world.api, &first).await["status"], "completed");
        if expected == "completed" {
            assert_eq!(turn(&world.api, &second).await["status"], "in_progress");
            world.probe.heal();
            world.script.next_call().await.answer("Two.").await;
        }
        assert_eq!(ended(&world.api, &second).await["status"], expected);
        world.probe.heal();
    }
    world.script.assert_no_more_calls();
    world.api.stop().await;
}
