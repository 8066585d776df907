//! `ConversationRepository::history`: what an engine is shown.

use domain::{Conversation, HistoryLimits, Message, Utterance};
use ports::{HistoryQuery, Storage, TurnEnding};

use crate::{answers::Answer as _, given, samples};

async fn history(
    storage: &Storage,
    talk: &Conversation,
    before: i64,
    max_messages: Option<u32>,
    max_characters: Option<u32>,
) -> Vec<Utterance> {
    let query = HistoryQuery {
        before,
        limits: HistoryLimits {
            max_messages,
            max_characters,
        },
    };
    let tenant = samples::tenant();
    let answer = storage
        .conversations
        .history(&tenant, talk.id, &query)
        .await;
    answer.answered()
}

/// What was said in these messages.
fn said_in(messages: &[Message]) -> Vec<Utterance> {
    let said = |message: &Message| Utterance {
        seq: message.seq,
        role: message.role,
        content: message.content.as_str().into(),
    };
    messages.iter().map(said).collect()
}

async fn places(
    storage: &Storage,
    talk: &Conversation,
    before: i64,
    max_messages: u32,
    max_characters: u32,
) -> Vec<i64> {
    let (messages, characters) = (Some(max_messages), Some(max_characters));
    let shown = history(storage, talk, before, messages, characters).await;
    shown.iter().map(|message| message.seq).collect()
}

/// A conversation of exchanges with these questions and answers.
async fn talk_of(storage: &Storage, exchanges: &[(&str, &str)]) -> Conversation {
    let (agent, talk) = given::chat(storage).await;
    for (number, (question, answer)) in (0..).zip(exchanges) {
        let target = samples::existing(&talk, i64::from(number));
        let mut exchange = samples::exchange(number, &agent, target);
        (*question).clone_into(&mut exchange.question.input);
        (*answer).clone_into(&mut exchange.reply.content);
        given::recorded(storage, exchange).await;
    }
    talk
}

/// The newest messages, oldest first, just as `messages` shows them.
pub async fn shows_the_newest_messages_oldest_first(storage: &Storage) {
    let talk = talk_of(storage, &[("a", "b"), ("c", "d"), ("e", "f")]).await;
    let all = said_in(&crate::found::messages(storage, talk.id).await);
    assert_eq!(history(storage, &talk, 7, Some(4), None).await, all[2..]);
    assert_eq!(history(storage, &talk, 7, Some(6), None).await, all);
    assert_eq!(
        history(storage, &talk, i64::MAX, Some(500), None).await,
        all
    );
}

/// Messages with a smaller `seq` only.
pub async fn shows_only_what_was_said_before(storage: &Storage) {
    let talk = talk_of(storage, &[("a", "b"), ("c", "d"), ("e", "f")]).await;
    assert_eq!(places(storage, &talk, 5, 40, 48_000).await, [1, 2, 3, 4]);
    assert_eq!(places(storage, &talk, 5, 3, 48_000).await, [2, 3, 4]);
    assert!(places(storage, &talk, 1, 40, 48_000).await.is_empty());
}

/// Limits of zero show nothing; limits that are absent take effect by their defaults.
pub async fn shows_nothing_or_the_default_as_the_limits_say(storage: &Storage) {
    let talk = talk_of(storage, &[("a", "b"); 21]).await;
    assert!(places(storage, &talk, 99, 0, 48_000).await.is_empty());
    assert!(places(storage, &talk, 99, 40, 0).await.is_empty());
    let shown = history(storage, &talk, 99, None, None).await;
    let places: Vec<_> = shown.iter().map(|message| message.seq).collect();
    assert_eq!(places, (3..=42).collect::<Vec<_>>());
}

/// Whole messages that fit, counted in characters, not in bytes.
pub async fn counts_characters_of_whole_messages(storage: &Storage) {
    let talk = talk_of(storage, &[("🦊🦊🦊", "ééé"), ("e\u{301}x", "אבג")]).await;
    for (characters, expected) in [
        (12, vec![1, 2, 3, 4]),
        (11, vec![2, 3, 4]),
        (9, vec![2, 3, 4]),
        (8, vec![3, 4]),
        (6, vec![3, 4]),
        (5, vec![4]),
        (3, vec![4]),
        (2, vec![]),
    ] {
        let shown = places(storage, &talk, 99, 40, characters).await;
        assert_eq!(shown, expected, "in {characters} characters");
    }
}

/// Both limits hold, whichever is met first.
pub async fn holds_both_limits(storage: &Storage) {
    let talk = talk_of(storage, &[("aaaa", "bbbb"), ("cccc", "dddd")]).await;
    assert_eq!(places(storage, &talk, 99, 1, 48_000).await, [4]);
    assert_eq!(places(storage, &talk, 99, 40, 8).await, [3, 4]);
    assert_eq!(places(storage, &talk, 99, 3, 16).await, [2, 3, 4]);
}

/// What is shown has no gap: a message that does not fit hides all before it.
pub async fn shows_nothing_beyond_a_message_that_does_not_fit(storage: &Storage) {
    let talk = talk_of(storage, &[("a", "bbbbbbbbbb"), ("c", "d")]).await;
    assert_eq!(places(storage, &talk, 99, 40, 5).await, [3, 4]);
    assert!(places(storage, &talk, 3, 40, 5).await.is_empty());
}

/// Messages of failed turns are left out and do not count; those of cancelled ones are shown.
pub async fn leaves_out_the_messages_of_failed_turns(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question =
        |number, count| samples::question(number, &agent, samples::existing(&talk, count));
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    for (number, problem) in [
        (2, samples::lasting_problem()),
        (3, samples::retryable_problem()),
    ] {
        let failing = question(number, i64::from(number) - 1);
        given::started(storage, &failing).await;
        given::finished(
            storage,
            samples::finish(&failing, TurnEnding::failed(problem)),
        )
        .await;
    }
    let cancelled = question(4, 3);
    given::started(storage, &cancelled).await;
    given::cancelled(storage, &cancelled, None).await;
    let completed = question(5, 4);
    given::started(storage, &completed).await;
    let ending = TurnEnding::Completed(samples::reply(5));
    given::finished(storage, samples::finish(&completed, ending)).await;
    assert_eq!(
        places(storage, &talk, 99, 40, 48_000).await,
        [1, 2, 5, 6, 7]
    );
    assert_eq!(places(storage, &talk, 6, 2, 48_000).await, [2, 5]);
    let all = crate::found::messages(storage, talk.id).await;
    assert_eq!(all.len(), 7, "they stay in the conversation");
}

/// A greeting is said by the agent like any other message.
pub async fn shows_the_greeting(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let (talk, greeting) = samples::greeted(samples::conversation(1, agent.id), "Welcome!");
    let (tenant, stamp) = (samples::tenant(), samples::stamp(1));
    let conversations = &storage.conversations;
    let answer = conversations.insert(&tenant, &talk, Some(&greeting), &stamp, None);
    answer.await.answered();
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    let shown = history(storage, &talk, 3, None, None).await;
    assert_eq!(shown[..1], said_in(&[greeting]));
    assert_eq!(shown.len(), 2);
}
