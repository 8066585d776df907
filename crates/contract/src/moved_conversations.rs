//! Conversations that move to another user: the log, the turns and the rights to read follow.

use domain::{Conversation, EventData, EventType, PrincipalId, Seq};
use ports::{EventQuery, EventVisibility, LoggedChange, LoggedEvent};

use crate::{
    Store, fixture, log, lookup, purging,
    results::{ResultExt as _, deleted},
    setup,
};

/// Agent 1 with two conversations of Ada, of which the first moves to Bob while a turn runs and another one
/// waits. The events are:
///
/// - 1: `agent.created`
/// - 2 and 3: `conversation.created`, of conversations 1 and 2
/// - 4 `turn.started` and 5 `turn.queued` in conversation 1
/// - 6: `conversation.updated`, the move
/// - 7 `turn.completed` and 8 `turn.started` in conversation 1
/// - 9: `conversation.updated` of conversation 2, which is no move
async fn moved(storage: &Store) -> Conversation {
    setup::node(storage, 1).await;
    let agent = setup::agent(storage, 1).await;
    let conversation = setup::conversation(storage, 1, &agent).await;
    let other = setup::conversation(storage, 2, &agent).await;
    let begin = |number| {
        let target = fixture::existing(&conversation, 0);
        fixture::begin_turn(number, &agent, target)
    };
    setup::start_turn(storage, &begin(1)).await;
    setup::queue_turn(storage, &begin(2)).await;
    let moved = move_to(storage, &conversation, Some("bob")).await;
    setup::complete_turn(storage, &begin(1), 1).await;
    setup::update_conversation(storage, &fixture::retitled(&other, "Orders")).await;
    moved
}

async fn move_to(storage: &Store, from: &Conversation, user: Option<&str>) -> Conversation {
    let next = Conversation {
        user_id: user.map(ToOwned::to_owned),
        ..fixture::retitled(from, "Moved")
    };
    setup::update_conversation(storage, &next).await
}

fn visible_to(user: Option<&str>) -> EventQuery {
    EventQuery {
        visibility: Some(EventVisibility {
            agents: false,
            whole_agents: false,
            users: false,
            conversations: true,
            principal: PrincipalId::new("key:any"),
            user_id: user.map(ToOwned::to_owned),
            reach: domain::AgentReach::ALL,
            audience: domain::Audience::Staff,
        }),
        ..log::query(Seq(0))
    }
}

async fn events_of(storage: &Store, user: Option<&str>) -> Vec<LoggedEvent> {
    log::page(storage, &visible_to(user)).await.events
}

fn positions(events: &[LoggedEvent]) -> Vec<i64> {
    events.iter().map(|logged| logged.event.seq.0).collect()
}

/// All events of a conversation are visible to its user, and have that user, also those from before.
pub async fn events_follow_the_user_of_their_conversation(storage: &Store) {
    let conversation = moved(storage).await;
    let of_bob = events_of(storage, Some("bob")).await;
    assert_eq!(positions(&of_bob), [2, 4, 5, 6, 7, 8]);
    let bob = Some("bob");
    assert!(
        of_bob
            .iter()
            .all(|logged| logged.event.user_id.as_deref() == bob)
    );
    let EventData::Conversation {
        conversation: shown,
        ..
    } = &of_bob[0].event.data
    else {
        panic!("{:?}", of_bob[0]);
    };
    assert_eq!(shown.user_id, conversation.user_id);
    assert_eq!(positions(&events_of(storage, Some("ada")).await), [3, 6, 9]);
    let of_staff = events_of(storage, None).await;
    assert_eq!(positions(&of_staff), [2, 3, 4, 5, 6, 7, 8, 9]);
    let user = |logged: &LoggedEvent| logged.event.user_id.clone();
    let users: Vec<_> = of_staff.iter().filter_map(user).collect();
    let expected = ["bob", "ada", "bob", "bob", "bob", "bob", "bob", "ada"];
    assert_eq!(users, expected);
}

/// The event of a move has the user before, who sees it as a deletion, with the last version before.
pub async fn a_move_is_a_deletion_to_the_user_before(storage: &Store) {
    let conversation = moved(storage).await;
    for user in [Some("ada"), Some("bob"), None] {
        let events = events_of(storage, user).await;
        let found = events.iter().find(|logged| logged.event.seq == Seq(6));
        let logged = found.expect("the move is visible");
        let moved = logged.moved.as_ref().expect("it is a move");
        assert_eq!(moved.from.as_deref(), Some("ada"));
        let query = visible_to(user);
        let visibility = query.visibility.as_ref().expect("one is set");
        let seen = visibility.seen(logged).into_owned();
        if user == Some("ada") {
            assert_eq!(seen.kind, EventType::ConversationDeleted);
            assert_eq!(seen.user_id.as_deref(), Some("ada"));
            assert_eq!(seen.actor, PrincipalId::staff());
            let EventData::ConversationDeleted { conversation: left } = seen.data else {
                panic!("{seen:?}");
            };
            assert_eq!((left.id, left.version), (conversation.id, 1));
        } else {
            assert_eq!(seen, logged.event);
        }
    }
    let others = events_of(storage, Some("ada")).await;
    assert!(others.iter().filter(|it| it.moved.is_some()).count() == 1);
}

/// A page contains exactly the events for which [`EventVisibility::shows`] returns `true`, of the types that
/// the reader sees.
pub async fn events_of_moved_conversations_pass_the_same_filters(storage: &Store) {
    let first = moved(storage).await;
    let of_nobody = move_to(storage, &first, None).await;
    move_to(storage, &of_nobody, Some("eve")).await;
    let whole = log::page(storage, &log::query(Seq(0))).await.events;
    for user in [None, Some("ada"), Some("bob"), Some("eve"), Some("")] {
        for conversations in [true, false] {
            for types in [
                vec![],
                vec![EventType::ConversationDeleted],
                vec![EventType::ConversationUpdated, EventType::TurnStarted],
            ] {
                let mut query = visible_to(user);
                query.types.clone_from(&types);
                if let Some(visibility) = &mut query.visibility {
                    visibility.conversations = conversations;
                    visibility.principal = fixture::principal();
                }
                let by_page = log::page(storage, &query).await.events;
                let tenant = fixture::tenant();
                let count = storage.events.count(&tenant, &query).await.success();
                assert_eq!(count, by_page.len());
                let rule = query.visibility.expect("one is set");
                let mut by_rule = whole.clone();
                by_rule.retain(|logged| {
                    let is_of_type = types.is_empty() || types.contains(&rule.seen_type(logged));
                    is_of_type && rule.shows(logged)
                });
                assert_eq!(by_page, by_rule, "{rule:?} {types:?}");
            }
        }
    }
}

/// A user sees nothing of a loss that was undone.
pub async fn a_conversation_that_comes_back_is_no_deletion(storage: &Store) {
    let of_bob = moved(storage).await;
    move_to(storage, &of_bob, Some("ada")).await;
    let query = visible_to(Some("ada"));
    let of_ada = log::page(storage, &query).await.events;
    assert_eq!(positions(&of_ada), [2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let visibility = query.visibility.expect("one is set");
    let types = of_ada.iter().map(|logged| visibility.seen_type(logged));
    assert!(
        types
            .into_iter()
            .all(|kind| kind != EventType::ConversationDeleted)
    );
    assert_eq!(positions(&events_of(storage, Some("bob")).await), [10]);
}

/// Running and queued turns belong to the user of their conversation.
pub async fn turns_go_along_with_their_conversation(storage: &Store) {
    let conversation = moved(storage).await;
    for number in [1, 2] {
        let found = lookup::turn_with_owner(storage, fixture::turn_id(number)).await;
        let owner = found.and_then(|found| found.user_id);
        assert_eq!(owner, conversation.user_id, "turn {number}");
    }
    let stored = lookup::conversation(storage, conversation.id).await;
    let stored = stored.expect("it exists");
    assert_eq!(
        (stored.user_id, stored.open_turns.len()),
        (conversation.user_id, 1)
    );
    let tenant = fixture::tenant();
    let state = storage.conversations.find_state(&tenant, conversation.id);
    let state = state.await.success().value.expect("it exists");
    assert_eq!(state.user_id.as_deref(), Some("bob"));
}

/// `changes` MUST contain the new user of a conversation that moves.
pub async fn moves_are_among_the_changes_for_caches(storage: &Store) {
    let conversation = moved(storage).await;
    let tenant = fixture::tenant();
    let changes = storage.events.changes(&tenant, Seq(0), 100).await.success();
    let moves: Vec<_> = changes.iter().filter(|change| change.is_move).collect();
    let expected = LoggedChange {
        seq: Seq(6),
        kind: Some(EventType::ConversationUpdated),
        agent_id: Some(conversation.agent_id),
        conversation_id: Some(conversation.id),
        user_id: Some("bob".to_owned()),
        turn_id: None,
        is_move: true,
    };
    assert_eq!(moves, [&expected]);
    let with_user = changes.iter().filter(|change| change.user_id.is_some());
    assert_eq!(with_user.count(), 1);
}

/// Nothing tells whose a deleted conversation was but its events.
pub async fn events_of_a_deleted_conversation_belong_to_the_user_of_their_time(storage: &Store) {
    let conversation = moved(storage).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1_000));
    let deletion = storage
        .conversations
        .delete(&tenant, conversation.id, None, &stamp);
    deleted(deletion.await);
    for _ in 0..2 {
        let of_bob = events_of(storage, Some("bob")).await;
        // Turn 2 is cancelled, and the conversation deleted.
        assert_eq!(positions(&of_bob), [6, 7, 8, 10, 11]);
        let of_ada = events_of(storage, Some("ada")).await;
        assert_eq!(positions(&of_ada), [2, 3, 4, 5, 6, 9]);
        for logged in of_ada.iter().filter(|it| it.event.turn_id.is_some()) {
            assert_eq!(logged.event.data, EventData::DELETED);
        }
        purging::purge_all(storage, 100, purging::deleted_before(fixture::at(10_000))).await;
    }
}
