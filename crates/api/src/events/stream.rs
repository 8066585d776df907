//! The log as a stream of server-sent events.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use actix_web::{HttpRequest, HttpResponse, http::header::HeaderName, web::Data};
use application::{
    access::EntrantWatch,
    events::EventListing,
    realtime::{FedEvent, Followed, Follower},
};
use domain::Seq;
use futures::{Stream, StreamExt as _, stream};
use metrics::Gauge;
use ports::{IdSource, StreamSlot};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use crate::{
    access::{Authorized, EventsRead, open_stream},
    connection::Progress,
    problem::ApiError,
    reads,
    request::unsigned,
    sse::{self, Event, Frame},
    state::ApiState,
};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Clients that lost their connection at the same moment come back in this time, not all at once.
const RECONNECT: std::ops::Range<u16> = 1_000..3_000;

/// `resync`: the log does not reach to where the client was, so that events were missed. Read
/// anew what you show; the stream goes on from `headSeq`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resync {
    /// The oldest event still there.
    first_seq: Seq,
    /// The newest event, from which the stream goes on.
    head_seq: Seq,
}

/// What an event of the stream carries, by its type.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum LogEvent {
    /// Of every type of the log.
    Event(Box<domain::Event>),
    /// Of `resync`.
    Resync(Resync),
}

/// Answers with a stream that lasts until its client leaves, its credential is over, or the
/// server goes away.
pub(super) async fn answer(
    authorized: &Authorized<EventsRead>,
    state: &Data<ApiState>,
    request: &HttpRequest,
    listing: EventListing,
) -> Result<HttpResponse, ApiError> {
    let listing = EventListing {
        since: last_event_id(request)?.or(listing.since),
        ..listing
    };
    let slot = open_stream(&state.limits, authorized.entrant()).await?;
    let follower = authorized
        .events
        .follow(authorized.caller(), listing)
        .await?;
    let position = follower.position_in_log();
    let entrant = Arc::clone(authorized.entrant());
    let watch = Arc::clone(&state.authenticator).watch_over(entrant);
    let end = over(watch, state.closing.clone(), Progress::of(request).left());
    let begin = Frame::Reconnect {
        after: reconnect_after(&*state.ids),
        from: position,
    };
    let frames = stream::iter([begin]).chain(frames(follower, slot));
    let mut response = sse::stream(frames.take_until(Box::pin(end)));
    let (name, value) = reads::position(position);
    response.headers_mut().insert(name, value.into());
    Ok(response)
}

/// Where a client that reconnects goes on.
fn last_event_id(request: &HttpRequest) -> Result<Option<Seq>, ApiError> {
    let mut values = request.headers().get_all(LAST_EVENT_ID);
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let text = value.to_str().ok().and_then(unsigned);
    let seq = text.and_then(|text| text.parse().ok());
    match seq {
        Some(seq) if seq >= 0 && values.next().is_none() => Ok(Some(Seq(seq))),
        _ => Err(ApiError::header(
            "Last-Event-ID",
            "the id of the last event that was received: a whole number, at least 0",
        )),
    }
}

/// Waits until the stream must end.
async fn over(mut watch: EntrantWatch, closing: CancellationToken, left: impl Future<Output = ()>) {
    tokio::select! {
        _ = watch.over() => {}
        () = closing.cancelled() => {}
        () = left => {}
    }
}

fn reconnect_after(ids: &dyn IdSource) -> Duration {
    let mut random = [0; 2];
    ids.fill_random(&mut random);
    let spread = u16::from_be_bytes(random) % (RECONNECT.end - RECONNECT.start);
    Duration::from_millis(u64::from(RECONNECT.start + spread))
}

/// A stream while it is open.
struct Open {
    follower: Follower,
    /// What was read and not taken yet: one page at the most.
    ready: VecDeque<Frame>,
    _slot: Option<StreamSlot>,
    _counted: Counted,
}

/// Counts among the open streams until it is dropped.
struct Counted(Gauge);

impl Counted {
    fn new() -> Self {
        let gauge = metrics::gauge!("open_streams", "of" => "events");
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// What the follower comes by. It is asked for more when all was taken.
fn frames(follower: Follower, slot: Option<StreamSlot>) -> impl Stream<Item = Frame> {
    let open = Open {
        follower,
        ready: VecDeque::new(),
        _slot: slot,
        _counted: Counted::new(),
    };
    stream::unfold(open, async |mut open| {
        loop {
            if let Some(frame) = open.ready.pop_front() {
                return Some((frame, open));
            }
            match open.follower.next().await {
                Ok(Followed::Events(events)) => {
                    open.ready = events
                        .iter()
                        .map(|event| Frame::Event(shown(event)))
                        .collect();
                }
                Ok(Followed::Position(position)) => return Some((Frame::Position(position), open)),
                Ok(Followed::Missed { first, head }) => {
                    return Some((Frame::Event(resync(first, head)), open));
                }
                Err(error) => {
                    // The client comes back, and goes on where it was.
                    tracing::warn!(
                        error = ports::error::chain(&error),
                        "a stream of events ends: the log cannot be read"
                    );
                    return None;
                }
            }
        }
    })
}

fn shown(event: &FedEvent) -> Event {
    Event {
        id: Some(event.seq()),
        name: event.logged.event.kind.as_str(),
        data: Arc::clone(&event.json),
    }
}

fn resync(first_seq: Seq, head_seq: Seq) -> Event {
    let resync = Resync {
        first_seq,
        head_seq,
    };
    Event {
        id: Some(head_seq),
        name: "resync",
        // Two numbers: serializing cannot fail.
        data: serde_json::to_string(&resync).unwrap_or_default().into(),
    }
}
