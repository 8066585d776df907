//! Sends the notices of subscriptions as frames.

use application::realtime::SerializedEvent;
use domain::EventType;
use kit::auth::{Authorized, EventsRead};
use ports::EventVisibility;

use super::{
    SendQueue, SendQueueFull,
    frames::{Channel, ServerFrame, UnsubscribeReason, encode, event_frame},
    live_replies::LiveReplies,
    subscriptions::Notice,
};

/// Sends notices as frames, and tracks which turns have live replies.
pub(super) struct NoticeSender<'a> {
    send_queue: &'a SendQueue,
    services: &'a Authorized<EventsRead>,
    live_replies: &'a mut LiveReplies,
    /// What the caller sees of events.
    visibility: &'a EventVisibility,
    /// The channels whose replay has ended.
    pub(super) caught_up: Vec<Channel>,
}

impl<'a> NoticeSender<'a> {
    pub(super) fn new(
        send_queue: &'a SendQueue,
        services: &'a Authorized<EventsRead>,
        live_replies: &'a mut LiveReplies,
        visibility: &'a EventVisibility,
    ) -> Self {
        Self {
            send_queue,
            services,
            live_replies,
            visibility,
            caught_up: Vec::new(),
        }
    }

    pub(super) fn send(&mut self, notice: &Notice<'_>) -> Result<(), SendQueueFull> {
        let frame = match *notice {
            Notice::Event(channels, event) => {
                let frame = event_frame(channels.iter().copied(), event.json(self.visibility));
                self.send_queue.push(frame)?;
                self.track_turn(event);
                return Ok(());
            }
            Notice::CaughtUp(channel, seq) => {
                self.caught_up.push(channel);
                ServerFrame::CaughtUp { channel, seq }
            }
            Notice::Resync {
                channel,
                first,
                head,
                reason,
            } => {
                self.caught_up.push(channel);
                ServerFrame::Resync {
                    channel,
                    first_seq: first,
                    head_seq: head,
                    reason,
                }
            }
            Notice::Deleted(channel) => ServerFrame::Unsubscribed {
                channel,
                reason: UnsubscribeReason::Deleted,
            },
        };
        self.send_queue.push(encode(&frame))
    }

    /// Follows a reply from the start of its turn to the end.
    fn track_turn(&mut self, event: &SerializedEvent) {
        let event = &event.logged.event;
        let Some(id) = event.turn_id else {
            return;
        };
        if event.kind.is_end_of_turn() {
            self.live_replies.end(id);
        } else if event.kind == EventType::TurnStarted {
            match self.services.live.get(id) {
                Some(turn) => self.live_replies.follow_from_start(&turn),
                None => self.live_replies.expect_remote(id),
            }
        }
    }
}
