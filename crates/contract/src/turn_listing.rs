//! `TurnRepository::list`.

use domain::{ConversationId, Listed, Turn, TurnId, TurnStatus};
use ports::{ListingOrder, TurnFilter, TurnQuery};
use writes::{BeginTurn, TurnEnding};

use crate::{
    Store, fixture, log, lookup,
    pages::TOO_MANY_PAGES,
    results::ResultExt as _,
    setup,
    staff_decisions::{completed_with, hidden_call},
};

/// Stores a chat with a turn in each status, numbered by `ORDER`.
async fn turns_of_every_status(storage: &Store) -> ConversationId {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number, turn_count| {
        fixture::begin_turn(number, &agent, fixture::existing(&conversation, turn_count))
    };
    let target = fixture::existing(&conversation, 0);
    setup::record_turn(storage, fixture::completed_turn(ORDER[0], &agent, target)).await;
    let [failed, cancelled, running] = [(ORDER[1], 1), (ORDER[2], 2), (ORDER[3], 3)]
        .map(|(number, turn_count)| begin(number, turn_count));
    setup::start_turn(storage, &failed).await;
    let ending = TurnEnding::failed(fixture::lasting_problem());
    setup::finish_turn(storage, fixture::finish(&failed, ending)).await;
    setup::start_turn(storage, &cancelled).await;
    setup::cancel_turn(storage, &cancelled, None).await;
    setup::start_turn(storage, &running).await;
    for number in &ORDER[4..] {
        setup::queue_turn(storage, &begin(*number, 4)).await;
    }
    conversation.id
}

/// The numbers of the turns in the order in which they begin, which is not that of their ids.
const ORDER: [u32; 6] = [30, 20, 10, 60, 50, 40];

async fn page(
    storage: &Store,
    conversation: ConversationId,
    query: &TurnQuery,
) -> Option<(Vec<Listed<Turn>>, bool)> {
    let tenant = fixture::tenant();
    let listed = storage.turns.list(&tenant, conversation, query).await;
    let listed = listed.success();
    assert!(listed.position <= log::head(storage, &tenant).await);
    listed.value.map(|page| (page.items, page.has_more))
}

/// Reads all turns that match, in pages of `limit`.
async fn listed(
    storage: &Store,
    conversation: ConversationId,
    (filter, order): (TurnFilter, ListingOrder),
    limit: usize,
) -> Vec<TurnId> {
    let (mut all, mut after) = (Vec::new(), None);
    for _ in 0..TOO_MANY_PAGES {
        let query = TurnQuery {
            filter,
            order,
            after,
            limit,
        };
        let (turns, has_more) = page(storage, conversation, &query)
            .await
            .expect("the conversation exists");
        assert!(turns.len() <= limit, "a page is longer than its limit");
        for turn in &turns {
            let stored = lookup::turn(storage, turn.item.id).await;
            assert_eq!(stored.as_ref(), Some(&turn.item));
        }
        after = turns.last().map(|turn| turn.sort_seq);
        all.extend(turns.iter().map(|turn| turn.item.id));
        if !has_more {
            return all;
        }
    }
    panic!("the listing does not end");
}

/// Turns are listed in the order in which they began, whatever their ids and status are, in both
/// directions and pages of every length.
pub async fn turns_are_listed_in_the_order_of_their_beginning(storage: &Store) {
    let conversation = turns_of_every_status(storage).await;
    let ascending = ORDER.map(fixture::turn_id);
    let mut descending = ascending;
    descending.reverse();
    for limit in [1, 2, 4, 6, 100] {
        let all = (TurnFilter::All, ListingOrder::Ascending);
        assert_eq!(listed(storage, conversation, all, limit).await, ascending);
        let all = (TurnFilter::All, ListingOrder::Descending);
        assert_eq!(listed(storage, conversation, all, limit).await, descending);
    }
}

/// Turns are filtered by status. Queued turns and the running one are open.
pub async fn turns_are_filtered_by_status(storage: &Store) {
    let conversation = turns_of_every_status(storage).await;
    for (filter, expected) in [
        (TurnFilter::Open, &ORDER[3..]),
        (TurnFilter::Waiting, &[]),
        (TurnFilter::Status(TurnStatus::Completed), &ORDER[..1]),
        (TurnFilter::Status(TurnStatus::Failed), &ORDER[1..2]),
        (TurnFilter::Status(TurnStatus::Cancelled), &ORDER[2..3]),
        (TurnFilter::Status(TurnStatus::InProgress), &ORDER[3..4]),
        (TurnFilter::Status(TurnStatus::Queued), &ORDER[4..]),
    ] {
        let mut expected: Vec<_> = expected.iter().copied().map(fixture::turn_id).collect();
        for limit in [1, 10] {
            let ascending = (filter, ListingOrder::Ascending);
            let found = listed(storage, conversation, ascending, limit).await;
            assert_eq!(found, expected, "{filter:?} in pages of {limit}");
        }
        expected.reverse();
        let descending = (filter, ListingOrder::Descending);
        assert_eq!(listed(storage, conversation, descending, 1).await, expected);
    }
}

/// A turn with a call that waits for staff is listed as waiting, also once it has completed.
pub async fn turns_with_waiting_calls_are_listed(storage: &Store) {
    let begin = completed_with(storage, hidden_call()).await;
    let conversation = begin.target.id();
    for order in [ListingOrder::Ascending, ListingOrder::Descending] {
        let waiting = (TurnFilter::Waiting, order);
        let found = listed(storage, conversation, waiting, 10).await;
        assert_eq!(found, [begin.turn_id]);
    }
}

/// A conversation without turns has an empty page; one that does not exist has none. Turns of other
/// conversations are not listed.
pub async fn turns_are_listed_for_their_conversation_only(storage: &Store) {
    turns_of_every_status(storage).await;
    let agent = fixture::agent(1);
    let other = setup::conversation(storage, 2, &agent).await;
    for filter in [
        TurnFilter::All,
        TurnFilter::Open,
        TurnFilter::Status(TurnStatus::Queued),
    ] {
        for order in [ListingOrder::Ascending, ListingOrder::Descending] {
            let query = TurnQuery {
                filter,
                order,
                after: None,
                limit: 10,
            };
            let found = page(storage, other.id, &query).await;
            assert_eq!(found, Some((Vec::new(), false)));
            let found = page(storage, fixture::conversation_id(404), &query).await;
            assert_eq!(found, None);
        }
    }
}

/// The current turn is the running one, or else the first queued one, or else the newest.
pub async fn the_current_turn_is_running_or_queued_or_the_newest(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let current = async || {
        let tenant = fixture::tenant();
        let found = storage.turns.find_current(&tenant, conversation.id).await;
        let found = found.success()?;
        let stored = lookup::turn_with_owner(storage, found.turn.id).await;
        assert_eq!(stored.as_ref(), Some(&found));
        Some(found.turn.id)
    };
    assert_eq!(current().await, None);
    let begin = |number, turn_count| {
        fixture::begin_turn(number, &agent, fixture::existing(&conversation, turn_count))
    };
    // The ids are in another order than the turns.
    for (number, turn_count) in [(60, 0), (50, 1)] {
        let turn = fixture::completed_turn(number, &agent, begin(0, turn_count).target);
        setup::record_turn(storage, turn).await;
        assert_eq!(current().await, Some(fixture::turn_id(number)));
    }
    let [running, second, third]: [BeginTurn; 3] = [begin(40, 2), begin(30, 3), begin(20, 3)];
    setup::start_turn(storage, &running).await;
    setup::queue_turn(storage, &second).await;
    setup::queue_turn(storage, &third).await;
    assert_eq!(current().await, Some(running.turn_id));
    setup::cancel_turn(storage, &running, None).await;
    assert_eq!(current().await, Some(second.turn_id));
    setup::cancel_turn(storage, &second, None).await;
    assert_eq!(current().await, Some(third.turn_id));
    setup::cancel_turn(storage, &third, None).await;
    assert_eq!(current().await, Some(third.turn_id), "the newest");
    let (tenant, unknown) = (fixture::tenant(), fixture::conversation_id(404));
    let found = storage.turns.find_current(&tenant, unknown).await;
    assert_eq!(found.success(), None);
}
