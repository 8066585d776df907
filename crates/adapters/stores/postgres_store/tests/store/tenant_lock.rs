//! Tests of the tenant lock: no decision depends on data that was read before it was held, and several
//! are taken in one order.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use contract::fixture;
use domain::{Seq, TenantId};
use ports::{
    ConditionalRows, Conditions, LogBounds, RepositoryError, Rows,
    write_store::{RunningTurn, StepRow},
};
use sqlx::Connection;
use tokio_util::task::TaskTracker;
use writes::{BeginOutcome, BeginTurn, ConversationTarget};

use crate::database::{Database, store, waiting};

const HOLD: &str = "select head_seq from tenants where id = $1 for update";
const CHANGE: &str = "\
    with raised as (update tenants set head_seq = head_seq + 1) \
    update agents set version = version + 1";

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_waited_for_the_lock_sees_the_changes_of_its_holder() {
    let database = Database::new().await;
    let (tenant, agent) = (fixture::tenant(), fixture::agent(1));
    let stamp = fixture::stamp(1);
    database
        .agents
        .insert(&tenant, &agent, &stamp, None)
        .await
        .unwrap();
    let other_process = contract::Store::new(store(&database.options()).await.storage());
    let mut other = database.connect().await;
    let mut watch = database.connect().await;
    let mut holder = other.begin().await.unwrap();
    sqlx::query(HOLD)
        .bind(TenantId::DEFAULT)
        .execute(&mut *holder)
        .await
        .unwrap();

    let conversation = fixture::conversation(1, agent.id);
    let chat = fixture::completed_turn(1, &agent, ConversationTarget::New(conversation));
    let next = fixture::renamed(&agent, "Next");
    let release = async {
        waiting(&mut watch, 2).await;
        sqlx::query(CHANGE).execute(&mut *holder).await.unwrap();
        holder.commit().await.unwrap();
    };
    let (update, chat, ()) = tokio::join!(
        database.agents.update(&tenant, &next, &stamp),
        other_process.turns.record_completed_turn(chat),
        release,
    );
    assert!(
        matches!(update, Err(RepositoryError::Stale { .. })),
        "{update:?}"
    );
    assert!(
        matches!(chat, Err(RepositoryError::Stale { .. })),
        "{chat:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_waited_for_the_lock_writes_if_nothing_has_changed() {
    let database = Database::new().await;
    let (tenant, agent) = (fixture::tenant(), fixture::agent(1));
    let stamp = fixture::stamp(1);
    let inserted = database.agents.insert(&tenant, &agent, &stamp, None).await;
    inserted.unwrap();
    let mut other = database.connect().await;
    let mut watch = database.connect().await;
    let mut holder = other.begin().await.unwrap();
    let hold = sqlx::query(HOLD).bind(TenantId::DEFAULT);
    hold.execute(&mut *holder).await.unwrap();

    let release = async {
        waiting(&mut watch, 1).await;
        holder.rollback().await.unwrap();
    };
    let next = fixture::renamed(&agent, "Next");
    let (updated, ()) = tokio::join!(database.agents.update(&tenant, &next, &stamp), release);
    assert!(updated.unwrap().is_some());
    let bounds = database.events.bounds(&tenant).await.unwrap();
    assert_eq!(bounds, LogBounds::new(Seq(1), Seq(2)));
}

/// The tenants of the next test, in the order of their locks.
const TENANTS: [&str; 3] = ["a", "b", "c"];
const IS_FREE: &str = "select from tenants where id = $1 for update nowait";

/// Starts a turn in each tenant.
async fn running_turns(database: &Database) -> BTreeMap<&'static str, RunningTurn> {
    let (agent, stamp) = (fixture::agent(1), fixture::stamp(0));
    let lease = Duration::from_hours(1);
    let (node, process) = (fixture::node_id(1), fixture::process());
    let registered = database.nodes.insert(node, &process, lease).await;
    registered.expect("the store answers");
    let mut running = BTreeMap::new();
    for name in TENANTS {
        let tenant = fixture::tenant_named(name);
        database
            .tenants
            .insert(&tenant, stamp.time)
            .await
            .expect("the store answers");
        let inserted = database.agents.insert(&tenant, &agent, &stamp, None).await;
        inserted.expect("the store answers");
        let target = ConversationTarget::New(fixture::conversation(1, agent.id));
        let begin = BeginTurn {
            tenant: tenant.clone(),
            ..fixture::begin_turn(1, &agent, target)
        };
        let turn = RunningTurn {
            tenant,
            id: begin.turn_id,
            node,
        };
        let outcome = database
            .turns
            .begin_turn(begin)
            .await
            .expect("the store answers");
        assert!(matches!(outcome, BeginOutcome::Started { .. }));
        running.insert(name, turn);
    }
    running
}

/// A write of steps beside writes of other tenants, which raise their heads.
async fn write_of(
    database: &Database,
    heads: &[&str],
    steps: impl Iterator<Item = RunningTurn>,
) -> ConditionalRows {
    let mut write = ConditionalRows {
        writes: heads.len(),
        conditions: Conditions::default(),
        rows: Rows::default(),
    };
    for name in heads {
        let tenant = fixture::tenant_named(name);
        let head = database
            .events
            .bounds(&tenant)
            .await
            .expect("the store answers")
            .head;
        write.rows.heads.push((tenant.clone(), head.plus(1)));
        write.conditions.heads.insert(tenant, head);
    }
    for turn in steps {
        write.writes += 1;
        write.rows.steps.push(StepRow {
            tenant: turn.tenant.clone(),
            turn_id: turn.id,
            number: 0,
            step: domain::TurnStep::Tool(fixture::tool_step("call")),
        });
        write.conditions.running_turns.push(turn);
    }
    write
}

/// Otherwise two processes could wait for each other.
#[tokio::test(flavor = "multi_thread")]
async fn the_tenants_of_heads_and_of_steps_are_locked_in_one_order() {
    for (heads, steps) in [
        (&["a"][..], &["b"][..]),
        (&["b"], &["a"]),
        (&["a", "b"], &["a", "b"]),
        (&["a", "c"], &["b"]),
        (&["b", "c"], &["a"]),
        (&[], &["a", "b", "c"]),
        (&["b"], &["c", "a"]),
    ] {
        let database = Database::new().await;
        let running = running_turns(&database).await;
        let steps_of = steps.iter().map(|name| running[name].clone());
        let write = write_of(&database, heads, steps_of).await;
        let mut other = database.connect().await;
        let mut watch = database.connect().await;
        let mut holder = other.begin().await.unwrap();
        let hold = sqlx::query(HOLD).bind("a");
        hold.execute(&mut *holder).await.unwrap();

        let writes = Arc::clone(&database.ports().writes);
        let writing =
            TaskTracker::new().spawn(async move { writes.write_if(Arc::new(write)).await });
        waiting(&mut watch, 1).await;
        for name in ["b", "c"] {
            let is_free = sqlx::query(IS_FREE).bind(name).execute(&mut watch).await;
            assert!(
                is_free.is_ok(),
                "{heads:?} {steps:?}: {name} is locked before a"
            );
        }
        holder.rollback().await.unwrap();
        let is_written = writing.await.unwrap();
        assert!(is_written.unwrap(), "{heads:?} {steps:?}");
    }
}
