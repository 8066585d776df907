//! Nodes that are taken for dead while they live.

use std::sync::Arc;

use domain::ProblemCode;
use sqlx::{ConnectOptions as _, Executor as _};

use super::pair::Pair;
use crate::{
    engines::contents,
    probe::{Misfortune, Probe},
};

/// Takes the first node for dead, as a sweep does whose clock says that its lease has run out.
const MARK: &str =
    "update nodes set swept = true where id = (select min(id::text)::uuid from nodes)";
/// Fails unless two processes live and nobody else is remembered.
const ONLY_TWO_LIVE: &str = "do $$ begin \
     if (select count(*) filter (where not swept) <> 2 or count(*) <> 2 from nodes) then \
         raise exception 'there are others'; \
     end if; end $$";

/// Carries out a statement that no service would.
async fn carry_out(pair: &Pair, statement: &'static str) {
    let connection = pair.database.options().connect().await;
    let mut connection = connection.expect("the server answers");
    let outcome = connection.execute(statement).await;
    outcome.expect("the statement is carried out");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_taken_for_dead_goes_on_under_a_new_id() {
    let mut pair = Pair::start().await;
    let id = pair.conversation().await;
    let first = pair.a.chat(&pair.command(&id, "one")).begin();
    let call = pair.a.script.next_call().await;
    let lost = call.turn();
    let second = pair.later(&pair.a, &id, "two").await;
    carry_out(&pair, MARK).await;
    // It finds out by itself: at its next renewal, or when somebody asks it for a turn.
    call.stopped().await;
    let answer = first.await.expect("an answer");
    answer.problem(ProblemCode::Interrupted);
    assert_eq!(
        pair.life_of(&lost).await,
        ["turn.started", "turn.failed"],
        "it has ended once"
    );
    let command = serde_json::json!({"agentId": pair.agent, "message": "Still there?"});
    let fresh = pair.a.chat(&command).begin();
    pair.a.script.next_call().await.answer("Yes.").await;
    assert_eq!(fresh.await.expect("an answer").ok()["message"], "Yes.");
    // The other has kept its lease for long enough to sweep.
    let call = pair.b.script.next_call().await;
    assert_eq!(call.turn(), second);
    call.answer("Two.").await;
    let ended = pair.b.turn_after("in_progress", &second).await;
    assert_eq!(ended["status"], "completed");
    assert_eq!(contents(&pair.a.api, &id).await, ["one", "two", "Two."]);
    pair.a.script.assert_no_more_calls();
    carry_out(&pair, ONLY_TWO_LIVE).await;
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_late_reply_of_a_node_that_was_cut_off_is_refused() {
    let probe = Arc::new(Probe::default());
    let mut pair = Pair::start_over({
        let probe = Arc::clone(&probe);
        move |plan| plan.over(move |storage| probe.over(storage))
    })
    .await;
    let id = pair.conversation().await;
    let first = pair.a.chat(&pair.command(&id, "one")).begin();
    let call = pair.a.script.next_call().await;
    call.say("Once upon ").await;
    let lost = call.turn();
    let second = pair.later(&pair.b, &id, "two").await;
    // It hears of nothing any more.
    for unheard in [
        "nodes.renew",
        "events.heads",
        "events.changes",
        "turns.find",
    ] {
        probe.make(unheard, Misfortune::Away);
    }
    carry_out(&pair, MARK).await;
    let swept = pair.b.turn_after("in_progress", &lost).await;
    assert_eq!(
        (&swept["status"], &swept["error"]["code"]),
        (&"failed".into(), &"interrupted".into())
    );
    let next = pair.b.script.next_call().await;
    assert_eq!(next.turn(), second);
    call.answer("a time.").await;
    probe.heal();
    let answer = first.await.expect("an answer");
    answer.problem(ProblemCode::Interrupted);
    next.answer("Two.").await;
    let ended = pair.b.turn_after("in_progress", &second).await;
    assert_eq!(ended["status"], "completed");
    assert_eq!(
        pair.life_of(&lost).await,
        ["turn.started", "turn.failed"],
        "it has ended once"
    );
    assert_eq!(contents(&pair.b.api, &id).await, ["one", "two", "Two."]);
    pair.stop().await;
}
