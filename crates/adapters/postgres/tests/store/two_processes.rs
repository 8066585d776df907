//! Tests of two processes that write to the same tenant, each with the facts that it knows.

use contract::fixture;
use domain::Seq;
use ports::{ConversationTarget, LogBounds, RecordTurnOutcome, RepositoryError, Storage};

use crate::database::{Database, store};

async fn record(
    storage: &Storage,
    number: u32,
    target: ConversationTarget,
) -> Result<RecordTurnOutcome, RepositoryError> {
    let turn = fixture::completed_turn(number, &fixture::agent(1), target);
    storage.turns.record_completed_turn(turn).await
}

fn last(outcome: Result<RecordTurnOutcome, RepositoryError>) -> Seq {
    match outcome.expect("a response") {
        RecordTurnOutcome::Recorded { committed, .. } => committed.last,
        other => panic!("{other:?}"),
    }
}

/// Two storages of one database with agent 1, and the database.
async fn two_processes() -> (Database, [Storage; 2]) {
    let database = Database::new().await;
    let agent = fixture::agent(1);
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    let inserted = database.agents.insert(&tenant, &agent, &stamp, None).await;
    inserted.expect("an agent");
    let options = database.options();
    let storages = [
        store(&options).await.storage(),
        store(&options).await.storage(),
    ];
    (database, storages)
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_in_turns_have_the_outcomes_of_one_process() {
    let (database, [one, other]) = two_processes().await;
    let conversation = fixture::conversation(1, fixture::agent_id(1));
    let new = ConversationTarget::New(conversation.clone());
    assert_eq!(last(record(&one, 1, new).await), Seq(4));
    for count in 1..20 {
        let number = u32::try_from(count).unwrap() + 1;
        let existing = || fixture::existing(&conversation, count);
        // Two writes by each process in turn, so that the second uses known facts.
        let (now, then) = match count / 2 % 2 {
            0 => (&one, &other),
            _ => (&other, &one),
        };
        assert_eq!(
            last(record(now, number, existing()).await),
            Seq(4 + 2 * count)
        );
        let late = record(then, 100 + number, existing()).await;
        assert!(
            matches!(late, Err(RepositoryError::Stale { .. })),
            "{late:?}"
        );
    }
    let bounds = database.events.bounds(&fixture::tenant()).await;
    assert_eq!(bounds.expect("a response"), LogBounds::new(Seq(1), Seq(42)));
}

#[tokio::test(flavor = "multi_thread")]
async fn simultaneous_writes_leave_no_gap_and_lose_nothing() {
    let (database, storages) = two_processes().await;
    let writers = storages.into_iter().zip([0, 1_000]).map(|(storage, from)| {
        tokio::spawn(async move {
            for number in from + 1..=from + 100 {
                let conversation = fixture::conversation(number, fixture::agent_id(1));
                let new = ConversationTarget::New(conversation.clone());
                last(record(&storage, 2 * number, new).await);
                let existing = fixture::existing(&conversation, 1);
                last(record(&storage, 2 * number + 1, existing).await);
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("the writes succeed");
    }
    let bounds = database.events.bounds(&fixture::tenant()).await;
    let expected = LogBounds::new(Seq(1), Seq(1 + 2 * 100 * 5));
    assert_eq!(bounds.expect("a response"), expected);
}
