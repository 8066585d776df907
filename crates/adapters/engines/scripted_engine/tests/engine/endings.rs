//! Replies that fail, hang and panic.

use std::{mem::discriminant, panic::AssertUnwindSafe};

use futures::{FutureExt as _, StreamExt as _};
use ports::{ModelChunk, ReplyError};
use rstest::rstest;
use scripted_engine::{Failure, Script, ScriptedEngine};

use crate::fixture::{start_reply, stream};

/// Each failure and an error of the same kind.
fn kinds() -> [(Failure, ReplyError); 5] {
    [
        (
            Failure::Unavailable,
            ReplyError::Unavailable("cause".into()),
        ),
        (
            Failure::RateLimited,
            ReplyError::RateLimited { retry_after: None },
        ),
        (Failure::TimedOut, ReplyError::TimedOut),
        (Failure::Rejected, ReplyError::Rejected("cause".into())),
        (
            Failure::InvalidReply,
            ReplyError::InvalidReply("cause".into()),
        ),
    ]
}

#[tokio::test]
async fn a_failure_without_output_fails_the_request() {
    for (failure, kind) in kinds() {
        let engine = ScriptedEngine::new();
        let script = Script::silence().fail(failure);
        let error = start_reply(&engine, &script.to_message())
            .await
            .err()
            .unwrap();
        assert_eq!(discriminant(&error), discriminant(&kind), "{error:?}");
        assert_eq!((engine.asked(), engine.open_streams()), (1, 0));
    }
}

#[rstest]
#[case::in_the_place_of_the_end(|failure| Script::words(2).fail(failure), 2)]
#[case::after_the_first(|failure| Script::words(2).fail_after(1, failure), 1)]
#[case::before_the_first(|failure| Script::words(2).fail_after(0, failure), 0)]
#[case::in_a_stream_all_the_same(|failure| Script::silence().fail_after(0, failure), 0)]
#[tokio::test]
async fn a_failure_in_the_stream_ends_it(
    #[case] script: fn(Failure) -> Script,
    #[case] deltas: usize,
) {
    for (failure, kind) in kinds() {
        let stream = stream(&ScriptedEngine::new(), &script(failure).to_message()).await;
        let mut chunks: Vec<_> = stream.collect().await;
        let error = chunks.pop().unwrap().unwrap_err();
        assert_eq!(discriminant(&error), discriminant(&kind), "{error:?}");
        let sent = chunks
            .iter()
            .filter(|piece| matches!(piece, Ok(ModelChunk::Text(_))));
        assert_eq!((sent.count(), chunks.len()), (deltas, deltas));
    }
}

#[tokio::test]
async fn hangs_after_the_last_delta() {
    let engine = ScriptedEngine::new();
    let mut stream = stream(&engine, &Script::deltas(["a"]).hang().to_message()).await;
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first, ModelChunk::Text("a".to_owned()));
    for _ in 0..3 {
        assert!(stream.next().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    assert_eq!(engine.open_streams(), 1);
    drop(stream);
    assert_eq!(engine.open_streams(), 0);
}

#[tokio::test]
async fn panics_after_the_last_delta_and_serves_the_next_request() {
    let engine = ScriptedEngine::new();
    let mut stream = stream(&engine, &Script::deltas(["a"]).panic().to_message()).await;
    assert!(stream.next().await.unwrap().is_ok());
    let panicked = AssertUnwindSafe(stream.next()).catch_unwind().await;
    assert!(panicked.is_err());
    drop(stream);
    assert_eq!(engine.open_streams(), 0);
    let next: Vec<_> = self::stream(&engine, "hello").await.collect().await;
    assert_eq!(next.len(), 2);
}
