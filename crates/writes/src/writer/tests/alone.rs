//! Tests of commands that are committed in a transaction of their own.

use domain::Agent;

use super::*;
use crate::{
    DeleteOutcome, Sweep, SweepOutcome,
    commands::{CreateAgent, DeleteAgent, UpdateAgent},
};

fn delete_agent() -> DeleteAgent {
    DeleteAgent {
        tenant: fixture::tenant(),
        id: fixture::agent_id(1),
        expected: None,
        stamp: fixture::stamp(1),
    }
}

pub(super) fn sweep() -> Sweep {
    Sweep {
        tenant: fixture::tenant(),
        node: None,
        max_wait: Duration::from_mins(10),
        now: fixture::at(1),
        limit: 10,
    }
}

fn create_agent(agent: Agent) -> CreateAgent {
    CreateAgent {
        tenant: fixture::tenant(),
        agent,
        stamp: fixture::stamp(1),
        idempotency: None,
    }
}

fn large_agent() -> Agent {
    Agent {
        personality: "x".repeat(40_000),
        ..fixture::agent(1)
    }
}

fn lanes(fixture: &Fixture) -> Vec<Lane> {
    let calls = fixture.calls.lock();
    calls.iter().map(|call| call.lane).collect()
}

#[tokio::test(start_paused = true)]
async fn a_long_command_is_committed_alone_while_the_writer_is_busy() {
    let fixture = Fixture::start(0, []);
    let waiting = fixture.submit(write(1));
    fixture.called(1).await;
    let deleted = fixture.writes.write(delete_agent()).await.unwrap();
    assert_eq!(deleted, DeleteOutcome::NotFound);
    let swept = fixture.writes.write(sweep()).await.unwrap();
    assert_eq!(swept, SweepOutcome::default());
    assert_eq!(lanes(&fixture), [Lane::Group, Lane::Alone, Lane::Alone]);
    fixture.permits.add_permits(1);
    assert_eq!(waiting.await.unwrap().unwrap(), done());
}

#[tokio::test(start_paused = true)]
async fn only_a_large_agent_is_committed_alone() {
    let fixture = Fixture::start(9, []);
    let update = |agent| UpdateAgent {
        tenant: fixture::tenant(),
        agent,
        stamp: fixture::stamp(1),
    };
    let small = fixture::agent(1);
    let writes = &fixture.writes;
    writes.write(create_agent(small.clone())).await.unwrap();
    writes.write(update(small)).await.unwrap();
    writes.write(create_agent(large_agent())).await.unwrap();
    writes.write(update(large_agent())).await.unwrap();
    let expected = [Lane::Group, Lane::Group, Lane::Alone, Lane::Alone];
    assert_eq!(lanes(&fixture), expected);
}

/// Its caller learns that the outcome is unknown.
#[tokio::test(start_paused = true)]
async fn a_long_command_is_not_repeated() {
    let failures = [
        Attempt::Unconfirmed,
        Attempt::Fails(unavailable("down")),
        Attempt::Fails(corrupt()),
    ];
    let fixture = Fixture::with_attempts_alone(0, [], failures);
    for (times, is_retryable) in [(1, true), (2, true), (3, false)] {
        let error = fixture.writes.write(delete_agent()).await.unwrap_err();
        assert_eq!(error.is_retryable(), is_retryable);
        assert_eq!(lanes(&fixture).len(), times);
    }
}

#[tokio::test(start_paused = true)]
async fn the_outcome_of_a_long_command_is_awaited_for_a_limited_time() {
    let fixture = Fixture::with_attempts_alone(0, [], [Attempt::Hangs]);
    let began = Instant::now();
    let error = fixture.writes.write(delete_agent()).await.unwrap_err();
    assert!(error.is_retryable());
    assert_eq!(began.elapsed(), WriteTimeouts::default().max_answer_time);
}
