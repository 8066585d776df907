//! `TurnRepository::find`.

use domain::PrincipalId;
use ports::Storage;

use crate::{answers::Answer as _, found, given, log, samples};

/// A turn is found with whose it is.
pub async fn finds_a_turn_with_its_owner(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let mut question = samples::question(7, &agent, samples::existing(&talk, 0));
    question.stamp.actor = PrincipalId::new("main~bob");
    question.metadata = [("clé".to_owned(), "🦊".to_owned())].into();
    given::started(storage, &question).await;
    let tenant = samples::tenant();
    let found = storage
        .turns
        .find(&tenant, question.turn_id)
        .await
        .answered();
    assert!(found.position <= log::head(storage, &tenant).await);
    let found = found.value.expect("the turn is there");
    assert_eq!(found.principal, question.stamp.actor);
    assert_eq!(found.user_id, talk.user_id);
    assert_eq!(found.turn.metadata, question.metadata);
}

/// A promoted turn is still the one's who asked.
pub async fn a_promoted_turn_keeps_its_owner(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let mut waiting = samples::question(2, &agent, samples::existing(&talk, 1));
    waiting.stamp.actor = PrincipalId::new("main~bob");
    given::queued(storage, &waiting).await;
    let node = Some(running.node);
    let (_, promoted) = given::cancelled(storage, &running, node).await;
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.principal, waiting.stamp.actor);
    let found = found::turn_with_owner(storage, waiting.turn_id).await;
    let owner = found.map(|found| found.principal);
    assert_eq!(owner, Some(waiting.stamp.actor));
}

/// "Not found" is a value.
pub async fn finds_no_turn_that_was_never_asked(storage: &Storage) {
    given::chat(storage).await;
    assert_eq!(found::turn(storage, samples::turn_id(404)).await, None);
}
