//! Reading a response, streamed or not.

use std::{sync::Arc, time::Duration};

use http_clients::EventDecoder;
use reqwest::Response;
use tokio::time::{Instant, timeout, timeout_at};

use crate::{
    api::{DocumentReader, StreamState},
    body_form::BodyForm,
    chunk_sender::ChunkSender,
    error::LlmError,
    model_list::ModelList,
    options::LlmTimeouts,
    paced_body::PacedBody,
    response_accumulator::ResponseAccumulator,
};

/// The maximum number of bytes of a response that is not streamed.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// The maximum number of bytes of one event, including everything that is ignored.
const MAX_EVENT_BYTES: usize = 1024 * 1024;
/// The time within which the end of a stream may follow its last event. A connection whose stream
/// was read to its end can be reused; otherwise the next request needs a new one, with a TLS
/// handshake.
const STREAM_END_GRACE: Duration = Duration::from_millis(10);

/// Reads one response to its end and sends its text as it arrives.
pub(crate) async fn read_response(
    response: Response,
    models: &Arc<ModelList>,
    accumulator: &mut ResponseAccumulator,
    sender: &ChunkSender,
) -> Result<(), LlmError> {
    let upstream = models.upstream();
    let (timeouts, key) = (&upstream.timeouts, upstream.key());
    let (label, began) = (BodyForm::of_label(&response), Instant::now());
    let body = PacedBody::start(response, &upstream.tasks);
    let start = read_start(&body, timeouts).await?;
    match BodyForm::of_start(&start).or(label) {
        Some(BodyForm::Events) => {
            let mut reader = StreamReader {
                body,
                timeouts,
                models,
                decoder: EventDecoder::new(MAX_EVENT_BYTES),
                documents: upstream.api.reader(),
            };
            reader.read(start, began, key, accumulator, sender).await?;
            accumulator.finish_text();
            send_new(accumulator, sender).await;
        }
        Some(BodyForm::Json) => {
            let json = read_whole(start, &body, timeouts).await?;
            upstream.api.reader().push(&json, key, accumulator)?;
            decide_thoughts(models, accumulator).await;
            accumulator.finish_text();
            send_new(accumulator, sender).await;
            // The body is complete, so the response is malformed rather than cut off.
            if accumulator.finish_reason.is_none() {
                let reason = "the upstream's response has no finish reason";
                return Err(LlmError::Malformed(reason));
            }
        }
        None => {
            let reason = "the upstream's response is neither an event stream nor JSON";
            return Err(LlmError::Malformed(reason));
        }
    }
    match accumulator.finish_reason {
        Some(_) => Ok(()),
        None => Err(LlmError::Incomplete),
    }
}

/// Sends what has arrived since the last time.
async fn send_new(accumulator: &mut ResponseAccumulator, sender: &ChunkSender) {
    let reasoning = accumulator.take_new_reasoning();
    sender.send_reasoning(reasoning).await;
    sender.send_text(accumulator.take_new_text()).await;
}

/// Finds out whether a tag of thoughts at the beginning of the text has a meaning.
async fn decide_thoughts(models: &Arc<ModelList>, accumulator: &mut ResponseAccumulator) {
    if accumulator.is_undecided() {
        let has_think_tags = models.has_think_tags().await;
        accumulator.decide_thoughts(has_think_tags);
    }
}

/// Reads until the form of the body is known, or cannot become known.
async fn read_start(body: &PacedBody, timeouts: &LlmTimeouts) -> Result<Vec<u8>, LlmError> {
    let mut start = Vec::new();
    while BodyForm::of_start(&start).is_none()
        && BodyForm::is_open(&start)
        && read_part(&mut start, body, timeouts).await?
    {}
    Ok(start)
}

/// Reads the rest of a body that begins with `start`.
async fn read_whole(
    mut start: Vec<u8>,
    body: &PacedBody,
    timeouts: &LlmTimeouts,
) -> Result<Vec<u8>, LlmError> {
    while read_part(&mut start, body, timeouts).await? {}
    Ok(start)
}

/// Adds the next part of a body to those before it. Returns false at its end.
async fn read_part(
    before: &mut Vec<u8>,
    body: &PacedBody,
    timeouts: &LlmTimeouts,
) -> Result<bool, LlmError> {
    let limit = if before.is_empty() {
        timeouts.first_byte
    } else {
        timeouts.idle
    };
    let part = timeout(limit, body.next()).await;
    let part = part.map_err(|_elapsed| LlmError::TimedOut)?;
    let Some(part) = part.map_err(LlmError::interrupted)? else {
        return Ok(false);
    };
    if before.len() + part.len() > MAX_BODY_BYTES {
        return Err(LlmError::Malformed("the upstream's response is too large"));
    }
    before.extend_from_slice(&part);
    Ok(true)
}

/// Reads a stream.
struct StreamReader<'a> {
    body: PacedBody,
    timeouts: &'a LlmTimeouts,
    models: &'a Arc<ModelList>,
    decoder: EventDecoder,
    documents: DocumentReader,
}

impl StreamReader<'_> {
    /// Reads a stream that begins with `start` and has been waited for since `began`.
    async fn read(
        &mut self,
        start: Vec<u8>,
        began: Instant,
        key: Option<&str>,
        accumulator: &mut ResponseAccumulator,
        sender: &ChunkSender,
    ) -> Result<(), LlmError> {
        let mut last_line = (0, began);
        let mut complete_since = None;
        if self.take(&start, key, accumulator, sender).await? == StreamState::Done {
            self.read_end().await;
            return Ok(());
        }
        loop {
            let now = Instant::now();
            if self.decoder.lines() > last_line.0 {
                last_line = (self.decoder.lines(), now);
            }
            // Comments, of which some servers send any number, do not extend this.
            complete_since = accumulator
                .is_complete()
                .then(|| complete_since.unwrap_or(now));
            let until = match complete_since {
                Some(since) => since + self.timeouts.trailer,
                None => last_line.1 + self.line_limit(),
            };
            if complete_since.is_some() && until <= now {
                return Ok(());
            }
            let part = match timeout_at(until, self.body.next()).await {
                Ok(Ok(part)) => part,
                // The reply is complete, so an error in the rest is ignored.
                _ if complete_since.is_some() => return Ok(()),
                Ok(Err(error)) => return Err(LlmError::interrupted(error)),
                Err(_elapsed) => return Err(LlmError::TimedOut),
            };
            let Some(part) = part else {
                if let Some(event) = self.decoder.finish() {
                    take_event(event, key, &mut self.documents, accumulator)?;
                    decide_thoughts(self.models, accumulator).await;
                }
                return Ok(());
            };
            if self.take(&part, key, accumulator, sender).await? == StreamState::Done {
                self.read_end().await;
                return Ok(());
            }
        }
    }

    /// The time limit of the next line.
    fn line_limit(&self) -> Duration {
        if self.decoder.lines() == 0 {
            self.timeouts.first_byte
        } else {
            self.timeouts.idle
        }
    }

    async fn take(
        &mut self,
        mut bytes: &[u8],
        key: Option<&str>,
        accumulator: &mut ResponseAccumulator,
        sender: &ChunkSender,
    ) -> Result<StreamState, LlmError> {
        // The text of all events that arrived together is sent at once, also before an error.
        let result = self.take_events(&mut bytes, key, accumulator);
        decide_thoughts(self.models, accumulator).await;
        if !accumulator.is_empty() {
            // Only the first piece must not wait.
            self.body.pace();
        }
        send_new(accumulator, sender).await;
        result
    }

    fn take_events(
        &mut self,
        bytes: &mut &[u8],
        key: Option<&str>,
        accumulator: &mut ResponseAccumulator,
    ) -> Result<StreamState, LlmError> {
        let too_large = |_| LlmError::Malformed("an event of the upstream's response is too large");
        while let Some(event) = self.decoder.decode(bytes).map_err(too_large)? {
            if take_event(event, key, &mut self.documents, accumulator)? == StreamState::Done {
                return Ok(StreamState::Done);
            }
        }
        Ok(StreamState::Open)
    }

    /// Reads to the end of the stream if it follows at once.
    async fn read_end(&mut self) {
        let end = async { while let Ok(Some(_)) = self.body.next().await {} };
        let _ = timeout(STREAM_END_GRACE, end).await;
    }
}

/// Adds an event to the response.
fn take_event(
    event: &[u8],
    key: Option<&str>,
    documents: &mut DocumentReader,
    accumulator: &mut ResponseAccumulator,
) -> Result<StreamState, LlmError> {
    match event.trim_ascii() {
        b"[DONE]" => Ok(StreamState::Done),
        // Some servers send empty events to keep the connection open.
        b"" => Ok(StreamState::Open),
        json => documents.push(json, key, accumulator),
    }
}
