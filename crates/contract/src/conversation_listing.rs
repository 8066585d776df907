//! `ConversationRepository::list`: latest activity first, and pages that skip nothing.

use domain::{AgentReach, Conversation, ConversationId};
use ports::ConversationFilter;

use crate::{
    Store, fixture,
    pages::{TOO_MANY_PAGES, conversations, conversations_behind},
    purging,
    results::ResultExt as _,
    setup,
};

fn all() -> ConversationFilter {
    ConversationFilter::default()
}

fn ids(conversations: &[Conversation]) -> Vec<ConversationId> {
    conversations
        .iter()
        .map(|conversation| conversation.id)
        .collect()
}

async fn conversation_at(storage: &Store, number: u32, agent: u32, user: Option<&str>, time: i64) {
    let conversation = Conversation {
        user_id: user.map(ToOwned::to_owned),
        updated_at: fixture::at(time),
        ..fixture::conversation(number, fixture::agent_id(agent))
    };
    setup::insert_conversation(storage, conversation).await;
}

/// Conversations are listed in the commit order of their activity, whatever the ids and times are.
pub async fn conversations_are_listed_by_latest_activity(storage: &Store) {
    setup::agent(storage, 1).await;
    for (number, time) in [(1, 50), (2, 10), (3, 30), (5, 30), (4, 30), (6, 20)] {
        conversation_at(storage, number, 1, None, time).await;
    }
    let expected = [6, 4, 5, 3, 2, 1].map(fixture::conversation_id);
    for limit in [1, 2, 3, 6, 100] {
        let listed = conversations_behind(storage, &all(), None, limit).await;
        assert_eq!(ids(&listed), expected, "in pages of {limit}");
    }
}

/// Messages and updates are activity.
pub async fn activity_moves_a_conversation_to_the_front(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    for number in 2..=4 {
        setup::conversation(storage, number, &agent).await;
    }
    let conversation = |number| fixture::conversation(number, agent.id);
    let turn = fixture::completed_turn(100, &agent, fixture::existing(&conversation(2), 0));
    setup::record_turn(storage, turn).await;
    let begin = fixture::begin_turn(200, &agent, fixture::existing(&conversation(1), 0));
    setup::start_turn(storage, &begin).await;
    let mut next = fixture::retitled(&conversation(3), "Orders");
    // The update comes from a process whose clock is behind.
    next.updated_at = fixture::at(-300);
    setup::update_conversation(storage, &next).await;
    let listed = conversations_behind(storage, &all(), None, 10).await;
    assert_eq!(ids(&listed), [3, 1, 2, 4].map(fixture::conversation_id));
    assert!(listed[1].updated_at >= fixture::at(200));
    assert_eq!(listed[2].message_count, 2);
}

/// Filters are exact, alone and together.
pub async fn conversations_are_filtered_by_agent_and_user(storage: &Store) {
    setup::agent(storage, 1).await;
    setup::agent(storage, 2).await;
    let users = [Some("ada"), Some("Ada"), None, Some("ada"), Some("ada ")];
    for (number, user) in (1..).zip(users) {
        conversation_at(storage, number, 1, user, i64::from(number)).await;
        conversation_at(storage, number + 10, 2, user, i64::from(number + 10)).await;
    }
    let filter = |agents: &[u32], user: Option<&str>| ConversationFilter {
        agents: match agents {
            [] => AgentReach::ALL,
            numbers => AgentReach::only(numbers.iter().copied().map(fixture::agent_id)),
        },
        user_id: user.map(ToOwned::to_owned),
        handling: None,
    };
    for (filter, expected) in [
        (filter(&[1], None), vec![5, 4, 3, 2, 1]),
        (filter(&[], Some("ada")), vec![14, 4, 11, 1]),
        (filter(&[2], Some("ada")), vec![14, 11]),
        (filter(&[2, 3], Some("ada")), vec![14, 11]),
        (filter(&[1, 3], None), vec![5, 4, 3, 2, 1]),
        (filter(&[1, 2], Some("ada")), vec![14, 4, 11, 1]),
        (filter(&[3, 4], None), vec![]),
        (filter(&[2], Some("Ada")), vec![12]),
        (filter(&[1], Some("nobody")), vec![]),
        (filter(&[3], None), vec![]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(fixture::conversation_id).collect();
        for limit in [1, 10] {
            let listed = conversations_behind(storage, &filter, None, limit).await;
            assert_eq!(ids(&listed), expected, "{filter:?} in pages of {limit}");
        }
    }
}

/// `has_more` is exact, also if the last page is full.
pub async fn has_more_is_exact_for_conversations(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    setup::conversation(storage, 2, &agent).await;
    for (limit, length, more) in [(1, 1, true), (2, 2, false), (3, 2, false)] {
        let (page, has_more) = conversations(storage, &all(), None, limit).await;
        assert_eq!(
            (page.len(), has_more),
            (length, more),
            "in a page of {limit}"
        );
    }
}

/// A conversation that becomes active during paging may appear again; one without activity MUST NOT
/// be skipped.
pub async fn inactive_conversations_are_not_skipped_while_others_become_active(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    for number in 2..=9 {
        setup::conversation(storage, number, &agent).await;
    }
    let (first, _) = conversations(storage, &all(), None, 3).await;
    let shown: Vec<_> = first.iter().map(|listed| listed.item.id).collect();
    assert_eq!(shown, [9, 8, 7].map(fixture::conversation_id));
    // Three conversations become active: one after the cursor, the cursor's own, and one before it.
    // One is created, and one is deleted.
    for (turn, number) in [(101, 4), (102, 7), (103, 9)] {
        let conversation = fixture::conversation(number, agent.id);
        let turn = fixture::completed_turn(turn, &agent, fixture::existing(&conversation, 0));
        setup::record_turn(storage, turn).await;
    }
    setup::conversation(storage, 50, &agent).await;
    setup::delete_conversation(storage, &fixture::conversation(2, agent.id)).await;
    let rest = conversations_behind(storage, &all(), first.last().cloned(), 2).await;
    assert_eq!(ids(&rest), [6, 5, 3, 1].map(fixture::conversation_id));
}

/// Conversations of deleted agents appear in no page, and do not shorten a page.
pub async fn conversations_of_deleted_agents_are_not_listed(storage: &Store) {
    let (kept, _) = setup::chat(storage).await;
    let doomed = setup::agent(storage, 2).await;
    for number in 2..=12 {
        let agent = if number % 4 == 0 { &kept } else { &doomed };
        setup::conversation(storage, number, agent).await;
    }
    setup::delete_agent(storage, &doomed).await;
    let expected = [12, 8, 4, 1].map(fixture::conversation_id);
    let of_doomed = ConversationFilter {
        agents: AgentReach::only([doomed.id]),
        ..all()
    };
    for _ in 0..TOO_MANY_PAGES {
        for limit in [1, 2, 10] {
            let listed = conversations_behind(storage, &all(), None, limit).await;
            assert_eq!(ids(&listed), expected, "in pages of {limit}");
            let listed = conversations_behind(storage, &of_doomed, None, limit).await;
            assert!(listed.is_empty());
        }
        // They must not reappear while maintenance marks and removes them.
        let outdated = purging::deleted_before(fixture::at(10_000_000));
        let touched = storage.maintenance.purge(3, outdated).await;
        if touched.success() == 0 {
            return;
        }
    }
    panic!("the purge does not end");
}
