//! The streamed body of a write between two regions: its data, and the positions of the log that the
//! write reaches meanwhile.
//!
//! A header can only name the position at the beginning of a stream. The far node has to know that of
//! the turn's end before its client does, which may read what it wrote as soon as it has received the
//! last part. So the body consists of frames, and a position precedes the data that follows it. A
//! frame is a byte and its content: `p` and a position of eight bytes, or `d`, a length of four bytes
//! and as much data; numbers are big-endian.

use std::pin::Pin;

use actix_web::body::{BodyStream, BoxBody, MessageBody as _};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use domain::Seq;
use futures::{StreamExt as _, stream};
use ports::{HomeBody, HomeError};

/// Requests frames, and marks a response that has them.
pub(super) const X_REGION_FRAMES: &str = "x-region-frames";

const POSITION: u8 = b'p';
const DATA: u8 = b'd';

/// Converts a body to frames. `newest` returns the newest position of the log that is known.
pub(super) fn encode(
    mut body: BoxBody,
    mut newest: impl FnMut() -> Option<Seq> + 'static,
) -> BoxBody {
    let chunks = stream::poll_fn(move |context| Pin::new(&mut body).poll_next(context));
    let mut sent = None;
    let frames = chunks.map(move |chunk| {
        let chunk = chunk?;
        let position = newest().filter(|position| Some(*position) > sent);
        sent = sent.max(position);
        Ok::<_, Box<dyn std::error::Error>>(frames(position, &chunk))
    });
    BoxBody::new(BodyStream::new(frames))
}

fn frames(position: Option<Seq>, mut data: &[u8]) -> Bytes {
    let mut frames = BytesMut::with_capacity(data.len() + 16);
    if let Some(position) = position {
        frames.put_u8(POSITION);
        frames.put_i64(position.0);
    }
    while !data.is_empty() {
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        frames.put_u8(DATA);
        frames.put_u32(length);
        let (now, later) = data.split_at(usize::try_from(length).unwrap_or(data.len()));
        frames.put_slice(now);
        data = later;
    }
    frames.freeze()
}

/// Returns the data in frames as it arrives, and passes each position to `record` before the data that
/// follows it.
pub(super) fn decode(body: HomeBody, record: impl FnMut(Seq) + Send + 'static) -> HomeBody {
    let decoder = Decoder {
        body,
        unread: BytesMut::new(),
        left: 0,
        record,
    };
    stream::unfold(decoder, |mut decoder| async move {
        let data = decoder.next().await?;
        Some((data, decoder))
    })
    .boxed()
}

struct Decoder<Record> {
    body: HomeBody,
    unread: BytesMut,
    /// The length of the rest of the current frame of data.
    left: usize,
    record: Record,
}

impl<Record: FnMut(Seq)> Decoder<Record> {
    async fn next(&mut self) -> Option<Result<Bytes, HomeError>> {
        loop {
            if self.left > 0 && !self.unread.is_empty() {
                let data = self.unread.split_to(self.left.min(self.unread.len()));
                self.left -= data.len();
                return Some(Ok(data.freeze()));
            }
            if self.left == 0 {
                match self.begin_frame() {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(error) => return Some(Err(error)),
                }
            }
            match self.body.next().await {
                Some(Ok(chunk)) => self.unread.extend_from_slice(&chunk),
                Some(Err(error)) => return Some(Err(error)),
                None if self.left == 0 && self.unread.is_empty() => return None,
                None => return Some(Err(HomeError::Lost("the body was cut".into()))),
            }
        }
    }

    /// Reads the beginning of a frame; returns false if some of it is missing.
    fn begin_frame(&mut self) -> Result<bool, HomeError> {
        match (self.unread.first(), self.unread.len()) {
            (Some(&POSITION), 9..) => {
                self.unread.advance(1);
                (self.record)(Seq(self.unread.get_i64()));
                Ok(true)
            }
            (Some(&DATA), 5..) => {
                self.unread.advance(1);
                self.left = usize::try_from(self.unread.get_u32()).unwrap_or(usize::MAX);
                Ok(true)
            }
            (None | Some(&(POSITION | DATA)), _) => Ok(false),
            (Some(kind), _) => Err(HomeError::Lost(format!("unknown frame {kind}").into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use actix_web::body::to_bytes;
    use futures::TryStreamExt as _;
    use parking_lot::Mutex;

    use super::*;

    /// Returns the bodies and positions of frames that are received in chunks of `size` bytes.
    async fn received(frames: &Bytes, size: usize) -> (Vec<u8>, Vec<Seq>, bool) {
        let chunks: Vec<_> = frames.chunks(size).map(Bytes::copy_from_slice).collect();
        let positions = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&positions);
        let record = move |position| recorded.lock().push(position);
        let mut data = Vec::new();
        let mut decoded = decode(stream::iter(chunks.into_iter().map(Ok)).boxed(), record);
        let is_whole = loop {
            match decoded.try_next().await {
                Ok(Some(chunk)) => data.extend_from_slice(&chunk),
                Ok(None) => break true,
                Err(_cut) => break false,
            }
        };
        let positions = positions.lock().clone();
        (data, positions, is_whole)
    }

    #[actix_web::test]
    async fn data_and_positions_arrive_however_the_body_is_cut() {
        let chunks =
            ["Well, ", "yes", "."].map(|text| Ok::<_, Box<dyn std::error::Error>>(text.into()));
        let body = BoxBody::new(BodyStream::new(stream::iter(chunks)));
        let mut positions = [None, Some(4), Some(7)].into_iter();
        let newest = move || positions.next().flatten().map(Seq);
        let body = to_bytes(encode(body, newest)).await.expect("a body");
        for size in 1..=body.len() {
            let (data, positions, is_whole) = received(&body, size).await;
            assert_eq!(data, b"Well, yes.");
            assert_eq!(positions, [Seq(4), Seq(7)]);
            assert!(is_whole);
        }
    }

    #[actix_web::test]
    async fn a_cut_or_unknown_frame_is_an_error() {
        let whole = frames(Some(Seq(1)), b"Well");
        for length in [1, 8, 10, 13, 17] {
            let (_, _, is_whole) = received(&whole.slice(..length), 100).await;
            assert!(!is_whole, "{length}");
        }
        assert!(!received(&Bytes::from_static(b"x"), 1).await.2);
    }
}
