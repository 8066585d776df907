//! The fixtures: agents, rules and requests.

use std::sync::Arc;

use domain::{
    Agent, AgentConfig, AgentId, FinishReason, Rule, TenantId, Timestamp, TurnId, UnknownMembers,
};
use futures::StreamExt as _;
use ports::{ModelChunk, ModelRequest, ReplyEngine as _};
use rule_engine::RuleReplyEngine;
use uuid::Uuid;

pub(crate) fn tenant() -> TenantId {
    TenantId::DEFAULT.parse().expect("a tenant id")
}

pub(crate) fn agent() -> Agent {
    Agent {
        id: AgentId::new(Uuid::from_u128(1)),
        name: "Ada".to_owned(),
        personality: "Cheerful and brief.".to_owned(),
        capabilities: vec!["time".to_owned(), "weather".to_owned()],
        config: AgentConfig::default(),
        version: 1,
        created_at: Timestamp::from_milliseconds(0),
        updated_at: Timestamp::from_milliseconds(0),
        unknown: UnknownMembers::default(),
    }
}

pub(crate) fn agent_with(rules: impl Into<Vec<Rule>>) -> Agent {
    let mut agent = agent();
    agent.config.rules = Some(rules.into());
    agent
}

pub(crate) fn keyword_rule(keywords: &[&str], reply: &str) -> Rule {
    Rule {
        name: None,
        pattern: None,
        keywords: Some(keywords.iter().map(ToString::to_string).collect()),
        reply: Some(reply.to_owned()),
        replies: None,
        call: None,
        hand_over: None,
        capability: None,
        priority: None,
        unknown: UnknownMembers::default(),
    }
}

pub(crate) fn pattern_rule(pattern: &str, reply: &str) -> Rule {
    Rule {
        pattern: Some(pattern.to_owned()),
        keywords: None,
        ..keyword_rule(&[], reply)
    }
}

pub(crate) fn request(agent: &Arc<Agent>, message: &str) -> ModelRequest {
    ModelRequest {
        earlier_steps: Vec::new(),
        tenant: tenant(),
        agent: Arc::clone(agent),
        turn_id: TurnId::new(Uuid::from_u128(2)),
        turn_number: 0,
        user_id: Some("u-1".to_owned()),
        user: None,
        context: None,
        history: Arc::default(),
        message: message.into(),
        files: Vec::new(),
        file_contents: Arc::default(),
        steps: Vec::new(),
        tools: Arc::default(),
        unavailable_tools: Vec::new(),
        may_call: true,
        is_for_staff: false,
        tool_use: ports::ToolUse::default(),
        response_schema: None,
    }
}

/// Returns the whole reply and its finish reason. Checks the form of the stream.
pub(crate) async fn collect_reply(
    engine: &RuleReplyEngine,
    request: ModelRequest,
) -> (String, FinishReason) {
    let stream = engine.request(request).await.expect("a reply");
    let mut chunks: Vec<ModelChunk> = stream.map(Result::unwrap).collect().await;
    let Some(ModelChunk::End {
        finish_reason,
        usage: None,
        model: None,
        state: None,
    }) = chunks.pop()
    else {
        panic!("no end after {chunks:?}");
    };
    let text = chunks.into_iter().map(|chunk| match chunk {
        ModelChunk::Text(text) => text,
        other => panic!("{other:?} in the middle"),
    });
    (text.collect(), finish_reason)
}

/// Returns the reply to `message` in the first turn.
pub(crate) async fn first_reply(agent: Agent, message: &str) -> String {
    let engine = RuleReplyEngine::new().expect("threads can be started");
    collect_reply(&engine, request(&Arc::new(agent), message))
        .await
        .0
}
