//! Data is read exactly as it was written: texts, times, numbers.

use domain::{
    Agent, AgentConfig, Approval, Approver, Conversation, Event, EventData, Fallback,
    FallbackModel, HistoryLimits, LlmSettings, ProfileConfig, ReasoningEffort, Rule, RuleCall,
    ShowReasoning, Timestamp, TitleSource, TitlesConfig, ToolEntry, ToolRunner, ToolVisibility,
};
use ports::FirstMessages;
use serde_json::json;
use writes::{BeginTurn, CompletedTurn, ConversationTarget};

use crate::{Store, fixture, log, lookup, results::IdempotentExt as _, setup};

/// Texts that are difficult to store: four-byte characters, combining characters, both text
/// directions, quotes and patterns, blanks at the ends, every control character except NUL, the
/// ends of Unicode.
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

/// Times that are difficult to store: whole seconds and one millisecond beside them, the epoch and
/// before it, the end of summer time, the far future.
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

fn full_profile(text: &str) -> ProfileConfig {
    ProfileConfig {
        description: Some(text.to_owned()),
        suggestions: Some(vec![text.to_owned()]),
        metadata: Some([(text.to_owned(), text.to_owned())].into()),
        unknown: fixture::unknown_members(),
    }
}

fn full_rule(text: &str) -> Rule {
    let some = || Some(text.to_owned());
    Rule {
        name: some(),
        pattern: some(),
        keywords: None,
        reply: None,
        replies: Some(vec![text.to_owned()]),
        call: Some(RuleCall {
            tool: text.to_owned(),
            arguments: json!({text: [null, {"": -1.5}, text, true]})
                .as_object()
                .cloned(),
            unknown: fixture::unknown_members(),
        }),
        hand_over: Some(true),
        capability: None,
        priority: Some(i32::MIN),
        unknown: fixture::unknown_members(),
    }
}

fn both_fallbacks(text: &str) -> Vec<Fallback> {
    let with_model = FallbackModel {
        engine: "rules".to_owned(),
        model: text.to_owned(),
        unknown: fixture::unknown_members(),
    };
    vec![text.into(), Fallback::WithModel(with_model)]
}

fn full_config(text: &str) -> AgentConfig {
    let some = || Some(text.to_owned());
    AgentConfig {
        allow_client_tools: Some(true),
        allow_hand_over: Some(true),
        allow_unrecorded: Some(true),
        engine: some(),
        fallbacks: Some(both_fallbacks(text)),
        instructions: some(),
        greeting: some(),
        retention: some(),
        profile: Some(full_profile(text)),
        titles: Some(TitlesConfig {
            engine: some(),
            model: some(),
            unknown: fixture::unknown_members(),
        }),
        fallback_reply: some(),
        response_schema: serde_json::from_value(json!({"description": text, "const": [1.5, null]}))
            .ok(),
        rules: Some(vec![full_rule(text)]),
        llm: Some(LlmSettings {
            model: some(),
            temperature: Some(0.1 + 0.2),
            top_p: Some(1.0),
            max_output_tokens: Some(u32::MAX),
            seed: Some(-9_007_199_254_740_991),
            stop: Some(Vec::new()),
            system_role: Some(false),
            reasoning_effort: Some(ReasoningEffort::Minimal),
            show_reasoning: Some(ShowReasoning::Staff),
            extra_body: serde_json::from_value(json!({(text): [text, 1.5, null]})).ok(),
            unknown: fixture::unknown_members(),
        }),
        history: Some(HistoryLimits {
            max_messages: Some(0),
            max_characters: None,
            tool_results: Some(false),
            unknown: fixture::unknown_members(),
        }),
        timeout_ms: Some(600_000),
        tools: Some(vec![ToolEntry {
            approver: Some(Approver::Staff),
            name: text.to_owned(),
            run: Some(ToolRunner::Client),
            description: some(),
            parameters: Some([(text.to_owned(), text.into())].into_iter().collect()),
            approval: Some(Approval::Always),
            visibility: Some(ToolVisibility::Hidden),
            timeout_ms: Some(u32::MAX),
            unknown: fixture::unknown_members(),
        }]),
        action_timeout_seconds: Some(u32::MAX),
        max_tool_rounds: Some(1),
        max_tool_calls: Some(u16::MAX),
        metadata: Some([(text.to_owned(), text.to_owned())].into()),
        unknown: fixture::unknown_members(),
    }
}

/// Agents, from the store and from the log.
pub async fn agents_are_read_back_as_written(storage: &Store) {
    for (number, text) in (1..).zip(TEXTS) {
        let agent = Agent {
            name: (*text).to_owned(),
            personality: (*text).to_owned(),
            capabilities: vec![(*text).to_owned(), "time".to_owned()],
            config: full_config(text),
            ..fixture::agent(number)
        };
        setup::insert_agent(storage, agent.clone()).await;
        assert_eq!(
            lookup::agent(storage, agent.id).await.as_ref(),
            Some(&agent)
        );
        let Event { data, .. } = log::events(storage).await.pop().expect("an event");
        assert_eq!(data, EventData::Agent { agent });
    }
}

/// Capabilities keep their order, which is meaningful to people.
pub async fn capabilities_keep_their_order(storage: &Store) {
    let agent = fixture::agent_able_to(1, &["zeta", "alpha", "Mid", "alpha "]);
    setup::insert_agent(storage, agent.clone()).await;
    assert_eq!(lookup::agent(storage, agent.id).await, Some(agent));
}

/// Conversations and their greetings.
pub async fn conversations_are_read_back_as_written(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    for (number, text) in (1..).zip(TEXTS) {
        let conversation = Conversation {
            user_id: Some((*text).to_owned()),
            title: Some((*text).to_owned()),
            title_source: Some(TitleSource::Person),
            metadata: [((*text).to_owned(), (*text).to_owned())].into(),
            ..fixture::conversation(number, agent.id)
        };
        let (conversation, greeting) = fixture::greeted(conversation, text);
        let conversations = &storage.conversations;
        let first = FirstMessages::Greeting(greeting.clone());
        let result = conversations.insert(&tenant, &conversation, &first, &stamp, None);
        assert!(result.await.applied().is_some());
        let messages = lookup::messages(storage, conversation.id).await;
        assert_eq!(messages, std::slice::from_ref(&greeting));
        assert_eq!(
            lookup::state(storage, conversation.id).await.user_id,
            conversation.user_id
        );
        assert_eq!(
            lookup::conversation(storage, conversation.id).await,
            Some(conversation)
        );
    }
}

fn turn_with_message(number: u32, text: &str) -> CompletedTurn {
    let agent = fixture::agent(1);
    let conversation = Conversation {
        user_id: Some(text.to_owned()),
        ..fixture::conversation(number, agent.id)
    };
    let mut turn = fixture::completed_turn(number, &agent, ConversationTarget::New(conversation));
    text.clone_into(&mut turn.begin.input);
    turn.begin.metadata = [(text.to_owned(), text.to_owned())].into();
    text.clone_into(&mut turn.reply.content);
    text.clone_into(&mut turn.reply.engine);
    turn.reply.model = Some(text.to_owned());
    turn.reply.tool_calls = vec![domain::ToolCall {
        id: text.to_owned(),
        at: usize::try_from(u32::MAX).unwrap_or(0),
        result: Some(text.to_owned()),
        name: text.to_owned(),
        arguments: serde_json::json!({ text: [text, 0.5, 1.0, i64::MAX, u64::MAX, null] }),
        edited_arguments: Some(serde_json::json!({ text: text })),
        status: text.to_owned(),
        duration_ms: i64::MAX,
        needs: None,
        approver: None,
        expires_at: None,
        decided_by: Some(domain::PrincipalId::new(text)),
        decided_at: Some(fixture::at(8)),
        unknown: fixture::unknown_members(),
        visibility: Some(ToolVisibility::Full),
    }];
    turn
}

/// Turns and messages, from the store and from the log.
pub async fn turns_are_read_back_as_written(storage: &Store) {
    setup::agent(storage, 1).await;
    for (number, text) in (1..).zip(TEXTS) {
        let turn = turn_with_message(number, text);
        let CompletedTurn { begin, reply, .. } = turn.clone();
        setup::record_turn(storage, turn).await;
        let found = lookup::turn_with_owner(storage, begin.turn_id).await;
        let found = found.expect("the turn exists");
        assert_eq!(found.user_id.as_deref(), Some(*text));
        assert_eq!(found.turn.input, begin.input);
        assert_eq!(found.turn.metadata, begin.metadata);
        assert_eq!(found.turn.tool_calls, reply.tool_calls);
        assert_eq!(found.turn.engine, Some(reply.engine));
        assert_eq!(found.turn.model, reply.model);
        let messages = lookup::messages(storage, begin.target.id()).await;
        let texts: Vec<_> = messages.iter().map(|message| &*message.content).collect();
        assert_eq!(texts, [*text, *text]);
        assert_eq!(messages[1].tool_calls, reply.tool_calls);
        let stored = messages.last().cloned().map(lookup::without_turn);
        assert_eq!(found.turn.reply, stored);
        let Event { data, .. } = log::events(storage).await.pop().expect("an event");
        match data {
            EventData::Turn { turn, .. } => assert_eq!(turn, found.turn),
            other => panic!("not a turn: {other:?}"),
        }
    }
}

/// A queued turn keeps its message until it starts.
pub async fn messages_of_queued_turns_are_read_back_as_written(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(100, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    for (number, text) in (1..).zip(TEXTS) {
        let waiting = BeginTurn {
            input: (*text).to_owned(),
            metadata: [("text".to_owned(), (*text).to_owned())].into(),
            ..fixture::begin_turn(number, &agent, fixture::existing(&conversation, 1))
        };
        setup::queue_turn(storage, &waiting).await;
        let turn = lookup::turn(storage, waiting.turn_id).await;
        let turn = turn.expect("the turn exists");
        assert_eq!(
            (turn.input, turn.metadata),
            (waiting.input, waiting.metadata)
        );
    }
    let node = Some(running.node);
    let mut ends = running;
    for (number, text) in (1..).zip(TEXTS) {
        let (_, promoted) = setup::cancel_turn(storage, &ends, node).await;
        let promoted = promoted.expect("a turn waits");
        assert_eq!(promoted.turn.input, *text);
        let texts = lookup::messages(storage, conversation.id).await.pop();
        assert_eq!(texts.map(|message| message.content).as_deref(), Some(*text));
        ends = fixture::begin_turn(number, &agent, fixture::existing(&conversation, 0));
    }
}

/// Times keep every millisecond.
pub async fn times_are_read_back_as_written(storage: &Store) {
    let tenant = fixture::tenant();
    for (number, moment) in (1..).zip(MOMENTS) {
        let moment = Timestamp::from_milliseconds(*moment);
        let agent = Agent {
            created_at: moment,
            updated_at: moment,
            ..fixture::agent(number)
        };
        let stamp = domain::Stamp {
            time: moment,
            actor: fixture::principal(),
        };
        let result = storage.agents.insert(&tenant, &agent, &stamp, None).await;
        result.applied();
        assert_eq!(
            lookup::agent(storage, agent.id).await.as_ref(),
            Some(&agent)
        );
        let event = log::events(storage).await.pop().expect("an event");
        assert_eq!(event.time, moment);
        let conversation = Conversation {
            created_at: moment,
            updated_at: moment,
            last_message_at: Some(moment),
            ..fixture::conversation(number, agent.id)
        };
        setup::insert_conversation(storage, conversation.clone()).await;
        let found = lookup::conversation(storage, conversation.id).await;
        assert_eq!(found.as_ref(), Some(&conversation));
        let mut turn = fixture::completed_turn(number, &agent, fixture::existing(&conversation, 0));
        turn.begin.stamp = stamp;
        turn.finished_at = moment;
        setup::record_turn(storage, turn.clone()).await;
        let turn = lookup::turn(storage, turn.begin.turn_id).await;
        let turn = turn.expect("the turn exists");
        assert_eq!((turn.created_at, turn.finished_at), (moment, Some(moment)));
        let messages = lookup::messages(storage, conversation.id).await;
        assert!(messages.iter().all(|message| message.created_at == moment));
    }
}

/// Every finish reason is read as written.
pub async fn finish_reasons_are_read_back_as_written(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let of_newer = domain::FinishReason::read("requires_action");
    let reasons = domain::FinishReason::ALL.iter().chain([&of_newer]);
    for (number, reason) in (0..).zip(reasons) {
        let target = fixture::existing(&conversation, i64::from(number));
        let mut turn = fixture::completed_turn(number, &agent, target);
        turn.reply.finish_reason = *reason;
        turn.reply.degraded = number % 2 == 1;
        setup::record_turn(storage, turn).await;
        let turn = lookup::turn(storage, fixture::turn_id(number)).await;
        let turn = turn.expect("the turn exists");
        assert_eq!(
            (turn.finish_reason, turn.degraded),
            (Some(*reason), number % 2 == 1)
        );
    }
}
