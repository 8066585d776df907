//! Live text of running turns, for one socket.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use application::live_turns::{
    Interest, LiveTurn, Progress, RemoteTurnInbox, ReplyCursor, ReplyPiece, TurnSubject,
};
use domain::{Audience, TurnId, live::attempt_of};
use tokio::sync::Notify;

use super::{
    SendQueue, SendQueueFull,
    frames::{LiveEvent, ServerFrame, encode},
};

/// A text piece above this size is sent only when the queue is empty.
const LARGE_PIECE_BYTES: usize = 128 * 1024;

/// The maximum number of turns of which the start or the end is remembered. Their replies arrive
/// within milliseconds of the log.
const MAX_REMEMBERED: usize = 16;

/// The running replies that a socket follows.
pub(super) struct LiveReplies {
    /// Notified by every followed turn.
    wake: Arc<Notify>,
    followed: Vec<FollowedReply>,
    /// The turns of other nodes in the channels of the socket, until it follows them.
    remote: Arc<RemoteTurnInbox>,
    /// The newest turns whose start was sent before this node knew of their replies.
    started: VecDeque<TurnId>,
    /// The newest turns whose end was sent.
    ended: VecDeque<TurnId>,
}

/// A reply, and the part of it that was sent.
struct FollowedReply {
    turn: Weak<LiveTurn>,
    turn_id: TurnId,
    sent: ReplyCursor,
    /// True if a snapshot is sent next: the client joined in the middle of the reply.
    needs_snapshot: bool,
}

impl Default for LiveReplies {
    fn default() -> Self {
        let wake = Arc::new(Notify::new());
        Self {
            followed: Vec::new(),
            remote: Arc::new(RemoteTurnInbox::new(Arc::clone(&wake))),
            wake,
            started: VecDeque::new(),
            ended: VecDeque::new(),
        }
    }
}

impl LiveReplies {
    /// Returns the turns of other nodes in the channels of the socket.
    pub(super) const fn remote(&self) -> &Arc<RemoteTurnInbox> {
        &self.remote
    }

    /// Waits until more live data may be available.
    pub(super) async fn changed(&self) {
        self.wake.notified().await;
    }

    /// Follows a turn whose start was just sent, from the beginning of its text.
    pub(super) fn follow_from_start(&mut self, turn: &Arc<LiveTurn>) {
        self.follow(turn, false);
    }

    /// Follows a turn that is already running, and sends its reasoning and a snapshot of its text. `resend` also
    /// sends one if the turn is followed already.
    pub(super) fn join(&mut self, turn: &Arc<LiveTurn>, resend: bool) {
        let turn_id = turn.subject().turn_id;
        if let Some(it) = self.followed.iter_mut().find(|it| it.turn_id == turn_id) {
            it.needs_snapshot |= resend;
            if resend {
                it.sent.reread_reasoning();
            }
            return;
        }
        let has_started = turn.progress().started.is_some();
        // The start of a queued turn is sent as an event first.
        if has_started {
            self.follow(turn, true);
        }
    }

    /// Remembers a turn whose start was just sent, and which this node does not know yet.
    pub(super) fn expect_remote(&mut self, turn: TurnId) {
        remember(&mut self.started, turn);
    }

    /// Follows a turn of another node whose reply has begun to arrive: from the start if its start
    /// was sent by this socket, otherwise with a snapshot.
    pub(super) fn join_remote(&mut self, turn: &Arc<LiveTurn>) {
        let id = turn.subject().turn_id;
        // The log may have reached this socket before the rest of the node.
        if self.ended.contains(&id) {
            return;
        }
        if self.started.contains(&id) {
            self.follow_from_start(turn);
        } else {
            self.join(turn, false);
        }
    }

    /// Stops following a turn whose end was sent.
    pub(super) fn end(&mut self, turn: TurnId) {
        self.followed.retain(|it| it.turn_id != turn);
        self.started.retain(|it| *it != turn);
        remember(&mut self.ended, turn);
    }

    /// Keeps only the turns that the client may see.
    pub(super) fn retain(&mut self, is_visible: impl Fn(&TurnSubject) -> bool) {
        self.followed.retain(|it| {
            let turn = it.turn.upgrade();
            turn.is_some_and(|turn| is_visible(turn.subject()))
        });
    }

    fn follow(&mut self, turn: &Arc<LiveTurn>, needs_snapshot: bool) {
        let subject = turn.subject();
        let is_known = self.followed.iter().any(|it| it.turn_id == subject.turn_id);
        if is_known || turn.is_over() {
            return;
        }
        self.followed.push(FollowedReply {
            turn: Arc::downgrade(turn),
            turn_id: subject.turn_id,
            sent: ReplyCursor::default(),
            needs_snapshot,
        });
        turn.listen(&self.wake, Interest::Reply);
        // The turn does not report text that arrived before this call.
        self.wake.notify_one();
    }

    /// Sends the new live data of each reply as an audience sees it, as far as the queue has room.
    pub(super) fn send(
        &mut self,
        send_queue: &SendQueue,
        audience: Audience,
    ) -> Result<(), SendQueueFull> {
        let mut outcome = Ok(());
        self.followed.retain_mut(|it| {
            if outcome.is_err() {
                return false;
            }
            let sent = it.send(send_queue, audience);
            let may_continue = matches!(sent, Ok(true));
            outcome = sent.map(|_| ());
            may_continue
        });
        if self.followed.is_empty() {
            self.followed = Vec::new();
        }
        outcome
    }
}

/// Adds a turn, and drops the oldest if there are many.
fn remember(turns: &mut VecDeque<TurnId>, turn: TurnId) {
    if turns.len() == MAX_REMEMBERED {
        turns.pop_front();
    }
    turns.push_back(turn);
}

impl FollowedReply {
    /// Sends the new live data, and returns whether more may follow. Sends nothing while the queue
    /// is congested; once it is drained, all new text is sent as one piece.
    fn send(&mut self, send_queue: &SendQueue, audience: Audience) -> Result<bool, SendQueueFull> {
        let Some(turn) = self.turn.upgrade() else {
            return Ok(false);
        };
        loop {
            let has_ended = turn.is_over();
            let event = {
                let progress = turn.progress();
                if !self.needs_snapshot && self.sent.is_at_end_of(&progress) {
                    return Ok(!has_ended);
                }
                let is_large = self.sent.unread(&progress) > LARGE_PIECE_BYTES;
                if (is_large || send_queue.is_congested()) && !send_queue.request_empty() {
                    return Ok(!has_ended);
                }
                self.next(turn.subject(), &progress, audience)
            };
            let Some(event) = event else {
                return Ok(!has_ended);
            };
            send_queue.push(encode(&ServerFrame::Live { event }))?;
        }
    }

    /// The next live event.
    fn next(
        &mut self,
        subject: &TurnSubject,
        progress: &Progress,
        audience: Audience,
    ) -> Option<LiveEvent> {
        // A fallback engine may have restarted the reply.
        if self.needs_snapshot || self.sent.is_ahead_of(progress) {
            if let Some(delta) = self.sent.next_reasoning(subject, progress, audience) {
                return Some(LiveEvent::ReasoningDelta(delta));
            }
            self.needs_snapshot = false;
            let text = self.sent.catch_up(progress);
            return (!text.is_empty()).then(|| LiveEvent::ReplySnapshot {
                turn_id: subject.turn_id,
                conversation_id: subject.conversation_id,
                to: text.len(),
                text: text.to_owned(),
                attempt: attempt_of(progress.resumptions()),
            });
        }
        Some(match self.sent.next(subject, progress, audience)? {
            ReplyPiece::Reasoning(delta) => LiveEvent::ReasoningDelta(delta),
            ReplyPiece::Delta(delta) => LiveEvent::ReplyDelta(delta),
            ReplyPiece::ToolCalled(call) => LiveEvent::ToolCalled(call),
            ReplyPiece::ToolReturned(call) => LiveEvent::ToolReturned(call),
        })
    }
}
