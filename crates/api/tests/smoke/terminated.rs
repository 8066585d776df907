//! What becomes of turns when their process is told to end.

use std::time::{Duration, Instant};

use scripted_engine::Script;

use crate::{
    process::folder,
    talk::{Talker, key, serving, spoken, text},
};

/// Within this time a process has ended that was told to.
const ENDED: Duration = Duration::from_secs(35);

#[tokio::test(flavor = "multi_thread")]
async fn turns_that_end_in_time_are_answered() {
    let folder = folder();
    let key = key(folder.path());
    let running = serving(folder.path(), &key, None);
    let talker = Talker::to(&running, &key);
    // It goes on when nobody new is let in any more.
    let script = Script::words(15).pause(Duration::from_millis(500));
    let place = talker.place().await;
    let (stream, _) = spoken(talker.chat(&place.message(&script))).await;
    let elsewhere = talker.place().await;
    let waiting = talker.ask(&elsewhere.message(&script));
    let begun = talker.turns("turn.started", 2).await;
    running.stop();
    let since = Instant::now();
    let (status, reply) = waiting.await.expect("an answer");
    assert_eq!((status, text(&reply["message"])), (200, script.text()));
    let reply = stream.end("turn.completed").await;
    assert_eq!(text(&reply["message"]), script.text());
    let (code, told) = running.ended();
    assert_eq!(code, Some(0), "{told}");
    assert!(since.elapsed() < ENDED, "{:?}", since.elapsed());

    let next = serving(folder.path(), &key, None);
    let talker = talker.at(&next);
    for turn in begun {
        assert_eq!(talker.turn(&turn).await["status"], "completed");
    }
    talker.assert_each_turn_has_ended_once().await;
    next.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_without_an_end_is_interrupted_and_what_waits_fails_with_it() {
    let folder = folder();
    let key = key(folder.path());
    let running = serving(folder.path(), &key, None);
    let talker = Talker::to(&running, &key);
    let place = talker.place().await;
    let endless = place.message(&Script::deltas(["Once upon a time"]).hang());
    let (stream, _) = spoken(talker.chat(&endless)).await;
    let waiting = talker.ask(&place.message(&Script::deltas(["Two."])));
    talker.turns("turn.queued", 1).await;
    let unheard = talker
        .later(&place.message(&Script::deltas(["Three."])))
        .await;
    running.stop();
    let since = Instant::now();
    let failed = stream.end("turn.failed").await;
    assert_eq!(failed["error"]["code"], "interrupted");
    let (status, problem) = waiting.await.expect("an answer");
    assert_eq!(
        (status, text(&problem["code"])),
        (503, "interrupted".to_owned())
    );
    let (code, told) = running.ended();
    assert_eq!(code, Some(0), "{told}");
    assert!(since.elapsed() < ENDED, "{:?}", since.elapsed());

    let next = serving(folder.path(), &key, None);
    let talker = talker.at(&next);
    // Nobody else could have run what nobody waited for.
    let unheard = talker.turn(&text(&unheard["id"])).await;
    assert_eq!(unheard["error"]["code"], "interrupted", "{unheard}");
    talker.assert_each_turn_has_ended_once().await;
    let last = talker.ask(&place.message(&Script::deltas(["Well."]))).await;
    assert_eq!(last.expect("an answer").0, 200);
    next.abort();
}
