//! `EventLog::page`: what events carry, joined as it is when the log is read.

use domain::{
    Agent, Conversation, Event, EventData, EventType, Message, Seq, ToolCall, Turn, TurnStatus,
    event::EventMessage,
    sizes::{EVENT_ARGUMENT_BYTES, EVENT_MESSAGE_BYTES},
};
use ports::{EventVisibility, ExchangeTarget, Storage, TurnEnding};
use serde_json::json;

use crate::{answers::OnceAnswer as _, found, given, log, samples};

async fn event(storage: &Storage, kind: EventType) -> Event {
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

async fn messages(storage: &Storage) -> Vec<Message> {
    found::messages(storage, samples::conversation_id(1)).await
}

async fn completed_turn(storage: &Storage) -> (Agent, Conversation, Turn) {
    let (agent, talk) = given::chat(storage).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    let turn = found::turn(storage, samples::turn_id(1)).await;
    (agent, talk, turn.expect("the turn is there"))
}

/// `turn.started` shows the turn as it started, with the user's message, also when it has ended.
pub async fn a_started_turn_is_shown_as_it_started(storage: &Storage) {
    let (_, _, turn) = completed_turn(storage).await;
    let user = messages(storage).await.remove(0);
    let (shown, message) = turn_of(event(storage, EventType::TurnStarted).await);
    assert_eq!(shown, turn.as_started());
    assert_eq!(shown.status, TurnStatus::InProgress);
    assert_eq!((shown.reply, shown.finished_at), (None, None));
    assert_eq!(message, Some(EventMessage::Whole(user)));
}

/// `turn.completed` shows all of the turn, with the agent's message.
pub async fn a_completed_turn_is_shown_with_its_answer(storage: &Storage) {
    let (_, _, turn) = completed_turn(storage).await;
    let (shown, message) = turn_of(event(storage, EventType::TurnCompleted).await);
    assert_eq!(
        message.as_ref(),
        turn.reply.clone().map(EventMessage::Whole).as_ref()
    );
    assert!(message.is_some());
    assert_eq!(shown, turn);
}

/// `turn.queued` shows a turn that waits, also when it runs or has ended since.
pub async fn a_queued_turn_is_shown_as_it_waited(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let waiting = samples::question(2, &agent, samples::existing(&talk, 1));
    given::queued(storage, &waiting).await;
    let as_it_waited = found::turn(storage, waiting.turn_id).await;
    given::cancelled(storage, &running, Some(running.node)).await;
    let promoted = turn_of(event(storage, EventType::TurnQueued).await);
    let ending = TurnEnding::Completed(samples::reply(2));
    given::finished(storage, samples::finish(&waiting, ending)).await;
    let ended = turn_of(event(storage, EventType::TurnQueued).await);
    for (shown, message) in [promoted, ended] {
        assert_eq!(Some(shown), as_it_waited);
        assert_eq!(message, None);
    }
}

/// `turn.failed` shows the problem; there is no message.
pub async fn a_failed_turn_is_shown_with_its_problem(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    let problem = samples::lasting_problem().with_detail("🤐");
    let ending = TurnEnding::failed(problem.clone());
    given::finished(storage, samples::finish(&question, ending)).await;
    let (shown, message) = turn_of(event(storage, EventType::TurnFailed).await);
    assert_eq!((shown.status, message), (TurnStatus::Failed, None));
    assert_eq!(shown.error, Some(problem));
    assert_eq!(Some(shown), found::turn(storage, question.turn_id).await);
    let (started, _) = turn_of(event(storage, EventType::TurnStarted).await);
    assert_eq!(started.error, None);
}

/// `turn.cancelled` shows what had been said, if anything was.
pub async fn a_cancelled_turn_is_shown_with_what_was_said(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    let (tenant, stamp) = (samples::tenant(), samples::stamp(900));
    let turns = &storage.turns;
    let partial = Some(samples::reply(1));
    let answer = turns.cancel_turn(&tenant, question.turn_id, partial, None, &stamp);
    assert!(answer.await.is_ok());
    let (shown, message) = turn_of(event(storage, EventType::TurnCancelled).await);
    assert_eq!(shown.status, TurnStatus::Cancelled);
    let said = messages(storage).await.pop().map(EventMessage::Whole);
    assert_eq!(message, said);
    assert_eq!(Some(shown), found::turn(storage, question.turn_id).await);
}

/// A conversation is shown as it is when the log is read; its greeting as it was.
pub async fn a_conversation_is_shown_as_it_is(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let (talk, greeting) = samples::greeted(samples::conversation(1, agent.id), "Welcome!");
    let (tenant, stamp) = (samples::tenant(), samples::stamp(1));
    let conversations = &storage.conversations;
    let answer = conversations.insert(&tenant, &talk, Some(&greeting), &stamp, None);
    assert!(answer.await.done().is_some());
    given::conversation_updated(storage, &samples::retitled(&talk, "Orders")).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    let now = found::conversation(storage, talk.id).await;
    let now = now.expect("the conversation is there");
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

/// The first message of a conversation without a greeting is no greeting.
pub async fn a_first_question_is_no_greeting(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let target = ExchangeTarget::New(samples::conversation(1, agent.id));
    given::recorded(storage, samples::exchange(1, &agent, target)).await;
    match event(storage, EventType::ConversationCreated).await.data {
        EventData::Conversation { greeting, .. } => assert_eq!(greeting, None),
        other => panic!("not a conversation: {other:?}"),
    }
}

/// A message of over 32 KiB is left out; one of just so much is not.
pub async fn leaves_out_messages_that_are_too_large(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    // Two bytes a character: the limit is on bytes.
    let fits = "é".repeat(EVENT_MESSAGE_BYTES / 2);
    let mut exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    exchange.question.input.clone_from(&fits);
    exchange.reply.content = format!("{fits}!");
    given::recorded(storage, exchange.clone()).await;
    let (_, message) = turn_of(event(storage, EventType::TurnStarted).await);
    let user = messages(storage).await.remove(0);
    assert_eq!(message, Some(EventMessage::Whole(user)));
    let completed = event(storage, EventType::TurnCompleted).await;
    assert!(matches!(
        completed.data,
        EventData::Turn { omitted: true, .. }
    ));
    let (turn, message) = turn_of(completed);
    assert_eq!(turn.reply, None);
    let expected = EventMessage::Omitted {
        id: exchange.reply.message_id,
        conversation_id: talk.id,
        turn_id: Some(exchange.question.turn_id),
        seq: 2,
        role: domain::Role::Agent,
        omitted: true,
    };
    assert_eq!(message, Some(expected));
}

/// Arguments of tools that have over 32 KiB together are left out; those that have just so much are
/// not.
pub async fn leaves_out_arguments_that_are_too_large(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    // With `{"text":""}` each call has half of what fits.
    let half = "x".repeat(EVENT_ARGUMENT_BYTES / 2 - 11);
    let call = |text: &str| ToolCall {
        arguments: json!({"text": text}),
        ..samples::tool_call()
    };
    let fitting = vec![call(&half), call(&half)];
    let too_large = vec![call(&half), call(&format!("{half}x"))];
    let mut kept = Vec::new();
    for (number, calls) in [(1, fitting), (2, too_large)] {
        let target = samples::existing(&talk, i64::from(number) - 1);
        let mut exchange = samples::exchange(number, &agent, target);
        exchange.reply.tool_calls.clone_from(&calls);
        given::recorded(storage, exchange).await;
        kept.push(calls);
    }
    let mut events = log::events(storage).await;
    events.retain(|event| event.kind.is_of_turn());
    let told = events.into_iter().map(|event| match event.data {
        EventData::Turn { turn, omitted, .. } => (event.kind, turn.tool_calls, omitted),
        other => panic!("not a turn: {other:?}"),
    });
    let nothing = ToolCall {
        arguments: json!({}),
        ..samples::tool_call()
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
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let turn = found::turn(storage, samples::turn_id(2))
        .await
        .expect("a turn");
    assert_eq!(turn.tool_calls, kept[1]);
}

/// A chat with an open turn, a waiting one, a finished one, and changes.
async fn a_full_life(storage: &Storage) -> (Agent, Conversation) {
    let (agent, talk, _) = completed_turn(storage).await;
    for number in [2, 3] {
        let question = samples::question(number, &agent, samples::existing(&talk, 1));
        assert!(storage.turns.begin_turn(question).await.is_ok());
    }
    given::agent_updated(storage, &samples::renamed(&agent, "Grace")).await;
    given::conversation_updated(storage, &samples::retitled(&talk, "Orders")).await;
    (agent, talk)
}

/// Fails unless all events hide their content but for those at `visible`; the rest stays.
async fn assert_hidden(storage: &Storage, before: &[Event], visible: &[EventType]) {
    let after = log::events(storage).await;
    for (place, event) in after.iter().enumerate() {
        assert_eq!(
            event.seq,
            Seq(i64::try_from(place).expect("a small log") + 1)
        );
        let is_hidden = event.data == EventData::DELETED;
        let may_show = visible.contains(&event.kind);
        assert_eq!(
            is_hidden,
            !may_show,
            "{:?} {}",
            event.seq,
            event.kind.as_str()
        );
    }
    for (was, is) in before.iter().zip(&after) {
        let expected = Event {
            data: is.data.clone(),
            ..was.clone()
        };
        assert_eq!(*is, expected, "but for its data an event stays");
    }
}

/// What belongs to a deleted agent carries `DELETED`: its snapshots, its conversations and their
/// turns, and the `turn.cancelled` that stand before the deletion's own event.
pub async fn hides_all_of_a_deleted_agent(storage: &Storage) {
    let (agent, _) = a_full_life(storage).await;
    let before = log::events(storage).await;
    given::agent_deleted(storage, &agent).await;
    assert_hidden(storage, &before, &[EventType::AgentDeleted]).await;
}

/// What belongs to a deleted conversation carries `DELETED`; its agent's events do not.
pub async fn hides_all_of_a_deleted_conversation(storage: &Storage) {
    let (_, talk) = a_full_life(storage).await;
    let before = log::events(storage).await;
    given::conversation_deleted(storage, &talk).await;
    let visible = [
        EventType::AgentCreated,
        EventType::AgentUpdated,
        EventType::ConversationDeleted,
    ];
    assert_hidden(storage, &before, &visible).await;
}

/// Hidden events pass the same filters as before.
pub async fn finds_hidden_events_by_the_same_filters(storage: &Storage) {
    let (agent, talk) = a_full_life(storage).await;
    given::agent_deleted(storage, &agent).await;
    let mut query = log::query(Seq(0));
    query.conversation_id = Some(talk.id);
    query.types = vec![EventType::TurnCompleted, EventType::TurnCancelled];
    let mut visibility = EventVisibility {
        agents: false,
        conversations: true,
        principal: samples::principal(),
        user_id: talk.user_id.clone(),
    };
    query.visibility = Some(visibility.clone());
    let page = log::page(storage, &query).await;
    let turns: Vec<_> = page
        .events
        .iter()
        .filter_map(|logged| logged.event.turn_id)
        .collect();
    assert_eq!(turns, [1, 2, 3].map(samples::turn_id));
    visibility.conversations = false;
    query.visibility = Some(visibility);
    let own = log::page(storage, &query).await;
    assert_eq!(own.events, page.events, "all were asked by this principal");
}
