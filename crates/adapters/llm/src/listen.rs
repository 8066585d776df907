//! Listening to an answer, as it comes or as a whole.

use std::time::Duration;

use reqwest::{Response, header};
use serde_json::from_slice;
use tokio::time::{Instant, timeout, timeout_at};

use crate::{
    event_decoder::EventDecoder,
    fault::Fault,
    heard::Heard,
    options::LlmTimes,
    speech::Speech,
    wire::{Chunk, without_halves},
};

/// The most of a whole answer that is read.
const ANSWER_BYTES: usize = 1024 * 1024;
/// How long the end of a stream may lag behind its last event. A connection whose stream was read
/// to its end can carry the next question; one that is closed costs a new one, with encryption.
const END_OF_STREAM: Duration = Duration::from_millis(10);

/// Hears the whole of one answer, and says its text as it comes.
pub(crate) async fn listen(
    answer: Response,
    times: &LlmTimes,
    key: Option<&str>,
    heard: &mut Heard,
    speech: &mut Speech,
) -> Result<(), Fault> {
    match media_type(&answer).as_str() {
        "text/event-stream" => {
            let mut listener = Listener {
                answer,
                times,
                decoder: EventDecoder::default(),
            };
            listener.listen(key, heard, speech).await?;
        }
        "application/json" => {
            let body = read_whole(answer, times).await?;
            let chunk = parse(&body)?;
            speech.say(heard.take(chunk, key)?).await?;
            // The body arrived whole, so that nothing was cut off.
            if heard.finish_reason.is_none() {
                let what = "the upstream's answer has no reason for its end";
                return Err(Fault::Malformed(what));
            }
        }
        _ => {
            let what = "the upstream's answer is neither a stream of events nor JSON";
            return Err(Fault::Malformed(what));
        }
    }
    match heard.finish_reason {
        Some(_) => Ok(()),
        None => Err(Fault::Unfinished),
    }
}

fn media_type(answer: &Response) -> String {
    let told = answer.headers().get(header::CONTENT_TYPE);
    let told = told.and_then(|value| value.to_str().ok());
    let essence = told.and_then(|value| value.split(';').next());
    essence.unwrap_or_default().trim().to_ascii_lowercase()
}

fn parse(json: &[u8]) -> Result<Chunk, Fault> {
    let read = from_slice(json);
    let read = read.or_else(|fault| match without_halves(json) {
        Some(mended) => from_slice(&mended),
        None => Err(fault),
    });
    // Why it is malformed would quote it.
    read.map_err(|_fault| Fault::Malformed("the upstream's answer is malformed"))
}

async fn read_whole(mut answer: Response, times: &LlmTimes) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    let mut patience = times.first_byte;
    loop {
        let part = timeout(patience, answer.chunk()).await;
        let part = part.map_err(|_elapsed| Fault::TimedOut)?;
        let Some(part) = part.map_err(Fault::cut)? else {
            return Ok(body);
        };
        if body.len() + part.len() > ANSWER_BYTES {
            return Err(Fault::Malformed("the upstream's answer is too large"));
        }
        body.extend_from_slice(&part);
        patience = times.idle;
    }
}

/// Listens to a stream.
struct Listener<'a> {
    answer: Response,
    times: &'a LlmTimes,
    decoder: EventDecoder,
}

/// Whether a stream goes on.
#[derive(PartialEq, Eq)]
enum Stream {
    GoesOn,
    Done,
}

impl Listener<'_> {
    async fn listen(
        &mut self,
        key: Option<&str>,
        heard: &mut Heard,
        speech: &mut Speech,
    ) -> Result<(), Fault> {
        let mut alive = (0, Instant::now());
        let mut over_since = None;
        loop {
            let now = Instant::now();
            if self.decoder.lines() > alive.0 {
                alive = (self.decoder.lines(), now);
            }
            // Comments, of which some servers send any number, do not make this longer.
            over_since = heard.is_over().then(|| over_since.unwrap_or(now));
            let until = match over_since {
                Some(since) => since + self.times.trailer,
                None => alive.1 + self.patience(),
            };
            if over_since.is_some() && until <= now {
                return Ok(());
            }
            let part = match timeout_at(until, self.answer.chunk()).await {
                Ok(Ok(part)) => part,
                // It has said all; the rest is not worth a failure.
                _ if over_since.is_some() => return Ok(()),
                Ok(Err(error)) => return Err(Fault::cut(error)),
                Err(_elapsed) => return Err(Fault::TimedOut),
            };
            let Some(part) = part else {
                let last = self.decoder.finish();
                if let Some(event) = last {
                    take_event(&event, key, heard, speech).await?;
                }
                return Ok(());
            };
            if self.take(&part, key, heard, speech).await? == Stream::Done {
                self.read_end().await;
                return Ok(());
            }
        }
    }

    /// How long the next line may take.
    fn patience(&self) -> Duration {
        if self.decoder.lines() == 0 {
            self.times.first_byte
        } else {
            self.times.idle
        }
    }

    async fn take(
        &mut self,
        mut bytes: &[u8],
        key: Option<&str>,
        heard: &mut Heard,
        speech: &mut Speech,
    ) -> Result<Stream, Fault> {
        let too_large = |_| Fault::Malformed("an event of the upstream's answer is too large");
        while let Some(event) = self.decoder.take(&mut bytes).map_err(too_large)? {
            if take_event(&event, key, heard, speech).await? == Stream::Done {
                return Ok(Stream::Done);
            }
        }
        Ok(Stream::GoesOn)
    }

    /// Reads on to the end, if that is there.
    async fn read_end(&mut self) {
        let end = self.answer.chunk();
        let _ = timeout(END_OF_STREAM, end).await;
    }
}

async fn take_event(
    event: &[u8],
    key: Option<&str>,
    heard: &mut Heard,
    speech: &mut Speech,
) -> Result<Stream, Fault> {
    match event.trim_ascii() {
        b"[DONE]" => Ok(Stream::Done),
        // Some servers keep the connection alive so.
        b"" => Ok(Stream::GoesOn),
        json => {
            let new = heard.take(parse(json)?, key)?;
            speech.say(new).await?;
            Ok(Stream::GoesOn)
        }
    }
}
