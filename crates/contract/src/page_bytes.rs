//! Pages of every list end at about 1 MiB, contain at least one item, and skip nothing.

use domain::{
    Agent, AgentReach, Conversation, ConversationId, Credential, CredentialKind, EventType, Listed,
    Seq, Turn, config::Metadata, sizes::PAGE_BYTES,
};
use ports::{
    AgentFilter, ConversationFilter, EventQuery, FirstMessages, ListingOrder, MessageQuery,
    TurnConditions, TurnFilter, TurnPosition, TurnQuery, TurnScan,
};

use crate::{
    Store, fixture, log,
    pages::{agents, conversations, credentials},
    results::ResultExt as _,
    setup,
};

/// The size of large items: four of them fit into a page.
const LARGE: usize = 240 * 1024;

/// Returns the items of each page until none follows.
async fn pages<T: Clone>(mut next: impl AsyncFnMut(Option<T>) -> (Vec<T>, bool)) -> Vec<Vec<T>> {
    let mut pages: Vec<Vec<T>> = Vec::new();
    loop {
        let last = pages.last().and_then(|page| page.last().cloned());
        let (page, has_more) = next(last).await;
        assert!(!page.is_empty() || !has_more, "nothing follows this page");
        pages.push(page);
        assert!(pages.len() < 100, "the listing does not end");
        if !has_more {
            return pages;
        }
    }
}

fn lengths<T>(pages: &[Vec<T>]) -> Vec<usize> {
    pages.iter().map(Vec::len).collect()
}

fn agent_of(number: u32, bytes: usize) -> Agent {
    Agent {
        personality: "x".repeat(bytes),
        ..fixture::agent_able_to(number, &["reading"])
    }
}

/// All orders of the list of agents have short pages.
pub async fn a_page_of_large_agents_is_short(storage: &Store) {
    for number in 1..=10 {
        setup::insert_agent(storage, agent_of(number, LARGE)).await;
    }
    for filter in [
        AgentFilter::All,
        AgentFilter::NamePrefix("agent".to_owned()),
        AgentFilter::Capability("reading".to_owned()),
    ] {
        let pages = pages(async |last: Option<Listed<Agent>>| {
            agents(storage, &filter, last.as_ref(), 100).await
        });
        let pages = pages.await;
        assert_eq!(lengths(&pages), [4, 4, 2], "{filter:?}");
        let mut ids: Vec<_> = pages.concat().iter().map(|agent| agent.item.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, (1..=10).map(fixture::agent_id).collect::<Vec<_>>());
    }
}

/// An item larger than a page is a page of its own.
pub async fn an_agent_larger_than_a_page_is_listed_alone(storage: &Store) {
    for number in 1..=3 {
        setup::insert_agent(storage, agent_of(number, PAGE_BYTES + 1)).await;
    }
    setup::agent(storage, 4).await;
    let all = AgentFilter::All;
    let pages =
        pages(async |last: Option<Listed<Agent>>| agents(storage, &all, last.as_ref(), 100).await);
    assert_eq!(lengths(&pages.await), [1, 1, 1, 1]);
}

/// The same for conversations, with every filter.
pub async fn a_page_of_large_conversations_is_short(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    for number in 1..=6 {
        let large = ("note".to_owned(), "x".repeat(LARGE));
        let conversation = Conversation {
            metadata: Metadata::from([large]),
            ..fixture::conversation(number, agent.id)
        };
        setup::insert_conversation(storage, conversation).await;
    }
    for (agent_id, user_id) in [
        (None, None),
        (Some(agent.id), None),
        (None, Some("ada".to_owned())),
        (Some(agent.id), Some("ada".to_owned())),
    ] {
        let filter = ConversationFilter {
            agents: AgentReach::ALL.narrowed_to(agent_id),
            user_id,
            handling: None,
        };
        let pages = pages(async |last: Option<Listed<Conversation>>| {
            conversations(storage, &filter, last.as_ref(), 100).await
        });
        let pages = pages.await;
        assert_eq!(lengths(&pages), [4, 2], "{filter:?}");
        let ids: Vec<ConversationId> = pages
            .concat()
            .iter()
            .map(|conversation| conversation.item.id)
            .collect();
        let expected: Vec<_> = (1..=6).rev().map(fixture::conversation_id).collect();
        assert_eq!(ids, expected);
    }
}

/// The same for messages, in both orders.
pub async fn a_page_of_large_messages_is_short(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    for number in 0..3 {
        let target = fixture::existing(&conversation, i64::from(number));
        let mut turn = fixture::completed_turn(number, &agent, target);
        turn.begin.input = "x".repeat(LARGE);
        turn.reply.content = "y".repeat(LARGE);
        setup::record_turn(storage, turn).await;
    }
    for (order, expected) in [
        (ListingOrder::Ascending, [1, 2, 3, 4, 5, 6]),
        (ListingOrder::Descending, [6, 5, 4, 3, 2, 1]),
    ] {
        let pages = pages(async |last: Option<i64>| {
            let query = MessageQuery {
                order,
                after: last,
                limit: 100,
                with_superseded: false,
            };
            let tenant = fixture::tenant();
            let listed = storage
                .conversations
                .messages(&tenant, conversation.id, &query)
                .await;
            let page = listed.success().value.expect("the conversation exists");
            let positions = page.items.iter().map(|message| message.seq);
            (positions.collect(), page.has_more)
        });
        let pages = pages.await;
        assert_eq!(lengths(&pages), [4, 2]);
        assert_eq!(pages.concat(), expected);
    }
}

/// The same for turns, of a conversation in both orders and of a tenant.
pub async fn a_page_of_large_turns_is_short(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    for number in 0..4 {
        let target = fixture::existing(&conversation, i64::from(number));
        let mut turn = fixture::completed_turn(number, &agent, target);
        turn.begin.input = "x".repeat(LARGE);
        turn.reply.content = "y".repeat(LARGE);
        setup::record_turn(storage, turn).await;
    }
    for (order, expected) in [
        (ListingOrder::Ascending, [0, 1, 2, 3]),
        (ListingOrder::Descending, [3, 2, 1, 0]),
    ] {
        let pages = pages(async |last: Option<Listed<Turn>>| {
            let query = TurnQuery {
                filter: TurnFilter::All,
                order,
                after: last.map(|last| last.sort_seq),
                limit: 100,
            };
            let tenant = fixture::tenant();
            let listed = storage.turns.list(&tenant, conversation.id, &query).await;
            let page = listed.success().value.expect("the conversation exists");
            (page.items, page.has_more)
        });
        let pages = pages.await;
        assert_eq!(lengths(&pages), [2, 2]);
        let ids: Vec<_> = pages.concat().iter().map(|turn| turn.item.id).collect();
        assert_eq!(ids, expected.map(fixture::turn_id));
    }
    let pages = pages(async |last: Option<Listed<Turn>>| {
        let scan = TurnScan {
            conditions: TurnConditions::default(),
            before: last.map(|last| TurnPosition {
                sort_seq: last.sort_seq,
                id: last.item.id,
            }),
            limit: 100,
        };
        let page = storage.turns.scan(&fixture::tenant(), &scan).await;
        let page = page.success().value;
        let last = page.items.last().map(|last| last.item.id);
        assert!(page.next.is_none_or(|next| Some(next.id) == last));
        (page.items, page.next.is_some())
    });
    assert_eq!(lengths(&pages.await), [2, 2]);
}

/// The same for keys.
pub async fn a_page_of_large_credentials_is_short(storage: &Store) {
    for number in 1..=6 {
        let key = Credential {
            allowed_origins: vec!["x".repeat(LARGE)],
            ..fixture::key(number)
        };
        setup::credential(storage, key).await;
    }
    let tenant = fixture::tenant();
    let page = storage
        .credentials
        .list(CredentialKind::Key, &tenant, None, 100)
        .await;
    let page = page.success();
    assert_eq!((page.items.len(), page.has_more), (4, true));
    let all = credentials(storage, CredentialKind::Key, 100).await;
    assert_eq!(all.len(), 6);
}

/// Returns the log in pages of at most `bytes` bytes.
async fn log_pages(storage: &Store, bytes: usize) -> Vec<Vec<i64>> {
    let mut since = Seq(0);
    let mut pages = Vec::new();
    loop {
        let query = EventQuery {
            bytes,
            ..log::query(since)
        };
        let page = log::page(storage, &query).await;
        pages.push(
            page.events
                .iter()
                .map(|logged| logged.event.seq.0)
                .collect(),
        );
        assert!(pages.len() < 100, "the log does not end");
        since = page.next_since;
        if since == page.head {
            return pages;
        }
    }
}

/// A page of the log ends when its bytes are used up, and contains at least one event.
pub async fn a_page_of_large_events_is_short(storage: &Store) {
    for number in 1..=5 {
        setup::insert_agent(storage, agent_of(number, LARGE)).await;
    }
    let ones: Vec<Vec<i64>> = (1..=5).map(|seq| vec![seq]).collect();
    assert_eq!(log_pages(storage, 1).await, ones);
    let twos = [vec![1, 2], vec![3, 4], vec![5]];
    assert_eq!(log_pages(storage, 2 * (LARGE + 4_096)).await, twos);
    // Deleted content needs no space.
    for number in 1..=4 {
        setup::delete_agent(storage, &fixture::agent(number)).await;
    }
    let all = [(1..=9).collect::<Vec<_>>()];
    assert_eq!(log_pages(storage, LARGE + 4_096).await, all);
}

/// Messages count as well as the events' own content, also messages that events omit.
pub async fn messages_count_towards_the_size_of_a_page_of_the_log(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let conversation = fixture::conversation(1, agent.id);
    let (conversation, greeting) = fixture::greeted(conversation, &"x".repeat(LARGE));
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    let conversations = &storage.conversations;
    let first = FirstMessages::Greeting(greeting.clone());
    let result = conversations.insert(&tenant, &conversation, &first, &stamp, None);
    result.await.success();
    let mut turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    turn.begin.input = "y".repeat(LARGE);
    setup::record_turn(storage, turn).await;
    let expected = [vec![1, 2], vec![3], vec![4]];
    assert_eq!(log_pages(storage, 2 * LARGE + 4_096).await, expected);
}

/// `count` counts the events that a page would return, up to a limit.
pub async fn matching_events_are_counted(storage: &Store) {
    for number in 1..=5 {
        setup::insert_agent(storage, agent_of(number, LARGE)).await;
    }
    setup::delete_agent(storage, &fixture::agent(1)).await;
    let created = EventQuery {
        types: vec![EventType::AgentCreated],
        bytes: 0,
        ..log::query(Seq(1))
    };
    let of_one = EventQuery {
        agent_id: Some(fixture::agent_id(1)),
        ..log::query(Seq(0))
    };
    let limited = EventQuery {
        limit: 3,
        ..log::query(Seq(0))
    };
    for (query, expected) in [(created, 4), (of_one, 2), (limited, 3)] {
        let count = storage.events.count(&fixture::tenant(), &query).await;
        assert_eq!(count.success(), expected, "{query:?}");
    }
}
