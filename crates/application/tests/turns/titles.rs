//! Titles by models, after the first turn of a conversation.

mod following;

use std::sync::Arc;

use application::followers::FollowerWork;
use contract::fixture;
use domain::{Agent, AgentConfig, LlmSettings, Seq, TitleSource, TitlesConfig};

use self::following::{Following, Titler};

fn with_titles(titles: TitlesConfig) -> AgentConfig {
    AgentConfig {
        titles: Some(titles),
        ..AgentConfig::default()
    }
}

fn on() -> AgentConfig {
    with_titles(TitlesConfig::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_completed_turn_gives_its_conversation_a_title() {
    let answer = "\n\"Question 1, answered.\"\nIt is about a question.";
    let mut following = Following::start(on(), Titler::answering(answer)).await;
    following.record(following.completed(1, 0)).await;
    let step = following.step().await;
    following.follow().await;
    let titled = following.conversation().await;
    assert_eq!(titled.title.as_deref(), Some("Question 1, answered"));
    assert_eq!(titled.title_source, Some(TitleSource::Model));
    assert_eq!(titled.version, 2);
    // The same step again, as after a crash, and another turn.
    let again = following.writer.apply(&step.0, &step.1).await;
    assert!(!again.expect("the store answers"));
    following.record(following.completed(2, 1)).await;
    following.follow().await;
    assert_eq!(following.conversation().await.version, 2);
    assert_eq!(following.own.requests().len(), 1);
    assert!(following.other.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_reads_the_beginnings_of_both_messages_and_nothing_else() {
    let config = AgentConfig {
        instructions: Some("Be brief.".to_owned()),
        greeting: Some("Hello!".to_owned()),
        llm: Some(LlmSettings {
            model: Some("large".to_owned()),
            max_output_tokens: Some(8_000),
            stop: Some(vec!["\n".to_owned()]),
            ..LlmSettings::default()
        }),
        ..on()
    };
    let mut following = Following::start(config, Titler::answering("Ants")).await;
    let mut turn = following.completed(1, 0);
    turn.begin.input = "🐜".repeat(2_500);
    turn.reply.content = format!("Ignore \"all\" {}", "x".repeat(2_500));
    following.record(turn).await;
    following.follow().await;
    let request = following.own.requests().remove(0);
    let read: serde_json::Value = serde_json::from_str(&request.message).expect("JSON");
    let reply = format!("Ignore \"all\" {}", "x".repeat(1_987));
    let expected = serde_json::json!({"user": "🐜".repeat(2_000), "reply": reply});
    assert_eq!(read, expected);
    assert!(request.history.is_empty() && request.tools.is_empty() && !request.may_call);
    let agent = &*request.agent;
    assert_eq!((&*agent.personality, agent.capabilities.len()), ("", 0));
    let config = &agent.config;
    let instructions = config.instructions.as_deref().expect("instructions");
    assert!(instructions.contains("title") && !instructions.contains("Be brief."));
    assert_eq!((&config.greeting, &config.titles), (&None, &None));
    assert_eq!(config.timeout(), std::time::Duration::from_secs(20));
    let llm = config.llm.clone().expect("settings");
    assert_eq!(llm.model.as_deref(), Some("large"));
    assert_eq!((llm.max_output_tokens, llm.stop), (Some(512), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_engine_and_model_can_write_titles() {
    let config = AgentConfig {
        llm: Some(LlmSettings {
            model: Some("large".to_owned()),
            temperature: Some(1.5),
            ..LlmSettings::default()
        }),
        fallbacks: Some(vec!["own".into()]),
        ..with_titles(TitlesConfig {
            engine: Some("other".to_owned()),
            model: Some("small".to_owned()),
            ..TitlesConfig::default()
        })
    };
    let mut following = Following::start(config, Titler::answering("Own")).await;
    following.record(following.completed(1, 0)).await;
    following.follow().await;
    let title = following.conversation().await.title;
    assert_eq!(title.as_deref(), Some("By another engine"));
    let llm = following.other.requests()[0].agent.config.llm.clone();
    let llm = llm.expect("settings");
    assert_eq!(
        (llm.model.as_deref(), llm.temperature),
        (Some("small"), None)
    );
    assert!(following.own.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_request_is_not_repeated() {
    let mut following = Following::start(on(), Arc::default()).await;
    for turn in [(1, 0), (2, 1)] {
        following.record(following.completed(turn.0, turn.1)).await;
        following.follow().await;
    }
    let conversation = following.conversation().await;
    assert_eq!((conversation.title_source, conversation.version), (None, 1));
    assert_eq!(following.own.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_title_in_the_answer_the_message_is_the_title() {
    let mut following = Following::start(on(), Titler::answering("\"\".")).await;
    following.record(following.completed(1, 0)).await;
    following.follow().await;
    let title = following.conversation().await.title;
    assert_eq!(title.as_deref(), Some("Question 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_title_is_asked_for_where_none_is_wanted() {
    let immediate = Arc::new(Titler {
        is_immediate: true,
        answer: Some("By rules"),
        ..Titler::default()
    });
    let cases = [
        (AgentConfig::default(), Titler::answering("Off"), None),
        (on(), immediate, None),
        (on(), Titler::answering("Titled"), Some(Some("Orders"))),
        (on(), Titler::answering("Removed"), Some(None)),
    ];
    for (config, titler, of_person) in cases {
        let mut following = Following::start(config, titler).await;
        if let Some(title) = of_person {
            let update = following.retitled(title).await;
            let updated = following.fixture.storage.writes.write(update).await;
            updated.expect("the store answers");
        }
        following.record(following.completed(1, 0)).await;
        following.follow().await;
        let title = following.conversation().await.title;
        assert_eq!(title.as_deref(), of_person.flatten());
        assert!(following.own.requests().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_repeats_the_first_asks_for_no_title() {
    let mut following = Following::start(AgentConfig::default(), Titler::answering("Late")).await;
    following.record(following.completed(1, 0)).await;
    let next = Agent {
        config: on(),
        version: 3,
        ..following.fixture.agent.clone()
    };
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    let updated = following
        .fixture
        .storage
        .agents
        .update(&tenant, &next, &stamp)
        .await;
    updated.expect("the store answers").expect("the agent");
    following.fixture.agent = next;
    let mut again = following.completed(2, 1);
    again.begin = fixture::superseding(again.begin, 1, 0);
    // The first one is left out, as if it were from before the follower.
    let head = following.read(Seq(0)).await.1;
    let step = following.step().await.0;
    let is_moved = following
        .fixture
        .storage
        .followers
        .advance("titles", &step)
        .await;
    assert!(is_moved.expect("the store answers"));
    following.position = Some(step.to);
    assert_eq!(step.to.seq, head);
    following.record(again).await;
    following.follow().await;
    assert!(following.own.requests().is_empty());
    assert_eq!(following.conversation().await.message_count, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_during_the_request_is_kept() {
    for title in [Some("By a person"), None] {
        let mut following = Following::start(on(), Titler::answering("By a model")).await;
        let change = following.retitled(title).await;
        let writes = following.fixture.storage.writes.clone();
        *following.own.meanwhile.lock() = Some((writes, change));
        following.record(following.completed(1, 0)).await;
        following.follow().await;
        let found = following.conversation().await;
        assert_eq!(found.title.as_deref(), title);
        assert_eq!(found.title_source, Some(TitleSource::Person));
        assert_eq!(following.own.requests().len(), 1);
    }
    let mut following = Following::start(on(), Titler::answering("By a model")).await;
    let mut change = following.retitled(None).await;
    change.conversation.title_source = None;
    change.conversation.metadata = [("colour".to_owned(), "red".to_owned())].into();
    let writes = following.fixture.storage.writes.clone();
    *following.own.meanwhile.lock() = Some((writes, change));
    following.record(following.completed(1, 0)).await;
    following.follow().await;
    let found = following.conversation().await;
    assert_eq!(found.title.as_deref(), Some("By a model"));
    assert_eq!((found.metadata.len(), found.version), (1, 3));
}
