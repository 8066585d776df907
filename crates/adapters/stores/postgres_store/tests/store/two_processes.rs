//! Tests of two processes that write to the same tenant, each with the facts that it knows.

use contract::{Store, fixture};
use domain::{CredentialKind, Seq};
use futures::future::join_all;
use ports::{FirstMessages, Idempotent, LogBounds, RepositoryError};
use writes::{ConversationTarget, RecordTurnOutcome};

use crate::database::{Database, store};

async fn record(
    storage: &Store,
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
async fn two_processes() -> (Database, [Store; 2]) {
    let database = Database::new().await;
    let agent = fixture::agent(1);
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    let inserted = database.agents.insert(&tenant, &agent, &stamp, None).await;
    inserted.expect("an agent");
    let options = database.options();
    let storages = [
        Store::new(store(&options).await.storage()),
        Store::new(store(&options).await.storage()),
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
    let writers = storages
        .iter()
        .zip([0, 1_000])
        .map(|(storage, from)| async move {
            for number in from + 1..=from + 100 {
                let conversation = fixture::conversation(number, fixture::agent_id(1));
                let new = ConversationTarget::New(conversation.clone());
                last(record(storage, 2 * number, new).await);
                let existing = fixture::existing(&conversation, 1);
                last(record(storage, 2 * number + 1, existing).await);
            }
        });
    join_all(writers).await;
    let bounds = database.events.bounds(&fixture::tenant()).await;
    let expected = LogBounds::new(Seq(1), Seq(1 + 2 * 100 * 5));
    assert_eq!(bounds.expect("a response"), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_of_several_tenants_leave_no_gap_and_lose_nothing() {
    let (database, storages) = two_processes().await;
    let mut connection = database.connect().await;
    sqlx::query("insert into tenants (id, created_at) values ('other', now())")
        .execute(&mut connection)
        .await
        .expect("a tenant");
    let tenants = [fixture::tenant(), fixture::tenant_named("other")];
    let (agent, stamp) = (fixture::agent(1), fixture::stamp(0));
    let inserted = database.agents.insert(&tenants[1], &agent, &stamp, None);
    inserted.await.expect("an agent");
    // Eight writers of each process, so that batches contain writes of both tenants, and each process
    // outdates what the other one knows of one of them.
    let writers = (0..16_u32).map(|writer| {
        let (storage, tenant) = (
            &storages[writer as usize % 2],
            &tenants[writer as usize / 2 % 2],
        );
        async move {
            for number in 100 * writer..100 * writer + 20 {
                let conversation = fixture::conversation(number, fixture::agent_id(1));
                let new = ConversationTarget::New(conversation);
                let mut turn = fixture::completed_turn(number, &fixture::agent(1), new);
                turn.begin.tenant = tenant.clone();
                last(storage.turns.record_completed_turn(turn).await);
            }
        }
    });
    join_all(writers).await;
    for tenant in &tenants {
        let bounds = database.events.bounds(tenant).await;
        let expected = LogBounds::new(Seq(1), Seq(1 + 8 * 20 * 3));
        assert_eq!(bounds.expect("a response"), expected);
        let stored = sqlx::query_scalar("select count(*) from events where tenant_id = $1")
            .bind(tenant.as_str())
            .fetch_one(&mut connection);
        let stored: i64 = stored.await.expect("a count");
        assert_eq!(Seq(stored), expected.head);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_in_turns_have_the_outcomes_of_one_process() {
    let (database, storages) = two_processes().await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    let mut agent = fixture::agent(1);
    let mut conversation = fixture::conversation(1, agent.id);
    let created = storages[0].conversations.insert(
        &tenant,
        &conversation,
        &FirstMessages::None,
        &stamp,
        None,
    );
    created.await.expect("a conversation");
    for round in 1..20_usize {
        // Two rounds by each process in turn, so that the second uses known facts.
        let (now, then) = (&storages[round / 2 % 2], &storages[1 - round / 2 % 2]);
        agent = fixture::renamed(&agent, &format!("Agent {round}"));
        conversation = fixture::retitled(&conversation, &format!("Title {round}"));
        let updated = now.agents.update(&tenant, &agent, &stamp).await;
        assert!(updated.expect("a response").is_some());
        let updated = now.conversations.update(&tenant, &conversation, &stamp);
        let (_, stored) = updated.await.expect("a response").expect("it exists");
        assert_eq!(stored, conversation);
        let late = then.agents.update(&tenant, &agent, &stamp).await;
        assert!(
            matches!(late, Err(RepositoryError::Stale { .. })),
            "{late:?}"
        );
        let late = then.conversations.update(&tenant, &conversation, &stamp);
        let late = late.await;
        assert!(
            matches!(late, Err(RepositoryError::Stale { .. })),
            "{late:?}"
        );
    }
    let found = database.agents.find(&tenant, agent.id).await;
    assert_eq!(*found.expect("a response").value.expect("it exists"), agent);
    let bounds = database.events.bounds(&tenant).await;
    assert_eq!(bounds.expect("a response"), LogBounds::new(Seq(1), Seq(40)));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_two_processes_create_are_listed_once() {
    let (database, storages) = two_processes().await;
    let tenant = fixture::tenant();
    let writers = (0..8).map(|writer| {
        let storage = &storages[usize::from(writer % 2 == 0)];
        async move {
            for number in 0..25 {
                let key = fixture::key(100 * writer + number);
                let entry = fixture::entry(&format!("key-{writer}-{number}"));
                let created = storage.credentials.insert(&key, Some(&entry)).await;
                assert_eq!(created.expect("a response"), Idempotent::Applied(()));
            }
        }
    });
    join_all(writers).await;
    let (mut listed, mut after) = (0, None);
    loop {
        let keys = &database.credentials;
        let page = keys.list(CredentialKind::Key, &tenant, after, 7).await;
        let page = page.expect("a page").items;
        let Some(last) = page.last() else { break };
        after = Some(last.sort_seq);
        listed += page.len();
    }
    assert_eq!(listed, 200);
}

/// Both send the same idempotency keys, whose records raise no head.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_processes_uses_an_idempotency_key() {
    let (_database, storages) = two_processes().await;
    for number in 0..50 {
        let created = [0, 1].map(|process: u32| {
            let storage = &storages[usize::from(process == 1)];
            async move {
                let key = fixture::key(2 * number + process);
                let entry = fixture::entry(&format!("key-{number}"));
                storage.credentials.insert(&key, Some(&entry)).await
            }
        });
        let created = join_all(created).await;
        let is_applied = |outcome: &&Result<_, _>| matches!(outcome, Ok(Idempotent::Applied(())));
        assert!(created.iter().all(Result::is_ok), "{created:?}");
        assert_eq!(created.iter().filter(is_applied).count(), 1);
    }
}
