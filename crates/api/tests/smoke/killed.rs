//! Turns after their process was killed.

use std::{
    slice,
    time::{Duration, Instant},
};

use scripted_engine::Script;
use serde_json::Value;

use crate::{
    chat_client::{ChatClient, key, send_json, serving, stream_until_text, text},
    postgres::Database,
    process::{RunningService, folder},
};

/// The time within which another process takes over the turns of a killed one.
const TAKEN_OVER: Duration = Duration::from_secs(15);

/// Kills the process, and waits for its end.
fn kill(mut running: RunningService) {
    running.process.kill().expect("it can be killed");
    running.process.wait().expect("its end");
}

fn endless() -> Script {
    Script::deltas(["Once upon ", "a time"]).hang()
}

/// A reply that lasts long enough to be killed in it.
fn long() -> Script {
    Script::words(15).pause(Duration::from_millis(200))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_process_resumes_running_turns_and_then_runs_queued_ones() {
    let folder = folder();
    let key = key(folder.path());
    let first = serving(folder.path(), &key, None);
    let chat_client = ChatClient::new(&first, &key);
    let conversation_ref = chat_client.conversation_ref().await;
    let message = conversation_ref.message(&long());
    let request = chat_client.chat(&message).header("Idempotency-Key", "k");
    let (_stream, lost) = stream_until_text(request).await;
    let queued = chat_client
        .start_turn(&conversation_ref.message(&Script::deltas(["Two."])))
        .await;
    kill(first);

    let next = serving(folder.path(), &key, None);
    let chat_client = chat_client.with_server(&next);
    assert_eq!(chat_client.turn(&lost).await["status"], "in_progress");
    // The same key joins the turn.
    let request = chat_client.chat(&message).header("Idempotency-Key", "k");
    let (stream, joined) = stream_until_text(request).await;
    assert_eq!(joined, lost);
    let completed = stream.end("turn.completed").await;
    assert_eq!(text(&completed["message"]), long().text());
    let turn = chat_client.wait_for_turn_end(&text(&queued["id"])).await;
    assert_eq!(turn["reply"]["content"], "Two.", "{turn}");
    assert_eq!(chat_client.turns("turn.resumed", 1).await, [lost]);
    let request = chat_client.chat(&message).header("Idempotency-Key", "k");
    let (status, again) = send_json(request).await;
    let replayed = (status, text(&again["message"]));
    assert_eq!(replayed, (200, long().text()));
    chat_client.assert_each_turn_has_ended_once().await;
    let messages = chat_client.messages_of(&conversation_ref).await;
    let script = Script::deltas(["Two."]).to_message();
    let expected = [&long().to_message(), &long().text(), &script, "Two."];
    assert_eq!(messages, expected);
    next.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_outlives_no_process_fails_and_queued_ones_run() {
    let folder = folder();
    let key = key(folder.path());
    let first = serving(folder.path(), &key, None);
    let chat_client = ChatClient::new(&first, &key);
    let conversation_ref = chat_client.conversation_ref().await;
    let endless = conversation_ref.message(&endless());
    let request = chat_client.chat(&endless).header("Idempotency-Key", "k");
    let (_stream, lost) = stream_until_text(request).await;
    let waiting = chat_client.spawn_chat(&conversation_ref.message(&Script::deltas(["Two."])));
    let second = chat_client.turns("turn.queued", 1).await.remove(0);
    let third = chat_client
        .start_turn(&conversation_ref.message(&Script::deltas(["Three."])))
        .await;
    kill(first);
    waiting.await.expect_err("the server has ended");
    let next = serving(folder.path(), &key, None);
    let chat_client = chat_client.with_server(&next);
    assert_eq!(chat_client.turn(&lost).await["status"], "in_progress");
    kill(next);

    let next = serving(folder.path(), &key, None);
    let chat_client = chat_client.with_server(&next);
    let turn = chat_client.turn(&lost).await;
    assert_eq!(turn["status"], "failed", "at once");
    assert_eq!(turn["error"]["code"], "interrupted");
    assert_eq!(turn["reply"], Value::Null);
    for (id, reply) in [(second, "Two."), (text(&third["id"]), "Three.")] {
        let turn = chat_client.wait_for_turn_end(&id).await;
        assert_eq!(turn["reply"]["content"], reply, "{turn}");
    }
    // The idempotency key is free: the same request starts another turn.
    let request = chat_client.chat(&endless).header("Idempotency-Key", "k");
    let (_, again) = send_json(request.header("Prefer", "respond-async")).await;
    assert_ne!(text(&again["id"]), lost);
    assert_eq!(
        text(&again["conversationId"]),
        conversation_ref.conversation
    );
    let path = format!("/api/turns/{}/cancel", text(&again["id"]));
    send_json(chat_client.post(&path, &Value::Null)).await;
    let reply = chat_client
        .spawn_chat(&conversation_ref.message(&Script::deltas(["Well."])))
        .await;
    let (status, reply) = reply.expect("an answer");
    assert_eq!((status, text(&reply["message"])), (200, "Well.".to_owned()));
    chat_client.assert_each_turn_has_ended_once().await;
    let messages_of = chat_client.messages_of(&conversation_ref).await;
    let replies: Vec<&str> = messages_of
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
    let chat_client = ChatClient::new(&first, &key);
    let conversation_ref = chat_client.conversation_ref().await;
    let request = chat_client.chat(&conversation_ref.message(&long()));
    let (_stream, lost) = stream_until_text(request.header("Idempotency-Key", "k")).await;
    let survivor = chat_client.with_server(&other);
    let waiting = survivor.spawn_chat(&conversation_ref.message(&Script::deltas(["Two."])));
    chat_client.turns("turn.queued", 1).await;
    let third = chat_client
        .start_turn(&conversation_ref.message(&Script::deltas(["Three."])))
        .await;
    kill(first);
    let since = Instant::now();

    let resumed = survivor.turns("turn.resumed", 1).await;
    assert_eq!(resumed, slice::from_ref(&lost));
    assert!(since.elapsed() < TAKEN_OVER, "{:?}", since.elapsed());
    let turn = survivor.wait_for_turn_end(&lost).await;
    assert_eq!(turn["reply"]["content"], long().text());
    let (status, reply) = waiting.await.expect("an answer");
    assert_eq!(
        (status, &reply["message"]),
        (200, &"Two.".into()),
        "{reply}"
    );
    let turn = survivor.wait_for_turn_end(&text(&third["id"])).await;
    assert_eq!(turn["reply"]["content"], "Three.");
    survivor.assert_each_turn_has_ended_once().await;
    other.abort();
    other.wait_for_exit();
}
