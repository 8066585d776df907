//! `TurnRepository::record_exchange`: a whole turn in one write.

use std::time::Duration;

use domain::{Conversation, EventType, Turn, TurnStatus, idempotency::RETENTION};
use ports::{Exchange, ExchangeOutcome, ExchangeTarget, Storage};

use crate::{
    answers::{Answer as _, assert_stale},
    found, given, log, samples,
    untouched::Before,
};

async fn outcome(storage: &Storage, exchange: &Exchange) -> ExchangeOutcome {
    storage
        .turns
        .record_exchange(exchange.clone())
        .await
        .answered()
}

fn claimed(mut exchange: Exchange, key: &str) -> Exchange {
    exchange.question.claim = Some(samples::claim(key));
    exchange
}

/// The turn is completed, both messages are there, and the conversation has moved on.
pub async fn stores_a_whole_turn(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let mut exchange = samples::exchange(7, &agent, samples::existing(&talk, 0));
    exchange.finished_at = samples::at(99);
    let ExchangeOutcome::Recorded { message_seq, .. } = outcome(storage, &exchange).await else {
        panic!("not recorded");
    };
    let messages = found::messages(storage, talk.id).await;
    assert_eq!(messages.len(), 2);
    assert_eq!(message_seq, messages[0].seq);
    let as_asked = exchange.turn(message_seq);
    let turn = Turn {
        id: samples::turn_id(7),
        conversation_id: talk.id,
        agent_id: agent.id,
        agent_version: Some(1),
        status: TurnStatus::Completed,
        input: exchange.question.input,
        reply: Some(messages[1].clone()),
        engine: Some(exchange.reply.engine),
        degraded: false,
        finish_reason: Some(exchange.reply.finish_reason),
        usage: None,
        tool_calls: Vec::new(),
        metadata: exchange.question.metadata,
        error: None,
        created_at: samples::at(7),
        started_at: Some(samples::at(7)),
        finished_at: Some(samples::at(99)),
    };
    let found = found::turn_with_owner(storage, turn.id).await;
    let found = found.expect("the turn is there");
    assert_eq!(found.turn, turn);
    assert_eq!(as_asked, turn);
    assert_eq!(found.principal, samples::principal());
    assert_eq!(found.user_id, talk.user_id);
    let moved_on = Conversation {
        message_count: 2,
        updated_at: samples::at(99),
        last_message_at: Some(samples::at(99)),
        ..talk
    };
    assert_eq!(
        found::conversation(storage, moved_on.id).await,
        Some(moved_on)
    );
}

/// The events are `turn.started` and `turn.completed`.
pub async fn writes_turn_started_and_turn_completed(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let head = log::head(storage, &samples::tenant()).await;
    let exchange = samples::exchange(7, &agent, samples::existing(&talk, 0));
    let committed = given::recorded(storage, exchange).await;
    assert_eq!(
        (committed.first, committed.last),
        (head.plus(1), head.plus(2))
    );
    let events = log::events_of(storage, committed).await;
    let types: Vec<_> = events.iter().map(|event| event.kind).collect();
    assert_eq!(types, [EventType::TurnStarted, EventType::TurnCompleted]);
    for event in events {
        assert_eq!(event.turn_id, Some(samples::turn_id(7)));
        assert_eq!(event.conversation_id, Some(talk.id));
        assert_eq!(event.agent_id, Some(agent.id));
        assert_eq!(event.user_id, talk.user_id);
        assert_eq!(event.actor, samples::principal());
    }
}

/// A new conversation comes with its first exchange, and `conversation.created` comes first.
pub async fn makes_a_new_conversation_with_its_first_exchange(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let talk = samples::conversation(1, agent.id);
    let target = ExchangeTarget::New(talk.clone());
    let committed = given::recorded(storage, samples::exchange(7, &agent, target)).await;
    let expected = [
        EventType::ConversationCreated,
        EventType::TurnStarted,
        EventType::TurnCompleted,
    ];
    assert_eq!(log::types_of(storage, committed).await, expected);
    let made = Conversation {
        message_count: 2,
        updated_at: samples::at(7),
        last_message_at: Some(samples::at(7)),
        ..talk
    };
    assert_eq!(
        found::conversation(storage, made.id).await,
        Some(made.clone())
    );
    let head = found::head(storage, made.id).await;
    assert_eq!((head.message_count, head.turn_count), (2, 1));
}

/// One exchange after the other: messages and turns are numbered without a gap.
pub async fn exchanges_follow_each_other(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    for number in 0..20 {
        let target = samples::existing(&talk, i64::from(number));
        given::recorded(storage, samples::exchange(number, &agent, target)).await;
    }
    let messages = found::messages(storage, talk.id).await;
    let places: Vec<_> = messages.iter().map(|message| message.seq).collect();
    assert_eq!(places, (1..=40).collect::<Vec<_>>());
    for (number, pair) in (0..).zip(messages.chunks(2)) {
        assert_eq!(pair[0].content, format!("Question {number}"));
        assert_eq!(pair[1].content, format!("Answer {number}"));
    }
    assert_eq!(found::head(storage, talk.id).await.turn_count, 20);
}

/// MUST answer `Stale` and write nothing when the agent's version is not what was assumed.
pub async fn refuses_an_exchange_with_another_agent_version(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    given::agent_updated(storage, &samples::renamed(&agent, "Grace")).await;
    let new = ExchangeTarget::New(samples::conversation(2, agent.id));
    for target in [samples::existing(&talk, 0), new] {
        let exchange = claimed(samples::exchange(7, &agent, target), "k");
        let before = Before::of(storage, &exchange.question).await;
        assert_stale(&storage.turns.record_exchange(exchange.clone()).await);
        before.assert_no_trace_of(storage, &exchange.question).await;
    }
}

/// MUST answer `Stale` and write nothing when the turn count is not what was assumed.
pub async fn refuses_an_exchange_with_another_turn_count(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let first = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, first).await;
    for count in [0, 2] {
        let target = samples::existing(&talk, count);
        let exchange = claimed(samples::exchange(7, &agent, target), "k");
        let before = Before::of(storage, &exchange.question).await;
        assert_stale(&storage.turns.record_exchange(exchange.clone()).await);
        before.assert_no_trace_of(storage, &exchange.question).await;
    }
}

/// There is no such agent: never, or no more.
pub async fn answers_agent_not_found_to_an_exchange(storage: &Storage) {
    let (gone, talk) = given::chat(storage).await;
    given::agent_deleted(storage, &gone).await;
    for agent in [gone, samples::agent(404)] {
        let new = ExchangeTarget::New(samples::conversation(2, agent.id));
        for target in [samples::existing(&talk, 0), new] {
            let exchange = claimed(samples::exchange(7, &agent, target), "k");
            let before = Before::of(storage, &exchange.question).await;
            let answer = outcome(storage, &exchange).await;
            assert_eq!(answer, ExchangeOutcome::AgentNotFound);
            before.assert_no_trace_of(storage, &exchange.question).await;
        }
    }
}

/// There is no such conversation of this agent: never, no more, or another agent's.
pub async fn answers_conversation_not_found_to_an_exchange(storage: &Storage) {
    let (agent, gone) = given::chat(storage).await;
    given::conversation_deleted(storage, &gone).await;
    let other = given::agent(storage, 2).await;
    let foreign = given::conversation(storage, 2, &other).await;
    for talk in [gone, foreign, samples::conversation(404, agent.id)] {
        let target = samples::existing(&talk, 0);
        let exchange = claimed(samples::exchange(7, &agent, target), "k");
        let before = Before::of(storage, &exchange.question).await;
        let answer = outcome(storage, &exchange).await;
        assert_eq!(answer, ExchangeOutcome::ConversationNotFound);
        before.assert_no_trace_of(storage, &exchange.question).await;
    }
}

/// `Busy` while a turn runs, and while one waits with none running.
pub async fn answers_busy_to_an_exchange_beside_an_open_turn(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let target = samples::existing(&talk, 1);
    given::queued(storage, &samples::question(2, &agent, target.clone())).await;
    let exchange = claimed(samples::exchange(7, &agent, target), "k");
    for ended in [false, true] {
        if ended {
            given::cancelled(storage, &running, None).await;
        }
        let before = Before::of(storage, &exchange.question).await;
        assert_eq!(outcome(storage, &exchange).await, ExchangeOutcome::Busy);
        before.assert_no_trace_of(storage, &exchange.question).await;
    }
}

/// The claim is written with the turn, and names it.
pub async fn records_the_claim_with_the_exchange(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let target = samples::existing(&talk, 0);
    let exchange = claimed(samples::exchange(7, &agent, target), "k");
    given::recorded(storage, exchange.clone()).await;
    let claim = exchange.question.claim.expect("claimed above");
    let record = found::claim(storage, &claim).await;
    let record = record.expect("the claim is remembered");
    assert_eq!(record.turn_id, Some(samples::turn_id(7)));
    assert_eq!(record.fingerprint, claim.fingerprint);
    assert_eq!((record.answer, record.created_at), (None, claim.created_at));
}

/// The key MUST be judged before all else: agent, conversation, staleness, occupancy.
pub async fn judges_the_key_of_an_exchange_before_all_else(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let first = claimed(
        samples::exchange(1, &agent, samples::existing(&talk, 0)),
        "k",
    );
    given::recorded(storage, first).await;
    let running = samples::question(2, &agent, samples::existing(&talk, 1));
    given::started(storage, &running).await;
    let no_talk = samples::conversation(404, agent.id);
    let mut old_agent = agent.clone();
    old_agent.version = 7;
    let new = ExchangeTarget::New(samples::conversation(2, agent.id));
    for exchange in [
        samples::exchange(7, &agent, new),
        samples::exchange(7, &agent, samples::existing(&talk, 2)),
        samples::exchange(7, &agent, samples::existing(&talk, 5)),
        samples::exchange(7, &agent, samples::existing(&no_talk, 0)),
        samples::exchange(7, &old_agent, samples::existing(&talk, 2)),
        samples::exchange(7, &samples::agent(404), samples::existing(&talk, 2)),
    ] {
        let exchange = claimed(exchange, "k");
        let before = Before::of(storage, &exchange.question).await;
        match outcome(storage, &exchange).await {
            ExchangeOutcome::Repeated(record) => {
                assert_eq!(record.turn_id, Some(samples::turn_id(1)));
            }
            other => panic!("the key was not judged first: {other:?}"),
        }
        before
            .assert_untouched_by(storage, &exchange.question)
            .await;
    }
}

/// A key that was made longer ago than it is remembered counts as unused.
pub async fn a_key_may_be_used_again_when_it_is_forgotten(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let first = claimed(
        samples::exchange(1, &agent, samples::existing(&talk, 0)),
        "k",
    );
    given::recorded(storage, first.clone()).await;
    let after = |time: Duration| {
        let mut exchange = samples::exchange(2, &agent, samples::existing(&talk, 1));
        let mut claim = samples::claim("k");
        claim.created_at = claim.created_at + time;
        exchange.question.claim = Some(claim);
        exchange
    };
    let millisecond = Duration::from_millis(1);
    let early = outcome(storage, &after(RETENTION.saturating_sub(millisecond))).await;
    assert!(matches!(early, ExchangeOutcome::Repeated(_)), "{early:?}");
    let late = after(RETENTION + millisecond);
    given::recorded(storage, late.clone()).await;
    let claim = late.question.claim.expect("claimed above");
    let record = found::claim(storage, &claim).await;
    let record = record.expect("the claim is remembered");
    assert_eq!(record.turn_id, Some(late.question.turn_id));
    assert_eq!(record.created_at, claim.created_at);
}
