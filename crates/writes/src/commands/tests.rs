//! Tests of decisions on invented facts.

mod asked;
mod begin;
mod cancel;
mod changes;
mod claim;
mod completed_turn;
mod conversation;
mod deciding;
mod fail_queued;
mod finish;
mod in_doubt;
mod needs;
mod released;
mod resumption;
mod steps;
mod supersession;
mod sweep;
mod titles;

use std::{collections::HashMap, fmt::Debug};

use domain::{
    Agent, ConversationId, Handler, IdempotencyEntry, IdempotencyRecord, ModelResponse, Resumption,
    Seq, ToolStep, TurnId, TurnStatus, TurnStep,
};
use ports::{
    Facts, RepositoryError, Rows,
    write_store::{ConversationAdvance, ConversationFacts, OpenTurn, RecordKey, TurnRow},
};

use self::{
    asked::asked_facts,
    deciding::{assert_stale, batch, carried_out, not_stored, queued, rejected, repeated, stored},
};
use super::new_turn;
use crate::{
    AnsweredMessage, BeginTurn, Command, Committed, ConversationTarget, TurnMessages, batch::Batch,
    fixture,
};

/// The events of a plan as `(seq, type)`.
fn events(rows: &Rows) -> Vec<(i64, &str)> {
    rows.events
        .iter()
        .map(|event| (event.seq.0, event.kind.as_str()))
        .collect()
}

fn agent() -> Agent {
    fixture::agent(1)
}

/// A log at position 10, one agent, and conversation 1 after two turns.
fn facts() -> Facts {
    let tenant = fixture::tenant();
    Facts {
        heads: [(tenant.clone(), Seq(10))].into(),
        agents: HashMap::from([((tenant.clone(), agent().id), agent().version)]),
        conversations: HashMap::from([(
            (tenant, fixture::conversation_id(1)),
            ConversationFacts {
                agent_id: agent().id,
                agent_version: agent().version,
                user_id: Some("ada".to_owned()),
                version: 1,
                last_message_seq: 4,
                superseded_count: 0,
                visible_message_seq: 4,
                turn_count: 2,
                staff_messages: 0,
                handled_by: Handler::Agent,
                waiting_since: None,
                created_at: fixture::at(1),
                updated_at: fixture::at(1),
                last_message_at: Some(fixture::at(1)),
                running: None,
                is_waiting: false,
                waiting: 0,
                continuations: 0,
                first_waiting: None,
            },
        )]),
        live_nodes: [fixture::node_id(1)].into(),
        ..Facts::default()
    }
}

/// The facts with turn 8 running on node 1, and turn 9 queued.
fn busy_facts() -> Facts {
    let mut facts = facts();
    facts.conversation_mut().running = Some(fixture::turn_id(8));
    facts.conversation_mut().waiting = 1;
    facts.conversation_mut().first_waiting = Some(fixture::turn_id(9));
    facts.insert_turn(turn(8, TurnStatus::InProgress));
    facts.insert_turn(turn(9, TurnStatus::Queued));
    facts
}

trait FactsMut {
    fn conversation_mut(&mut self) -> &mut ConversationFacts;

    fn insert_turn(&mut self, row: TurnRow);

    fn insert_journal(&mut self, turn: u32, journal: Vec<TurnStep>);

    fn turn_mut(&mut self, id: TurnId) -> &mut TurnRow;
}

impl FactsMut for Facts {
    fn conversation_mut(&mut self) -> &mut ConversationFacts {
        let key = (fixture::tenant(), fixture::conversation_id(1));
        self.conversations.get_mut(&key).unwrap()
    }

    fn insert_turn(&mut self, row: TurnRow) {
        self.turns.insert((row.tenant.clone(), row.turn.id), row);
    }

    fn insert_journal(&mut self, turn: u32, journal: Vec<TurnStep>) {
        let key = (fixture::tenant(), fixture::turn_id(turn));
        self.journals.insert(key, journal);
    }

    fn turn_mut(&mut self, id: TurnId) -> &mut TurnRow {
        self.turns.get_mut(&(fixture::tenant(), id)).unwrap()
    }
}

/// The target of a turn in conversation 1, with the assumed turn count.
fn existing(turn_count: i64) -> ConversationTarget {
    ConversationTarget::Existing {
        id: fixture::conversation_id(1),
        turn_count,
    }
}

fn begin_turn(number: u32, target: ConversationTarget) -> BeginTurn {
    fixture::begin_turn(number, &agent(), target)
}

/// A stored turn of conversation 1, which runs on node 1 if its status is `in_progress`.
fn turn(number: u32, status: TurnStatus) -> TurnRow {
    let begin = BeginTurn {
        idempotency: Some(fixture::entry(&format!("key-{number}"))),
        ..begin_turn(number, existing(2))
    };
    let mut row = new_turn::turn_row(&begin, begin.queued(), Seq(i64::from(number)));
    row.turn.status = status;
    if status == TurnStatus::InProgress {
        row.turn.agent_version = Some(agent().version);
        row.turn.started_at = Some(begin.stamp.time);
        row.node = Some(fixture::node_id(1));
        row.message_seq = Some(4);
        row.turn_number = Some(1);
    }
    row
}

/// A round of two tool calls, of which one has ended.
fn journal() -> Vec<TurnStep> {
    let ended = ToolStep {
        end: Some(fixture::tool_end()),
        ..fixture::tool_step("call-1")
    };
    vec![
        TurnStep::Model(ModelResponse::default()),
        TurnStep::Tool(ended),
        TurnStep::Tool(fixture::tool_step("call-2")),
    ]
}

/// The journal of a turn whose first process has died after [`journal`].
fn journal_after_a_loss() -> Vec<TurnStep> {
    let mut journal = journal();
    let first_loss = Resumption {
        losses: 1,
        ..Resumption::after(&journal, true)
    };
    journal.push(TurnStep::Resumed(first_loss));
    journal
}

fn record_of(idempotency: &IdempotencyEntry) -> (RecordKey, IdempotencyRecord) {
    let record = IdempotencyRecord {
        fingerprint: idempotency.fingerprint,
        turn_id: Some(fixture::turn_id(77)),
        released_into: None,
        released_by: None,
        result: None,
        created_at: idempotency.created_at,
    };
    (RecordKey::new(&fixture::tenant(), idempotency), record)
}

fn unknown_conversation() -> ConversationId {
    fixture::conversation_id(404)
}

/// The messages of a turn that stores its user message at `message_seq`.
fn messages(number: u32, message_seq: i64, turn_number: i64) -> TurnMessages {
    TurnMessages {
        message: AnsweredMessage {
            id: fixture::message_id(2 * number),
            seq: message_seq,
        },
        reply_seq: message_seq + 1,
        turn_number,
        retry_of: None,
        are_for_staff: false,
    }
}

/// Turn 8 or 9 of [`busy_facts`], as a deletion finds it.
fn open_turn(number: u32) -> OpenTurn {
    OpenTurn {
        id: fixture::turn_id(number),
        conversation_id: fixture::conversation_id(1),
        agent_id: agent().id,
        user_id: None,
        latest_time: fixture::at(1),
    }
}

const fn committed(first: i64, last: i64) -> Committed {
    Committed {
        first: Seq(first),
        last: Seq(last),
    }
}

/// The change of conversation 1 when no more than the status of a turn changes.
fn raised_position(seq: i64) -> ConversationAdvance {
    ConversationAdvance {
        tenant: fixture::tenant(),
        id: fixture::conversation_id(1),
        last_message_seq: 4,
        superseded_count: 0,
        turn_count: 2,
        staff_messages: 0,
        waiting_since: None,
        updated_at: fixture::at(1),
        last_message_at: None,
        excerpt: None,
        sort_seq: Seq(seq),
    }
}
