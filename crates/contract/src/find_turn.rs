//! `TurnRepository::find`.

use domain::PrincipalId;

use crate::{Store, fixture, log, lookup, results::ResultExt as _, setup};

/// `find` returns a turn with its owner.
pub async fn a_turn_is_found_with_its_owner(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let mut begin = fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0));
    begin.stamp.actor = PrincipalId::new("main~bob");
    begin.metadata = [("clé".to_owned(), "🦊".to_owned())].into();
    setup::start_turn(storage, &begin).await;
    let tenant = fixture::tenant();
    let found = storage.turns.find(&tenant, begin.turn_id).await.success();
    assert!(found.position <= log::head(storage, &tenant).await);
    let found = found.value.expect("the turn exists");
    assert_eq!(found.principal, begin.stamp.actor);
    assert_eq!(found.user_id, conversation.user_id);
    assert_eq!(found.turn.metadata, begin.metadata);
}

/// A promoted turn still belongs to the principal that started it.
pub async fn a_promoted_turn_keeps_its_owner(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let mut waiting = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    waiting.stamp.actor = PrincipalId::new("main~bob");
    setup::queue_turn(storage, &waiting).await;
    let node = Some(running.node);
    let (_, promoted) = setup::cancel_turn(storage, &running, node).await;
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.principal, waiting.stamp.actor);
    let found = lookup::turn_with_owner(storage, waiting.turn_id).await;
    let owner = found.map(|found| found.principal);
    assert_eq!(owner, Some(waiting.stamp.actor));
}

/// "Not found" is a value.
pub async fn an_unknown_turn_is_not_found(storage: &Store) {
    setup::chat(storage).await;
    assert_eq!(lookup::turn(storage, fixture::turn_id(404)).await, None);
}
