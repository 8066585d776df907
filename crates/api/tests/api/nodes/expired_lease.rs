//! Nodes whose lease expired while they are alive.

use std::sync::Arc;

use sqlx::{ConnectOptions as _, Executor as _};

use super::pair::NodePair;
use crate::{
    engines::contents,
    storage_probe::{InjectedFault, StorageProbe},
};

/// Expires the first node's lease, like a sweep with a fast clock.
pub(super) const MARK: &str =
    "update nodes set swept = true where id = (select min(id::text)::uuid from nodes)";
/// Asserts that exactly two nodes are registered.
const ONLY_TWO_LIVE: &str = "do $$ begin \
     if (select count(*) filter (where not swept) <> 2 or count(*) <> 2 from nodes) then \
         raise exception 'there are others'; \
     end if; end $$";

/// Executes a statement that no service executes.
pub(super) async fn execute_sql(pair: &NodePair, statement: &'static str) {
    let connection = pair.database.options().connect().await;
    let mut connection = connection.expect("the server answers");
    let outcome = connection.execute(statement).await;
    outcome.expect("the statement is carried out");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_lease_expired_continues_under_a_new_id() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    let first = pair.a.chat(&pair.command(&id, "one")).begin();
    let call = pair.a.script.next_call().await;
    let lost = call.turn();
    let second = pair.start_turn(&pair.a, &id, "two").await;
    execute_sql(&pair, MARK).await;
    // The node notices at its next renewal or when it starts a turn.
    call.wait_until_stopped().await;
    // The other node has been alive for long enough to sweep.
    let resumed = pair.b.script.next_call().await;
    assert_eq!(resumed.turn(), lost);
    resumed.answer("One.").await;
    assert_eq!(first.await.expect("an answer").ok()["message"], "One.");
    assert_eq!(
        pair.events_of_turn(&lost).await,
        ["turn.started", "turn.resumed", "turn.completed"],
        "it has ended once"
    );
    let command = serde_json::json!({"agentId": pair.agent, "message": "Still there?"});
    let fresh = pair.a.chat(&command).begin();
    pair.a.script.next_call().await.answer("Yes.").await;
    assert_eq!(fresh.await.expect("an answer").ok()["message"], "Yes.");
    let call = pair.b.script.next_call().await;
    assert_eq!(call.turn(), second);
    call.answer("Two.").await;
    let ended = pair.b.turn_after("in_progress", &second).await;
    assert_eq!(ended["status"], "completed");
    assert_eq!(
        contents(&pair.a.api, &id).await,
        ["one", "One.", "two", "Two."]
    );
    pair.a.script.assert_no_more_calls();
    execute_sql(&pair, ONLY_TWO_LIVE).await;
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_late_reply_of_a_disconnected_node_is_rejected() {
    let probe = Arc::new(StorageProbe::default());
    let mut pair = NodePair::start_with_builder({
        let probe = Arc::clone(&probe);
        move |builder| builder.wrap_storage(move |storage| probe.wrap_storage(storage))
    })
    .await;
    let id = pair.conversation().await;
    let first = pair.a.chat(&pair.command(&id, "one")).begin();
    let call = pair.a.script.next_call().await;
    call.send_text("Once upon ").await;
    let lost = call.turn();
    let second = pair.start_turn(&pair.b, &id, "two").await;
    // The node receives no more events.
    for unheard in [
        "nodes.renew",
        "events.heads",
        "events.changes",
        "turns.find",
    ] {
        probe.inject(unheard, InjectedFault::Unavailable);
    }
    execute_sql(&pair, MARK).await;
    let resumed = pair.b.script.next_call().await;
    assert_eq!(resumed.turn(), lost);
    call.answer("a time.").await;
    resumed.answer("One.").await;
    let next = pair.b.script.next_call().await;
    assert_eq!(next.turn(), second);
    probe.clear_faults();
    assert_eq!(first.await.expect("an answer").ok()["message"], "One.");
    next.answer("Two.").await;
    let ended = pair.b.turn_after("in_progress", &second).await;
    assert_eq!(ended["status"], "completed");
    assert_eq!(
        pair.events_of_turn(&lost).await,
        ["turn.started", "turn.resumed", "turn.completed"],
        "it has ended once"
    );
    assert_eq!(
        contents(&pair.b.api, &id).await,
        ["one", "One.", "two", "Two."]
    );
    pair.stop().await;
}
