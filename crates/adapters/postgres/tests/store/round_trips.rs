//! The round trips to the database server of the writes of turns.

use std::time::Duration;

use contract::fixture;
use ports::{ConversationTarget, TurnEnding};

use crate::{
    database::{Database, store},
    proxy::FaultyProxy,
};

/// Statements are prepared when they are first used, and facts are read by the first write; after
/// that, each write is one round trip.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_of_a_turn_is_one_round_trip() {
    let database = Database::new().await;
    let proxy = FaultyProxy::start(&database.options()).await;
    let storage = store(&proxy.options(&database.options())).await.storage();
    let agent = fixture::agent(1);
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    let inserted = database.agents.insert(&tenant, &agent, &stamp, None).await;
    inserted.expect("an agent");
    let node = fixture::node_id(1);
    let lease = database.nodes.insert(node, Duration::from_mins(1)).await;
    lease.expect("a node");
    let mut counts = Vec::new();
    for round in 0..4 {
        let conversation = fixture::conversation(round + 1, agent.id);
        let number = 10 * (round + 1);
        let mut before = proxy.requests();
        let mut round_trips = || {
            let now = proxy.requests();
            now - std::mem::replace(&mut before, now)
        };

        let new = ConversationTarget::New(conversation.clone());
        let turn = fixture::completed_turn(number, &agent, new);
        storage.turns.record_completed_turn(turn).await.unwrap();
        let recorded = round_trips();
        let begin = fixture::begin_turn(number + 1, &agent, fixture::existing(&conversation, 1));
        storage.turns.begin_turn(begin.clone()).await.unwrap();
        let begun = round_trips();
        let ending = TurnEnding::Completed(fixture::reply(number + 1));
        let finish = fixture::finish(&begin, ending);
        storage.turns.finish_turn(finish).await.unwrap();
        counts.push([recorded, begun, round_trips()]);
    }
    assert_eq!(counts[2..], [[1, 1, 1], [1, 1, 1]], "{counts:?}");
}
