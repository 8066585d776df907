//! Turns when their process is terminated.

use std::{
    slice,
    time::{Duration, Instant},
};

use scripted_engine::Script;

use crate::{
    chat_client::{ChatClient, key, serving, stream_until_text, text},
    process::folder,
};

/// The time within which a terminated process ends.
const ENDED: Duration = Duration::from_secs(35);

#[tokio::test(flavor = "multi_thread")]
async fn turns_that_end_during_the_drain_are_answered() {
    let folder = folder();
    let key = key(folder.path());
    let running = serving(folder.path(), &key, None);
    let chat_client = ChatClient::new(&running, &key);
    // It continues after new requests are rejected.
    let script = Script::words(15).pause(Duration::from_millis(500));
    let conversation_ref = chat_client.conversation_ref().await;
    let (stream, _) = stream_until_text(chat_client.chat(&conversation_ref.message(&script))).await;
    let elsewhere = chat_client.conversation_ref().await;
    let waiting = chat_client.spawn_chat(&elsewhere.message(&script));
    let begun = chat_client.turns("turn.started", 2).await;
    running.stop();
    let since = Instant::now();
    let (status, reply) = waiting.await.expect("an answer");
    assert_eq!((status, text(&reply["message"])), (200, script.text()));
    let reply = stream.end("turn.completed").await;
    assert_eq!(text(&reply["message"]), script.text());
    let (code, output) = running.wait_for_exit();
    assert_eq!(code, Some(0), "{output}");
    assert!(since.elapsed() < ENDED, "{:?}", since.elapsed());

    let next = serving(folder.path(), &key, None);
    let chat_client = chat_client.with_server(&next);
    for turn in begun {
        assert_eq!(chat_client.turn(&turn).await["status"], "completed");
    }
    chat_client.assert_each_turn_has_ended_once().await;
    next.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_turn_goes_on_in_the_next_process_and_queued_turns_fail() {
    let folder = folder();
    let key = key(folder.path());
    let running = serving(folder.path(), &key, None);
    let chat_client = ChatClient::new(&running, &key);
    let conversation_ref = chat_client.conversation_ref().await;
    let endless = conversation_ref.message(&Script::deltas(["Once upon a time"]).hang());
    let (stream, unfinished) = stream_until_text(chat_client.chat(&endless)).await;
    let waiting = chat_client.spawn_chat(&conversation_ref.message(&Script::deltas(["Two."])));
    chat_client.turns("turn.queued", 1).await;
    let third = chat_client
        .start_turn(&conversation_ref.message(&Script::deltas(["Three."])))
        .await;
    running.stop();
    let since = Instant::now();
    // The stream ends without an end of the turn.
    stream.end("reply.delta").await;
    let (status, problem) = waiting.await.expect("an answer");
    assert_eq!(
        (status, text(&problem["code"])),
        (503, "interrupted".to_owned())
    );
    let (code, output) = running.wait_for_exit();
    assert_eq!(code, Some(0), "{output}");
    assert!(since.elapsed() < ENDED, "{:?}", since.elapsed());

    let next = serving(folder.path(), &key, None);
    let chat_client = chat_client.with_server(&next);
    let resumed = chat_client.turns("turn.resumed", 1).await;
    assert_eq!(resumed, slice::from_ref(&unfinished));
    chat_client.cancel(&unfinished).await;
    // No other process could have run the turns behind it.
    let third = chat_client.turn(&text(&third["id"])).await;
    assert_eq!(third["error"]["code"], "interrupted", "{third}");
    chat_client.assert_each_turn_has_ended_once().await;
    next.abort();
}
