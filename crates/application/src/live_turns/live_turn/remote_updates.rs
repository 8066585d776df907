//! Updates of a turn from the store and from other nodes, and the report of its start to them.

use std::{cmp::Ordering, sync::Arc};

use domain::{MessageId, Turn, TurnStarted, TurnStatus};
use ports::{FoundTurn, ReplyPart};

use super::LiveTurn;
use crate::{
    engines::{PartialReply, ReplySink as _},
    live_turns::{progress::TurnOutcome, reply_readers::ReaderGuard},
};

impl LiveTurn {
    /// Reports the start to the forwarder of live replies.
    pub(crate) fn report_start(self: &Arc<Self>) {
        if let Some(turns) = self.turns.upgrade() {
            turns.starts.report(self);
        }
    }

    /// Applies the state of the turn that was read from the store: the text of a turn that runs in
    /// another process arrives as one piece, once its reply is stored.
    pub(crate) fn apply_stored(&self, found: FoundTurn) {
        let FoundTurn {
            turn,
            message_id,
            reply_id,
            ..
        } = found;
        if turn.status == TurnStatus::Queued {
            self.mark_queued();
            return;
        }
        if let (Some(agent_version), Some(_)) = (turn.agent_version, turn.started_at) {
            self.mark_started(TurnStarted {
                turn_id: turn.id,
                conversation_id: Some(turn.conversation_id),
                message_id,
                // A turn of an earlier version gets the id with its reply.
                reply_id: turn.may_have_reply().then(|| {
                    reply_id
                        .or(turn.reply.as_ref().map(|reply| reply.id))
                        .unwrap_or(MessageId::new(turn.id.uuid()))
                }),
                agent_id: turn.agent_id,
                agent_version,
                continues: turn.continues.clone(),
            });
        }
        self.take_stored_reply(&turn);
        if let Some(outcome) = TurnOutcome::of_stored(turn) {
            self.end(outcome);
        }
    }

    /// Takes the reply and the reasoning that another process has stored at the end of the turn, for readers that have received
    /// another one. A cancelled turn has a part of what they have received.
    pub(crate) fn take_stored_reply(&self, turn: &Turn) {
        let mut progress = self.progress();
        if let Some(reply) = &turn.reply {
            let (text, calls) = (reply.content.clone(), turn.tool_calls.clone());
            if turn.status == TurnStatus::Cancelled {
                progress.reply.complete_with(text, calls);
            } else {
                progress.reply.become_stored(text, calls);
            }
        } else if turn.reasoning.is_none() {
            return;
        }
        progress.reply.take_stored_reasoning(turn.reasoning.clone());
        drop(progress);
        self.notify();
    }

    /// Applies a part of the reply that the node that runs the turn has sent. Returns false if the
    /// parts before it are missing.
    #[must_use]
    pub(crate) fn apply_part(&self, part: ReplyPart, resumptions: u32) -> bool {
        let mut progress = self.progress();
        if progress.local_node.is_some() || progress.outcome.is_some() {
            return true;
        }
        match resumptions.cmp(&progress.reply.resumptions) {
            Ordering::Less => return true,
            Ordering::Equal => {}
            Ordering::Greater => {
                progress.reply = PartialReply::of_resumption(resumptions);
            }
        }
        let fits = progress.reply.push_part(part);
        drop(progress);
        self.notify();
        fits
    }

    /// Follows the reply if another node runs the turn, for as long as the result is held.
    pub(crate) fn follow_if_remote(&self) -> Option<ReaderGuard> {
        let progress = self.progress();
        if progress.local_node.is_some() || progress.outcome.is_some() {
            return None;
        }
        drop(progress);
        let turns = self.turns.upgrade()?;
        let conversation = self.subject.stored_conversation()?;
        Some(
            turns
                .readers
                .follow(&self.subject.tenant, Some(conversation), None),
        )
    }
}
