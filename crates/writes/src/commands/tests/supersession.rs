//! Tests of turns that supersede messages, and of turns that answer stored ones.

use domain::{EventType, Fingerprint};
use ports::write_store::EventInDoubt;
use serde_json::json;

use super::*;
use crate::{BeginOutcome, CompletedTurn, RecordTurnOutcome};

/// A turn that supersedes the messages from 3 on.
fn edit() -> BeginTurn {
    fixture::superseding(begin_turn(1, existing(2)), 3, 2)
}

/// A turn that answers message 3 again.
fn regeneration() -> BeginTurn {
    let mut begin = edit();
    let supersession = begin.supersession.as_mut().unwrap();
    supersession.from_seq = 4;
    supersession.kept = 3;
    supersession.answered = Some(AnsweredMessage {
        id: fixture::message_id(404),
        seq: 3,
    });
    begin
}

fn started(begin: &BeginTurn, facts: &Facts) -> (Rows, TurnMessages) {
    let (rows, outcome) = carried_out(begin, facts);
    match outcome {
        BeginOutcome::Started { messages, .. } => (rows, messages),
        other => panic!("not started: {other:?}"),
    }
}

fn recorded(begin: BeginTurn, facts: &Facts) -> (Rows, TurnMessages) {
    let turn = CompletedTurn {
        begin,
        ..fixture::completed_turn(1, &agent(), existing(2))
    };
    let (rows, outcome) = carried_out(&turn, facts);
    match outcome {
        RecordTurnOutcome::Recorded { messages, .. } => (rows, messages),
        other => panic!("not recorded: {other:?}"),
    }
}

#[test]
fn an_edit_logs_the_superseded_messages_before_its_start() {
    let (rows, turn_place) = started(&edit(), &facts());
    assert_eq!(turn_place, messages(1, 5, 2));
    assert_eq!(
        events(&rows),
        [(11, "messages.superseded"), (12, "turn.started")]
    );
    let range = rows.events[0].data.clone();
    assert_eq!(range, Some(json!({"fromSeq": 3, "toSeq": 4})));
    assert_eq!(rows.superseded[0].from_seq, 3);
    assert_eq!(rows.messages[0].message.seq, 5);
    let advance = &rows.advances[0];
    let counts = (advance.last_message_seq, advance.superseded_count);
    assert_eq!((counts, advance.turn_count), ((5, 2), 3));
    let (rows, turn_place) = recorded(edit(), &facts());
    assert_eq!(turn_place, messages(1, 5, 2));
    let advance = &rows.advances[0];
    let counts = (advance.last_message_seq, advance.superseded_count);
    assert_eq!(counts, (6, 2));
}

#[test]
fn a_regeneration_stores_no_message_of_the_user() {
    let (rows, turn_place) = started(&regeneration(), &facts());
    assert_eq!((turn_place.message.seq, turn_place.reply_seq), (3, 5));
    assert!(rows.messages.is_empty());
    assert_eq!(
        (rows.answered[0].seq, rows.answered[0].turn_id),
        (3, fixture::turn_id(1))
    );
    let row = &rows.turns[0];
    assert_eq!(
        (row.message_id, row.message_seq),
        (fixture::message_id(404), Some(3))
    );
    assert!(row.reuses_message);
    let advance = &rows.advances[0];
    assert_eq!((advance.last_message_seq, advance.superseded_count), (4, 1));
    assert_eq!(advance.last_message_at, None);
    let (rows, turn_place) = recorded(regeneration(), &facts());
    assert_eq!((turn_place.message.seq, turn_place.reply_seq), (3, 5));
    let seqs: Vec<_> = rows.messages.iter().map(|row| row.message.seq).collect();
    assert_eq!((seqs, rows.turns[0].reply_seq), (vec![5], Some(5)));
    assert_eq!(rows.advances[0].last_message_seq, 5);
}

#[test]
fn the_reply_of_a_regeneration_follows_all_stored_messages() {
    let mut facts = busy_facts();
    facts.conversation_mut().first_waiting = None;
    let row = facts.turn_mut(fixture::turn_id(8));
    row.reuses_message = true;
    row.message_seq = Some(3);
    let row = row.clone();
    let conversation = facts.conversation(&fixture::tenant(), fixture::conversation_id(1));
    assert_eq!(TurnMessages::of(&row, conversation).unwrap().reply_seq, 5);
    let ending = crate::TurnEnding::Completed(fixture::reply(8));
    let finish = fixture::finish(&begin_turn(8, existing(2)), ending);
    let (rows, _) = carried_out(&finish, &facts);
    assert_eq!(rows.messages[0].message.seq, 5);
}

#[test]
fn a_supersession_is_never_queued() {
    let outcome = rejected(&edit(), &busy_facts()).unwrap();
    assert_eq!(outcome, BeginOutcome::Busy);
}

#[test]
fn a_supersession_in_doubt_is_reported_with_its_first_event() {
    let mut facts = facts();
    let mut row = turn(1, TurnStatus::InProgress);
    row.message_seq = Some(5);
    row.turn_number = Some(2);
    facts.insert_turn(row);
    for (seq, kind) in [
        (11, EventType::MessagesSuperseded),
        (12, EventType::TurnStarted),
    ] {
        facts.logged.push(EventInDoubt {
            tenant: fixture::tenant(),
            seq: Seq(seq),
            kind,
            stamp: fixture::stamp(1),
            agent_id: Some(agent().id),
            conversation_id: Some(fixture::conversation_id(1)),
            turn_id: Some(fixture::turn_id(1)),
        });
    }
    let outcome = stored(&edit(), &facts);
    let BeginOutcome::Started {
        committed,
        messages: turn_place,
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!((committed.first, committed.last), (Seq(11), Seq(12)));
    assert_eq!(turn_place, messages(1, 5, 2));
}

/// The facts after turn 7 with message 4 has failed and released the key `k`.
fn failed_facts() -> Facts {
    let mut facts = facts();
    let (key, record) = record_of(&fixture::entry("k"));
    let released = IdempotencyRecord {
        turn_id: None,
        released_into: Some(fixture::conversation_id(1)),
        released_by: Some(fixture::turn_id(7)),
        ..record
    };
    facts.idempotency.insert(key, released);
    let mut failed = turn(7, TurnStatus::Failed);
    failed.message_seq = Some(4);
    facts.insert_turn(failed);
    facts
}

fn retry() -> BeginTurn {
    BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..begin_turn(1, existing(2))
    }
}

#[test]
fn a_retry_answers_the_newest_message_if_its_turn_has_failed() {
    for (rows, turn_place) in [
        started(&retry(), &failed_facts()),
        recorded(retry(), &failed_facts()),
    ] {
        let message = AnsweredMessage {
            id: fixture::message_id(14),
            seq: 4,
        };
        let expected = TurnMessages {
            message,
            reply_seq: 5,
            turn_number: 2,
            retry_of: Some(fixture::turn_id(7)),
            are_for_staff: false,
        };
        assert_eq!(turn_place, expected);
        assert_eq!(rows.turns[0].turn.retry_of, Some(fixture::turn_id(7)));
        assert_eq!(rows.answered[0].seq, 4);
        assert_eq!(rows.idempotency[0].turn_id, Some(fixture::turn_id(1)));
    }
}

#[test]
fn a_retry_behind_other_messages_stores_its_own_one_and_repeats_the_turn() {
    let mut newer_message = failed_facts();
    newer_message.conversation_mut().last_message_seq = 6;
    newer_message.conversation_mut().visible_message_seq = 6;
    let mut superseded = failed_facts();
    superseded.conversation_mut().superseded_count = 1;
    superseded.conversation_mut().visible_message_seq = 3;
    for (facts, seq) in [(newer_message, 7), (superseded, 5)] {
        let (rows, turn_place) = started(&retry(), &facts);
        let expected = TurnMessages {
            retry_of: Some(fixture::turn_id(7)),
            ..messages(1, seq, 2)
        };
        assert_eq!(turn_place, expected);
        assert_eq!(rows.turns[0].turn.retry_of, Some(fixture::turn_id(7)));
        assert!(rows.answered.is_empty());
        assert!(!rows.turns[0].reuses_message);
    }
}

#[test]
fn a_retry_of_a_turn_that_never_started_repeats_what_that_was_to_repeat() {
    let mut facts = failed_facts();
    let never_started = facts.turn_mut(fixture::turn_id(7));
    never_started.message_seq = None;
    never_started.turn.retry_of = Some(fixture::turn_id(6));
    let (rows, turn_place) = started(&retry(), &facts);
    assert_eq!(turn_place.retry_of, Some(fixture::turn_id(6)));
    assert!(!rows.turns[0].reuses_message);
}

#[test]
fn any_other_turn_with_the_key_repeats_none() {
    let mut other_status = failed_facts();
    other_status.turn_mut(fixture::turn_id(7)).turn.status = TurnStatus::Cancelled;
    let mut never_started = failed_facts();
    never_started.turn_mut(fixture::turn_id(7)).message_seq = None;
    let mut other_conversation = failed_facts();
    let failed = other_conversation.turn_mut(fixture::turn_id(7));
    failed.turn.conversation_id = unknown_conversation();
    let mut unknown_turn = failed_facts();
    unknown_turn.turns.clear();
    let mut other_command = retry();
    let entry = other_command.idempotency.as_mut().unwrap();
    entry.fingerprint = Fingerprint::of(&"another command");
    for (begin, facts) in [
        (retry(), other_status),
        (retry(), never_started),
        (retry(), other_conversation),
        (retry(), unknown_turn),
        (other_command, failed_facts()),
        (begin_turn(1, existing(2)), failed_facts()),
    ] {
        let (rows, turn_place) = started(&begin, &facts);
        assert_eq!(turn_place, messages(1, 5, 2));
        assert!(rows.answered.is_empty());
        assert!(!rows.turns[0].reuses_message);
    }
}

#[test]
fn a_supersession_with_a_released_key_is_no_retry() {
    let begin = BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..edit()
    };
    let (_, turn_place) = started(&begin, &failed_facts());
    assert_eq!(turn_place, messages(1, 5, 2));
}
