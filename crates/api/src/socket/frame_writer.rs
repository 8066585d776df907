//! From notices to the frames that bring them.

use application::realtime::FedEvent;
use domain::EventType;

use super::{
    Outgoing, Overfull,
    frames::{Channel, ServerFrame, UnsubscribeReason, encode, event_frame},
    live_texts::LiveTexts,
    subscriptions::Notice,
};
use crate::access::{Authorized, EventsRead};

/// Makes frames of notices, and sends them.
pub(super) struct FrameWriter<'a> {
    outgoing: &'a Outgoing,
    services: &'a Authorized<EventsRead>,
    texts: &'a mut LiveTexts,
    /// Channels that have come to the present.
    pub(super) present: Vec<Channel>,
}

impl<'a> FrameWriter<'a> {
    pub(super) fn new(
        outgoing: &'a Outgoing,
        services: &'a Authorized<EventsRead>,
        texts: &'a mut LiveTexts,
    ) -> Self {
        Self {
            outgoing,
            services,
            texts,
            present: Vec::new(),
        }
    }

    pub(super) fn send(&mut self, notice: &Notice<'_>) -> Result<(), Overfull> {
        let frame = match *notice {
            Notice::Event(channels, event) => {
                let frame = event_frame(channels.iter().copied(), &event.json);
                self.outgoing.push(frame)?;
                self.note(event);
                return Ok(());
            }
            Notice::CaughtUp(channel, seq) => {
                self.present.push(channel);
                ServerFrame::CaughtUp { channel, seq }
            }
            Notice::Resync {
                channel,
                first,
                head,
                reason,
            } => {
                self.present.push(channel);
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
        self.outgoing.push(encode(&frame))
    }

    /// Between the start of a turn and its end its text is told.
    fn note(&mut self, event: &FedEvent) {
        let event = &event.logged.event;
        let Some(id) = event.turn_id else {
            return;
        };
        if event.kind.is_end_of_turn() {
            self.texts.end(id);
        } else if event.kind == EventType::TurnStarted
            && let Some(turn) = self.services.live.get(id)
        {
            self.texts.begin(&turn);
        }
    }
}
