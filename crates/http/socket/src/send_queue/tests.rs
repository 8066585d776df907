use std::pin::pin;

use actix_web::body::MessageBody as _;
use futures::{FutureExt as _, future::poll_fn};

use super::{state::CHUNK_BYTES, *};
use crate::CloseCode;

fn pair() -> (SendQueue, SendQueueBody) {
    send_queue(BoxBody::new(()))
}

/// The next chunk that the connection takes: `None` if nothing waits yet, and an empty chunk at the
/// end.
fn next_chunk(body: &mut SendQueueBody) -> Option<Bytes> {
    let next = poll_fn(|context| Pin::new(&mut *body).poll_next(context));
    let chunk = pin!(next).now_or_never()?;
    Some(chunk.map_or_else(Bytes::new, Result::unwrap))
}

fn push(send_queue: &SendQueue, text: &str) {
    send_queue.push(ByteString::from(text)).unwrap();
}

#[actix_web::test]
async fn waiting_frames_are_taken_together_and_in_order() {
    let (send_queue, mut body) = pair();
    assert_eq!(next_chunk(&mut body), None);
    push(&send_queue, "one");
    push(&send_queue, "two");
    let expected = [&[0x81, 3][..], b"one", &[0x81, 3], b"two"].concat();
    assert_eq!(next_chunk(&mut body).unwrap(), expected);
    assert_eq!(next_chunk(&mut body), None);
}

#[actix_web::test]
async fn pings_and_pongs_precede_waiting_frames() {
    let (send_queue, mut body) = pair();
    push(&send_queue, "text");
    send_queue.ping();
    send_queue.pong(Bytes::from_static(b"first"));
    send_queue.pong(Bytes::from_static(b"last"));
    let expected = [&[0x89, 0][..], &[0x8a, 4], b"last", &[0x81, 4], b"text"].concat();
    assert_eq!(next_chunk(&mut body).unwrap(), expected);
}

#[actix_web::test]
async fn chunks_have_a_maximum_size() {
    let (send_queue, mut body) = pair();
    let frame = "x".repeat(CHUNK_BYTES - 4);
    for _ in 0..3 {
        push(&send_queue, &frame);
    }
    for _ in 0..3 {
        assert_eq!(next_chunk(&mut body).unwrap().len(), CHUNK_BYTES);
    }
    assert_eq!(next_chunk(&mut body), None);
}

#[actix_web::test]
async fn the_close_frame_comes_last_and_the_body_ends_with_the_task() {
    let (send_queue, mut body) = pair();
    push(&send_queue, "text");
    send_queue.close(Some(CloseCode::Draining.into()));
    let close = [&[0x88, 10][..], &4200_u16.to_be_bytes(), b"draining"].concat();
    let expected = [&[0x81, 4][..], b"text", &close].concat();
    assert_eq!(next_chunk(&mut body).unwrap(), expected);
    assert_eq!(next_chunk(&mut body), None, "the client may answer");
    drop(send_queue);
    assert_eq!(next_chunk(&mut body).unwrap(), "");
}

#[actix_web::test]
async fn a_task_that_ends_without_a_close_ends_the_connection() {
    let (send_queue, mut body) = pair();
    drop(send_queue);
    assert_eq!(next_chunk(&mut body).unwrap(), "");
}

#[actix_web::test]
async fn the_close_of_a_task_that_has_ended_is_sent() {
    let (send_queue, mut body) = pair();
    send_queue.close(None);
    drop(send_queue);
    assert_eq!(next_chunk(&mut body).unwrap(), [0x88, 0].as_slice());
    assert_eq!(next_chunk(&mut body).unwrap(), "");
}

#[actix_web::test]
async fn the_task_is_woken_only_when_there_is_room_again() {
    let (send_queue, mut body) = pair();
    let frame = "x".repeat(CHUNK_BYTES);
    for _ in 0..5 {
        push(&send_queue, &frame);
    }
    assert!(!send_queue.request_room());
    next_chunk(&mut body);
    assert_eq!(send_queue.changed().now_or_never(), None);
    next_chunk(&mut body);
    assert_eq!(send_queue.changed().now_or_never(), Some(()));
    assert!(send_queue.request_room());
    assert!(!send_queue.request_empty());
    for left in (0..3).rev() {
        next_chunk(&mut body);
        let expected = (left == 0).then_some(());
        assert_eq!(send_queue.changed().now_or_never(), expected, "{left}");
    }
    assert!(send_queue.request_empty());
    assert_eq!(send_queue.changed().now_or_never(), None, "no task waits");
}

#[actix_web::test]
async fn the_task_is_woken_when_the_connection_is_lost() {
    let (send_queue, body) = pair();
    assert!(!send_queue.is_disconnected());
    drop(body);
    send_queue.changed().await;
    assert!(send_queue.is_disconnected());
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_stalled_until_a_frame_is_taken() {
    let (send_queue, mut body) = pair();
    assert_eq!(send_queue.stalled_since(), None);
    let start = Instant::now();
    let frame = "x".repeat(CHUNK_BYTES);
    for _ in 0..2 {
        push(&send_queue, &frame);
        tokio::time::advance(std::time::Duration::from_secs(3)).await;
    }
    assert_eq!(send_queue.stalled_since(), Some(start));
    next_chunk(&mut body);
    assert_eq!(send_queue.stalled_since(), Some(Instant::now()));
    next_chunk(&mut body);
    assert_eq!(send_queue.stalled_since(), None);
}

#[actix_web::test]
async fn cleared_frames_are_not_sent() {
    let (send_queue, mut body) = pair();
    push(&send_queue, "text");
    send_queue.clear();
    assert_eq!(next_chunk(&mut body), None);
    assert_eq!(send_queue.stalled_since(), None);
}
