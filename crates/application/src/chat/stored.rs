//! What a stored turn says of how far it has come.

use domain::{ChatReply, Problem, ProblemCode, Turn, TurnStarted, TurnStatus};
use ports::FoundTurn;

use super::{
    command::Chatted,
    live_turn::{LiveTurn, TurnOutcome, TurnSubject},
};

/// Which turn it is.
pub(super) fn subject_of(tenant: &domain::TenantId, found: &FoundTurn) -> TurnSubject {
    TurnSubject {
        tenant: tenant.clone(),
        turn_id: found.turn.id,
        conversation_id: found.turn.conversation_id,
        agent_id: found.turn.agent_id,
        user_id: found.user_id.clone(),
        asker: found.principal.clone(),
        request_id: None,
    }
}

/// Lets those who wait for a turn that does not run here see how far it has come: its text as one
/// piece, once it is there.
pub(super) fn tell(live: &LiveTurn, found: FoundTurn) {
    let FoundTurn {
        turn, message_id, ..
    } = found;
    if turn.status == TurnStatus::Queued {
        live.queued();
        return;
    }
    if let (Some(agent_version), Some(_)) = (turn.agent_version, turn.started_at) {
        let started = TurnStarted {
            turn_id: turn.id,
            conversation_id: turn.conversation_id,
            message_id,
            agent_id: turn.agent_id,
            agent_version,
        };
        live.started(started);
    }
    if let Some(reply) = &turn.reply {
        live.progress().said.text.clone_from(&reply.content);
    }
    if let Some(outcome) = outcome_of(turn) {
        live.end(outcome);
    }
}

/// How a stored turn ended; none while it has not.
pub(super) fn outcome_of(turn: Turn) -> Option<TurnOutcome> {
    Some(match turn.status {
        TurnStatus::Queued | TurnStatus::InProgress => return None,
        TurnStatus::Cancelled => TurnOutcome::Cancelled,
        TurnStatus::Failed => TurnOutcome::Failed(failure(turn)),
        TurnStatus::Completed => match chat_reply_of(turn) {
            Some(reply) => TurnOutcome::Completed(Chatted::replayed(reply)),
            None => TurnOutcome::Failed(Problem::new(ProblemCode::Internal)),
        },
    })
}

fn failure(turn: Turn) -> Problem {
    turn.error
        .unwrap_or_else(|| Problem::new(ProblemCode::Internal))
}

fn chat_reply_of(turn: Turn) -> Option<ChatReply> {
    let reply = turn.reply?;
    Some(ChatReply {
        message: reply.content,
        conversation_id: turn.conversation_id,
        turn_id: turn.id,
        message_id: reply.id,
        agent_id: turn.agent_id,
        agent_version: turn.agent_version?,
        engine: turn.engine.or(reply.engine)?,
        degraded: turn.degraded,
        finish_reason: turn.finish_reason.or(reply.finish_reason)?,
        usage: turn.usage,
        created_at: reply.created_at,
    })
}
