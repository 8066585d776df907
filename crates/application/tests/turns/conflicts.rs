//! Messages whose turns conflict with other writes until the service gives up.

use application::ChatError;
use scripted_engine::Script;

use crate::{fixture::Fixture, gated_writes::GatedWrites, process::Process};

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_takes_precedence_over_endless_conflicts() {
    let mut fixture = Fixture::new().await;
    fixture.writes = GatedWrites::with_conflicts(&fixture.writes);
    let process = Process::start(&fixture).await;
    let script = Script::words(3);
    let conversation = Some(fixture.conversation.id);

    let key = "order-1".parse().ok();
    let accepted = process.send_with_key(&fixture, conversation, &script, key);
    let accepted = accepted.await.map_err(|error| error.to_string());
    let turn = accepted.expect("the key has started a turn").turn_id;
    assert_eq!(fixture.turn(turn).await.turn.id, turn);

    let rejected = process.send(&fixture, conversation, &script).await.err();
    assert!(matches!(rejected, Some(ChatError::Busy)), "{rejected:?}");
}
