//! Sends the notices of subscriptions as frames.

use application::{live_turns::TurnSubject, realtime::SerializedEvent};
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
    /// The channels whose running replies are to be followed: their replay has ended, or they are
    /// conversations that have moved to the caller.
    pub(super) to_join: Vec<Channel>,
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
            to_join: Vec::new(),
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
            Notice::Moved(event) => {
                self.move_replies(event);
                return Ok(());
            }
            Notice::CaughtUp(channel, seq) => {
                self.to_join.push(channel);
                ServerFrame::CaughtUp { channel, seq }
            }
            Notice::Resync {
                channel,
                first,
                head,
                reason,
            } => {
                self.to_join.push(channel);
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

    /// Stops following the replies of a conversation that belongs to another user now, or joins those of one
    /// that belongs to the caller now.
    fn move_replies(&mut self, event: &SerializedEvent) {
        let (event, is_moved_away) = (
            &event.logged.event,
            self.visibility.is_moved_away(&event.logged),
        );
        let Some(id) = event.conversation_id else {
            return;
        };
        let (key, user_id) = ((event.tenant_id.clone(), id), event.user_id.as_deref());
        self.services.live.apply_move(&key, user_id, event.seq);
        if is_moved_away {
            let is_other = |subject: &TurnSubject| subject.conversation_id != id;
            self.live_replies.retain(is_other);
        } else if self.visibility.user_id.is_some() {
            self.to_join.push(Channel::Conversation(id));
        }
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
