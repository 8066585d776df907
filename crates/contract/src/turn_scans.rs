//! `TurnRepository::scan`: turns of a tenant by conditions.

use domain::{Agent, AgentReach, Conversation, Rating, TurnId, TurnStatus};
use ports::{ScannedTurns, TurnConditions, TurnFilter, TurnScan, WaitingFor};
use writes::TurnEnding;

use crate::{
    Store,
    feedback::{ada, key, rate},
    fixture, log, lookup,
    pages::TOO_MANY_PAGES,
    results::ResultExt as _,
    setup,
    staff_decisions::{asked_both, completed_with, hidden_call},
    waiting_turns::wait,
};

pub(crate) async fn page(storage: &Store, scan: &TurnScan) -> ScannedTurns {
    let tenant = fixture::tenant();
    let found = storage.turns.scan(&tenant, scan).await.success();
    assert_eq!(found.position, log::head(storage, &tenant).await);
    found.value
}

/// The turns that meet conditions, in pages of `limit`.
pub(crate) async fn ids(storage: &Store, wanted: &TurnConditions, limit: usize) -> Vec<TurnId> {
    let (mut all, mut before) = (Vec::new(), None);
    for _ in 0..TOO_MANY_PAGES {
        let conditions = wanted.clone();
        let scan = TurnScan {
            conditions,
            before,
            limit,
        };
        let page = page(storage, &scan).await;
        assert!(page.items.len() <= limit, "a page is longer than its limit");
        for turn in &page.items {
            let stored = lookup::turn(storage, turn.item.id).await;
            assert_eq!(stored.as_ref(), Some(&turn.item));
        }
        all.extend(page.items.iter().map(|turn| turn.item.id));
        before = page.next;
        if before.is_none() {
            return all;
        }
    }
    panic!("the listing does not end");
}

async fn assert_scanned(storage: &Store, cases: Vec<(TurnConditions, Vec<u32>)>) {
    for (wanted, expected) in cases {
        let expected: Vec<_> = expected.into_iter().map(fixture::turn_id).collect();
        for limit in [1, 2, 100] {
            assert_eq!(ids(storage, &wanted, limit).await, expected, "{wanted:?}");
        }
    }
}

fn with_metadata(pairs: &[(&str, &str)]) -> TurnConditions {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    TurnConditions {
        metadata: pairs.iter().map(pair).collect(),
        ..TurnConditions::default()
    }
}

pub(crate) fn waiting_for(waiting_for: WaitingFor) -> TurnConditions {
    TurnConditions {
        waiting_for: Some(waiting_for),
        ..TurnConditions::default()
    }
}

async fn of_user(storage: &Store, number: u32, agent: &Agent, user: &str) -> Conversation {
    let conversation = Conversation {
        user_id: Some(user.to_owned()),
        ..fixture::conversation(number, agent.id)
    };
    setup::insert_conversation(storage, conversation).await
}

/// Turns 30 (completed), 20 (failed), 40 (in progress) and 50 (queued) of Ada with agent 1, and 10 (completed) of
/// Bob with agent 2, which begin in this order.
async fn five(storage: &Store) -> [Conversation; 2] {
    setup::node(storage, 1).await;
    let agents = [
        setup::agent(storage, 1).await,
        setup::agent(storage, 2).await,
    ];
    let conversations = [
        of_user(storage, 1, &agents[0], "ada").await,
        of_user(storage, 2, &agents[1], "bob").await,
    ];
    let begin = |number, of: usize, turn_count| {
        let target = fixture::existing(&conversations[of], turn_count);
        let mut begin = fixture::begin_turn(number, &agents[of], target);
        let pairs = [("number", number.to_string()), ("shop \"7\"", "a'b".into())];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
        begin.metadata = if number == 20 {
            [].into()
        } else {
            pairs.into()
        };
        begin
    };
    let [first, failed, running, queued] =
        [(30, 0), (20, 1), (40, 2), (50, 3)].map(|(number, turns)| begin(number, 0, turns));
    setup::start_turn(storage, &first).await;
    setup::complete_turn(storage, &first, 30).await;
    setup::start_turn(storage, &failed).await;
    let ending = TurnEnding::failed(fixture::lasting_problem());
    setup::finish_turn(storage, fixture::finish(&failed, ending)).await;
    setup::start_turn(storage, &running).await;
    setup::queue_turn(storage, &queued).await;
    let of_bob = begin(10, 1, 0);
    setup::start_turn(storage, &of_bob).await;
    setup::complete_turn(storage, &of_bob, 10).await;
    conversations
}

/// Conditions are exact, alone and together. The turn with the newest id is the first.
pub async fn turns_are_scanned_by_conditions(storage: &Store) {
    five(storage).await;
    let all = TurnConditions::default;
    let times = |from: Option<i64>, to: Option<i64>| TurnConditions {
        from: from.map(fixture::at),
        to: to.map(fixture::at),
        ..all()
    };
    let of_status = |status| TurnConditions { status, ..all() };
    let of_agents = |numbers: &[u32]| TurnConditions {
        agents: AgentReach::only(numbers.iter().copied().map(fixture::agent_id)),
        ..all()
    };
    let of_user = |user: &str| TurnConditions {
        user_id: Some(user.to_owned()),
        ..all()
    };
    let completed = TurnFilter::Status(TurnStatus::Completed);
    let cases = vec![
        (all(), vec![50, 40, 30, 20, 10]),
        (times(Some(30), None), vec![50, 40, 30]),
        (times(None, Some(30)), vec![20, 10]),
        (times(Some(20), Some(40)), vec![30, 20]),
        (of_status(completed), vec![30, 10]),
        (of_status(TurnFilter::Open), vec![50, 40]),
        (of_status(TurnFilter::Status(TurnStatus::Queued)), vec![50]),
        (
            of_status(TurnFilter::Status(TurnStatus::RequiresAction)),
            vec![],
        ),
        (of_agents(&[1]), vec![50, 40, 30, 20]),
        (of_agents(&[2, 3]), vec![10]),
        (of_agents(&[]), vec![]),
        (of_user("ada"), vec![50, 40, 30, 20]),
        (of_user("eve"), vec![]),
        (
            TurnConditions {
                user_id: Some("ada".to_owned()),
                status: completed,
                ..all()
            },
            vec![30],
        ),
        (
            with_metadata(&[("shop \"7\"", "a'b")]),
            vec![50, 40, 30, 10],
        ),
        (with_metadata(&[("shop \"7\"", "a")]), vec![]),
        (
            TurnConditions {
                user_id: Some("bob".to_owned()),
                ..with_metadata(&[("number", "10"), ("shop \"7\"", "a'b")])
            },
            vec![10],
        ),
        (waiting_for(WaitingFor::Staff), vec![]),
        (waiting_for(WaitingFor::User), vec![]),
    ];
    assert_scanned(storage, cases).await;
}

/// A rating selects the turns whose own reply is rated so, by anybody or by the user of their conversation.
pub async fn turns_are_scanned_by_rating(storage: &Store) {
    let (agent, first) = setup::chat_with_turns(storage, 1).await;
    let second = setup::conversation(storage, 2, &agent).await;
    rate(storage, &first, ada(), Some((Rating::Up, None)), 5_001).await;
    for (number, turns, conversation) in [(2, 1, &first), (3, 0, &second)] {
        let turn = fixture::completed_turn(number, &agent, fixture::existing(conversation, turns));
        setup::record_turn(storage, turn).await;
    }
    rate(storage, &second, key(1), Some((Rating::Up, None)), 5_002).await;
    rate(storage, &second, key(2), Some((Rating::Down, None)), 5_003).await;
    let rated = |rating, as_user| TurnConditions {
        rating: Some(rating),
        as_user,
        ..TurnConditions::default()
    };
    let cases = vec![
        (rated(Rating::Up, false), vec![3, 1]),
        (rated(Rating::Up, true), vec![1]),
        (rated(Rating::Down, false), vec![3]),
        (rated(Rating::Down, true), vec![]),
    ];
    assert_scanned(storage, cases).await;
}

/// A turn waits for those whose answer one of its calls needs. To users, hidden calls wait for nothing.
pub async fn waiting_turns_are_scanned_by_what_they_wait_for(storage: &Store) {
    let (begin, calls) = asked_both(storage).await;
    wait(storage, &begin, &calls).await;
    let (staff, user) = (
        waiting_for(WaitingFor::Staff),
        waiting_for(WaitingFor::User),
    );
    let as_user = |conditions: &TurnConditions| TurnConditions {
        as_user: true,
        ..conditions.clone()
    };
    let of_status = |status| TurnConditions {
        status: TurnFilter::Status(status),
        ..staff.clone()
    };
    let from = |milliseconds| TurnConditions {
        from: Some(fixture::at(milliseconds)),
        ..staff.clone()
    };
    let cases = vec![
        (staff.clone(), vec![1]),
        (user.clone(), vec![1]),
        (as_user(&staff), vec![1]),
        (as_user(&user), vec![1]),
        (of_status(TurnStatus::RequiresAction), vec![1]),
        (of_status(TurnStatus::InProgress), vec![]),
        (from(1), vec![1]),
        (from(2), vec![]),
    ];
    assert_scanned(storage, cases).await;
}

/// The same of a turn that has completed, and whose only call is hidden.
pub async fn hidden_calls_wait_for_staff_alone(storage: &Store) {
    completed_with(storage, hidden_call()).await;
    let seen = |as_user| TurnConditions {
        as_user,
        ..waiting_for(WaitingFor::Staff)
    };
    let cases = vec![
        (seen(false), vec![1]),
        (seen(true), vec![]),
        (waiting_for(WaitingFor::User), vec![]),
        (
            TurnConditions {
                status: TurnFilter::Waiting,
                ..TurnConditions::default()
            },
            vec![1],
        ),
    ];
    assert_scanned(storage, cases).await;
}

/// Turns are gone with their conversation, also those that its deletion has cancelled, and with their agent.
pub async fn turns_of_deleted_conversations_are_not_scanned(storage: &Store) {
    let [of_ada, _] = five(storage).await;
    setup::delete_conversation(storage, &of_ada).await;
    let cancelled = lookup::turn(storage, fixture::turn_id(40)).await;
    assert!(cancelled.is_some_and(|turn| turn.status == TurnStatus::Cancelled));
    assert_scanned(storage, vec![(TurnConditions::default(), vec![10])]).await;
    setup::delete_agent(storage, &fixture::agent(2)).await;
    assert_scanned(storage, vec![(TurnConditions::default(), vec![])]).await;
}
