use std::{
    convert::Infallible,
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures::{Stream, StreamExt as _, stream};
use reqwest::Body;
use tokio::time::{advance, sleep};

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
    let body = body(stream::iter(vec![Ok(&b"ab"[..]); 40]));
    body.pace();
    let parts = parts_of(&body).await;
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

#[tokio::test(start_paused = true)]
async fn a_chunk_soon_after_another_is_held_back_for_the_interval_only() {
    let body = slow_body(2, Duration::from_micros(100));
    body.pace();
    let started = Instant::now();
    let mut received = 0;
    while received < 2 {
        received += body.next().await.expect("no error").expect("more").len();
    }
    assert!(started.elapsed() <= 3 * INTERVAL, "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn chunks_before_the_first_text_are_not_held_back() {
    let body = slow_body(3, Duration::ZERO);
    let started = Instant::now();
    let mut received = 0;
    while received < 3 {
        received += body.next().await.expect("no error").expect("more").len();
    }
    // A pause of zero takes until the next millisecond.
    assert!(
        started.elapsed() <= Duration::from_millis(3),
        "{:?}",
        started.elapsed()
    );
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
async fn a_body_that_nobody_reads_is_not_buffered() {
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
