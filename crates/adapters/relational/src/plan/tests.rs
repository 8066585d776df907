//! Decisions on facts made up for each test.

mod begin;
mod cancel;
mod exchange;
mod finish;
mod released;
mod repeated;
mod sweep;

use std::collections::HashMap;

use contract::samples;
use domain::{Agent, ConversationId, IdempotencyClaim, IdempotencyRecord, Seq, TurnId, TurnStatus};
use ports::{BeginTurn, ExchangeTarget, RepositoryError};

use crate::{
    ClaimKey, ConversationFacts, Facts, Item, Outcome, Plan, Rows, TurnRow, plan, plan::question,
};

/// The events of a plan as `(seq, type)`.
fn events(rows: &Rows) -> Vec<(i64, &'static str)> {
    rows.events
        .iter()
        .map(|event| (event.seq.0, event.kind.as_str()))
        .collect()
}

fn agent() -> Agent {
    samples::agent(1)
}

/// A log at position 10, one agent, and conversation 1 after two turns.
fn facts() -> Facts {
    let tenant = samples::tenant();
    Facts {
        heads: [(tenant.clone(), Seq(10))].into(),
        agents: HashMap::from([((tenant.clone(), agent().id), agent().version)]),
        conversations: HashMap::from([(
            (tenant, samples::conversation_id(1)),
            ConversationFacts {
                agent_id: agent().id,
                agent_version: agent().version,
                user_id: Some("ada".to_owned()),
                message_count: 4,
                turn_count: 2,
                updated_at: samples::at(1),
                running: None,
                waiting: 0,
                first_waiting: None,
            },
        )]),
        live_nodes: [samples::node_id(1)].into(),
        ..Facts::default()
    }
}

/// The facts with turn 8 running on node 1, and turn 9 waiting.
fn busy_facts() -> Facts {
    let mut facts = facts();
    facts.conversation_mut().running = Some(samples::turn_id(8));
    facts.conversation_mut().waiting = 1;
    facts.conversation_mut().first_waiting = Some(samples::turn_id(9));
    facts.insert_turn(turn(8, TurnStatus::InProgress));
    facts.insert_turn(turn(9, TurnStatus::Queued));
    facts
}

impl Facts {
    fn conversation_mut(&mut self) -> &mut ConversationFacts {
        let key = (samples::tenant(), samples::conversation_id(1));
        self.conversations.get_mut(&key).unwrap()
    }

    fn insert_turn(&mut self, row: TurnRow) {
        self.turns.insert((row.tenant.clone(), row.turn.id), row);
    }

    fn turn_mut(&mut self, id: TurnId) -> &mut TurnRow {
        self.turns.get_mut(&(samples::tenant(), id)).unwrap()
    }
}

/// The target of a turn in conversation 1, as its caller saw it.
fn existing(turn_count: i64) -> ExchangeTarget {
    ExchangeTarget::Existing {
        id: samples::conversation_id(1),
        turn_count,
    }
}

fn asked(number: u32, target: ExchangeTarget) -> BeginTurn {
    samples::question(number, &agent(), target)
}

/// A stored turn of conversation 1 that runs on node 1, or waits.
fn turn(number: u32, status: TurnStatus) -> TurnRow {
    let question = BeginTurn {
        claim: Some(samples::claim(&format!("key-{number}"))),
        ..asked(number, existing(2))
    };
    let mut row = question::turn_row(&question);
    row.turn.status = status;
    if status == TurnStatus::InProgress {
        row.turn.agent_version = Some(agent().version);
        row.turn.started_at = Some(question.stamp.time);
        row.node = Some(samples::node_id(1));
        row.message_seq = Some(4);
        row.turn_number = Some(1);
    }
    row
}

fn used(claim: &IdempotencyClaim) -> (ClaimKey, IdempotencyRecord) {
    let record = IdempotencyRecord {
        fingerprint: claim.fingerprint,
        turn_id: Some(samples::turn_id(77)),
        released_into: None,
        answer: None,
        created_at: claim.created_at,
    };
    (ClaimKey::of(&samples::tenant(), claim), record)
}

fn conversation_of_nobody() -> ConversationId {
    samples::conversation_id(404)
}

/// Plans one item and expects that nothing is written.
fn refused(item: Item, facts: &Facts) -> Result<Outcome, RepositoryError> {
    let Plan { rows, mut outcomes } = plan(&[item], facts);
    assert_eq!(rows, Rows::default());
    outcomes.remove(0)
}

/// Plans one item and expects that it is carried out.
fn carried_out(item: Item, facts: &Facts) -> (Rows, Outcome) {
    let Plan { rows, mut outcomes } = plan(&[item], facts);
    (rows, outcomes.remove(0).unwrap())
}
