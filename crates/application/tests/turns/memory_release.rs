//! Release of all memory that a process holds for turns that have ended.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use scripted_engine::{Failure, Script};

use crate::{
    fixture::Fixture,
    process::{Process, caller},
};

/// The limit of every wait: long enough for a slow machine, short enough for a test that hangs.
const TIME_LIMIT: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_process_holds_no_memory_of_a_thousand_ended_turns() {
    let fixture = Fixture::new().await;
    let process = Process::start(&fixture).await;
    let one = async |number: usize| {
        // Every fifth turn waits behind others in one conversation.
        let conversation = number.is_multiple_of(5).then_some(fixture.conversation.id);
        let script = match number % 4 {
            0 => Script::words(3),
            1 => Script::words(1).fail(Failure::Unavailable),
            2 => Script::words(1).hang(),
            _ => Script::words(1).panic(),
        };
        let Ok(accepted) = process.send(&fixture, conversation, &script).await else {
            assert!(conversation.is_some(), "only a full queue refuses messages");
            return 0;
        };
        let id = accepted.turn_id;
        match number % 3 {
            // No caller waits for the turn.
            0 => drop(accepted),
            1 => {
                let mut events = accepted.events();
                events.next().await.expect("it begins").expect("a store");
            }
            _ if number % 4 != 2 => {
                let _reply = accepted.reply().await;
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
    let accepted = tokio::time::timeout(TIME_LIMIT, all.collect::<Vec<usize>>()).await;
    let accepted: usize = accepted.expect("all are accepted in time").iter().sum();
    assert!(accepted >= 800, "{accepted}");
    process.tasks.close();
    let ended = tokio::time::timeout(TIME_LIMIT, process.tasks.wait()).await;
    ended.expect("all end in time");
    assert_eq!(process.live.matching(|_| true).len(), 0);
    assert_eq!(process.engine.open_streams(), 0);
    let left = fixture.storage.sweep.in_progress_under(process.node.id());
    assert_eq!(left.await.expect("the store answers"), []);
}
