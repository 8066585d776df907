//! The start of a turn, which runs at once or is queued.

use domain::{EventType, Turn, admission::Admission};
use ports::{Facts, FactsQuery, RepositoryError};

use super::{
    in_doubt,
    new_turn::{self, LastMessage, file_uses, turn_ids, turn_row},
    turn_admission::{ConversationState, Rejection},
};
use crate::{BeginOutcome, BeginTurn, Command, Committed, Planned, Planner, Scope};

impl Command for BeginTurn {
    type Outcome = BeginOutcome;

    fn scope(&self) -> Scope {
        new_turn::scope(self)
    }

    fn starts_a_turn(&self) -> bool {
        true
    }

    fn needs(&self, query: &mut FactsQuery) {
        new_turn::needs(self, query);
        query.nodes.insert(self.node);
    }

    fn needs_more(&self, facts: &Facts, query: &mut FactsQuery) {
        new_turn::needs_more(self, facts, query);
    }

    /// A turn that was queued first is reported as queued, even if it has started since.
    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let event = |kind| {
            in_doubt::find(facts, &self.tenant, kind, |event| {
                event.turn_id == Some(self.turn_id)
            })
        };
        if let Some(queued) = event(EventType::TurnQueued) {
            return Some(BeginOutcome::Queued(Committed::at(queued)));
        }
        let started = event(EventType::TurnStarted)?;
        Some(BeginOutcome::Started {
            committed: Committed {
                first: in_doubt::first_event(facts, self, started),
                last: started,
            },
            messages: in_doubt::stored_messages(facts, self)?,
        })
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let facts = planner.facts;
        let state = match ConversationState::resolve(facts, self) {
            Ok(state) => state,
            Err(rejection) => return Ok(Planned::Rejected(rejection.into())),
        };
        state.check_user(self)?;
        if !facts.live_nodes.contains(&self.node) {
            return Ok(Planned::Rejected(BeginOutcome::NodeDead));
        }
        match state.admit(self) {
            Admission::Start => {
                state.check(facts, self)?;
                Ok(self.unless_unusable(facts, || start(planner, self, &state)))
            }
            Admission::Queue => Ok(self.unless_unusable(facts, || queue(planner, self, &state))),
            Admission::Busy if state.is_waiting() => {
                Ok(Planned::Rejected(BeginOutcome::ActionRequired))
            }
            Admission::Busy => Ok(Planned::Rejected(BeginOutcome::Busy)),
        }
    }
}

impl BeginTurn {
    /// Begins the turn, unless it cannot have one of its files.
    fn unless_unusable(
        &self,
        facts: &Facts,
        begin: impl FnOnce() -> BeginOutcome,
    ) -> Planned<BeginOutcome> {
        match file_uses(self).check(facts, self.stamp.time) {
            Ok(()) => Planned::Applied(begin()),
            Err(file) => Planned::Rejected(BeginOutcome::FileUnusable(file)),
        }
    }
}

fn start(
    planner: &mut Planner<'_>,
    begin: &BeginTurn,
    state: &ConversationState<'_>,
) -> BeginOutcome {
    let first = planner.head(&begin.tenant).plus(1);
    if state.dismisses(begin) {
        planner.dismiss(begin, state);
    }
    let messages = state.messages(planner.facts, begin);
    let mut row = planner.start_turn(begin, state, &messages);
    let has_message = row.turn.has_message();
    row.node = Some(begin.node);
    let last = planner.head(&begin.tenant);
    planner.rows.turns.push(row);
    let after = LastMessage {
        seq: if has_message {
            messages.message.seq.max(state.last_message_seq())
        } else {
            state.last_message_seq()
        },
        content: has_message.then_some((&begin.input, &begin.files)),
        at: begin.stamp.time,
    };
    planner.write_conversation(begin, state, after);
    planner.push_record(
        &begin.tenant,
        begin.idempotency.clone(),
        Some(begin.turn_id),
    );
    BeginOutcome::Started {
        committed: Committed { first, last },
        messages,
    }
}

/// Queues a turn. It adds no message. The version of the agent that will reply is not known yet.
fn queue(
    planner: &mut Planner<'_>,
    begin: &BeginTurn,
    state: &ConversationState<'_>,
) -> BeginOutcome {
    let queued = planner.log_turn(
        &begin.tenant,
        &begin.stamp,
        EventType::TurnQueued,
        turn_ids(begin, state),
    );
    let turn = Turn {
        retry_of: state.repeated_turn(planner.facts, begin),
        ..begin.queued()
    };
    let mut row = turn_row(begin, turn, queued);
    row.queued_seq = Some(queued);
    planner.rows.turns.push(row);
    planner.use_files(file_uses(begin));
    if let ConversationState::Existing(found) = state {
        planner.touch((&begin.tenant, begin.target.id()), found);
    }
    planner.push_record(
        &begin.tenant,
        begin.idempotency.clone(),
        Some(begin.turn_id),
    );
    BeginOutcome::Queued(Committed::at(queued))
}

impl From<Rejection> for BeginOutcome {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Replayed(record) => Self::Replayed(*record),
            Rejection::AgentNotFound => Self::AgentNotFound,
            Rejection::ConversationNotFound => Self::ConversationNotFound,
        }
    }
}
