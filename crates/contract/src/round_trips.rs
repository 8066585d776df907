//! What is written is read back to the last bit: texts, moments, numbers.

use domain::{
    Agent, AgentConfig, Conversation, Event, EventData, HistoryLimits, LlmSettings, Rule, Timestamp,
};
use ports::{BeginTurn, Exchange, ExchangeTarget, Storage};

use crate::{answers::OnceAnswer as _, found, given, log, samples};

/// Texts that stores have got wrong before: four bytes a character, combined characters, both
/// directions, what looks like quoting or a pattern, blanks at the ends, every control character
/// but NUL, the ends of Unicode.
const TEXTS: &[&str] = &[
    "",
    " ",
    "🦊🧑‍🚀👩🏽‍🔬🇪🇺",
    "e\u{301} and é, Å and Å",
    "שלום עולם \u{202e}abc\u{202c} مرحبا",
    "'; drop table agents; -- \"\\\\' $1 ? :name {{x}} %_",
    "  leading and trailing \t\r\n",
    "\u{1}\u{8}\u{b}\u{1f}\u{7f}\u{85}\u{2028}",
    "\u{feff}\u{fffd}\u{fffe}\u{10ffff}\u{e000}\u{d7ff}",
    "null",
    "\"json\": [1, 2]",
    "İstanbul ẞ ﬁ Ω",
];

/// Moments at which stores have rounded or shifted: whole seconds, one millisecond beside them,
/// the epoch and before it, the end of summer time, the far future.
const MOMENTS: &[i64] = &[
    1_795_167_000_000,
    1_795_167_000_001,
    1_795_167_000_999,
    0,
    1,
    -1,
    -62_135_596_799_999,
    1_792_893_600_123,
    253_402_300_799_999,
];

fn full_config(text: &str) -> AgentConfig {
    let some = || Some(text.to_owned());
    AgentConfig {
        engine: some(),
        fallbacks: Some(vec![text.to_owned(), "rules".to_owned()]),
        instructions: some(),
        greeting: some(),
        fallback_reply: some(),
        rules: Some(vec![Rule {
            name: some(),
            pattern: some(),
            keywords: None,
            reply: None,
            replies: Some(vec![text.to_owned()]),
            capability: None,
            priority: Some(i32::MIN),
        }]),
        llm: Some(LlmSettings {
            model: some(),
            temperature: Some(0.1 + 0.2),
            top_p: Some(1.0),
            max_output_tokens: Some(u32::MAX),
            seed: Some(-9_007_199_254_740_991),
            stop: Some(Vec::new()),
        }),
        history: Some(HistoryLimits {
            max_messages: Some(0),
            max_characters: None,
        }),
        timeout_ms: Some(600_000),
        metadata: Some([(text.to_owned(), text.to_owned())].into()),
    }
}

/// Agents, in the store and in the log.
pub async fn agents_are_read_back_as_written(storage: &Storage) {
    for (number, text) in (1..).zip(TEXTS) {
        let agent = Agent {
            name: (*text).to_owned(),
            personality: (*text).to_owned(),
            capabilities: vec![(*text).to_owned(), "time".to_owned()],
            config: full_config(text),
            ..samples::agent(number)
        };
        given::stored_agent(storage, agent.clone()).await;
        assert_eq!(found::agent(storage, agent.id).await.as_ref(), Some(&agent));
        let Event { data, .. } = log::events(storage).await.pop().expect("an event");
        assert_eq!(data, EventData::Agent { agent });
    }
}

/// Capabilities keep their order; it means something to people.
pub async fn capabilities_keep_their_order(storage: &Storage) {
    let agent = samples::agent_able_to(1, &["zeta", "alpha", "Mid", "alpha "]);
    given::stored_agent(storage, agent.clone()).await;
    assert_eq!(found::agent(storage, agent.id).await, Some(agent));
}

/// Conversations and their greetings.
pub async fn conversations_are_read_back_as_written(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let (tenant, stamp) = (samples::tenant(), samples::stamp(0));
    for (number, text) in (1..).zip(TEXTS) {
        let talk = Conversation {
            user_id: Some((*text).to_owned()),
            title: Some((*text).to_owned()),
            metadata: [((*text).to_owned(), (*text).to_owned())].into(),
            ..samples::conversation(number, agent.id)
        };
        let (talk, greeting) = samples::greeted(talk, text);
        let conversations = &storage.conversations;
        let answer = conversations.insert(&tenant, &talk, Some(&greeting), &stamp, None);
        assert!(answer.await.done().is_some());
        let messages = found::messages(storage, talk.id).await;
        assert_eq!(messages, std::slice::from_ref(&greeting));
        assert_eq!(found::head(storage, talk.id).await.user_id, talk.user_id);
        assert_eq!(found::conversation(storage, talk.id).await, Some(talk));
    }
}

fn exchange_of(number: u32, text: &str) -> Exchange {
    let agent = samples::agent(1);
    let talk = Conversation {
        user_id: Some(text.to_owned()),
        ..samples::conversation(number, agent.id)
    };
    let mut exchange = samples::exchange(number, &agent, ExchangeTarget::New(talk));
    text.clone_into(&mut exchange.question.input);
    exchange.question.metadata = [(text.to_owned(), text.to_owned())].into();
    text.clone_into(&mut exchange.reply.content);
    text.clone_into(&mut exchange.reply.engine);
    exchange.reply.tool_calls = vec![domain::ToolCall {
        name: text.to_owned(),
        arguments: serde_json::json!({ text: [text, 0.5, 1.0, i64::MAX, u64::MAX, null] }),
        status: text.to_owned(),
        duration_ms: i64::MAX,
    }];
    exchange
}

/// Turns and messages, in the store and in the log.
pub async fn turns_are_read_back_as_written(storage: &Storage) {
    given::agent(storage, 1).await;
    for (number, text) in (1..).zip(TEXTS) {
        let exchange = exchange_of(number, text);
        let Exchange {
            question, reply, ..
        } = exchange.clone();
        given::recorded(storage, exchange).await;
        let found = found::turn_with_owner(storage, question.turn_id).await;
        let found = found.expect("the turn is there");
        assert_eq!(found.user_id.as_deref(), Some(*text));
        assert_eq!(found.turn.input, question.input);
        assert_eq!(found.turn.metadata, question.metadata);
        assert_eq!(found.turn.tool_calls, reply.tool_calls);
        assert_eq!(found.turn.engine, Some(reply.engine));
        let messages = found::messages(storage, question.target.id()).await;
        let said: Vec<_> = messages.iter().map(|message| &*message.content).collect();
        assert_eq!(said, [*text, *text]);
        assert_eq!(found.turn.reply.as_ref(), messages.last());
        let Event { data, .. } = log::events(storage).await.pop().expect("an event");
        match data {
            EventData::Turn { turn, .. } => assert_eq!(turn, found.turn),
            other => panic!("not a turn: {other:?}"),
        }
    }
}

/// A queued turn keeps its text until it starts.
pub async fn waiting_texts_are_read_back_as_written(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let running = samples::question(100, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    for (number, text) in (1..).zip(TEXTS) {
        let waiting = BeginTurn {
            input: (*text).to_owned(),
            metadata: [("text".to_owned(), (*text).to_owned())].into(),
            ..samples::question(number, &agent, samples::existing(&talk, 1))
        };
        given::queued(storage, &waiting).await;
        let turn = found::turn(storage, waiting.turn_id).await;
        let turn = turn.expect("the turn is there");
        assert_eq!(
            (turn.input, turn.metadata),
            (waiting.input, waiting.metadata)
        );
    }
    let node = Some(running.node);
    let mut ends = running;
    for (number, text) in (1..).zip(TEXTS) {
        let (_, promoted) = given::cancelled(storage, &ends, node).await;
        let promoted = promoted.expect("a turn waits");
        assert_eq!(promoted.turn.input, *text);
        let said = found::messages(storage, talk.id).await.pop();
        assert_eq!(said.map(|message| message.content).as_deref(), Some(*text));
        ends = samples::question(number, &agent, samples::existing(&talk, 0));
    }
}

/// Moments keep every millisecond.
pub async fn moments_are_read_back_as_written(storage: &Storage) {
    let tenant = samples::tenant();
    for (number, moment) in (1..).zip(MOMENTS) {
        let moment = Timestamp::from_milliseconds(*moment);
        let agent = Agent {
            created_at: moment,
            updated_at: moment,
            ..samples::agent(number)
        };
        let stamp = domain::Stamp {
            time: moment,
            actor: samples::principal(),
        };
        let answer = storage.agents.insert(&tenant, &agent, &stamp, None).await;
        answer.done();
        assert_eq!(found::agent(storage, agent.id).await.as_ref(), Some(&agent));
        let event = log::events(storage).await.pop().expect("an event");
        assert_eq!(event.time, moment);
        let talk = Conversation {
            created_at: moment,
            updated_at: moment,
            last_message_at: Some(moment),
            ..samples::conversation(number, agent.id)
        };
        given::stored_conversation(storage, talk.clone()).await;
        let talk_found = found::conversation(storage, talk.id).await;
        assert_eq!(talk_found.as_ref(), Some(&talk));
        let mut exchange = samples::exchange(number, &agent, samples::existing(&talk, 0));
        exchange.question.stamp = stamp;
        exchange.finished_at = moment;
        given::recorded(storage, exchange.clone()).await;
        let turn = found::turn(storage, exchange.question.turn_id).await;
        let turn = turn.expect("the turn is there");
        assert_eq!((turn.created_at, turn.finished_at), (moment, Some(moment)));
        let messages = found::messages(storage, talk.id).await;
        assert!(messages.iter().all(|message| message.created_at == moment));
    }
}

/// Every end of an answer is read back.
pub async fn ends_of_answers_are_read_back(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    for (number, reason) in (0..).zip(domain::FinishReason::ALL) {
        let target = samples::existing(&talk, i64::from(number));
        let mut exchange = samples::exchange(number, &agent, target);
        exchange.reply.finish_reason = reason;
        exchange.reply.degraded = number % 2 == 1;
        given::recorded(storage, exchange).await;
        let turn = found::turn(storage, samples::turn_id(number)).await;
        let turn = turn.expect("the turn is there");
        assert_eq!(
            (turn.finish_reason, turn.degraded),
            (Some(reason), number % 2 == 1)
        );
    }
}
