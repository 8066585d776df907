use std::{
    convert::Infallible,
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures::{Stream, StreamExt as _, channel::mpsc, stream};
use reqwest::Body;
use tokio::{
    task::yield_now,
    time::{advance, sleep},
};

use super::*;

type Chunk = Result<&'static [u8], Infallible>;

fn body(chunks: impl Stream<Item = Chunk> + Send + 'static) -> PacedBody {
    let response = http::Response::new(Body::wrap_stream(chunks));
    PacedBody::start(response.into(), &TaskTracker::new())
}

/// A body of `number` chunks, each after a pause, and then silence.
fn slow_body(number: usize, pause: Duration) -> PacedBody {
    let chunks = stream::iter(0..number).then(move |_| async move {
        sleep(pause).await;
        Ok(&b"a"[..])
    });
    body(chunks.chain(stream::pending()))
}

/// Reads to the end.
async fn parts_of(body: &PacedBody) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    while let Some(part) = body.next().await.expect("no error") {
        parts.push(part);
    }
    parts
}

#[tokio::test(start_paused = true)]
async fn chunks_that_arrive_together_are_returned_together() {
    let (chunks, sent) = mpsc::unbounded();
    let body = body(sent);
    body.pace();
    let sending = async move {
        for _ in 0..40 {
            chunks.unbounded_send(Ok(&b"ab"[..])).expect("a reader");
            // The reader runs if it is woken.
            yield_now().await;
        }
    };
    let (parts, ()) = tokio::join!(parts_of(&body), sending);
    assert_eq!(parts, [b"ab".repeat(40)]);
    assert!(
        body.next().await.expect("no error").is_none(),
        "the end remains"
    );
}

#[tokio::test(start_paused = true)]
async fn slow_chunks_are_not_held_back() {
    let body = slow_body(40, Duration::from_millis(5));
    body.pace();
    let started = Instant::now();
    for number in 1..=40 {
        let next = body.next().await;
        assert_eq!(next.expect("no error"), Some(b"a".to_vec()));
        let expected = number * Duration::from_millis(5);
        assert!(started.elapsed() <= expected + INTERVAL);
    }
}

/// Returns the time after which a chunk is returned that arrives soon after another.
async fn delay_of_second_chunk(is_paced: bool) -> Duration {
    let (chunks, sent) = mpsc::unbounded();
    let body = body(sent);
    let arrive = || chunks.unbounded_send(Ok(&b"a"[..])).expect("a reader");
    arrive();
    assert_eq!(body.next().await.expect("no error"), Some(b"a".to_vec()));
    if is_paced {
        body.pace();
    }
    let since = Instant::now();
    arrive();
    assert_eq!(body.next().await.expect("no error"), Some(b"a".to_vec()));
    since.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_chunk_soon_after_another_is_held_back_for_the_interval() {
    let delay = delay_of_second_chunk(true).await;
    // The timer rounds up to whole milliseconds.
    assert!((INTERVAL..=2 * INTERVAL).contains(&delay), "{delay:?}");
}

#[tokio::test(start_paused = true)]
async fn chunks_before_the_first_piece_are_not_held_back() {
    assert_eq!(delay_of_second_chunk(false).await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_error_follows_the_chunks_before_it() {
    let chunks = [Ok(&b"a"[..]), Err(io::Error::other("cut"))];
    let response = http::Response::new(Body::wrap_stream(stream::iter(chunks)));
    let body = PacedBody::start(response.into(), &TaskTracker::new());
    assert_eq!(body.next().await.expect("no error"), Some(b"a".to_vec()));
    body.next().await.expect_err("the error");
}

#[tokio::test(start_paused = true)]
async fn an_unread_body_is_not_buffered() {
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    const CHUNK: [u8; 1_024] = [b'a'; 1_024];
    let endless = stream::repeat_with(|| {
        TAKEN.fetch_add(CHUNK.len(), Ordering::SeqCst);
        Ok(&CHUNK[..])
    });
    let body = body(endless);
    body.pace();
    for parts in 1..=3 {
        for _ in 0..100 {
            advance(INTERVAL).await;
        }
        let taken = TAKEN.load(Ordering::SeqCst);
        assert!(taken <= parts * MAX_WAITING_BYTES + CHUNK.len(), "{taken}");
        let part = body.next().await.expect("no error").expect("more");
        assert_eq!(part.len(), MAX_WAITING_BYTES);
    }
}
