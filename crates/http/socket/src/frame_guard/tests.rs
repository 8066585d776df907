use std::{cell::Cell, rc::Rc};

use futures::{FutureExt as _, StreamExt as _, stream};
use proptest::{collection::vec, prelude::*, sample::Index};

use super::*;
use crate::{MAX_FRAME_BYTES, MAX_MESSAGE_BYTES, raw_client::messages_from};

const TEXT: u8 = 0x81;
const FIRST_FRAGMENT: u8 = 0x01;
const FRAGMENT: u8 = 0x00;
const LAST_FRAGMENT: u8 = 0x80;
const PING: u8 = 0x89;

/// The number of bytes of the length field.
#[derive(Debug, Clone, Copy)]
enum Width {
    One,
    Three,
    Nine,
}

/// A frame header up to its length field. The length may use a wider field than necessary; the
/// guard must still find the next header.
fn head(first: u8, masked: bool, width: Width, length: u64) -> Vec<u8> {
    let mask = if masked { 0x80 } else { 0 };
    let big_endian = length.to_be_bytes();
    match width {
        Width::One => vec![first, mask | big_endian[7]],
        Width::Three => [&[first, mask | 0x7e], &big_endian[6..]].concat(),
        Width::Nine => [&[first, mask | 0x7f], &big_endian[..]].concat(),
    }
}

fn narrowest_width(length: u64) -> Width {
    match length {
        0..126 => Width::One,
        126..65_536 => Width::Three,
        _ => Width::Nine,
    }
}

/// A masked frame as clients send it.
fn frame(first: u8, length: u64) -> Vec<u8> {
    let mut bytes = head(first, true, narrowest_width(length), length);
    // A parser that loses its position reads this payload as headers of large frames.
    bytes.resize(bytes.len() + 4 + usize::try_from(length).unwrap(), 0xff);
    bytes
}

fn chunks_of(bytes: &[u8], cuts: &[Index]) -> Vec<Bytes> {
    let mut indexes: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    indexes.extend([0, bytes.len()]);
    indexes.sort_unstable();
    indexes
        .windows(2)
        .map(|pair| Bytes::copy_from_slice(&bytes[pair[0]..pair[1]]))
        .collect()
}

fn byte_by_byte(bytes: &[u8]) -> Vec<Bytes> {
    bytes.chunks(1).map(Bytes::copy_from_slice).collect()
}

/// The next item of a guard whose input is ready.
fn next_item<S>(guard: &mut FrameGuard<S>) -> Option<Result<Bytes, PayloadError>>
where
    S: Stream<Item = Result<Bytes, PayloadError>> + Unpin,
{
    let next = guard.next().now_or_never();
    next.expect("the input is ready")
}

/// The bytes that passed, and the end of the stream.
#[derive(Debug, PartialEq)]
enum Outcome {
    Passed(Vec<u8>),
    Overflow(Vec<u8>),
}

fn pass(chunks: Vec<Bytes>) -> Outcome {
    let mut guard = FrameGuard::new(stream::iter(chunks.into_iter().map(Ok)));
    let mut passed = Vec::new();
    let overflowed = loop {
        match next_item(&mut guard) {
            Some(Ok(chunk)) => passed.extend_from_slice(&chunk),
            Some(Err(PayloadError::Overflow)) => break true,
            Some(Err(other)) => panic!("{other}"),
            None => break false,
        }
    };
    assert!(next_item(&mut guard).is_none(), "an item after the end");
    if overflowed {
        Outcome::Overflow(passed)
    } else {
        Outcome::Passed(passed)
    }
}

/// Valid frames: any header, any width of the length field, masked or not.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![
        4 => 0..300_u64,
        1 => 65_530..=MAX_FRAME_BYTES,
    ];
    // Continuation frames are excluded: their sizes add up.
    let first = any::<u8>().prop_filter("continues", |first| first & 0x0f != 0);
    (first, any::<bool>(), 0..3_u8, length, any::<u8>()).prop_map(
        |(first, masked, wider, length, filler)| {
            let width = match (narrowest_width(length), wider) {
                (Width::One, 0) => Width::One,
                (Width::One, 1) | (Width::Three, 0) => Width::Three,
                _ => Width::Nine,
            };
            let mut bytes = head(first, masked, width, length);
            let mask = if masked { 4 } else { 0 };
            let remaining = mask + usize::try_from(length).unwrap();
            bytes.resize(bytes.len() + remaining, filler);
            bytes
        },
    )
}

fn excessive_length() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(MAX_FRAME_BYTES + 1),
        Just(1 << 30),
        Just(1 << 63),
        Just(u64::MAX),
        MAX_FRAME_BYTES + 1..,
    ]
}

proptest! {
    #[test]
    fn valid_frames_pass_unchanged_in_chunks_of_any_size(
        frames in vec(any_frame(), 0..8),
        cuts in vec(any::<Index>(), 0..40),
    ) {
        let bytes = frames.concat();
        prop_assert_eq!(pass(chunks_of(&bytes, &cuts)), Outcome::Passed(bytes));
    }

    #[test]
    fn stops_at_the_last_byte_of_any_length_above_the_maximum(
        before in vec(any_frame(), 0..4),
        first: u8,
        masked: bool,
        length in excessive_length(),
        after in vec(any::<u8>(), 0..100),
        cuts in vec(any::<Index>(), 0..40),
    ) {
        let mut bytes = before.concat();
        bytes.extend(head(first, masked, Width::Nine, length));
        let expected = Outcome::Overflow(bytes[..bytes.len() - 1].to_vec());
        prop_assert_eq!(&pass(chunks_of(&bytes, &cuts)), &expected);
        bytes.extend(after);
        prop_assert_eq!(&pass(chunks_of(&bytes, &cuts)), &expected);
    }
}

#[test]
fn frames_that_arrive_byte_by_byte_pass() {
    let frames = [
        frame(TEXT, 0),
        frame(PING, 125),
        frame(TEXT, 126),
        frame(TEXT, 65_535),
        frame(TEXT, MAX_FRAME_BYTES),
        frame(TEXT, 1),
    ];
    let bytes = frames.concat();
    assert_eq!(pass(byte_by_byte(&bytes)), Outcome::Passed(bytes));
}

#[test]
fn stops_at_an_excessive_length_that_arrives_byte_by_byte() {
    let bytes = [
        frame(TEXT, 5),
        head(TEXT, true, Width::Nine, MAX_FRAME_BYTES + 1),
    ]
    .concat();
    let before = bytes[..bytes.len() - 1].to_vec();
    assert_eq!(pass(byte_by_byte(&bytes)), Outcome::Overflow(before));
}

#[test]
fn adds_up_the_fragments_of_a_message_without_control_frames() {
    let whole = [
        frame(FIRST_FRAGMENT, MAX_FRAME_BYTES),
        frame(FRAGMENT, MAX_FRAME_BYTES),
        frame(PING, 125),
        frame(FRAGMENT, MAX_FRAME_BYTES),
        frame(LAST_FRAGMENT, MAX_FRAME_BYTES),
    ]
    .concat();
    assert_eq!(4 * MAX_FRAME_BYTES, MAX_MESSAGE_BYTES);
    let twice = [&whole[..], &whole[..]].concat();
    assert_eq!(pass(vec![twice.clone().into()]), Outcome::Passed(twice));

    let mut above = whole;
    above.extend(head(LAST_FRAGMENT, true, Width::One, 1));
    let before = above[..above.len() - 1].to_vec();
    above.extend([0; 5]);
    assert_eq!(pass(vec![above.into()]), Outcome::Overflow(before));
}

#[test]
fn the_end_and_the_errors_of_the_input_pass() {
    let broken = [
        Ok(Bytes::from(frame(TEXT, 3))),
        Err(PayloadError::Incomplete(None)),
    ];
    let mut guard = FrameGuard::new(stream::iter(broken));
    assert_eq!(next_item(&mut guard).unwrap().unwrap(), frame(TEXT, 3));
    let error = next_item(&mut guard).unwrap().unwrap_err();
    assert!(matches!(error, PayloadError::Incomplete(None)), "{error}");
    assert!(next_item(&mut guard).is_none());
}

#[actix_web::test]
async fn a_guarded_socket_reads_nothing_of_a_frame_that_is_too_large() {
    // A client that sends as fast as the server reads.
    let read = Rc::new(Cell::new(0));
    let counted = Rc::clone(&read);
    let header = stream::iter([Bytes::from(head(TEXT, true, Width::Nine, 1 << 30))]);
    let endless = stream::repeat(Bytes::from_static(&[0; 1024])).take(1 << 20);
    let client = header.chain(endless).map(move |chunk| {
        counted.set(counted.get() + chunk.len());
        Ok(chunk)
    });
    let mut messages = messages_from(client).await;
    let first = messages.next().now_or_never();
    assert!(matches!(first, Some(Some(Err(_)))), "{first:?}");
    let second = messages.next().now_or_never();
    assert!(matches!(second, Some(None)), "{second:?}");
    assert_eq!(read.get(), 10, "nothing behind the header is read");
}
