//! How answers fail, hang and panic.

use std::{mem::discriminant, panic::AssertUnwindSafe};

use futures::{FutureExt as _, StreamExt as _};
use ports::{ReplyChunk, ReplyError};
use rstest::rstest;
use scripted_engine::{Failure, Script, ScriptedEngine};

use crate::given::{asked, stream};

/// Each failure and an error of its kind.
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
        (Failure::Refused, ReplyError::Refused("cause".into())),
        (Failure::BadAnswer, ReplyError::BadAnswer("cause".into())),
    ]
}

#[tokio::test]
async fn with_nothing_before_it_a_failure_is_told_when_the_engine_is_asked() {
    for (failure, kind) in kinds() {
        let engine = ScriptedEngine::new();
        let script = Script::silence().fail(failure);
        let error = asked(&engine, &script.to_message()).await.err().unwrap();
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
async fn fails_in_the_stream_and_says_nothing_after(
    #[case] script: fn(Failure) -> Script,
    #[case] deltas: usize,
) {
    for (failure, kind) in kinds() {
        let stream = stream(&ScriptedEngine::new(), &script(failure).to_message()).await;
        let mut pieces: Vec<_> = stream.collect().await;
        let error = pieces.pop().unwrap().unwrap_err();
        assert_eq!(discriminant(&error), discriminant(&kind), "{error:?}");
        let said = pieces
            .iter()
            .filter(|piece| matches!(piece, Ok(ReplyChunk::Delta(_))));
        assert_eq!((said.count(), pieces.len()), (deltas, deltas));
    }
}

#[tokio::test]
async fn hangs_once_all_is_said() {
    let engine = ScriptedEngine::new();
    let mut stream = stream(&engine, &Script::deltas(["a"]).hang().to_message()).await;
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first, ReplyChunk::Delta("a".to_owned()));
    for _ in 0..3 {
        assert!(stream.next().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    assert_eq!(engine.open_streams(), 1);
    drop(stream);
    assert_eq!(engine.open_streams(), 0);
}

#[tokio::test]
async fn panics_once_all_is_said_and_answers_the_next() {
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
