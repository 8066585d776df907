//! `ConversationRepository::scan`: conversations by conditions that no index answers.

use std::sync::Arc;

use domain::{AgentReach, Conversation, ConversationDraft, ConversationId, Handler, Rating, Seq};
use ports::{
    ConversationConditions, ConversationFilter, ConversationPosition, ConversationScan, Decided,
    Decision, Facts, FactsQuery, Handling, Lane, RatingCondition, Rows, SCAN_LENGTH, ScanOrder,
    ScannedConversations, write_store::ConversationRow,
};

use crate::{
    Store,
    feedback::{ada, key, rate},
    fixture, log, lookup,
    results::ResultExt as _,
    setup,
};

fn by(order: ScanOrder, conditions: ConversationConditions) -> ConversationScan {
    ConversationScan {
        filter: ConversationFilter::default(),
        conditions,
        order,
        after: None,
        limit: 100,
    }
}

async fn scan(storage: &Store, scan: &ConversationScan) -> ScannedConversations {
    let (tenant, conversations) = (fixture::tenant(), &storage.conversations);
    let found = conversations.scan(&tenant, scan).await.success();
    assert_eq!(found.position, log::head(storage, &tenant).await);
    found.value
}

/// The conversations of all pages of a scan, in pages of `limit`.
async fn ids(storage: &Store, wanted: &ConversationScan, limit: usize) -> Vec<ConversationId> {
    let mut wanted = ConversationScan {
        limit,
        ..wanted.clone()
    };
    let mut ids = Vec::new();
    loop {
        let page = scan(storage, &wanted).await;
        assert!(page.items.len() <= limit);
        ids.extend(page.items.iter().map(|listed| listed.item.id));
        if page.next.is_none() {
            return ids;
        }
        wanted.after = page.next;
    }
}

async fn assert_scanned(storage: &Store, cases: Vec<(ConversationScan, Vec<u32>)>) {
    for (wanted, expected) in cases {
        let expected: Vec<_> = expected.into_iter().map(fixture::conversation_id).collect();
        for limit in [1, 2, 100] {
            assert_eq!(ids(storage, &wanted, limit).await, expected, "{wanted:?}");
        }
    }
}

fn with_metadata(pairs: &[(&str, &str)]) -> ConversationConditions {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    ConversationConditions {
        metadata: pairs.iter().map(pair).collect(),
        ..ConversationConditions::default()
    }
}

/// Conversations 4, 2 and 1 of agent 1, and 3 of agent 2, in the order of their activity. Number 4 is Bob's, the
/// others are Ada's.
async fn four(storage: &Store) {
    for agent in [1, 2] {
        setup::agent(storage, agent).await;
    }
    for (number, agent, user) in [(1, 1, "ada"), (3, 2, "ada"), (2, 1, "ada"), (4, 1, "bob")] {
        let number_text = number.to_string();
        let conversation = Conversation {
            user_id: Some(user.to_owned()),
            metadata: [
                ("shop \"7\"".to_owned(), "a'b".to_owned()),
                ("number".to_owned(), number_text),
            ]
            .into(),
            last_message_at: (number > 1).then(|| fixture::at(i64::from(number))),
            ..fixture::conversation(number, fixture::agent_id(agent))
        };
        setup::insert_conversation(storage, conversation).await;
    }
}

/// Conditions are exact, alone and together with filters, in every order.
pub async fn conversations_are_scanned_by_conditions(storage: &Store) {
    use ScanOrder::{Activity, Id};
    four(storage).await;
    let none = ConversationConditions::default;
    let of_user = |order, user: &str| ConversationScan {
        filter: ConversationFilter {
            user_id: Some(user.to_owned()),
            ..ConversationFilter::default()
        },
        ..by(order, none())
    };
    let times = |from: Option<i64>, to: Option<i64>| ConversationConditions {
        from: from.map(fixture::at),
        to: to.map(fixture::at),
        ..none()
    };
    let of_agent = ConversationScan {
        filter: ConversationFilter {
            agents: AgentReach::only([fixture::agent_id(2)]),
            ..ConversationFilter::default()
        },
        ..by(Id, none())
    };
    let cases = vec![
        (by(Activity, none()), vec![4, 2, 3, 1]),
        (by(Id, none()), vec![1, 2, 3, 4]),
        (of_user(Activity, "ada"), vec![2, 3, 1]),
        (of_user(Id, "ada"), vec![1, 2, 3]),
        (of_user(Id, "eve"), vec![]),
        (of_agent, vec![3]),
        (by(Activity, times(Some(3), None)), vec![4, 3]),
        (by(Activity, times(None, Some(3))), vec![2]),
        (by(Id, times(Some(2), Some(4))), vec![2, 3]),
        (by(Activity, with_metadata(&[("number", "3")])), vec![3]),
        (
            by(
                Activity,
                with_metadata(&[("shop \"7\"", "a'b"), ("number", "4")]),
            ),
            vec![4],
        ),
        (by(Activity, with_metadata(&[("shop \"7\"", "a")])), vec![]),
        (by(Activity, with_metadata(&[("shop", "a'b")])), vec![]),
    ];
    assert_scanned(storage, cases).await;
    let other = setup::second_tenant(storage).await;
    let found = storage.conversations.scan(&other, &by(Id, none())).await;
    assert_eq!(found.success().value.items, []);
    setup::delete_conversation(storage, &fixture::conversation(2, fixture::agent_id(1))).await;
    assert_scanned(storage, vec![(by(Id, none()), vec![1, 3, 4])]).await;
}

/// A rating selects conversations with a message that is rated so, by anybody or by their user.
pub async fn conversations_are_scanned_by_rating(storage: &Store) {
    let (agent, first) = setup::chat_with_turns(storage, 1).await;
    let second = setup::conversation(storage, 2, &agent).await;
    let turn = fixture::completed_turn(12, &agent, fixture::existing(&second, 0));
    setup::record_turn(storage, turn).await;
    rate(storage, &first, ada(), Some((Rating::Up, None)), 5_001).await;
    rate(storage, &second, key(1), Some((Rating::Up, None)), 5_002).await;
    rate(storage, &second, key(2), Some((Rating::Down, None)), 5_003).await;
    let rated = |rating, by_user| {
        let conditions = ConversationConditions {
            rating: Some(RatingCondition { rating, by_user }),
            ..ConversationConditions::default()
        };
        by(ScanOrder::Id, conditions)
    };
    let cases = vec![
        (rated(Rating::Up, false), vec![1, 2]),
        (rated(Rating::Up, true), vec![1]),
        (rated(Rating::Down, false), vec![2]),
        (rated(Rating::Down, true), vec![]),
    ];
    assert_scanned(storage, cases).await;
}

/// Those that wait are listed in the order in which they began to.
pub async fn waiting_conversations_are_scanned_by_their_time(storage: &Store) {
    four(storage).await;
    let waiting = |assignee: Option<&str>| ConversationScan {
        filter: ConversationFilter {
            handling: Some(Handling::Waiting(assignee.map(str::to_owned))),
            ..ConversationFilter::default()
        },
        ..by(ScanOrder::Waiting, ConversationConditions::default())
    };
    let handled = |by| ConversationScan {
        filter: ConversationFilter {
            handling: Some(by),
            ..ConversationFilter::default()
        },
        ..self::by(ScanOrder::Id, ConversationConditions::default())
    };
    for (number, assignee) in [(3, None), (1, Some("grace"))] {
        let agent = fixture::agent_id(if number == 3 { 2 } else { 1 });
        let conversation = fixture::conversation(number, agent);
        let stored = lookup::conversation(storage, conversation.id).await;
        let stored = stored.expect("it exists");
        let draft = ConversationDraft {
            handled_by: Handler::Staff,
            assignee: assignee.map(str::to_owned),
            ..stored.draft()
        };
        let at = fixture::at(100 - i64::from(number));
        let changed = stored.changed_to(draft, at).expect("a change");
        let (tenant, stamp) = (fixture::tenant(), fixture::stamp(100 - i64::from(number)));
        let updated = storage.conversations.update(&tenant, &changed, &stamp);
        assert!(updated.await.success().is_some());
    }
    let cases = vec![
        (waiting(None), vec![3, 1]),
        (waiting(Some("grace")), vec![1]),
        (handled(Handling::Staff(None)), vec![1, 3]),
        (handled(Handling::Agent), vec![2, 4]),
    ];
    assert_scanned(storage, cases).await;
}

/// Writes 10,005 conversations, the first of which has metadata.
struct Many;

impl Decision for Many {
    fn decide(&self, round: usize, _: &Facts) -> Decided {
        let tenant = fixture::tenant();
        if round == 0 {
            return Decided::Read(FactsQuery {
                tenants: [tenant].into(),
                ..FactsQuery::default()
            });
        }
        let row = |number: u32| ConversationRow {
            tenant: tenant.clone(),
            conversation: Conversation {
                metadata: if number == 1 {
                    [("first".to_owned(), "yes".to_owned())].into()
                } else {
                    [].into()
                },
                ..fixture::conversation(number, fixture::agent_id(1))
            },
            turn_count: 0,
            staff_messages: 0,
            imported_at: None,
            sort_seq: Seq(i64::from(number)),
        };
        let count = u32::try_from(SCAN_LENGTH).expect("a small number") + 5;
        Decided::Write(Rows {
            conversations: (1..=count).map(row).collect(),
            ..Rows::default()
        })
    }
}

/// A page looks at 10,000 conversations, and can be empty although others follow.
pub async fn a_scan_looks_at_a_bounded_number_of_conversations(storage: &Store) {
    setup::agent(storage, 1).await;
    let written = storage.ports().writes.transact(Arc::new(Many), Lane::Alone);
    assert!(written.await.is_ok());
    let mut first = by(ScanOrder::Activity, with_metadata(&[("first", "yes")]));
    let page = scan(storage, &first).await;
    let next = ConversationPosition {
        key: 6,
        id: fixture::conversation_id(6),
    };
    assert_eq!((page.items.len(), page.next), (0, Some(next)));
    first.after = page.next;
    let page = scan(storage, &first).await;
    assert_eq!((page.items.len(), page.next), (1, None));
    let all = by(ScanOrder::Id, ConversationConditions::default());
    let page = scan(storage, &all).await;
    assert_eq!(page.items.len(), 100);
    let next = page.next.map(|next| next.id);
    assert_eq!(next, Some(fixture::conversation_id(100)));
}
