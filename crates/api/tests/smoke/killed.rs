//! Turns after their process was killed.

use std::{
    slice,
    time::{Duration, Instant},
};

use scripted_engine::Script;

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

#[tokio::test(flavor = "multi_thread")]
async fn the_next_process_resumes_running_turns_and_then_runs_queued_ones() {
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
    assert_eq!(
        chat_client.turns("turn.resumed", 1).await,
        slice::from_ref(&lost)
    );
    // The same request joins it.
    let request = chat_client.chat(&endless).header("Idempotency-Key", "k");
    let (_, again) = send_json(request.header("Prefer", "respond-async")).await;
    assert_eq!(
        (text(&again["id"]), text(&again["status"])),
        (lost.clone(), "in_progress".to_owned())
    );
    chat_client.cancel(&lost).await;
    for (id, reply) in [(second, "Two."), (text(&third["id"]), "Three.")] {
        let turn = chat_client.wait_for_turn_end(&id).await;
        assert_eq!(turn["reply"]["content"], reply, "{turn}");
    }
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
    assert!(
        replies.ends_with(&["Two.", "Three.", "Well."]),
        "{replies:?}"
    );
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
    let request = chat_client.chat(&conversation_ref.message(&endless()));
    let (_stream, lost) = stream_until_text(request.header("Idempotency-Key", "k")).await;
    let survivor = chat_client.with_server(&other);
    let waiting = survivor.spawn_chat(&conversation_ref.message(&Script::deltas(["Two."])));
    chat_client.turns("turn.queued", 1).await;
    let third = chat_client
        .start_turn(&conversation_ref.message(&Script::deltas(["Three."])))
        .await;
    kill(first);
    let since = Instant::now();

    assert_eq!(
        survivor.turns("turn.resumed", 1).await,
        slice::from_ref(&lost)
    );
    assert!(since.elapsed() < TAKEN_OVER, "{:?}", since.elapsed());
    survivor.cancel(&lost).await;
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
