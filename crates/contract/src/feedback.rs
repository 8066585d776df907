//! `RateMessage`: ratings of messages, with their messages and events.

use domain::{
    Audience, Conversation, EventData, EventType, Feedback, Message, PrincipalId, Rating, Role,
    Seq, event_data::MessagePlace,
};
use ports::{EventVisibility, LoggedEvent, MessageReference};
use writes::{ChangeStaffMessage, Committed, RateMessage, RateOutcome, Rater, StaffMessageChange};

use crate::{
    Store, fixture, forks, log, lookup, purging, results::ResultExt as _, setup, staff_messages,
};

/// Users and other principals that rate.
pub(crate) fn ada() -> Rater {
    Rater::User("ada".to_owned())
}

pub(crate) fn key(number: u32) -> Rater {
    Rater::Principal(PrincipalId::new(format!("key:{number}")))
}

/// A rating of the last message of `conversation` that is not of a user, `at` milliseconds.
pub(crate) async fn rating_of(
    storage: &Store,
    conversation: &Conversation,
    rater: Rater,
    rating: Option<(Rating, Option<&str>)>,
    at: i64,
) -> RateMessage {
    let mut messages = lookup::messages(storage, conversation.id).await;
    messages.retain(|message| message.role == Role::Agent);
    let message = messages.pop().expect("a message of the agent");
    RateMessage {
        tenant: fixture::tenant(),
        conversation_id: conversation.id,
        message: place(&message),
        rater,
        rating: rating.map(|(rating, comment)| (rating, comment.map(str::to_owned))),
        stamp: fixture::stamp(at),
    }
}

fn place(message: &Message) -> MessagePlace {
    let Message { id, seq, .. } = *message;
    MessagePlace { id, seq }
}

/// Rates the last message of the agent, and returns the rating and the event.
pub(crate) async fn rate(
    storage: &Store,
    conversation: &Conversation,
    rater: Rater,
    rating: Option<(Rating, Option<&str>)>,
    at: i64,
) -> (Option<Feedback>, Option<Committed>) {
    let rate = rating_of(storage, conversation, rater, rating, at).await;
    match storage.writes.write(rate).await.success() {
        RateOutcome::Rated {
            feedback,
            committed,
        } => (feedback, committed),
        rejected => panic!("{rejected:?}"),
    }
}

fn of_ada(rating: Rating, comment: Option<&str>, at: i64) -> Feedback {
    Feedback {
        user_id: Some("ada".to_owned()),
        principal: None,
        rating,
        comment: comment.map(str::to_owned),
        updated_at: fixture::at(at),
    }
}

fn of_key(number: u32, rating: Rating, at: i64) -> Feedback {
    Feedback {
        user_id: None,
        principal: Some(PrincipalId::new(format!("key:{number}"))),
        ..of_ada(rating, None, at)
    }
}

/// The ratings of all messages, in their order.
async fn ratings(storage: &Store, conversation: &Conversation) -> Vec<Vec<Feedback>> {
    let messages = lookup::all_messages(storage, conversation.id).await;
    messages.into_iter().map(|it| it.feedback).collect()
}

/// The ratings that the events of ratings show.
async fn in_events(storage: &Store) -> Vec<Option<Feedback>> {
    let events = log::events(storage).await.into_iter();
    let feedback = |data| match data {
        EventData::MessageRated { feedback, .. } => Some(feedback),
        _ => None,
    };
    events.filter_map(|event| feedback(event.data)).collect()
}

/// A message has a rating of the user of its conversation and one of every other principal that has rated it.
/// A rating is not an activity of its conversation.
pub async fn a_rating_is_shown_with_its_message_and_its_event(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 2).await;
    let before = lookup::conversation(storage, original.id).await;
    assert_eq!(ratings(storage, &original).await, vec![vec![]; 4]);
    let comment = Some("Wrong \"price\" 🦊\n");
    let rated = rate(
        storage,
        &original,
        ada(),
        Some((Rating::Down, comment)),
        5_001,
    )
    .await;
    let (feedback, committed) = rated;
    let expected = of_ada(Rating::Down, comment, 5_001);
    assert_eq!(feedback.as_ref(), Some(&expected));
    rate(storage, &original, key(2), Some((Rating::Up, None)), 5_002).await;
    rate(
        storage,
        &original,
        key(1),
        Some((Rating::Down, None)),
        5_003,
    )
    .await;
    let all = vec![
        expected.clone(),
        of_key(1, Rating::Down, 5_003),
        of_key(2, Rating::Up, 5_002),
    ];
    let shown = ratings(storage, &original).await;
    assert_eq!(shown, [vec![], vec![], vec![], all]);
    assert_eq!(lookup::conversation(storage, original.id).await, before);

    let committed = committed.expect("an event");
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::MessageRated);
    assert_eq!(event.agent_id, Some(original.agent_id));
    assert_eq!(event.conversation_id, Some(original.id));
    assert_eq!((event.user_id, event.turn_id), (original.user_id, None));
    let messages = lookup::messages(storage, original.id).await;
    let data = EventData::MessageRated {
        message: place(&messages[3]),
        feedback: Some(expected),
    };
    assert_eq!(event.data, data);
}

/// The same rating again changes nothing, and writes no event.
pub async fn the_same_rating_again_changes_nothing(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let down = Some((Rating::Down, Some("Wrong")));
    let (first, _) = rate(storage, &original, ada(), down, 5_001).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let again = rate(storage, &original, ada(), down, 5_002).await;
    assert_eq!(again, (first, None));
    let unrated = rate(storage, &original, key(1), None, 5_003).await;
    assert_eq!(unrated, (None, None));
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
}

/// Another rating or comment replaces the one before, also in its event. Its time never runs backwards.
pub async fn another_rating_replaces_the_one_before(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let down = Some((Rating::Down, Some("Wrong")));
    rate(storage, &original, ada(), down, 5_001).await;
    let up = Some((Rating::Up, Some("Wrong")));
    let (_, committed) = rate(storage, &original, ada(), up, 4_000).await;
    assert!(committed.is_some());
    let up = Some((Rating::Up, None));
    let (_, committed) = rate(storage, &original, ada(), up, 4_000).await;
    assert!(committed.is_some());
    let expected = of_ada(Rating::Up, None, 5_001);
    let shown = ratings(storage, &original).await;
    assert_eq!(shown, [vec![], vec![expected.clone()]]);
    assert_eq!(in_events(storage).await, vec![Some(expected); 3]);
}

/// A deleted rating is no longer shown, also not in its earlier events. Others stay.
pub async fn a_deleted_rating_is_shown_nowhere(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let down = Some((Rating::Down, Some("Wrong")));
    rate(storage, &original, ada(), down, 5_001).await;
    rate(storage, &original, key(1), Some((Rating::Up, None)), 5_002).await;
    let (deleted, committed) = rate(storage, &original, ada(), None, 5_003).await;
    assert_eq!(deleted, None);
    let event = log::events_of(storage, committed.expect("an event")).await;
    assert_eq!(event[0].kind, EventType::MessageRated);
    let left = of_key(1, Rating::Up, 5_002);
    let shown = ratings(storage, &original).await;
    assert_eq!(shown, [vec![], vec![left.clone()]]);
    assert_eq!(in_events(storage).await, [None, Some(left), None]);
}

/// Messages and conversations that do not exist cannot be rated, nor conversations of others by a user.
pub async fn what_does_not_exist_is_not_rated(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    let up = Some((Rating::Up, None));
    let known = rating_of(storage, &original, ada(), up, 5_001).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let unknown = RateMessage {
        conversation_id: fixture::conversation(404, agent.id).id,
        ..known.clone()
    };
    let of_bob = RateMessage {
        rater: Rater::User("bob".to_owned()),
        ..known.clone()
    };
    let foreign = RateMessage {
        tenant: setup::second_tenant(storage).await,
        rater: key(1),
        ..known.clone()
    };
    for rejected in [unknown, of_bob, foreign] {
        let outcome = storage.writes.write(rejected).await.success();
        assert_eq!(outcome, RateOutcome::NotFound);
    }
    let message = MessagePlace {
        seq: 404,
        ..known.message
    };
    let rejected = RateMessage { message, ..known };
    let outcome = storage.writes.write(rejected).await.success();
    assert_eq!(outcome, RateOutcome::MessageNotFound);
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
}

/// The rating of its user goes along with a conversation that moves, and is that of the new user then.
pub async fn a_rating_moves_with_its_conversation(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let up = Some((Rating::Up, None));
    rate(storage, &original, ada(), up, 5_001).await;
    rate(storage, &original, key(1), up, 5_002).await;
    for user in [Some("bob"), None] {
        let user_id = user.map(str::to_owned);
        let stored = lookup::conversation(storage, original.id).await;
        let next = Conversation {
            user_id: user_id.clone(),
            ..fixture::retitled(&stored.expect("it exists"), "Moved")
        };
        setup::update_conversation(storage, &next).await;
        let of_user = Feedback {
            user_id,
            ..of_ada(Rating::Up, None, 5_001)
        };
        let expected = vec![of_user, of_key(1, Rating::Up, 5_002)];
        let shown = ratings(storage, &original).await;
        assert_eq!(shown, [vec![], expected.clone()]);
        let expected: Vec<_> = expected.into_iter().map(Some).collect();
        assert_eq!(in_events(storage).await, expected);
    }
}

/// The ratings of a message of staff are deleted with it.
pub async fn ratings_of_a_deleted_message_are_deleted(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let up = Some((Rating::Up, None));
    rate(storage, &original, ada(), up, 5_001).await;
    let (_, written) = staff_messages::write(storage, &original, 1).await;
    rate(storage, &original, ada(), up, 5_002).await;
    rate(storage, &original, key(1), up, 5_003).await;
    let reference = MessageReference::Id(written.id);
    let tenant = fixture::tenant();
    let found = storage
        .conversations
        .find_message(&tenant, original.id, &reference);
    let delete = ChangeStaffMessage {
        tenant: tenant.clone(),
        found: found.await.success().expect("it exists"),
        change: StaffMessageChange::Deleted,
        stamp: fixture::stamp(6_000),
    };
    assert!(storage.writes.write(delete).await.success().is_some());
    let left = of_ada(Rating::Up, None, 5_001);
    assert_eq!(in_events(storage).await, [Some(left.clone()), None, None]);
    assert_eq!(ratings(storage, &original).await, [vec![], vec![left]]);
}

/// Superseded messages keep their ratings, and forks copy none.
pub async fn superseded_messages_keep_their_ratings_and_forks_copy_none(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    rate(storage, &original, ada(), Some((Rating::Down, None)), 5_001).await;
    let messages = lookup::messages(storage, original.id).await;
    let (fork, _) = forks::fork(storage, 2, &original, &messages, 1).await;
    assert_eq!(ratings(storage, &fork).await, vec![vec![]; 2]);
    rate(storage, &fork, ada(), Some((Rating::Up, None)), 5_002).await;
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&original, 1));
    let edit = fixture::superseding(begin, 1, 0);
    setup::start_turn(storage, &edit).await;
    setup::complete_turn(storage, &edit, 10).await;
    let kept = vec![of_ada(Rating::Down, None, 5_001)];
    let shown = ratings(storage, &original).await;
    assert_eq!(shown, [vec![], kept, vec![], vec![]]);
}

/// Ratings that are written in one group keep their own values.
pub async fn ratings_of_a_group_keep_their_own_values(storage: &Store) {
    let (agent, first) = setup::chat_with_turns(storage, 1).await;
    let mut conversations = vec![first];
    for number in 2..=8 {
        let conversation = setup::conversation(storage, number, &agent).await;
        let target = fixture::existing(&conversation, 0);
        let turn = fixture::completed_turn(10 + number, &agent, target);
        setup::record_turn(storage, turn).await;
        conversations.push(conversation);
    }
    let value = |number: usize| {
        if number.is_multiple_of(2) {
            Rating::Up
        } else {
            Rating::Down
        }
    };
    let mut writes = Vec::new();
    for (number, of) in conversations.iter().enumerate() {
        let comment = format!("No. {number}");
        let comment = (number != 3).then_some(comment.as_str());
        let rating = Some((value(number), comment));
        let at = 5_000 + i64::try_from(number).expect("a small number");
        writes.push(rating_of(storage, of, ada(), rating, at).await);
    }
    let expected: Vec<_> = writes.iter().map(|write| write.rating.clone()).collect();
    let writes = writes.into_iter().map(|write| storage.writes.write(write));
    futures::future::join_all(writes).await;
    for (of, expected) in conversations.iter().zip(expected) {
        let mut shown = ratings(storage, of).await;
        let shown = shown.pop().and_then(|mut of_last| of_last.pop());
        let shown = shown.map(|feedback| (feedback.rating, feedback.comment));
        assert_eq!(shown, expected);
    }
}

/// Users see the events of ratings by the user of the conversation, and staff those of all. A page contains
/// exactly the events for which [`EventVisibility::shows`] returns `true`.
pub async fn users_do_not_see_events_of_ratings_by_others(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let up = Some((Rating::Up, None));
    rate(storage, &original, ada(), up, 5_001).await;
    rate(storage, &original, key(1), up, 5_002).await;
    rate(storage, &original, key(1), None, 5_003).await;
    let whole = log::page(storage, &log::query(Seq(0))).await.events;
    let is_rating = |logged: &LoggedEvent| logged.event.kind == EventType::MessageRated;
    for (user, audience, expected) in [
        (Some("ada"), Audience::User, 1),
        (None, Audience::User, 1),
        (Some("bob"), Audience::User, 0),
        (None, Audience::Staff, 3),
    ] {
        let visibility = EventVisibility {
            agents: true,
            whole_agents: true,
            users: false,
            conversations: true,
            principal: fixture::principal(),
            user_id: user.map(str::to_owned),
            reach: domain::AgentReach::ALL,
            audience,
        };
        let mut query = log::query(Seq(0));
        query.visibility = Some(visibility.clone());
        let by_page = log::page(storage, &query).await.events;
        let mut by_rule = whole.clone();
        by_rule.retain(|logged| visibility.shows(logged));
        assert_eq!(by_page, by_rule);
        let tenant = fixture::tenant();
        let count = storage.events.count(&tenant, &query).await.success();
        assert_eq!(count, by_page.len());
        assert_eq!(by_page.iter().filter(|it| is_rating(it)).count(), expected);
    }
}

/// Ratings are purged with their conversation: one with the same ids has none.
pub async fn ratings_are_purged_with_their_conversation(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    let up = Some((Rating::Up, None));
    for rater in [ada(), key(1), key(2)] {
        rate(storage, &original, rater, up, 5_001).await;
    }
    setup::delete_conversation(storage, &original).await;
    let outdated = purging::deleted_before(fixture::at(10_000));
    // The conversation, two messages and a turn.
    assert_eq!(purging::purge_all(storage, 2, outdated).await, 4);
    let again = setup::conversation(storage, 1, &agent).await;
    assert_eq!(again.id, original.id);
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&again, 0));
    setup::record_turn(storage, turn).await;
    rate(storage, &again, key(3), up, 5_002).await;
    let left = vec![of_key(3, Rating::Up, 5_002)];
    assert_eq!(ratings(storage, &again).await, [vec![], left]);
}
