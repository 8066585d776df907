//! Turns that cannot begin: stale assumptions, missing resources and used keys.

use writes::{BeginOutcome, BeginTurn, ConversationTarget};

use super::begin_turn::{outcome, rejecting, with_key};
use crate::{
    Store, fixture,
    results::{ResultExt as _, assert_stale},
    setup,
    snapshot::Snapshot,
};

/// A turn that would start is `Stale` if agent or conversation are not as assumed.
pub async fn a_turn_with_stale_assumptions_does_not_start(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    setup::update_agent(storage, &fixture::renamed(&agent, "Grace")).await;
    let present = fixture::renamed(&agent, "Grace");
    let new = ConversationTarget::New(fixture::conversation(2, agent.id));
    for begin in [
        fixture::begin_turn(7, &agent, fixture::existing(&conversation, 1)),
        fixture::begin_turn(7, &agent, new),
        fixture::begin_turn(7, &present, fixture::existing(&conversation, 0)),
        fixture::begin_turn(7, &present, fixture::existing(&conversation, 2)),
    ] {
        let begin = with_key(begin);
        let before = Snapshot::take(storage, &begin).await;
        assert_stale(&storage.turns.begin_turn(begin.clone()).await);
        before.assert_no_trace_of(storage, &begin).await;
    }
}

/// A turn that is queued ignores the assumptions of its caller.
pub async fn a_turn_with_stale_assumptions_can_be_queued(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    setup::update_agent(storage, &fixture::renamed(&agent, "Grace")).await;
    let waiting = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 0));
    setup::queue_turn(storage, &waiting).await;
    let impatient = rejecting(fixture::begin_turn(
        3,
        &agent,
        fixture::existing(&conversation, 0),
    ));
    assert_eq!(outcome(storage, &impatient).await, BeginOutcome::Busy);
}

/// The outcome is `AgentNotFound` if the agent never existed or is deleted.
pub async fn a_turn_needs_an_existing_agent(storage: &Store) {
    let (deleted, conversation) = setup::chat(storage).await;
    setup::delete_agent(storage, &deleted).await;
    for agent in [deleted, fixture::agent(404)] {
        let new = ConversationTarget::New(fixture::conversation(2, agent.id));
        for target in [fixture::existing(&conversation, 0), new] {
            let begin = with_key(fixture::begin_turn(7, &agent, target));
            let before = Snapshot::take(storage, &begin).await;
            let result = outcome(storage, &begin).await;
            assert_eq!(result, BeginOutcome::AgentNotFound);
            before.assert_no_trace_of(storage, &begin).await;
        }
    }
}

/// The outcome is `ConversationNotFound` if the conversation never existed, is deleted, or belongs
/// to another agent.
pub async fn a_turn_needs_an_existing_conversation(storage: &Store) {
    let (agent, deleted) = setup::chat(storage).await;
    setup::delete_conversation(storage, &deleted).await;
    let other = setup::agent(storage, 2).await;
    let foreign = setup::conversation(storage, 2, &other).await;
    for conversation in [deleted, foreign, fixture::conversation(404, agent.id)] {
        let begin = with_key(fixture::begin_turn(
            7,
            &agent,
            fixture::existing(&conversation, 0),
        ));
        let before = Snapshot::take(storage, &begin).await;
        let result = outcome(storage, &begin).await;
        assert_eq!(result, BeginOutcome::ConversationNotFound);
        before.assert_no_trace_of(storage, &begin).await;
    }
}

/// A turn of a node that is unknown or has shut down is not started.
pub async fn a_turn_needs_a_live_node(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    storage.nodes.delete(fixture::node_id(1)).await.success();
    let new = ConversationTarget::New(fixture::conversation(2, agent.id));
    for (target, node) in [(fixture::existing(&conversation, 0), 1), (new, 404)] {
        let begin = with_key(BeginTurn {
            node: fixture::node_id(node),
            ..fixture::begin_turn(7, &agent, target)
        });
        let before = Snapshot::take(storage, &begin).await;
        assert_eq!(outcome(storage, &begin).await, BeginOutcome::NodeDead);
        before.assert_no_trace_of(storage, &begin).await;
    }
}

/// The key MUST be checked before everything else: agent, conversation, node, staleness, occupancy.
pub async fn the_key_of_a_turn_is_checked_first(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let first = with_key(fixture::begin_turn(
        1,
        &agent,
        fixture::existing(&conversation, 0),
    ));
    setup::start_turn(storage, &first).await;
    let target = fixture::existing(&conversation, 1);
    let no_talk = fixture::conversation(404, agent.id);
    let no_node = BeginTurn {
        node: fixture::node_id(404),
        target: ConversationTarget::New(fixture::conversation(2, agent.id)),
        ..fixture::begin_turn(7, &agent, target.clone())
    };
    for begin in [
        fixture::begin_turn(7, &agent, target.clone()),
        rejecting(fixture::begin_turn(7, &agent, target.clone())),
        fixture::begin_turn(7, &agent, fixture::existing(&no_talk, 0)),
        fixture::begin_turn(7, &fixture::agent(404), target),
        no_node,
    ] {
        let begin = with_key(begin);
        let before = Snapshot::take(storage, &begin).await;
        match outcome(storage, &begin).await {
            BeginOutcome::Replayed(record) => assert_eq!(record.turn_id, Some(first.turn_id)),
            other => panic!("the key was not checked first: {other:?}"),
        }
        before.assert_unchanged_by(storage, &begin).await;
    }
}
