use std::pin::pin;

use actix_web::body::MessageBody as _;
use futures::{FutureExt as _, future::poll_fn};

use super::{queue::CHUNK_BYTES, *};
use crate::socket::CloseCode;

fn pair() -> (Outgoing, OutgoingBody) {
    outgoing(BoxBody::new(()))
}

/// What the connection takes next; none when there is nothing yet, and an empty chunk at the end.
fn taken(body: &mut OutgoingBody) -> Option<Bytes> {
    let next = poll_fn(|context| Pin::new(&mut *body).poll_next(context));
    let chunk = pin!(next).now_or_never()?;
    Some(chunk.map_or_else(Bytes::new, Result::unwrap))
}

fn push(outgoing: &Outgoing, text: &str) {
    outgoing.push(ByteString::from(text)).unwrap();
}

#[actix_web::test]
async fn what_waits_is_taken_together_and_in_order() {
    let (outgoing, mut body) = pair();
    assert_eq!(taken(&mut body), None);
    push(&outgoing, "one");
    push(&outgoing, "two");
    let expected = [&[0x81, 3][..], b"one", &[0x81, 3], b"two"].concat();
    assert_eq!(taken(&mut body).unwrap(), expected);
    assert_eq!(taken(&mut body), None);
}

#[actix_web::test]
async fn pings_and_their_answers_go_before_what_waits() {
    let (outgoing, mut body) = pair();
    push(&outgoing, "text");
    outgoing.ping();
    outgoing.pong(Bytes::from_static(b"first"));
    outgoing.pong(Bytes::from_static(b"last"));
    let expected = [&[0x89, 0][..], &[0x8a, 4], b"last", &[0x81, 4], b"text"].concat();
    assert_eq!(taken(&mut body).unwrap(), expected);
}

#[actix_web::test]
async fn the_connection_takes_no_more_at_once_than_it_needs() {
    let (outgoing, mut body) = pair();
    let frame = "x".repeat(CHUNK_BYTES - 4);
    for _ in 0..3 {
        push(&outgoing, &frame);
    }
    for _ in 0..3 {
        assert_eq!(taken(&mut body).unwrap().len(), CHUNK_BYTES);
    }
    assert_eq!(taken(&mut body), None);
}

#[actix_web::test]
async fn a_close_comes_last_and_the_end_with_the_task() {
    let (outgoing, mut body) = pair();
    push(&outgoing, "text");
    outgoing.close(Some(CloseCode::Draining.into()));
    let close = [&[0x88, 10][..], &4200_u16.to_be_bytes(), b"draining"].concat();
    let expected = [&[0x81, 4][..], b"text", &close].concat();
    assert_eq!(taken(&mut body).unwrap(), expected);
    assert_eq!(taken(&mut body), None, "the client may answer");
    drop(outgoing);
    assert_eq!(taken(&mut body).unwrap(), "");
}

#[actix_web::test]
async fn a_task_that_ends_without_a_word_ends_the_connection() {
    let (outgoing, mut body) = pair();
    drop(outgoing);
    assert_eq!(taken(&mut body).unwrap(), "");
}

#[actix_web::test]
async fn a_task_that_ends_after_its_close_has_it_sent() {
    let (outgoing, mut body) = pair();
    outgoing.close(None);
    drop(outgoing);
    assert_eq!(taken(&mut body).unwrap(), [0x88, 0].as_slice());
    assert_eq!(taken(&mut body).unwrap(), "");
}

#[actix_web::test]
async fn the_task_is_told_when_there_is_room_again_and_not_before() {
    let (outgoing, mut body) = pair();
    let frame = "x".repeat(CHUNK_BYTES);
    for _ in 0..5 {
        push(&outgoing, &frame);
    }
    assert!(!outgoing.has_room_or_notifies());
    taken(&mut body);
    assert_eq!(outgoing.moved().now_or_never(), None);
    taken(&mut body);
    assert_eq!(outgoing.moved().now_or_never(), Some(()));
    assert!(outgoing.has_room_or_notifies());
    assert!(!outgoing.is_drained_or_notifies());
    for left in (0..3).rev() {
        taken(&mut body);
        let expected = (left == 0).then_some(());
        assert_eq!(outgoing.moved().now_or_never(), expected, "{left}");
    }
    assert!(outgoing.is_drained_or_notifies());
    assert_eq!(
        outgoing.moved().now_or_never(),
        None,
        "nobody waits any more"
    );
}

#[actix_web::test]
async fn the_task_is_told_when_the_connection_has_gone() {
    let (outgoing, body) = pair();
    assert!(!outgoing.is_gone());
    drop(body);
    outgoing.moved().await;
    assert!(outgoing.is_gone());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_taken_is_stuck_until_something_is() {
    let (outgoing, mut body) = pair();
    assert_eq!(outgoing.stuck_since(), None);
    let start = Instant::now();
    let frame = "x".repeat(CHUNK_BYTES);
    for _ in 0..2 {
        push(&outgoing, &frame);
        tokio::time::advance(std::time::Duration::from_secs(3)).await;
    }
    assert_eq!(outgoing.stuck_since(), Some(start));
    taken(&mut body);
    assert_eq!(outgoing.stuck_since(), Some(Instant::now()));
    taken(&mut body);
    assert_eq!(outgoing.stuck_since(), None);
}

#[actix_web::test]
async fn what_is_cleared_is_not_sent() {
    let (outgoing, mut body) = pair();
    push(&outgoing, "text");
    outgoing.clear();
    assert_eq!(taken(&mut body), None);
    assert_eq!(outgoing.stuck_since(), None);
}
