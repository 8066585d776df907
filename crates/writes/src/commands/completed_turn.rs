//! A complete turn whose reply was computed before it was stored.

use domain::{EventType, Stamp, TurnStatus};
use ports::{Facts, FactsQuery, RepositoryError};

use super::{
    in_doubt,
    new_turn::{self, LastMessage, file_uses, turn_ids},
    turn_admission::{ConversationState, Rejection},
};
use crate::{Command, Committed, CompletedTurn, Planned, Planner, RecordTurnOutcome, Scope};

impl Command for CompletedTurn {
    type Outcome = RecordTurnOutcome;

    fn scope(&self) -> Scope {
        new_turn::scope(&self.begin)
    }

    fn needs(&self, query: &mut FactsQuery) {
        new_turn::needs(&self.begin, query);
    }

    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        new_turn::needs_more(&self.begin, facts, query);
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let begin = &self.begin;
        let event = |kind| {
            in_doubt::find(facts, &begin.tenant, kind, |event| {
                event.turn_id == Some(begin.turn_id)
            })
        };
        let started = event(EventType::TurnStarted)?;
        let completed = event(EventType::TurnCompleted)?;
        Some(RecordTurnOutcome::Recorded {
            committed: Committed {
                first: in_doubt::first_event(facts, begin, started),
                last: completed,
            },
            messages: in_doubt::stored_messages(facts, begin)?,
        })
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let facts = planner.facts;
        let state = match ConversationState::resolve(facts, &self.begin) {
            Ok(state) => state,
            Err(rejection) => return Ok(Planned::Rejected(rejection.into())),
        };
        state.check_user(&self.begin)?;
        if state.has_open_turns() || state.is_for_staff() {
            return Ok(Planned::Rejected(RecordTurnOutcome::Busy));
        }
        state.check(facts, &self.begin)?;
        if let Err(file) = file_uses(&self.begin).check(facts, self.begin.stamp.time) {
            return Ok(Planned::Rejected(RecordTurnOutcome::FileUnusable(file)));
        }
        Ok(Planned::Applied(write(planner, self, &state)))
    }
}

fn write(
    planner: &mut Planner<'_>,
    completed_turn: &CompletedTurn,
    state: &ConversationState<'_>,
) -> RecordTurnOutcome {
    let CompletedTurn {
        begin,
        reply,
        finished_at,
    } = completed_turn;
    let finished_at = (*finished_at).max(begin.stamp.time);
    let tenant = &begin.tenant;
    let finished = Stamp {
        time: finished_at,
        actor: begin.stamp.actor.clone(),
    };
    let first = planner.head(tenant).plus(1);
    let messages = state.messages(planner.facts, begin);
    let mut row = planner.start_turn(begin, state, &messages);
    let ids = turn_ids(begin, state);
    let last = planner.log_turn(tenant, &finished, EventType::TurnCompleted, ids);
    planner.push_message(
        tenant,
        reply.message(&row.turn, messages.reply_seq, finished_at),
    );
    row.reply_seq = Some(messages.reply_seq);
    row.turn.status = TurnStatus::Completed;
    row.turn.degraded = reply.degraded;
    row.turn.tool_calls.clone_from(&reply.tool_calls);
    row.turn.finished_at = Some(finished_at);
    planner.push_usage(&row, state.user_id(), &reply.requests, finished_at);
    planner.rows.turns.push(row);
    let after = LastMessage {
        seq: messages.reply_seq,
        content: Some((&reply.content, &[])),
        at: finished_at,
    };
    planner.write_conversation(begin, state, after);
    planner.push_record(
        &begin.tenant,
        begin.idempotency.clone(),
        Some(begin.turn_id),
    );
    RecordTurnOutcome::Recorded {
        committed: Committed { first, last },
        messages,
    }
}

impl From<Rejection> for RecordTurnOutcome {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Replayed(record) => Self::Replayed(*record),
            Rejection::AgentNotFound => Self::AgentNotFound,
            Rejection::ConversationNotFound => Self::ConversationNotFound,
        }
    }
}
