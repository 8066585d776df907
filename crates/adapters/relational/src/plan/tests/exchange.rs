use domain::{Role, idempotency::RETENTION};
use ports::{Committed, Exchange, ExchangeOutcome};
use rstest::rstest;

use super::*;

fn exchange(number: u32, target: ExchangeTarget) -> Exchange {
    samples::exchange(number, &agent(), target)
}

fn item(exchange: Exchange) -> Item {
    Item::Exchange(Box::new(exchange))
}

fn recorded(first: i64, last: i64, message_seq: i64) -> Outcome {
    Outcome::Exchange(ExchangeOutcome::Recorded {
        committed: Committed {
            first: Seq(first),
            last: Seq(last),
        },
        message_seq,
    })
}

#[test]
fn numbers_events_from_the_head_and_messages_from_the_count() {
    let (rows, outcome) = carried_out(item(exchange(1, existing(2))), &facts());
    assert_eq!(outcome, recorded(11, 12, 5));
    assert_eq!(
        events(&rows),
        [(11, "turn.started"), (12, "turn.completed")]
    );
    let said: Vec<_> = rows
        .messages
        .iter()
        .map(|row| (row.message.seq, row.message.role))
        .collect();
    assert_eq!(said, [(5, Role::User), (6, Role::Agent)]);
    let turn = &rows.turns[0];
    assert_eq!(
        (turn.turn_number, turn.message_seq, turn.reply_seq),
        (Some(2), Some(5), Some(6))
    );
    assert_eq!(
        (rows.advances[0].message_count, rows.advances[0].turn_count),
        (6, 3)
    );
    assert_eq!(rows.heads, [(samples::tenant(), Seq(12))]);
    assert!(rows.conversations.is_empty());
}

#[test]
fn makes_a_new_conversation_before_its_first_turn() {
    let conversation = samples::conversation(2, agent().id);
    let target = ExchangeTarget::New(conversation);
    let (rows, outcome) = carried_out(item(exchange(1, target)), &facts());
    assert_eq!(outcome, recorded(11, 13, 1));
    assert_eq!(events(&rows)[0], (11, "conversation.created"));
    let made = &rows.conversations[0];
    assert_eq!((made.conversation.message_count, made.turn_count), (2, 1));
    assert!(made.conversation.last_message_at.is_some());
    assert!(rows.advances.is_empty());
}

#[test]
fn numbers_the_items_of_a_batch_one_after_another() {
    let of_new = |number| {
        let target = ExchangeTarget::New(samples::conversation(number, agent().id));
        item(exchange(number, target))
    };
    let batch = [of_new(2), item(exchange(3, existing(1))), of_new(4)];
    let Plan { rows, outcomes } = plan(&batch, &facts());
    assert_eq!(outcomes[0].as_ref().unwrap(), &recorded(11, 13, 1));
    assert!(matches!(outcomes[1], Err(RepositoryError::Stale { .. })));
    assert_eq!(outcomes[2].as_ref().unwrap(), &recorded(14, 16, 1));
    let seqs: Vec<_> = events(&rows).iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, [11, 12, 13, 14, 15, 16]);
    assert_eq!(rows.heads, [(samples::tenant(), Seq(16))]);
}

#[test]
fn judges_the_key_before_all_else() {
    let claim = samples::claim("once");
    let mut facts = facts();
    facts.agents.clear();
    facts.conversations.clear();
    facts.claims.extend([used(&claim)]);
    let mut repeated = exchange(1, existing(99));
    repeated.question.claim = Some(claim.clone());
    let outcome = refused(item(repeated), &facts).unwrap();
    let expected = ExchangeOutcome::Repeated(used(&claim).1);
    assert_eq!(outcome, Outcome::Exchange(expected));
}

#[test]
fn a_key_may_be_used_again_after_its_time() {
    let mut claim = samples::claim("once");
    let mut facts = facts();
    facts.claims.extend([used(&claim)]);
    claim.created_at = claim.created_at + RETENTION;
    let mut later = exchange(1, existing(2));
    later.question.claim = Some(claim.clone());
    let (rows, _) = carried_out(item(later), &facts);
    assert_eq!(rows.claims[0].claim, claim);
    assert_eq!(rows.claims[0].turn_id, Some(samples::turn_id(1)));
}

#[test]
fn tells_a_missing_agent_from_a_missing_conversation() {
    let of_nobody = ExchangeTarget::Existing {
        id: conversation_of_nobody(),
        turn_count: 0,
    };
    let missing = exchange(1, of_nobody);
    let outcome = refused(item(missing.clone()), &facts()).unwrap();
    assert_eq!(
        outcome,
        Outcome::Exchange(ExchangeOutcome::ConversationNotFound)
    );
    let mut without_agent = facts();
    without_agent.agents.clear();
    let outcome = refused(item(missing), &without_agent).unwrap();
    assert_eq!(outcome, Outcome::Exchange(ExchangeOutcome::AgentNotFound));
}

#[test]
fn a_conversation_of_another_agent_is_not_found() {
    let mut facts = facts();
    let other = samples::agent(2);
    let key = (samples::tenant(), other.id);
    facts.agents.insert(key, other.version);
    let mut foreign = exchange(1, existing(2));
    foreign.question.agent_id = other.id;
    let outcome = refused(item(foreign), &facts).unwrap();
    assert_eq!(
        outcome,
        Outcome::Exchange(ExchangeOutcome::ConversationNotFound)
    );
}

#[rstest]
#[case(3, 0)]
#[case(2, 1)]
fn is_stale_when_anything_assumed_has_changed(#[case] turn_count: i64, #[case] newer: i64) {
    let mut stale = exchange(1, existing(turn_count));
    stale.question.agent_version += newer;
    let outcome = refused(item(stale), &facts());
    assert!(
        matches!(outcome, Err(RepositoryError::Stale { .. })),
        "{outcome:?}"
    );
}

#[test]
fn is_busy_beside_an_open_turn_whatever_was_assumed() {
    let outcome = refused(item(exchange(1, existing(0))), &busy_facts()).unwrap();
    assert_eq!(outcome, Outcome::Exchange(ExchangeOutcome::Busy));
}
