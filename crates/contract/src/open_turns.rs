//! The open turns of a conversation, and the position of its latest activity.

use domain::{ConversationId, OpenTurn, Seq, TurnStatus};
use ports::ConversationFilter;
use writes::BeginTurn;

use crate::{Store, fixture, log, lookup, results::ResultExt as _, setup};

async fn open_turns(storage: &Store, id: ConversationId) -> Vec<OpenTurn> {
    let stored = lookup::conversation(storage, id).await;
    stored.expect("the conversation exists").open_turns
}

fn open(begin: &BeginTurn, status: TurnStatus) -> OpenTurn {
    OpenTurn {
        id: begin.turn_id,
        status,
        created_at: begin.stamp.time,
    }
}

/// Queued turns follow the running one, in order of arrival.
pub async fn open_turns_are_shown_in_their_order(storage: &Store) {
    use TurnStatus::{InProgress, Queued};
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number| fixture::begin_turn(number, &agent, fixture::existing(&conversation, 0));
    let [first, second, third] = [begin(3), begin(2), begin(1)];
    assert_eq!(open_turns(storage, conversation.id).await, []);
    setup::start_turn(storage, &first).await;
    setup::queue_turn(storage, &second).await;
    setup::queue_turn(storage, &third).await;
    let expected = [
        open(&first, InProgress),
        open(&second, Queued),
        open(&third, Queued),
    ];
    assert_eq!(open_turns(storage, conversation.id).await, expected);
    let listed =
        crate::pages::conversations_behind(storage, &ConversationFilter::default(), None, 10).await;
    assert_eq!(listed[0].open_turns, expected);
    setup::complete_turn(storage, &first, 3).await;
    let expected = [open(&second, InProgress), open(&third, Queued)];
    assert_eq!(open_turns(storage, conversation.id).await, expected);
    setup::cancel_turn(storage, &second, None).await;
    assert_eq!(
        open_turns(storage, conversation.id).await,
        [open(&third, Queued)]
    );
    setup::cancel_turn(storage, &third, None).await;
    assert_eq!(open_turns(storage, conversation.id).await, []);
}

/// Returns the position of the latest activity of conversation 1, which must be the newest event.
async fn latest_activity(storage: &Store) -> Seq {
    let (tenant, id) = (fixture::tenant(), fixture::conversation_id(1));
    let found = storage.conversations.find(&tenant, id).await.success();
    let position = found.value.expect("the conversation exists").sort_seq;
    assert_eq!(position, log::head(storage, &tenant).await);
    position
}

/// Every change of a turn's status raises the position of its conversation.
pub async fn a_change_of_a_turns_status_raises_the_position_of_its_conversation(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(900));
    let begin = |number, turn_count| {
        fixture::begin_turn(number, &agent, fixture::existing(&conversation, turn_count))
    };
    let mut positions = vec![latest_activity(storage).await];
    setup::record_turn(
        storage,
        fixture::completed_turn(1, &agent, begin(0, 0).target),
    )
    .await;
    positions.push(latest_activity(storage).await);
    let running = begin(2, 1);
    setup::start_turn(storage, &running).await;
    positions.push(latest_activity(storage).await);
    let waiting = [3, 4, 5].map(|number| begin(number, 2));
    for waits in &waiting {
        setup::queue_turn(storage, waits).await;
        positions.push(latest_activity(storage).await);
    }
    setup::cancel_turn(storage, &waiting[1], None).await;
    positions.push(latest_activity(storage).await);
    let problem = fixture::retryable_problem();
    let sweep = &storage.sweep;
    let failed = sweep.fail_queued(&tenant, waiting[2].turn_id, &problem, stamp.time);
    assert!(failed.await.success().is_some());
    positions.push(latest_activity(storage).await);
    setup::fail_turn(storage, &running).await;
    positions.push(latest_activity(storage).await);
    setup::cancel_turn(storage, &waiting[0], None).await;
    positions.push(latest_activity(storage).await);
    let edit = fixture::superseding(begin(6, 3), 1, 0);
    setup::start_turn(storage, &edit).await;
    positions.push(latest_activity(storage).await);
    assert!(
        positions.is_sorted_by(|earlier, later| earlier < later),
        "{positions:?}"
    );
}

/// Changes of other conversations do not raise the position.
pub async fn activity_elsewhere_does_not_raise_the_position(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let position = latest_activity(storage).await;
    let other = setup::conversation(storage, 2, &agent).await;
    setup::record_turn(
        storage,
        fixture::completed_turn(1, &agent, fixture::existing(&other, 0)),
    )
    .await;
    let tenant = fixture::tenant();
    let found = storage.conversations.find(&tenant, conversation.id).await;
    let found = found.success().value;
    assert_eq!(found.map(|found| found.sort_seq), Some(position));
}
