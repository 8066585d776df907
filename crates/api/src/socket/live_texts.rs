//! Replies as they are spoken, to one socket.

use std::sync::{Arc, Weak};

use application::chat::{LiveTurn, Progress, ReplyCursor, ReplyPiece, TurnSubject};
use domain::TurnId;
use tokio::sync::Notify;

use super::{
    Outgoing, Overfull,
    frames::{LiveEvent, ServerFrame, encode},
};

/// More than so many bytes of text are told alone.
const MOST_AT_ONCE: usize = 128 * 1024;

/// The replies of which a socket is told while they are spoken.
#[derive(Default)]
pub(super) struct LiveTexts {
    /// Woken by every turn that is listened to.
    wake: Arc<Notify>,
    followed: Vec<FollowedReply>,
}

/// A reply, and how far the client has got it.
struct FollowedReply {
    turn: Weak<LiveTurn>,
    turn_id: TurnId,
    sent: ReplyCursor,
    /// Whether the whole text is told next: the client has come in its middle.
    is_to_be_told_all: bool,
}

impl LiveTexts {
    /// Waits until there may be more to tell.
    pub(super) async fn changed(&self) {
        self.wake.notified().await;
    }

    /// Listens to a turn of which the client has just been told that it has started: it is told
    /// the text from its beginning.
    pub(super) fn begin(&mut self, turn: &Arc<LiveTurn>) {
        self.listen(turn, false);
    }

    /// Listens to a turn in whose middle the client comes: if anything was said it is told all of
    /// it. `again` is whether also when it was told before.
    pub(super) fn join(&mut self, turn: &Arc<LiveTurn>, again: bool) {
        let known = turn.subject().turn_id;
        if let Some(it) = self.followed.iter_mut().find(|it| it.turn_id == known) {
            it.is_to_be_told_all |= again;
            return;
        }
        let has_begun = turn.progress().started.is_some();
        // What has not started is told of as an event first.
        if has_begun {
            self.listen(turn, true);
        }
    }

    /// Listens no longer: the client has been told how the turn ended.
    pub(super) fn end(&mut self, turn: TurnId) {
        self.followed.retain(|it| it.turn_id != turn);
    }

    /// Listens no longer to those of which the client is not to know.
    pub(super) fn keep(&mut self, is_for_it: impl Fn(&TurnSubject) -> bool) {
        self.followed.retain(|it| {
            let turn = it.turn.upgrade();
            turn.is_some_and(|turn| is_for_it(turn.subject()))
        });
    }

    fn listen(&mut self, turn: &Arc<LiveTurn>, is_to_be_told_all: bool) {
        let subject = turn.subject();
        let is_known = self.followed.iter().any(|it| it.turn_id == subject.turn_id);
        if is_known || turn.has_ended() {
            return;
        }
        self.followed.push(FollowedReply {
            turn: Arc::downgrade(turn),
            turn_id: subject.turn_id,
            sent: ReplyCursor::default(),
            is_to_be_told_all,
        });
        turn.listen(&self.wake);
        // What was said until now wakes nobody any more.
        self.wake.notify_one();
    }

    /// Tells what was said since the last time, of each reply what there is room for.
    pub(super) fn send(&mut self, outgoing: &Outgoing) -> Result<(), Overfull> {
        let mut outcome = Ok(());
        self.followed.retain_mut(|it| {
            if outcome.is_err() {
                return false;
            }
            let sent = it.send(outgoing);
            let is_to_go_on = matches!(sent, Ok(true));
            outcome = sent.map(|_| ());
            is_to_go_on
        });
        if self.followed.is_empty() {
            self.followed = Vec::new();
        }
        outcome
    }
}

impl FollowedReply {
    /// Tells what there is room for; answers whether there may be more. While much waits to be
    /// sent nothing is told; once all of that was taken, what was said meanwhile comes as one
    /// piece.
    fn send(&mut self, outgoing: &Outgoing) -> Result<bool, Overfull> {
        let Some(turn) = self.turn.upgrade() else {
            return Ok(false);
        };
        loop {
            let (event, has_ended) = {
                let progress = turn.progress();
                let has_ended = progress.outcome.is_some();
                if !self.is_to_be_told_all && self.sent.is_at_end_of(&progress) {
                    return Ok(!has_ended);
                }
                let is_much = self.sent.untold(&progress) > MOST_AT_ONCE;
                if (is_much || outgoing.is_congested()) && !outgoing.is_drained_or_notifies() {
                    return Ok(!has_ended);
                }
                (self.next(turn.subject(), &progress), has_ended)
            };
            let Some(event) = event else {
                return Ok(!has_ended);
            };
            outgoing.push(encode(&ServerFrame::Live { event }))?;
        }
    }

    /// What is to be told of a turn that has come so far.
    fn next(&mut self, subject: &TurnSubject, progress: &Progress) -> Option<LiveEvent> {
        // Another engine may have begun anew.
        if std::mem::take(&mut self.is_to_be_told_all) || self.sent.is_ahead_of(progress) {
            let text = self.sent.catch_up(progress);
            return (!text.is_empty()).then(|| LiveEvent::ReplySnapshot {
                turn_id: subject.turn_id,
                conversation_id: subject.conversation_id,
                to: text.len(),
                text: text.to_owned(),
            });
        }
        Some(match self.sent.next(subject, progress)? {
            ReplyPiece::Delta(delta) => LiveEvent::ReplyDelta(delta),
            ReplyPiece::ToolCalled(call) => LiveEvent::ToolCalled(call),
            ReplyPiece::ToolReturned(call) => LiveEvent::ToolReturned(call),
        })
    }
}
