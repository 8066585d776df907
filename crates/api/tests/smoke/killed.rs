//! What is left of turns when their process is killed.

use std::time::{Duration, Instant};

use scripted_engine::Script;
use serde_json::Value;

use crate::{
    postgres::Database,
    process::{Running, folder},
    talk::{Talker, key, serving, spoken, text, told},
};

/// Within this time another process has taken over what a killed one has left.
const TAKEN_OVER: Duration = Duration::from_secs(15);

/// Kills it without a word, and waits until it is gone.
fn kill(mut running: Running) {
    running.process.kill().expect("it can be killed");
    running.process.wait().expect("its end");
}

fn endless() -> Script {
    Script::deltas(["Once upon ", "a time"]).hang()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_process_ends_what_ran_and_runs_what_waited() {
    let folder = folder();
    let key = key(folder.path());
    let first = serving(folder.path(), &key, None);
    let talker = Talker::to(&first, &key);
    let place = talker.place().await;
    let endless = place.message(&endless());
    let request = talker.chat(&endless).header("Idempotency-Key", "k");
    let (_stream, lost) = spoken(request).await;
    let waiting = talker.ask(&place.message(&Script::deltas(["Two."])));
    let second = talker.turns("turn.queued", 1).await.remove(0);
    let third = talker
        .later(&place.message(&Script::deltas(["Three."])))
        .await;
    kill(first);
    waiting.await.expect_err("nobody answers any more");

    let next = serving(folder.path(), &key, None);
    let talker = talker.at(&next);
    let turn = talker.turn(&lost).await;
    assert_eq!(turn["status"], "failed", "at once");
    assert_eq!(turn["error"]["code"], "interrupted");
    assert_eq!(turn["reply"], Value::Null);
    for (id, reply) in [(second, "Two."), (text(&third["id"]), "Three.")] {
        let turn = talker.ended(&id).await;
        assert_eq!(turn["reply"]["content"], reply, "{turn}");
    }
    // The key is free: the same command begins another turn.
    let request = talker.chat(&endless).header("Idempotency-Key", "k");
    let (_, again) = told(request.header("Prefer", "respond-async")).await;
    assert_ne!(text(&again["id"]), lost);
    assert_eq!(text(&again["conversationId"]), place.conversation);
    let path = format!("/api/turns/{}/cancel", text(&again["id"]));
    told(talker.post(&path, &Value::Null)).await;
    let reply = talker.ask(&place.message(&Script::deltas(["Well."]))).await;
    let (status, reply) = reply.expect("an answer");
    assert_eq!((status, text(&reply["message"])), (200, "Well.".to_owned()));
    talker.assert_each_turn_has_ended_once().await;
    let said = talker.said(&place).await;
    let replies: Vec<&str> = said
        .iter()
        .map(|it| &**it)
        .filter(|it| !it.starts_with('{'))
        .collect();
    assert!(replies.starts_with(&["Two.", "Three."]), "{replies:?}");
    assert!(replies.ends_with(&["Well."]), "{replies:?}");
    next.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_takes_over_in_time() {
    let database = Database::make().await;
    let folder = folder();
    let key = key(folder.path());
    let url = database.url();
    let first = serving(folder.path(), &key, Some(&url));
    let other = serving(folder.path(), &key, Some(&url));
    let talker = Talker::to(&first, &key);
    let place = talker.place().await;
    let request = talker.chat(&place.message(&endless()));
    let (_stream, lost) = spoken(request.header("Idempotency-Key", "k")).await;
    let survivor = talker.at(&other);
    let waiting = survivor.ask(&place.message(&Script::deltas(["Two."])));
    talker.turns("turn.queued", 1).await;
    let third = talker
        .later(&place.message(&Script::deltas(["Three."])))
        .await;
    kill(first);
    let since = Instant::now();

    let turn = survivor.ended(&lost).await;
    assert_eq!(
        (&turn["status"], &turn["error"]["code"]),
        (&"failed".into(), &"interrupted".into())
    );
    let (status, reply) = waiting.await.expect("an answer");
    assert_eq!((status, text(&reply["message"])), (200, "Two.".to_owned()));
    let turn = survivor.ended(&text(&third["id"])).await;
    assert_eq!(turn["reply"]["content"], "Three.");
    assert!(since.elapsed() < TAKEN_OVER, "{:?}", since.elapsed());
    survivor.assert_each_turn_has_ended_once().await;
    other.abort();
    other.ended();
}
