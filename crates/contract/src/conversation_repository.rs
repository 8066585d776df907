//! `ConversationRepository`: making, finding and changing conversations.

use domain::{Conversation, EventData, EventType, HistoryLimits, IdempotencyClaim};
use ports::{HistoryQuery, MessageOrder, MessageQuery, Storage};
use serde_json::json;

use crate::{
    answers::{Answer as _, OnceAnswer as _, assert_stale, event_count},
    found, given, log, samples,
};

/// What `insert` took is what `find` and `find_head` give.
pub async fn stores_a_conversation_as_it_was_given(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let talk = Conversation {
        title: Some("Où est 🦊?".to_owned()),
        metadata: [("clé".to_owned(), "śćieżka".to_owned())].into(),
        ..samples::conversation(1, agent.id)
    };
    let talk = given::stored_conversation(storage, talk).await;
    let tenant = samples::tenant();
    let found = storage
        .conversations
        .find(&tenant, talk.id)
        .await
        .answered();
    assert_eq!(found.value, Some(talk.clone()));
    assert!(found.position <= log::head(storage, &tenant).await);
    let head = found::head(storage, talk.id).await;
    assert_eq!((head.id, head.agent_id), (talk.id, agent.id));
    assert_eq!(head.user_id, talk.user_id);
    assert_eq!((head.message_count, head.turn_count), (0, 0));
    assert_eq!(head.running_turn, None);
    assert!(found::messages(storage, talk.id).await.is_empty());
}

/// A conversation needs no user.
pub async fn stores_a_conversation_of_nobody(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let talk = Conversation {
        user_id: None,
        ..samples::conversation(1, agent.id)
    };
    let talk = given::stored_conversation(storage, talk).await;
    assert_eq!(
        found::conversation(storage, talk.id).await,
        Some(talk.clone())
    );
    assert_eq!(found::head(storage, talk.id).await.user_id, None);
}

/// The greeting is message 1.
pub async fn stores_a_greeting_as_the_first_message(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let (talk, greeting) = samples::greeted(samples::conversation(1, agent.id), "Welcome! 👋");
    let (tenant, stamp) = (samples::tenant(), samples::stamp(1));
    let conversations = &storage.conversations;
    let answer = conversations.insert(&tenant, &talk, Some(&greeting), &stamp, None);
    let committed = answer.await.done().expect("the agent is there");
    assert_eq!(event_count(committed), 1);
    assert_eq!(
        found::conversation(storage, talk.id).await,
        Some(talk.clone())
    );
    assert_eq!(
        found::messages(storage, talk.id).await,
        std::slice::from_ref(&greeting)
    );
    assert_eq!(found::head(storage, talk.id).await.message_count, 1);
    let event = log::events_of(storage, committed).await.remove(0);
    let expected = EventData::Conversation {
        conversation: talk,
        greeting: Some(greeting),
    };
    assert_eq!(event.data, expected);
}

/// `insert` MUST write `conversation.created`.
pub async fn writes_conversation_created(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let talk = samples::conversation(1, agent.id);
    let (tenant, stamp) = (samples::tenant(), samples::stamp(5));
    let conversations = &storage.conversations;
    let answer = conversations.insert(&tenant, &talk, None, &stamp, None);
    let committed = answer.await.done().expect("the agent is there");
    assert_eq!((committed.first.0, committed.last.0), (2, 2));
    let event = log::events(storage).await.remove(1);
    assert_eq!(
        (event.seq.0, event.kind),
        (2, EventType::ConversationCreated)
    );
    assert_eq!((event.time, event.actor), (stamp.time, stamp.actor));
    assert_eq!(event.agent_id, Some(agent.id));
    assert_eq!(event.conversation_id, Some(talk.id));
    assert_eq!(event.user_id, talk.user_id);
    assert_eq!(event.turn_id, None);
    let expected = EventData::Conversation {
        conversation: talk,
        greeting: None,
    };
    assert_eq!(event.data, expected);
}

/// `insert` MUST answer `Done(None)` and write nothing when the agent does not exist.
pub async fn makes_no_conversation_without_its_agent(storage: &Storage) {
    let gone = given::agent(storage, 1).await;
    given::agent_deleted(storage, &gone).await;
    let (tenant, stamp, claim) = (samples::tenant(), samples::stamp(5), samples::claim("k"));
    let head = log::head(storage, &tenant).await;
    for agent in [gone.id, samples::agent_id(404)] {
        let talk = samples::conversation(1, agent);
        let conversations = &storage.conversations;
        let answer = conversations.insert(&tenant, &talk, None, &stamp, Some(&claim));
        assert_eq!(answer.await.done(), None);
        assert_eq!(found::conversation(storage, talk.id).await, None);
        assert_eq!(found::claim(storage, &claim).await, None);
    }
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// `insert` MUST write the claim in the same transaction.
pub async fn records_the_claim_with_the_conversation(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let claim = IdempotencyClaim {
        answer: Some(json!({"id": "c"})),
        ..samples::claim("k")
    };
    let (tenant, stamp) = (samples::tenant(), samples::stamp(5));
    let talk = samples::conversation(1, agent.id);
    let conversations = &storage.conversations;
    let answer = conversations.insert(&tenant, &talk, None, &stamp, Some(&claim));
    assert!(answer.await.done().is_some());
    let record = found::claim(storage, &claim).await;
    let record = record.expect("the claim is remembered");
    assert_eq!(record.fingerprint, claim.fingerprint);
    assert_eq!((record.answer, record.turn_id), (claim.answer, None));
}

/// `insert` MUST write nothing when the claim's key was used before, whatever else is wrong.
pub async fn a_used_key_makes_no_second_conversation(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let (tenant, stamp, claim) = (samples::tenant(), samples::stamp(5), samples::claim("k"));
    let conversations = &storage.conversations;
    let talk = samples::conversation(1, agent.id);
    let answer = conversations.insert(&tenant, &talk, None, &stamp, Some(&claim));
    assert!(answer.await.done().is_some());
    let head = log::head(storage, &tenant).await;
    for agent in [agent.id, samples::agent_id(404)] {
        let second = samples::conversation(2, agent);
        let answer = conversations.insert(&tenant, &second, None, &stamp, Some(&claim));
        assert_eq!(answer.await.repeated().fingerprint, claim.fingerprint);
        assert_eq!(found::conversation(storage, second.id).await, None);
    }
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// "Not found" is a value, and an empty history.
pub async fn finds_no_conversation_that_was_never_made(storage: &Storage) {
    let (tenant, id) = (samples::tenant(), samples::conversation_id(404));
    let conversations = &storage.conversations;
    assert_eq!(found::conversation(storage, id).await, None);
    let head = conversations.find_head(&tenant, id).await;
    assert_eq!(head.answered().value, None);
    let query = MessageQuery {
        order: MessageOrder::Descending,
        after: None,
        limit: 10,
    };
    let messages = conversations.messages(&tenant, id, &query).await;
    assert_eq!(messages.answered().value, None);
    let query = HistoryQuery {
        before: 10,
        limits: HistoryLimits::default(),
    };
    let history = conversations.history(&tenant, id, &query).await;
    assert!(history.answered().is_empty());
}

/// A head tells the turns that have started, the messages, and the turn in progress.
pub async fn a_head_follows_what_happens_in_its_conversation(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    let head = found::head(storage, talk.id).await;
    assert_eq!((head.message_count, head.turn_count), (2, 1));
    assert_eq!(head.running_turn, None);
    let running = samples::question(2, &agent, samples::existing(&talk, 1));
    given::started(storage, &running).await;
    let waiting = samples::question(3, &agent, samples::existing(&talk, 1));
    given::queued(storage, &waiting).await;
    let head = found::head(storage, talk.id).await;
    assert_eq!((head.message_count, head.turn_count), (3, 2));
    assert_eq!(head.running_turn, Some(running.turn_id));
    given::cancelled(storage, &running, None).await;
    let head = found::head(storage, talk.id).await;
    assert_eq!((head.message_count, head.turn_count), (3, 2));
    assert_eq!(head.running_turn, None);
}

/// `update` replaces title, metadata, version and `updated_at`, and nothing else; the answer
/// carries the conversation as it is now.
pub async fn replaces_title_and_metadata_alone(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    let before = found::conversation(storage, talk.id).await;
    let before = before.expect("the conversation is there");
    let next = Conversation {
        metadata: [("colour".to_owned(), "赤".to_owned())].into(),
        user_id: Some("someone else".to_owned()),
        message_count: 77,
        created_at: samples::at(-1),
        last_message_at: None,
        updated_at: samples::at(5_000),
        ..samples::retitled(&talk, "Orders")
    };
    let updated = given::conversation_updated(storage, &next).await;
    let expected = Conversation {
        title: next.title,
        metadata: next.metadata,
        version: 2,
        updated_at: samples::at(5_000),
        ..before
    };
    assert_eq!(expected.message_count, 2);
    assert_eq!(updated, expected);
    assert_eq!(found::conversation(storage, talk.id).await, Some(expected));
}

/// `updated_at` MUST NOT move backwards: a turn may have ended since the caller looked at its clock.
pub async fn an_update_that_comes_late_moves_no_time_backwards(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    let before = found::conversation(storage, talk.id).await;
    let before = before.expect("the conversation is there");
    let late = Conversation {
        updated_at: samples::at(-1),
        ..samples::retitled(&before, "Orders")
    };
    assert!(late.updated_at < before.updated_at);
    let updated = given::conversation_updated(storage, &late).await;
    assert_eq!(updated.updated_at, before.updated_at);
    assert_eq!(found::conversation(storage, talk.id).await, Some(updated));
}

/// `update` MUST write `conversation.updated`.
pub async fn writes_conversation_updated(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let next = samples::retitled(&talk, "Orders");
    let (tenant, stamp) = (samples::tenant(), samples::stamp(9));
    let answer = storage.conversations.update(&tenant, &next, &stamp).await;
    let (committed, updated) = answer.answered().expect("the conversation is there");
    assert_eq!(event_count(committed), 1);
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::ConversationUpdated);
    assert_eq!((event.time, event.actor), (stamp.time, stamp.actor));
    assert_eq!(event.agent_id, Some(agent.id));
    assert_eq!(event.conversation_id, Some(talk.id));
    assert_eq!(event.user_id, talk.user_id);
    let expected = EventData::Conversation {
        conversation: updated,
        greeting: None,
    };
    assert_eq!(event.data, expected);
}

/// `update` MUST answer `Stale` and write nothing unless it is the next version.
pub async fn refuses_an_update_of_another_conversation_version(storage: &Storage) {
    let (_, talk) = given::chat(storage).await;
    let (tenant, stamp) = (samples::tenant(), samples::stamp(9));
    let head = log::head(storage, &tenant).await;
    for version in [0, 1, 3] {
        let mut next = samples::retitled(&talk, "Orders");
        next.version = version;
        let answer = storage.conversations.update(&tenant, &next, &stamp).await;
        assert_stale(&answer);
    }
    assert_eq!(found::conversation(storage, talk.id).await, Some(talk));
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// `update` MUST answer `None` when it is gone; turns leave its version alone.
pub async fn updates_a_conversation_only_while_it_is_there(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let (tenant, stamp) = (samples::tenant(), samples::stamp(9));
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    let second = samples::retitled(&talk, "Orders");
    given::conversation_updated(storage, &second).await;
    given::conversation_deleted(storage, &talk).await;
    let unknown = samples::conversation(404, agent.id);
    for next in [
        samples::retitled(&second, "Ghost"),
        samples::retitled(&unknown, "Ghost"),
    ] {
        let answer = storage.conversations.update(&tenant, &next, &stamp).await;
        assert_eq!(answer.answered(), None);
    }
}
