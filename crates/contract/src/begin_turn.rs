//! `TurnRepository::begin_turn`: start, wait, or be refused.

use domain::{Conversation, EventType, Role, Turn, TurnStatus, admission::OnBusy};
use ports::{BeginOutcome, BeginTurn, ExchangeTarget, Storage};

use crate::{
    answers::{Answer as _, assert_stale, event_count},
    found, given, log, samples,
    untouched::Before,
};

async fn outcome(storage: &Storage, question: &BeginTurn) -> BeginOutcome {
    storage.turns.begin_turn(question.clone()).await.answered()
}

fn claimed(question: BeginTurn) -> BeginTurn {
    BeginTurn {
        claim: Some(samples::claim("k")),
        ..question
    }
}

fn rejecting(question: BeginTurn) -> BeginTurn {
    BeginTurn {
        on_busy: OnBusy::Reject,
        ..question
    }
}

/// In an idle conversation a turn starts: in progress, with the user's message.
pub async fn starts_a_turn_in_an_idle_conversation(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(7, &agent, samples::existing(&talk, 0));
    let started = given::started(storage, &question).await;
    assert_eq!((started.message_seq, started.turn_number), (1, 0));
    let expected = Turn {
        id: question.turn_id,
        conversation_id: talk.id,
        agent_id: agent.id,
        agent_version: Some(1),
        status: TurnStatus::InProgress,
        input: question.input.clone(),
        reply: None,
        engine: None,
        degraded: false,
        finish_reason: None,
        usage: None,
        tool_calls: Vec::new(),
        metadata: question.metadata.clone(),
        error: None,
        created_at: samples::at(7),
        started_at: Some(samples::at(7)),
        finished_at: None,
    };
    assert_eq!(found::turn(storage, question.turn_id).await, Some(expected));
    let message = found::messages(storage, talk.id).await.remove(0);
    assert_eq!((message.id, message.seq), (question.message_id, 1));
    assert_eq!(
        (message.role, message.content),
        (Role::User, question.input)
    );
    assert_eq!(message.turn_id, Some(question.turn_id));
    let head = found::head(storage, talk.id).await;
    assert_eq!((head.message_count, head.turn_count), (1, 1));
    assert_eq!(head.running_turn, Some(question.turn_id));
}

/// The event is `turn.started`.
pub async fn writes_turn_started(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(7, &agent, samples::existing(&talk, 0));
    let started = given::started(storage, &question).await;
    assert_eq!(event_count(started.committed), 1);
    let event = log::events_of(storage, started.committed).await.remove(0);
    assert_eq!(event.kind, EventType::TurnStarted);
    assert_eq!(
        (event.time, event.actor),
        (samples::at(7), samples::principal())
    );
    assert_eq!(event.turn_id, Some(question.turn_id));
    assert_eq!(event.conversation_id, Some(talk.id));
    assert_eq!(event.agent_id, Some(agent.id));
    assert_eq!(event.user_id, talk.user_id);
}

/// A new conversation comes with its first turn, and `conversation.created` comes first.
pub async fn makes_a_new_conversation_with_its_first_turn(storage: &Storage) {
    let (agent, _) = given::chat(storage).await;
    let talk = samples::conversation(2, agent.id);
    let target = ExchangeTarget::New(talk.clone());
    let question = samples::question(7, &agent, target);
    let started = given::started(storage, &question).await;
    assert_eq!((started.message_seq, started.turn_number), (1, 0));
    let types = log::types_of(storage, started.committed).await;
    assert_eq!(
        types,
        [EventType::ConversationCreated, EventType::TurnStarted]
    );
    let made = Conversation {
        message_count: 1,
        updated_at: samples::at(7),
        last_message_at: Some(samples::at(7)),
        ..talk
    };
    assert_eq!(found::conversation(storage, made.id).await, Some(made));
}

/// Messages and turns go on where the conversation stands.
pub async fn numbers_turns_and_messages_onward(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    let question = samples::question(2, &agent, samples::existing(&talk, 1));
    let started = given::started(storage, &question).await;
    assert_eq!((started.message_seq, started.turn_number), (3, 1));
}

/// Behind a running turn a turn waits: `turn.queued`, no message, no agent version.
pub async fn queues_behind_a_running_turn(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let waiting = samples::question(2, &agent, samples::existing(&talk, 1));
    let committed = given::queued(storage, &waiting).await;
    assert_eq!(
        log::types_of(storage, committed).await,
        [EventType::TurnQueued]
    );
    let turn = found::turn(storage, waiting.turn_id).await;
    let turn = turn.expect("the turn is there");
    assert_eq!(turn.status, TurnStatus::Queued);
    assert_eq!((turn.agent_version, turn.started_at), (None, None));
    assert_eq!(
        (turn.input, turn.created_at),
        (waiting.input, samples::at(2))
    );
    let head = found::head(storage, talk.id).await;
    assert_eq!((head.message_count, head.turn_count), (1, 1));
    assert_eq!(head.running_turn, Some(running.turn_id));
    assert_eq!(found::messages(storage, talk.id).await.len(), 1);
}

/// One that will not wait is refused while something runs or waits.
pub async fn refuses_a_turn_that_will_not_wait(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let running = rejecting(samples::question(1, &agent, samples::existing(&talk, 0)));
    given::started(storage, &running).await;
    let target = samples::existing(&talk, 1);
    given::queued(storage, &samples::question(2, &agent, target.clone())).await;
    let impatient = claimed(rejecting(samples::question(3, &agent, target)));
    for nothing_runs in [false, true] {
        if nothing_runs {
            given::cancelled(storage, &running, None).await;
        }
        let before = Before::of(storage, &impatient).await;
        assert_eq!(outcome(storage, &impatient).await, BeginOutcome::Busy);
        before.assert_no_trace_of(storage, &impatient).await;
    }
}

/// Sixteen may wait; the next is refused until one of them is gone.
pub async fn sixteen_turns_may_wait(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question =
        |number, count| samples::question(number, &agent, samples::existing(&talk, count));
    given::started(storage, &question(1, 0)).await;
    for number in 2..=17 {
        given::queued(storage, &question(number, 1)).await;
    }
    let one_too_many = claimed(question(18, 1));
    let before = Before::of(storage, &one_too_many).await;
    assert_eq!(outcome(storage, &one_too_many).await, BeginOutcome::Busy);
    before.assert_no_trace_of(storage, &one_too_many).await;
    given::cancelled(storage, &question(9, 1), None).await;
    given::queued(storage, &one_too_many).await;
}

/// Nobody overtakes a turn that waits, also while nothing runs.
pub async fn overtakes_no_turn_that_waits(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let target = samples::existing(&talk, 1);
    given::queued(storage, &samples::question(2, &agent, target.clone())).await;
    given::cancelled(storage, &running, None).await;
    given::queued(storage, &samples::question(3, &agent, target)).await;
    assert_eq!(found::head(storage, talk.id).await.running_turn, None);
}

/// A turn that would start is `Stale` when agent or conversation are not as assumed.
pub async fn refuses_to_start_on_stale_assumptions(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    given::agent_updated(storage, &samples::renamed(&agent, "Grace")).await;
    let present = samples::renamed(&agent, "Grace");
    let new = ExchangeTarget::New(samples::conversation(2, agent.id));
    for question in [
        samples::question(7, &agent, samples::existing(&talk, 1)),
        samples::question(7, &agent, new),
        samples::question(7, &present, samples::existing(&talk, 0)),
        samples::question(7, &present, samples::existing(&talk, 2)),
    ] {
        let question = claimed(question);
        let before = Before::of(storage, &question).await;
        assert_stale(&storage.turns.begin_turn(question.clone()).await);
        before.assert_no_trace_of(storage, &question).await;
    }
}

/// What was assumed does not matter to a turn that does not start.
pub async fn queues_on_stale_assumptions(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    given::agent_updated(storage, &samples::renamed(&agent, "Grace")).await;
    let waiting = samples::question(2, &agent, samples::existing(&talk, 0));
    given::queued(storage, &waiting).await;
    let impatient = rejecting(samples::question(3, &agent, samples::existing(&talk, 0)));
    assert_eq!(outcome(storage, &impatient).await, BeginOutcome::Busy);
}

/// There is no such agent: never, or no more.
pub async fn answers_agent_not_found_to_a_turn(storage: &Storage) {
    let (gone, talk) = given::chat(storage).await;
    given::agent_deleted(storage, &gone).await;
    for agent in [gone, samples::agent(404)] {
        let new = ExchangeTarget::New(samples::conversation(2, agent.id));
        for target in [samples::existing(&talk, 0), new] {
            let question = claimed(samples::question(7, &agent, target));
            let before = Before::of(storage, &question).await;
            let answer = outcome(storage, &question).await;
            assert_eq!(answer, BeginOutcome::AgentNotFound);
            before.assert_no_trace_of(storage, &question).await;
        }
    }
}

/// There is no such conversation of this agent: never, no more, or another agent's.
pub async fn answers_conversation_not_found_to_a_turn(storage: &Storage) {
    let (agent, gone) = given::chat(storage).await;
    given::conversation_deleted(storage, &gone).await;
    let other = given::agent(storage, 2).await;
    let foreign = given::conversation(storage, 2, &other).await;
    for talk in [gone, foreign, samples::conversation(404, agent.id)] {
        let question = claimed(samples::question(7, &agent, samples::existing(&talk, 0)));
        let before = Before::of(storage, &question).await;
        let answer = outcome(storage, &question).await;
        assert_eq!(answer, BeginOutcome::ConversationNotFound);
        before.assert_no_trace_of(storage, &question).await;
    }
}

/// A node that is unknown, or has left, starts nothing.
pub async fn refuses_to_start_for_a_node_that_is_not_alive(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    storage.nodes.delete(samples::node_id(1)).await.answered();
    let new = ExchangeTarget::New(samples::conversation(2, agent.id));
    for (target, node) in [(samples::existing(&talk, 0), 1), (new, 404)] {
        let question = claimed(BeginTurn {
            node: samples::node_id(node),
            ..samples::question(7, &agent, target)
        });
        let before = Before::of(storage, &question).await;
        assert_eq!(outcome(storage, &question).await, BeginOutcome::NodeRefused);
        before.assert_no_trace_of(storage, &question).await;
    }
}

/// The claim is written with the turn, and names it, whether it starts or waits.
pub async fn records_the_claim_with_the_turn(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    for (number, key) in [(1, "starts"), (2, "waits")] {
        let claim = samples::claim(key);
        let question = BeginTurn {
            claim: Some(claim.clone()),
            ..samples::question(number, &agent, samples::existing(&talk, 0))
        };
        outcome(storage, &question).await;
        let record = found::claim(storage, &claim).await;
        let record = record.expect("the claim is remembered");
        assert_eq!(record.turn_id, Some(question.turn_id), "{key}");
        assert_eq!(record.fingerprint, claim.fingerprint);
    }
}

/// The key MUST be judged before all else: agent, conversation, node, staleness, occupancy.
pub async fn judges_the_key_of_a_turn_before_all_else(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let first = claimed(samples::question(1, &agent, samples::existing(&talk, 0)));
    given::started(storage, &first).await;
    let target = samples::existing(&talk, 1);
    let no_talk = samples::conversation(404, agent.id);
    let no_node = BeginTurn {
        node: samples::node_id(404),
        target: ExchangeTarget::New(samples::conversation(2, agent.id)),
        ..samples::question(7, &agent, target.clone())
    };
    for question in [
        samples::question(7, &agent, target.clone()),
        rejecting(samples::question(7, &agent, target.clone())),
        samples::question(7, &agent, samples::existing(&no_talk, 0)),
        samples::question(7, &samples::agent(404), target),
        no_node,
    ] {
        let question = claimed(question);
        let before = Before::of(storage, &question).await;
        match outcome(storage, &question).await {
            BeginOutcome::Repeated(record) => assert_eq!(record.turn_id, Some(first.turn_id)),
            other => panic!("the key was not judged first: {other:?}"),
        }
        before.assert_untouched_by(storage, &question).await;
    }
}
