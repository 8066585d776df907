//! The stream in which a server tells what nobody asked for. The SDK asks for it anew whenever it
//! ends: as soon as the server wants, at once after an error, and for ever.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{StreamExt as _, future::ready, stream::BoxStream};
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::Sse;
use tokio::time::Instant;

use crate::nesting::prune_event;

/// The shortest that is waited before a stream is asked for anew, whatever the server says.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// A stream of which that long nothing is heard has been worth asking for, all the same.
const LASTING: Duration = Duration::from_secs(30);

/// How often in a row it is asked for anew in vain. Without it, changes are found when the list is
/// asked for the next time.
const MOST_IN_VAIN: u32 = 5;

type Events = BoxStream<'static, Result<Sse, SseError>>;

/// How the streams of one session have ended so far.
#[derive(Clone, Default)]
pub(super) struct Listening(Arc<Mutex<Past>>);

#[derive(Default)]
struct Past {
    /// By which it is asked for anew; streams that answer requests have others.
    last_event: Option<String>,
    asked: Option<Instant>,
    in_vain: u32,
}

impl Listening {
    /// Whether what is to go on behind this event is the stream that answers no request.
    pub(super) fn is_it(&self, last_event: Option<&str>) -> bool {
        last_event.is_none() || last_event == self.past().last_event.as_deref()
    }

    /// How long to wait before it is asked for; none when it is not asked for any more.
    pub(super) fn pause(&self) -> Option<Duration> {
        let mut past = self.past();
        let now = Instant::now();
        let is_repeated = past.asked.is_some_and(|asked| now - asked < LASTING);
        past.in_vain = if is_repeated { past.in_vain + 1 } else { 0 };
        if past.in_vain > MOST_IN_VAIN {
            tracing::debug!("a server of tools ends its stream each time: nobody listens any more");
            return None;
        }
        let pause = match past.in_vain {
            0 => Duration::ZERO,
            times => SHORTEST_WAIT * 2_u32.pow(times - 1),
        };
        past.asked = Some(now + pause);
        Some(pause)
    }

    /// The stream, from which we learn whether it was worth asking for.
    pub(super) fn watched(&self, events: Events) -> Events {
        let listening = self.clone();
        let watched = events.inspect(move |event| {
            if let Ok(event) = event {
                listening.hear(event);
            }
        });
        watched.boxed()
    }

    fn hear(&self, event: &Sse) {
        let mut past = self.past();
        if event.id.is_some() {
            past.last_event.clone_from(&event.id);
        }
        if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
            past.in_vain = 0;
        }
    }

    fn past(&self) -> MutexGuard<'_, Past> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The event, with which a server has nobody come back too soon.
pub(super) fn patient(mut event: Sse) -> Sse {
    let shortest = u64::try_from(SHORTEST_WAIT.as_millis()).unwrap_or(u64::MAX);
    event.retry = event.retry.map(|wait| wait.max(shortest));
    event
}

/// The stream that goes on with another. It ends where it breaks off: after an error, nobody waits.
pub(super) fn resumed(events: Events) -> Events {
    let accepted = |event| prune_event(patient(event));
    let events = events.scan((), move |(), event| ready(event.ok().map(accepted).map(Ok)));
    events.boxed()
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use tokio::time::{advance, sleep};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// What becomes of a stream with these events, after the pause before.
    async fn ask(listening: &Listening, events: Vec<Sse>) -> Option<Duration> {
        let pause = listening.pause()?;
        sleep(pause).await;
        let events = stream::iter(events.into_iter().map(Ok)).boxed();
        listening.watched(events).collect::<Vec<_>>().await;
        Some(pause)
    }

    #[tokio::test(start_paused = true)]
    async fn who_ends_it_again_and_again_is_asked_less_often_and_then_no_more() {
        let listening = Listening::default();
        for seconds in [0, 1, 2, 4, 8, 16] {
            assert_eq!(ask(&listening, Vec::new()).await, Some(seconds * SECOND));
            advance(SECOND).await;
        }
        assert_eq!(ask(&listening, Vec::new()).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn who_tells_something_or_listens_for_long_is_asked_again() {
        let listening = Listening::default();
        for times in 0..20 {
            let told = vec![Sse::default().data("{}")];
            let expected = SECOND * u32::from(times > 0);
            assert_eq!(ask(&listening, told).await, Some(expected));
        }
        for _ in 0..20 {
            advance(LASTING).await;
            assert_eq!(ask(&listening, Vec::new()).await, Some(Duration::ZERO));
        }
    }

    #[tokio::test]
    async fn is_told_from_streams_that_answer_requests() {
        let listening = Listening::default();
        assert!(listening.is_it(None));
        assert!(!listening.is_it(Some("1")));
        listening.hear(&Sse::default().id("1"));
        listening.hear(&Sse::default().data("{}"));
        assert!(listening.is_it(Some("1")));
        assert!(!listening.is_it(Some("2")));
    }

    #[tokio::test]
    async fn nobody_is_hurried_nor_told_of_errors() {
        let hasty = Sse {
            retry: Some(0),
            ..Sse::default()
        };
        let slow = Sse {
            retry: Some(60_000),
            ..Sse::default()
        };
        let error = SseError::Body("broken off".into());
        let events = stream::iter([Ok(hasty), Ok(slow), Err(error), Ok(Sse::default())]);
        let events: Vec<_> = resumed(events.boxed()).collect().await;
        let waits: Vec<_> = events
            .into_iter()
            .map(|event| event.expect("no error").retry)
            .collect();
        assert_eq!(waits, [Some(1_000), Some(60_000)]);
    }
}
