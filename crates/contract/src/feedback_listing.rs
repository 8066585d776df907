//! [`ports::FeedbackRepository`]: pages of ratings.

use std::sync::Arc;

use domain::{AgentReach, Conversation, Feedback, PrincipalId, RatedMessage, Rating, Seq};
use ports::{
    Decided, Decision, Facts, FactsQuery, FeedbackPage, FeedbackQuery, Lane, Rows,
    write_store::{FeedbackKey, FeedbackRow},
};

use crate::{
    Store,
    feedback::{ada, key, rate},
    fixture, log, lookup,
    results::ResultExt as _,
    setup,
};

fn all() -> FeedbackQuery {
    FeedbackQuery {
        agents: AgentReach::ALL,
        user_id: None,
        rating: None,
        from: None,
        to: None,
        before: None,
        limit: 100,
    }
}

async fn list(storage: &Store, query: FeedbackQuery) -> FeedbackPage {
    let tenant = fixture::tenant();
    storage.feedback.list(&tenant, &query).await.success().value
}

/// The times of the ratings that pass a filter, the newest first.
async fn times(storage: &Store, query: FeedbackQuery) -> Vec<i64> {
    let page = list(storage, query).await;
    let time = |rated: &RatedMessage| rated.feedback.updated_at.milliseconds();
    let start = fixture::at(0).milliseconds();
    page.items.iter().map(|it| time(it) - start).collect()
}

/// Agent 1 with conversations 1 and 2 of Ada, whose replies are rated: at 5,001 by Ada, at 5,002 by a key, and
/// at 5,003 by Ada in the second; at 5,004 another agent's in conversation 3.
async fn rated(storage: &Store) -> [Conversation; 3] {
    let (agent, first) = setup::chat_with_turns(storage, 1).await;
    let second = setup::conversation(storage, 2, &agent).await;
    let other = setup::agent(storage, 2).await;
    let third = setup::conversation(storage, 3, &other).await;
    for (number, agent, of) in [(12, &agent, &second), (13, &other, &third)] {
        let turn = fixture::completed_turn(number, agent, fixture::existing(of, 0));
        setup::record_turn(storage, turn).await;
    }
    let (up, down) = (
        Some((Rating::Up, None)),
        Some((Rating::Down, Some("Wrong"))),
    );
    rate(storage, &first, ada(), up, 5_001).await;
    rate(storage, &first, key(1), down, 5_002).await;
    rate(storage, &second, ada(), down, 5_003).await;
    rate(storage, &third, ada(), up, 5_004).await;
    [first, second, third]
}

/// Ratings are listed with what was rated, the one that has changed last first.
pub async fn ratings_are_listed_with_their_messages(storage: &Store) {
    let [first, ..] = rated(storage).await;
    assert_eq!(times(storage, all()).await, [5_004, 5_003, 5_002, 5_001]);
    let messages = lookup::messages(storage, first.id).await;
    let page = list(storage, all()).await;
    let expected = RatedMessage {
        conversation_id: first.id,
        message_id: messages[1].id,
        agent_id: first.agent_id,
        agent_version: messages[1].agent_version,
        feedback: messages[1].feedback[0].clone(),
    };
    assert!(expected.agent_version.is_some());
    assert_eq!(page.items[3], expected);
    assert_eq!(page.next, None);
    rate(storage, &first, ada(), Some((Rating::Down, None)), 5_005).await;
    assert_eq!(times(storage, all()).await, [5_005, 5_004, 5_003, 5_002]);
    rate(storage, &first, ada(), None, 5_006).await;
    assert_eq!(times(storage, all()).await, [5_004, 5_003, 5_002]);
    let tenant = fixture::tenant();
    let found = storage.feedback.list(&tenant, &all()).await.success();
    assert_eq!(found.position, log::head(storage, &tenant).await);
}

async fn assert_filtered(storage: &Store, cases: Vec<(FeedbackQuery, Vec<i64>)>) {
    for (query, expected) in cases {
        assert_eq!(times(storage, query.clone()).await, expected, "{query:?}");
    }
}

/// Filters select by agent and by user. A user has only the ratings of its own.
pub async fn ratings_are_filtered_by_agent_and_user(storage: &Store) {
    let [first, ..] = rated(storage).await;
    let of_agents = |agents| FeedbackQuery { agents, ..all() };
    let of_user = |user: &str| FeedbackQuery {
        user_id: Some(user.to_owned()),
        ..all()
    };
    let first = AgentReach::only([first.agent_id]);
    let cases = vec![
        (of_agents(first), vec![5_003, 5_002, 5_001]),
        (of_agents(AgentReach::only([])), vec![]),
        (of_user("ada"), vec![5_004, 5_003, 5_001]),
        (of_user("bob"), vec![]),
    ];
    assert_filtered(storage, cases).await;
}

/// Filters select by rating and by time, and can be combined.
pub async fn ratings_are_filtered_by_rating_and_time(storage: &Store) {
    rated(storage).await;
    let of = |rating, from: Option<i64>, to: Option<i64>| FeedbackQuery {
        rating,
        from: from.map(fixture::at),
        to: to.map(fixture::at),
        ..all()
    };
    let (up, down) = (Some(Rating::Up), Some(Rating::Down));
    let cases = vec![
        (of(up, None, None), vec![5_004, 5_001]),
        (of(None, Some(5_003), None), vec![5_004, 5_003]),
        (of(None, None, Some(5_003)), vec![5_002, 5_001]),
        (of(down, Some(5_001), Some(5_003)), vec![5_002]),
    ];
    assert_filtered(storage, cases).await;
}

/// Pages follow each other, also if a rating changes between them.
pub async fn ratings_are_listed_in_pages(storage: &Store) {
    let [first, ..] = rated(storage).await;
    let page = |before| FeedbackQuery {
        before,
        limit: 2,
        ..all()
    };
    let start = list(storage, page(None)).await;
    assert_eq!(start.items.len(), 2);
    rate(storage, &first, key(1), Some((Rating::Up, None)), 5_009).await;
    assert!(start.next.is_some());
    assert_eq!(times(storage, page(start.next)).await, [5_001]);
    assert_eq!(list(storage, page(start.next)).await.next, None);
}

/// Ratings of deleted conversations and agents, and those of other tenants, are left out.
pub async fn ratings_of_what_is_deleted_are_not_listed(storage: &Store) {
    let [first, _, third] = rated(storage).await;
    let other = setup::second_tenant(storage).await;
    let found = storage.feedback.list(&other, &all()).await.success();
    assert_eq!(found.value.items, []);
    setup::delete_conversation(storage, &first).await;
    assert_eq!(times(storage, all()).await, [5_004, 5_003]);
    let agent = lookup::agent(storage, third.agent_id).await;
    setup::delete_agent(storage, &agent.expect("it exists")).await;
    assert_eq!(times(storage, all()).await, [5_003]);
}

/// Writes ratings of a message by 10,005 principals, the first of which is bad.
struct ManyRatings(Conversation);

impl Decision for ManyRatings {
    fn decide(&self, round: usize, _: &Facts) -> Decided {
        let tenant = fixture::tenant();
        if round == 0 {
            return Decided::Read(FactsQuery {
                tenants: [tenant].into(),
                ..FactsQuery::default()
            });
        }
        let row = |number: i64| FeedbackRow {
            tenant: tenant.clone(),
            key: FeedbackKey {
                conversation_id: self.0.id,
                message_seq: 2,
                principal: Some(PrincipalId::new(format!("key:{number}"))),
            },
            feedback: Feedback {
                user_id: None,
                principal: None,
                rating: if number == 1 {
                    Rating::Down
                } else {
                    Rating::Up
                },
                comment: None,
                updated_at: fixture::at(number),
            },
            sort_seq: Seq(number),
        };
        Decided::Write(Rows {
            feedback: (1..=10_005).map(row).collect(),
            ..Rows::default()
        })
    }
}

/// A page looks at 10,000 ratings, and can be empty although others follow.
pub async fn a_page_looks_at_a_bounded_number_of_ratings(storage: &Store) {
    let (_, conversation) = setup::chat_with_turns(storage, 1).await;
    let write = Arc::new(ManyRatings(conversation));
    let written = storage.ports().writes.transact(write, Lane::Alone).await;
    assert!(written.is_ok());
    let bad = |before| FeedbackQuery {
        rating: Some(Rating::Down),
        before,
        ..all()
    };
    let page = list(storage, bad(None)).await;
    assert_eq!((page.items, page.next), (vec![], Some(Seq(6))));
    assert_eq!(times(storage, bad(Some(Seq(6)))).await, [1]);
    let good = |before| FeedbackQuery {
        rating: Some(Rating::Up),
        before,
        ..all()
    };
    let page = list(storage, good(Some(Seq(50)))).await;
    assert_eq!((page.items.len(), page.next), (48, None));
    // The last of the 10,000 is on its page.
    assert_eq!(list(storage, good(None)).await.next, Some(Seq(9_906)));
}
