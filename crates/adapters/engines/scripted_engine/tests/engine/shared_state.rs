//! The state of an engine that a test shares with a service.

use futures::{FutureExt as _, StreamExt as _, future::join};
use scripted_engine::{Script, ScriptedEngine};

use crate::fixture::stream;

#[tokio::test]
async fn open_streams_are_counted_until_they_end_or_are_dropped() {
    let engine = ScriptedEngine::new();
    assert_eq!((engine.asked(), engine.open_streams()), (0, 0));
    let unread = stream(&engine, "one").await;
    let mut half_read = stream(&engine, "one two").await;
    let mut waiting = stream(&engine, &Script::words(1).gate("door").to_message()).await;
    let mut read = stream(&engine, "one").await;
    assert!(half_read.next().await.is_some());
    assert!(waiting.next().now_or_never().is_none());
    assert_eq!((engine.asked(), engine.open_streams()), (4, 4));
    assert_eq!(read.by_ref().count().await, 2);
    assert_eq!(engine.open_streams(), 3);
    drop(half_read);
    assert_eq!(engine.open_streams(), 2);
    drop((unread, waiting, read));
    assert_eq!((engine.asked(), engine.open_streams()), (4, 0));
}

#[tokio::test]
async fn clones_share_their_state() {
    let engine = ScriptedEngine::new();
    let clone = engine.clone();
    let message = Script::words(1).gate("door").to_message();
    let waiting = stream(&clone, &message).await;
    assert_eq!((engine.asked(), engine.open_streams()), (1, 1));
    engine.open("door");
    assert_eq!(waiting.count().await, 2);
}

#[tokio::test]
async fn waiting_tests_are_woken() {
    let engine = ScriptedEngine::new();
    let asks = async {
        assert!(engine.wait_for_calls(2).now_or_never().is_none());
        let first = stream(&engine, "one").await;
        tokio::task::yield_now().await;
        assert!(engine.wait_for_calls(2).now_or_never().is_none());
        (first, stream(&engine, "two").await)
    };
    let (streams, ()) = join(asks, engine.wait_for_calls(2)).await;
    let leaves = async { drop(streams) };
    assert!(engine.until_open_streams(0).now_or_never().is_none());
    join(engine.until_open_streams(0), leaves).await;
    assert_eq!((engine.asked(), engine.open_streams()), (2, 0));
}
