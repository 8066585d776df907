//! The running replies that a subscriber follows.

use super::{Subscriber, is_turn_visible};
use crate::{SendQueue, SendQueueFull, frames::Channel};

impl Subscriber {
    /// Sends snapshots of the running replies that were not visible before.
    pub(crate) fn join_newly_visible(
        &mut self,
        send_queue: &SendQueue,
    ) -> Result<(), SendQueueFull> {
        let channels: Vec<_> = self.subscriptions.live_channels().collect();
        self.join(&channels, false, send_queue)
    }

    /// Sends snapshots of the running replies in `channels`. `resend` also repeats those that are
    /// followed already.
    pub(crate) fn join(
        &mut self,
        channels: &[Channel],
        resend: bool,
        send_queue: &SendQueue,
    ) -> Result<(), SendQueueFull> {
        if channels.is_empty() {
            return Ok(());
        }
        let (tenant, visibility) = (self.tail.tenant(), &self.visibility);
        let turns = self.services.live.matching(|subject| {
            subject.tenant == *tenant
                && channels.iter().any(|it| it.matches_turn(subject))
                && is_turn_visible(visibility, subject)
        });
        for turn in turns {
            self.live_replies.join(&turn, resend);
        }
        self.live_replies.send(send_queue, self.visibility.audience)
    }

    /// Follows the replies of other nodes that have begun to arrive, once the starts of their turns
    /// were sent. Returns whether there were any.
    pub(super) fn join_remote(&mut self) -> bool {
        let Some(position) = self.subscriptions.live_position() else {
            return false;
        };
        let turns = self.live_replies.remote().take_up_to(position);
        for turn in &turns {
            let subject = turn.subject();
            let mut channels = self.subscriptions.live_channels();
            if channels.any(|it| it.matches_turn(subject))
                && is_turn_visible(&self.visibility, subject)
            {
                self.live_replies.join_remote(turn);
            }
        }
        !turns.is_empty()
    }

    /// Sends new live data of the followed replies.
    pub(crate) fn send_live_replies(
        &mut self,
        send_queue: &SendQueue,
    ) -> Result<(), SendQueueFull> {
        self.join_remote();
        self.live_replies.send(send_queue, self.visibility.audience)
    }
}
