//! Test fixtures.

use domain::{Agent, AgentConfig, Rule, Timestamp, UnknownMembers};

/// An agent without rules.
pub(crate) fn agent() -> Agent {
    Agent {
        id: "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11".parse().unwrap(),
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

/// A rule with a pattern.
pub(crate) fn pattern_rule(pattern: &str, reply: &str) -> Rule {
    Rule {
        name: None,
        pattern: Some(pattern.to_owned()),
        keywords: None,
        reply: Some(reply.to_owned()),
        replies: None,
        call: None,
        hand_over: None,
        capability: None,
        priority: None,
        unknown: UnknownMembers::default(),
    }
}
