//! The log as a stream of server-sent events.

use std::{sync::Arc, time::Duration, vec};

use access::CredentialWatch;
use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::{
    events::EventListing,
    realtime::{Follower, LogUpdate, SerializedEvent},
};
use domain::Seq;
use futures::{Stream, StreamExt as _, stream};
use kit::{
    auth::{Authorized, EventsRead},
    problem::ApiError,
    reads,
    sse::{self, Events, Frame},
    state::HttpState,
};
use metrics::Gauge;
use ports::{EventVisibility, IdSource, StreamSlot};
use serde::Serialize;
use server::ConnectionState;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

/// The delay in milliseconds after which clients reconnect: random, so that clients that were
/// disconnected together do not return together.
const RECONNECT: std::ops::Range<u16> = 1_000..3_000;

/// The data of `resync`: events after the client's position are no longer in the log, so the client
/// has missed some. Read again what you show; the stream continues from `headSeq`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resync {
    /// The `seq` of the oldest event in the log.
    first_seq: Seq,
    /// The `seq` of the newest event, after which the stream continues.
    head_seq: Seq,
}

/// The data of an event in the stream, by its type.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum LogEvent {
    /// The data of every event of the log.
    Event(Box<domain::Event>),
    /// The data of `resync`.
    Resync(Resync),
}

/// Returns a stream that lasts until the client disconnects, its credential expires or is revoked,
/// or the server shuts down.
pub(super) async fn respond(
    authorized: &Authorized<EventsRead>,
    state: &Data<HttpState>,
    request: &HttpRequest,
    listing: EventListing,
) -> Result<HttpResponse, ApiError> {
    let listing = EventListing {
        since: sse::last_event_id(request)?.or(listing.since),
        ..listing
    };
    let slot = authorized.open_stream(state).await?;
    let follower = authorized
        .events
        .follow(authorized.caller(), listing)
        .await?;
    let position = follower.position_in_log();
    let end = wait_for_end(
        authorized.watch_credential(state),
        state.closing.clone(),
        ConnectionState::of(request).client_closed(),
    );
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

/// Waits until the stream must end.
async fn wait_for_end(
    mut watch: CredentialWatch,
    closing: CancellationToken,
    client_closed: impl Future<Output = ()>,
) {
    tokio::select! {
        _ = watch.ended() => {}
        () = closing.cancelled() => {}
        () = client_closed => {}
    }
}

fn reconnect_after(ids: &dyn IdSource) -> Duration {
    let mut random = [0; 2];
    ids.fill_random(&mut random);
    let spread = u16::from_be_bytes(random) % (RECONNECT.end - RECONNECT.start);
    Duration::from_millis(u64::from(RECONNECT.start + spread))
}

/// The state of an open stream.
struct OpenStream {
    follower: Follower,
    /// Events that were read and not sent yet: at most one page.
    ready: vec::IntoIter<Arc<SerializedEvent>>,
    _slot: Option<StreamSlot>,
    _gauge: OpenStreamGauge,
}

/// Counts one open stream in the metrics until it is dropped.
struct OpenStreamGauge(Gauge);

impl OpenStreamGauge {
    fn new() -> Self {
        let gauge = metrics::gauge!("open_streams", "of" => "events");
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for OpenStreamGauge {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// Returns the frames of a stream. Reads the next page only after the client has received the
/// previous one.
fn frames(follower: Follower, slot: Option<StreamSlot>) -> impl Stream<Item = Frame> {
    let open = OpenStream {
        follower,
        ready: Vec::new().into_iter(),
        _slot: slot,
        _gauge: OpenStreamGauge::new(),
    };
    stream::unfold(open, async |mut open| {
        loop {
            if let Some(event) = open.ready.next() {
                let frame = event_frame(&event, open.follower.visibility());
                return Some((frame, open));
            }
            match open.follower.next().await {
                Ok(LogUpdate::Events(events)) => open.ready = events.into_iter(),
                Ok(LogUpdate::Position(position)) => {
                    return Some((Frame::Position(position), open));
                }
                Ok(LogUpdate::Missed { first, head }) => {
                    return Some((resync(first, head), open));
                }
                Err(error) => {
                    // The client reconnects and continues after its last event.
                    tracing::warn!(
                        error = ports::error::one_line(&error),
                        "event log cannot be read; ending the event stream"
                    );
                    return None;
                }
            }
        }
    })
}

fn event_frame(event: &SerializedEvent, visibility: &EventVisibility) -> Frame {
    let mut events = Events::default();
    let name = visibility.seen_type(&event.logged).text();
    events.push_json(&name, event.seq().0, event.json(visibility));
    events.into()
}

fn resync(first_seq: Seq, head_seq: Seq) -> Frame {
    let resync = Resync {
        first_seq,
        head_seq,
    };
    let mut events = Events::default();
    events.push(Some("resync"), Some(head_seq.0), &resync);
    events.into()
}
