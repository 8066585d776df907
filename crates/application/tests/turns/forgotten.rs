//! Release of all memory that a process holds for turns that have ended.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use scripted_engine::{Failure, Script};

use crate::{
    process::{Process, caller},
    world::World,
};

/// The limit of every wait: long enough for a slow machine, short enough for a test that hangs.
const PATIENCE: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_process_holds_no_memory_of_a_thousand_ended_turns() {
    let world = World::new().await;
    let process = Process::start(&world).await;
    let one = async |number: usize| {
        // Every fifth turn waits behind others in one conversation.
        let place = number.is_multiple_of(5).then_some(world.conversation.id);
        let script = match number % 4 {
            0 => Script::words(3),
            1 => Script::words(1).fail(Failure::Unavailable),
            2 => Script::words(1).hang(),
            _ => Script::words(1).panic(),
        };
        let Ok(asked) = process.ask(&world, place, &script).await else {
            assert!(place.is_some(), "only where too many wait is one refused");
            return 0;
        };
        let id = asked.turn_id;
        match number % 3 {
            // No caller waits for the turn.
            0 => drop(asked),
            1 => {
                let mut events = asked.events();
                events.next().await.expect("it begins").expect("a store");
            }
            _ if number % 4 != 2 => {
                let _answer = asked.reply().await;
            }
            _ => {}
        }
        if number % 4 == 2 {
            let cancelled = process.turns.cancel(&caller(), id).await;
            assert!(cancelled.expect("it is there").status.is_final());
        }
        1
    };
    let all = stream::iter(0..1_000).map(one).buffer_unordered(20);
    let taken = tokio::time::timeout(PATIENCE, all.collect::<Vec<usize>>()).await;
    let taken: usize = taken.expect("all are taken in time").iter().sum();
    assert!(taken >= 800, "{taken}");
    process.tasks.close();
    let ended = tokio::time::timeout(PATIENCE, process.tasks.wait()).await;
    ended.expect("all end in time");
    assert_eq!(process.runner.live().matching(|_| true).len(), 0);
    assert_eq!(process.engine.open_streams(), 0);
    let left = world.storage.recovery.in_progress_under(process.node.id());
    assert_eq!(left.await.expect("the store answers"), []);
}
