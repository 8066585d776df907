//! `ConversationRepository::list`: latest activity first, and pages that skip nothing.

use domain::{Conversation, ConversationId};
use ports::{ConversationFilter, Storage};

use crate::{
    answers::Answer as _,
    given,
    pages::{TOO_MANY_PAGES, conversations, conversations_behind},
    samples, upkeep,
};

fn all() -> ConversationFilter {
    ConversationFilter::default()
}

fn ids(conversations: &[Conversation]) -> Vec<ConversationId> {
    conversations.iter().map(|talk| talk.id).collect()
}

async fn talk_at(storage: &Storage, number: u32, agent: u32, user: Option<&str>, time: i64) {
    let talk = Conversation {
        user_id: user.map(ToOwned::to_owned),
        updated_at: samples::at(time),
        ..samples::conversation(number, samples::agent_id(agent))
    };
    given::stored_conversation(storage, talk).await;
}

/// The order is that of the transactions, whatever ids and times say.
pub async fn lists_conversations_by_latest_activity(storage: &Storage) {
    given::agent(storage, 1).await;
    for (number, time) in [(1, 50), (2, 10), (3, 30), (5, 30), (4, 30), (6, 20)] {
        talk_at(storage, number, 1, None, time).await;
    }
    let expected = [6, 4, 5, 3, 2, 1].map(samples::conversation_id);
    for limit in [1, 2, 3, 6, 100] {
        let listed = conversations_behind(storage, &all(), None, limit).await;
        assert_eq!(ids(&listed), expected, "in pages of {limit}");
    }
}

/// Messages and changes are activity.
pub async fn what_happens_moves_a_conversation_to_the_front(storage: &Storage) {
    let (agent, _) = given::chat(storage).await;
    for number in 2..=4 {
        given::conversation(storage, number, &agent).await;
    }
    let talk = |number| samples::conversation(number, agent.id);
    let exchange = samples::exchange(100, &agent, samples::existing(&talk(2), 0));
    given::recorded(storage, exchange).await;
    let question = samples::question(200, &agent, samples::existing(&talk(1), 0));
    given::started(storage, &question).await;
    let mut next = samples::retitled(&talk(3), "Orders");
    // By a process whose clock is behind.
    next.updated_at = samples::at(-300);
    given::conversation_updated(storage, &next).await;
    let listed = conversations_behind(storage, &all(), None, 10).await;
    assert_eq!(ids(&listed), [3, 1, 2, 4].map(samples::conversation_id));
    assert!(listed[1].updated_at >= samples::at(200));
    assert_eq!(listed[2].message_count, 2);
}

/// Filters are exact, alone and together.
pub async fn filters_conversations_by_agent_and_user(storage: &Storage) {
    given::agent(storage, 1).await;
    given::agent(storage, 2).await;
    let users = [Some("ada"), Some("Ada"), None, Some("ada"), Some("ada ")];
    for (number, user) in (1..).zip(users) {
        talk_at(storage, number, 1, user, i64::from(number)).await;
        talk_at(storage, number + 10, 2, user, i64::from(number + 10)).await;
    }
    let filter = |agent: Option<u32>, user: Option<&str>| ConversationFilter {
        agent_id: agent.map(samples::agent_id),
        user_id: user.map(ToOwned::to_owned),
    };
    for (filter, expected) in [
        (filter(Some(1), None), vec![5, 4, 3, 2, 1]),
        (filter(None, Some("ada")), vec![14, 4, 11, 1]),
        (filter(Some(2), Some("ada")), vec![14, 11]),
        (filter(Some(2), Some("Ada")), vec![12]),
        (filter(Some(1), Some("nobody")), vec![]),
        (filter(Some(3), None), vec![]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(samples::conversation_id).collect();
        for limit in [1, 10] {
            let listed = conversations_behind(storage, &filter, None, limit).await;
            assert_eq!(ids(&listed), expected, "{filter:?} in pages of {limit}");
        }
    }
}

/// `has_more` is exact, also when the last page is full.
pub async fn tells_whether_more_conversations_follow(storage: &Storage) {
    let (agent, _) = given::chat(storage).await;
    given::conversation(storage, 2, &agent).await;
    for (limit, length, more) in [(1, 1, true), (2, 2, false), (3, 2, false)] {
        let (page, has_more) = conversations(storage, &all(), None, limit).await;
        assert_eq!(
            (page.len(), has_more),
            (length, more),
            "in a page of {limit}"
        );
    }
}

/// One that becomes active while paging may be shown again; one that rested MUST NOT be skipped.
pub async fn skips_no_conversation_that_rests_while_others_become_active(storage: &Storage) {
    let (agent, _) = given::chat(storage).await;
    for number in 2..=9 {
        given::conversation(storage, number, &agent).await;
    }
    let (first, _) = conversations(storage, &all(), None, 3).await;
    let shown: Vec<_> = first.iter().map(|listed| listed.item.id).collect();
    assert_eq!(shown, [9, 8, 7].map(samples::conversation_id));
    // One behind the cursor, the cursor's own, and one before it become active; one is new, and
    // one goes.
    for (turn, number) in [(101, 4), (102, 7), (103, 9)] {
        let talk = samples::conversation(number, agent.id);
        let exchange = samples::exchange(turn, &agent, samples::existing(&talk, 0));
        given::recorded(storage, exchange).await;
    }
    given::conversation(storage, 50, &agent).await;
    given::conversation_deleted(storage, &samples::conversation(2, agent.id)).await;
    let rest = conversations_behind(storage, &all(), first.last().cloned(), 2).await;
    assert_eq!(ids(&rest), [6, 5, 3, 1].map(samples::conversation_id));
}

/// The conversations of deleted agents are in no page, and no page ends early because of them.
pub async fn lists_no_conversation_of_a_deleted_agent(storage: &Storage) {
    let (kept, _) = given::chat(storage).await;
    let doomed = given::agent(storage, 2).await;
    for number in 2..=12 {
        let agent = if number % 4 == 0 { &kept } else { &doomed };
        given::conversation(storage, number, agent).await;
    }
    given::agent_deleted(storage, &doomed).await;
    let expected = [12, 8, 4, 1].map(samples::conversation_id);
    let of_doomed = ConversationFilter {
        agent_id: Some(doomed.id),
        ..all()
    };
    for _ in 0..TOO_MANY_PAGES {
        for limit in [1, 2, 10] {
            let listed = conversations_behind(storage, &all(), None, limit).await;
            assert_eq!(ids(&listed), expected, "in pages of {limit}");
            let listed = conversations_behind(storage, &of_doomed, None, limit).await;
            assert!(listed.is_empty());
        }
        // Upkeep must not show them again while it marks and removes them.
        let outdated = upkeep::deleted_before(samples::at(10_000_000));
        let touched = storage.maintenance.purge(3, outdated).await;
        if touched.answered() == 0 {
            return;
        }
    }
    panic!("upkeep does not end");
}
