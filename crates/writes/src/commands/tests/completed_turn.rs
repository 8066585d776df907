use domain::{Role, idempotency::RETENTION};
use rstest::rstest;

use super::*;
use crate::{CompletedTurn, RecordTurnOutcome};

fn completed_turn(number: u32, target: ConversationTarget) -> CompletedTurn {
    fixture::completed_turn(number, &agent(), target)
}

const fn recorded(first: i64, last: i64, messages: TurnMessages) -> RecordTurnOutcome {
    RecordTurnOutcome::Recorded {
        committed: committed(first, last),
        messages,
    }
}

#[test]
fn events_are_numbered_from_the_head_and_messages_from_the_count() {
    let (rows, outcome) = carried_out(&completed_turn(1, existing(2)), &facts());
    assert_eq!(outcome, recorded(11, 12, messages(1, 5, 2)));
    assert_eq!(
        events(&rows),
        [(11, "turn.started"), (12, "turn.completed")]
    );
    let messages: Vec<_> = rows
        .messages
        .iter()
        .map(|row| (row.message.seq, row.message.role))
        .collect();
    assert_eq!(messages, [(5, Role::User), (6, Role::Agent)]);
    let turn = &rows.turns[0];
    assert_eq!(
        (turn.turn_number, turn.message_seq, turn.reply_seq),
        (Some(2), Some(5), Some(6))
    );
    assert_eq!(
        (
            rows.advances[0].last_message_seq,
            rows.advances[0].turn_count
        ),
        (6, 3)
    );
    assert_eq!(rows.heads, [(fixture::tenant(), Seq(12))]);
    assert!(rows.conversations.is_empty());
}

#[test]
fn a_new_conversation_is_created_before_its_first_turn() {
    let conversation = fixture::conversation(2, agent().id);
    let target = ConversationTarget::New(conversation);
    let (rows, outcome) = carried_out(&completed_turn(1, target), &facts());
    assert_eq!(outcome, recorded(11, 13, messages(1, 1, 0)));
    assert_eq!(events(&rows)[0], (11, "conversation.created"));
    let created = &rows.conversations[0];
    assert_eq!(
        (created.conversation.message_count, created.turn_count),
        (2, 1)
    );
    assert!(created.conversation.last_message_at.is_some());
    assert!(rows.advances.is_empty());
}

#[test]
fn the_writes_of_a_batch_are_numbered_consecutively() {
    let in_new_conversation = |number| {
        let target = ConversationTarget::New(fixture::conversation(number, agent().id));
        completed_turn(number, target)
    };
    let turns = [
        in_new_conversation(2),
        completed_turn(3, existing(1)),
        in_new_conversation(4),
    ];
    let (commands, callers): (Vec<_>, Vec<_>) = turns.iter().map(queued).unzip();
    let batch = batch(commands, None);
    let (rows, all_applied) = batch.plan(&asked_facts(&batch, &facts()));
    assert!(!all_applied);
    let outcomes = batch.commands.iter().zip(callers);
    let outcomes = outcomes.map(|(command, mut caller)| {
        command.deliver();
        caller.try_recv().unwrap()
    });
    let outcomes: Vec<_> = outcomes.collect();
    assert_eq!(
        outcomes[0].as_ref().unwrap(),
        &recorded(11, 13, messages(2, 1, 0))
    );
    assert!(matches!(outcomes[1], Err(RepositoryError::Stale { .. })));
    assert_eq!(
        outcomes[2].as_ref().unwrap(),
        &recorded(14, 16, messages(4, 1, 0))
    );
    let seqs: Vec<_> = events(&rows).iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, [11, 12, 13, 14, 15, 16]);
    assert_eq!(rows.heads, [(fixture::tenant(), Seq(16))]);
}

#[test]
fn the_idempotency_key_is_checked_first() {
    let idempotency = fixture::entry("once");
    let mut facts = facts();
    facts.agents.clear();
    facts.conversations.clear();
    facts.idempotency.extend([record_of(&idempotency)]);
    let mut repeated = completed_turn(1, existing(99));
    repeated.begin.idempotency = Some(idempotency.clone());
    let outcome = rejected(&repeated, &facts).unwrap();
    let expected = RecordTurnOutcome::Replayed(record_of(&idempotency).1);
    assert_eq!(outcome, expected);
}

#[test]
fn a_key_can_be_used_again_after_its_retention_time() {
    let mut idempotency = fixture::entry("once");
    let mut facts = facts();
    facts.idempotency.extend([record_of(&idempotency)]);
    idempotency.created_at = idempotency.created_at + RETENTION;
    let mut later = completed_turn(1, existing(2));
    later.begin.idempotency = Some(idempotency.clone());
    let (rows, _) = carried_out(&later, &facts);
    assert_eq!(rows.idempotency[0].idempotency, idempotency);
    assert_eq!(rows.idempotency[0].turn_id, Some(fixture::turn_id(1)));
}

#[test]
fn a_missing_agent_and_a_missing_conversation_have_different_outcomes() {
    let unknown = ConversationTarget::Existing {
        id: unknown_conversation(),
        turn_count: 0,
    };
    let missing = completed_turn(1, unknown);
    let outcome = rejected(&missing, &facts()).unwrap();
    assert_eq!(outcome, RecordTurnOutcome::ConversationNotFound);
    let mut without_agent = facts();
    without_agent.agents.clear();
    let outcome = rejected(&missing, &without_agent).unwrap();
    assert_eq!(outcome, RecordTurnOutcome::AgentNotFound);
}

#[test]
fn a_conversation_of_another_agent_is_not_found() {
    let mut facts = facts();
    let other = fixture::agent(2);
    let key = (fixture::tenant(), other.id);
    facts.agents.insert(key, other.version);
    let mut foreign = completed_turn(1, existing(2));
    foreign.begin.agent_id = other.id;
    let outcome = rejected(&foreign, &facts).unwrap();
    assert_eq!(outcome, RecordTurnOutcome::ConversationNotFound);
}

#[rstest]
#[case(3, 0)]
#[case(2, 1)]
fn changed_assumptions_make_a_turn_stale(#[case] turn_count: i64, #[case] newer: i64) {
    let mut stale = completed_turn(1, existing(turn_count));
    stale.begin.agent_version += newer;
    assert_stale(&stale, &facts());
}

#[test]
fn an_open_turn_makes_a_conversation_busy_whatever_was_assumed() {
    let outcome = rejected(&completed_turn(1, existing(0)), &busy_facts()).unwrap();
    assert_eq!(outcome, RecordTurnOutcome::Busy);
}
