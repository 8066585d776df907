//! Events of deleted resources, whose content is hidden.

use domain::{Agent, Conversation, Event, EventData, EventType, Seq};
use ports::EventVisibility;

use super::event_content::completed_turn;
use crate::{Store, fixture, log, setup};

/// Stores a chat with a running, a queued and an ended turn, and updates.
async fn chat_with_all_events(storage: &Store) -> (Agent, Conversation) {
    let (agent, conversation, _) = completed_turn(storage).await;
    for number in [2, 3] {
        let begin = fixture::begin_turn(number, &agent, fixture::existing(&conversation, 1));
        assert!(storage.turns.begin_turn(begin).await.is_ok());
    }
    setup::update_agent(storage, &fixture::renamed(&agent, "Grace")).await;
    setup::update_conversation(storage, &fixture::retitled(&conversation, "Orders")).await;
    (agent, conversation)
}

/// Asserts that all events except those at `visible` hide their content, and keep everything else.
async fn assert_hidden(storage: &Store, before: &[Event], visible: &[EventType]) {
    let after = log::events(storage).await;
    for (position, event) in after.iter().enumerate() {
        assert_eq!(
            event.seq,
            Seq(i64::try_from(position).expect("a small log") + 1)
        );
        let is_hidden = event.data == EventData::DELETED;
        let may_show = visible.contains(&event.kind);
        assert_eq!(
            is_hidden,
            !may_show,
            "{:?} {}",
            event.seq,
            event.kind.as_str()
        );
    }
    for (was, is) in before.iter().zip(&after) {
        let expected = Event {
            data: is.data.clone(),
            ..was.clone()
        };
        assert_eq!(*is, expected, "only the data of an event changes");
    }
}

/// Events of a deleted agent contain `DELETED`: its snapshots, its conversations and their turns,
/// and the `turn.cancelled` events before the deletion's own event.
pub async fn events_of_a_deleted_agent_are_hidden(storage: &Store) {
    let (agent, _) = chat_with_all_events(storage).await;
    let before = log::events(storage).await;
    setup::delete_agent(storage, &agent).await;
    assert_hidden(storage, &before, &[EventType::AgentDeleted]).await;
}

/// Events of a deleted conversation contain `DELETED`; events of its agent do not.
pub async fn events_of_a_deleted_conversation_are_hidden(storage: &Store) {
    let (_, conversation) = chat_with_all_events(storage).await;
    let before = log::events(storage).await;
    setup::delete_conversation(storage, &conversation).await;
    let visible = [
        EventType::AgentCreated,
        EventType::AgentUpdated,
        EventType::ConversationDeleted,
    ];
    assert_hidden(storage, &before, &visible).await;
}

/// Events with hidden content pass the same filters as before.
pub async fn hidden_events_pass_the_same_filters(storage: &Store) {
    let (agent, conversation) = chat_with_all_events(storage).await;
    setup::delete_agent(storage, &agent).await;
    let mut query = log::query(Seq(0));
    query.conversation_id = Some(conversation.id);
    query.types = vec![EventType::TurnCompleted, EventType::TurnCancelled];
    let mut visibility = EventVisibility {
        agents: false,
        whole_agents: false,
        users: false,
        conversations: true,
        principal: fixture::principal(),
        user_id: conversation.user_id.clone(),
        reach: domain::AgentReach::ALL,
        audience: domain::Audience::Staff,
    };
    query.visibility = Some(visibility.clone());
    let page = log::page(storage, &query).await;
    let turns: Vec<_> = page
        .events
        .iter()
        .filter_map(|logged| logged.event.turn_id)
        .collect();
    assert_eq!(turns, [1, 2, 3].map(fixture::turn_id));
    visibility.conversations = false;
    query.visibility = Some(visibility);
    let own = log::page(storage, &query).await;
    assert_eq!(own.events, page.events, "this principal started all turns");
}
