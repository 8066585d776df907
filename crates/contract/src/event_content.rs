//! `EventLog::page`: the content of events, joined at the time of the read.

use domain::{
    Agent, Conversation, Event, EventData, EventType, Message, ToolCall, ToolVisibility, Turn,
    TurnStatus,
    event_data::EventMessage,
    sizes::{EVENT_MESSAGE_BYTES, EVENT_TOOL_BYTES},
};
use ports::FirstMessages;
use serde_json::json;
use writes::{ConversationTarget, TurnEnding};

use crate::{Store, fixture, log, lookup, results::IdempotentExt as _, setup};

async fn event(storage: &Store, kind: EventType) -> Event {
    let mut events = log::events(storage).await;
    events.retain(|event| event.kind == kind);
    assert_eq!(events.len(), 1, "events of the type {}", kind.as_str());
    events.remove(0)
}

#[track_caller]
fn turn_of(event: Event) -> (Turn, Option<EventMessage>) {
    match event.data {
        EventData::Turn { turn, message, .. } => (turn, message),
        other => panic!("not a turn: {other:?}"),
    }
}

/// The messages of conversation 1, as events show them.
async fn messages(storage: &Store) -> Vec<Message> {
    let messages = lookup::messages(storage, fixture::conversation_id(1)).await;
    messages.into_iter().map(lookup::without_turn).collect()
}

pub(crate) async fn completed_turn(storage: &Store) -> (Agent, Conversation, Turn) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let turn = lookup::turn(storage, fixture::turn_id(1)).await;
    (agent, conversation, turn.expect("the turn exists"))
}

/// `turn.started` shows the turn as it started, with the user's message, also after it has ended.
pub async fn a_started_turn_is_shown_as_it_started(storage: &Store) {
    let (_, _, turn) = completed_turn(storage).await;
    let user = messages(storage).await.remove(0);
    let (shown, message) = turn_of(event(storage, EventType::TurnStarted).await);
    assert_eq!(shown, turn.as_started());
    assert_eq!(shown.status, TurnStatus::InProgress);
    assert_eq!((shown.reply, shown.finished_at), (None, None));
    assert_eq!(message, Some(EventMessage::Whole(user)));
}

/// `turn.completed` shows the whole turn, with the agent's message.
pub async fn a_completed_turn_is_shown_with_its_reply(storage: &Store) {
    let (_, _, turn) = completed_turn(storage).await;
    let (shown, message) = turn_of(event(storage, EventType::TurnCompleted).await);
    assert_eq!(
        message.as_ref(),
        turn.reply.clone().map(EventMessage::Whole).as_ref()
    );
    assert!(message.is_some());
    assert_eq!(shown, turn);
}

/// `turn.queued` shows the queued turn, also after it has started or ended.
pub async fn a_queued_turn_is_shown_as_it_was_queued(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let waiting = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::queue_turn(storage, &waiting).await;
    let as_it_waited = lookup::turn(storage, waiting.turn_id).await;
    setup::cancel_turn(storage, &running, Some(running.node)).await;
    let promoted = turn_of(event(storage, EventType::TurnQueued).await);
    let ending = TurnEnding::Completed(fixture::reply(2));
    setup::finish_turn(storage, fixture::finish(&waiting, ending)).await;
    let ended = turn_of(event(storage, EventType::TurnQueued).await);
    for (shown, message) in [promoted, ended] {
        assert_eq!(Some(shown), as_it_waited);
        assert_eq!(message, None);
    }
}

/// `turn.failed` shows the problem and has no message.
pub async fn a_failed_turn_is_shown_with_its_problem(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let problem = fixture::lasting_problem().with_detail("🤐");
    let ending = TurnEnding::failed(problem.clone());
    setup::finish_turn(storage, fixture::finish(&begin, ending)).await;
    let (shown, message) = turn_of(event(storage, EventType::TurnFailed).await);
    assert_eq!((shown.status, message), (TurnStatus::Failed, None));
    assert_eq!(shown.error, Some(problem));
    assert_eq!(Some(shown), lookup::turn(storage, begin.turn_id).await);
    let (started, _) = turn_of(event(storage, EventType::TurnStarted).await);
    assert_eq!(started.error, None);
}

/// `turn.cancelled` shows the partial reply, if there was any text.
pub async fn a_cancelled_turn_is_shown_with_its_partial_reply(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(900));
    let turns = &storage.turns;
    let partial = Some(fixture::reply(1));
    let result = turns.cancel_turn(&tenant, begin.turn_id, partial, None, &stamp);
    assert!(result.await.is_ok());
    let (shown, message) = turn_of(event(storage, EventType::TurnCancelled).await);
    assert_eq!(shown.status, TurnStatus::Cancelled);
    let texts = messages(storage).await.pop().map(EventMessage::Whole);
    assert_eq!(message, texts);
    assert_eq!(Some(shown), lookup::turn(storage, begin.turn_id).await);
}

/// A conversation is shown in its state at the time of the read; its greeting is shown unchanged.
pub async fn a_conversation_is_shown_in_its_current_state(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let (conversation, greeting) = fixture::greeted(fixture::conversation(1, agent.id), "Welcome!");
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    let conversations = &storage.conversations;
    let first = FirstMessages::Greeting(greeting.clone());
    let result = conversations.insert(&tenant, &conversation, &first, &stamp, None);
    assert!(result.await.applied().is_some());
    setup::update_conversation(storage, &fixture::retitled(&conversation, "Orders")).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let now = lookup::conversation(storage, conversation.id).await;
    let now = now.expect("the conversation exists");
    assert_eq!(
        (now.title.as_deref(), now.message_count),
        (Some("Orders"), 3)
    );
    for (kind, greeting) in [
        (EventType::ConversationCreated, Some(greeting)),
        (EventType::ConversationUpdated, None),
    ] {
        let expected = EventData::Conversation {
            conversation: now.clone(),
            greeting,
        };
        assert_eq!(event(storage, kind).await.data, expected);
    }
}

/// The first message of a conversation without a greeting is not shown as a greeting.
pub async fn a_first_message_of_a_user_is_no_greeting(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let target = ConversationTarget::New(fixture::conversation(1, agent.id));
    setup::record_turn(storage, fixture::completed_turn(1, &agent, target)).await;
    match event(storage, EventType::ConversationCreated).await.data {
        EventData::Conversation { greeting, .. } => assert_eq!(greeting, None),
        other => panic!("not a conversation: {other:?}"),
    }
}

/// A message above 32 KiB is omitted; one of exactly 32 KiB is not.
pub async fn large_messages_are_omitted_from_events(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    // Two bytes per character: the limit is in bytes.
    let fits = "é".repeat(EVENT_MESSAGE_BYTES / 2);
    let mut turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    turn.begin.input.clone_from(&fits);
    turn.reply.content = format!("{fits}!");
    setup::record_turn(storage, turn.clone()).await;
    let (_, message) = turn_of(event(storage, EventType::TurnStarted).await);
    let user = messages(storage).await.remove(0);
    assert_eq!(message, Some(EventMessage::Whole(user)));
    let completed = event(storage, EventType::TurnCompleted).await;
    assert!(matches!(
        completed.data,
        EventData::Turn { omitted: true, .. }
    ));
    let (shown, message) = turn_of(completed);
    assert_eq!(shown.reply, None);
    let expected = EventMessage::Omitted {
        id: turn.reply.message_id,
        conversation_id: conversation.id,
        turn_id: Some(turn.begin.turn_id),
        seq: 2,
        role: domain::Role::Agent,
        omitted: true,
    };
    assert_eq!(message, Some(expected));
}

/// Arguments and results of tool calls above 32 KiB together are omitted; those of exactly 32 KiB
/// are not.
pub async fn large_arguments_and_results_are_omitted_from_events(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    // With `{"text":""}`, arguments and result of a call each have a quarter of the limit.
    let quarter = "x".repeat(EVENT_TOOL_BYTES / 4);
    let call = |result: &str| ToolCall {
        arguments: json!({"text": quarter[11..]}),
        result: Some(result.to_owned()),
        ..fixture::tool_call()
    };
    let fitting = vec![call(&quarter), call(&quarter)];
    let too_large = vec![call(&quarter), call(&format!("{quarter}x"))];
    let mut kept = Vec::new();
    for (number, calls) in [(1, fitting), (2, too_large)] {
        let target = fixture::existing(&conversation, i64::from(number) - 1);
        let mut turn = fixture::completed_turn(number, &agent, target);
        turn.reply.tool_calls.clone_from(&calls);
        setup::record_turn(storage, turn).await;
        kept.push(calls);
    }
    let mut events = log::events(storage).await;
    events.retain(|event| event.kind.is_of_turn());
    let received = events.into_iter().map(|event| match event.data {
        EventData::Turn { turn, omitted, .. } => (event.kind, turn.tool_calls, omitted),
        other => panic!("not a turn: {other:?}"),
    });
    let nothing = ToolCall {
        arguments: json!({}),
        result: None,
        ..fixture::tool_call()
    };
    let expected = [
        (EventType::TurnStarted, Vec::new(), false),
        (EventType::TurnCompleted, kept[0].clone(), false),
        (EventType::TurnStarted, Vec::new(), false),
        (
            EventType::TurnCompleted,
            vec![nothing.clone(), nothing],
            true,
        ),
    ];
    assert_eq!(received.collect::<Vec<_>>(), expected);
    let turn = lookup::turn(storage, fixture::turn_id(2))
        .await
        .expect("a turn");
    assert_eq!(turn.tool_calls, kept[1]);
}

/// What users see of the calls of a turn is omitted only if it exceeds 32 KiB by itself.
pub async fn events_tell_users_nothing_of_the_size_of_hidden_calls(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let call = |visibility, bytes| ToolCall {
        result: Some("x".repeat(bytes)),
        visibility: Some(visibility),
        ..fixture::tool_call()
    };
    let large = EVENT_TOOL_BYTES + 1;
    let cases = [
        (ToolVisibility::Hidden, large, 5, false),
        (ToolVisibility::Status, large, 5, false),
        (ToolVisibility::Hidden, 5, large, true),
    ];
    for (number, (visibility, bytes, shown_bytes, is_omitted)) in (1..).zip(cases) {
        let shown = call(ToolVisibility::Full, shown_bytes);
        let target = fixture::existing(&conversation, i64::from(number) - 1);
        let mut turn = fixture::completed_turn(number, &agent, target);
        turn.reply.tool_calls = vec![call(visibility, bytes), shown.clone()];
        setup::record_turn(storage, turn).await;
        let data = log::events(storage).await.pop().expect("an event").data;
        let results = |data: &EventData| match data {
            EventData::Turn { turn, omitted, .. } => {
                let shown = turn.tool_calls.last().expect("a call");
                (*omitted, shown.result.clone())
            }
            other => panic!("not a turn: {other:?}"),
        };
        let result = shown.result.filter(|_| !is_omitted);
        assert_eq!(results(&data), (true, result.clone()), "{visibility:?}");
        let data = data.reduced().unwrap_or(data);
        assert_eq!(results(&data), (is_omitted, result), "{visibility:?}");
    }
}
