//! What a test can follow of an engine that it gave away.

use futures::{FutureExt as _, StreamExt as _, future::join};
use scripted_engine::{Script, ScriptedEngine};

use crate::given::stream;

#[tokio::test]
async fn counts_its_streams_until_they_end_or_are_dropped() {
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
async fn its_clones_are_one_engine() {
    let engine = ScriptedEngine::new();
    let given_away = engine.clone();
    let message = Script::words(1).gate("door").to_message();
    let waiting = stream(&given_away, &message).await;
    assert_eq!((engine.asked(), engine.open_streams()), (1, 1));
    engine.open("door");
    assert_eq!(waiting.count().await, 2);
}

#[tokio::test]
async fn wakes_those_who_wait_to_see_it_asked_and_left() {
    let engine = ScriptedEngine::new();
    let asks = async {
        assert!(engine.until_asked(2).now_or_never().is_none());
        let first = stream(&engine, "one").await;
        tokio::task::yield_now().await;
        assert!(engine.until_asked(2).now_or_never().is_none());
        (first, stream(&engine, "two").await)
    };
    let (streams, ()) = join(asks, engine.until_asked(2)).await;
    let leaves = async { drop(streams) };
    assert!(engine.until_open_streams(0).now_or_never().is_none());
    join(engine.until_open_streams(0), leaves).await;
    assert_eq!((engine.asked(), engine.open_streams()), (2, 0));
}
