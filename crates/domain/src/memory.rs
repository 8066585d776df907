//! The approximate memory of values that caches hold.

use std::sync::Arc;

use serde_json::Value;

use crate::{Agent, AgentConfig, ConversationState, Fallback, Rule, RuleCall, ToolEntry, User};

/// The approximate size of a value in memory, including everything it owns. Caches are bounded by
/// it.
pub trait MemorySize {
    /// Returns the size in bytes.
    fn memory_bytes(&self) -> usize;
}

impl MemorySize for Agent {
    fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.name.len()
            + self.personality.len()
            + texts(&self.capabilities)
            + config(&self.config)
    }
}

impl MemorySize for ConversationState {
    fn memory_bytes(&self) -> usize {
        let newest = self.newest_message.as_ref();
        size_of::<Self>()
            + length(self.user_id.as_ref())
            + length(newest.and_then(|message| message.client_id.as_ref()))
    }
}

impl MemorySize for User {
    fn memory_bytes(&self) -> usize {
        let pairs = self.metadata.iter();
        size_of::<Self>()
            + self.user_id.len()
            + length(self.name.as_ref())
            + self.context.len()
            + texts(pairs.flat_map(|(key, value)| [key, value]))
    }
}

impl MemorySize for str {
    fn memory_bytes(&self) -> usize {
        self.len()
    }
}

/// A value that may be known to be absent.
impl<T: MemorySize + ?Sized> MemorySize for Option<Arc<T>> {
    fn memory_bytes(&self) -> usize {
        self.as_ref().map_or(0, |value| value.memory_bytes())
    }
}

fn config(config: &AgentConfig) -> usize {
    let single = [
        &config.engine,
        &config.instructions,
        &config.greeting,
        &config.fallback_reply,
    ];
    let model = config.llm.as_ref().map_or(0, |llm| {
        let extra = llm.extra_body.iter().flatten();
        length(llm.model.as_ref())
            + texts(llm.stop.iter().flatten())
            + extra.map(member).sum::<usize>()
    });
    let titles = config.titles.as_ref().map_or(0, |titles| {
        length(titles.engine.as_ref()) + length(titles.model.as_ref())
    });
    let entries = config.tool_entries().iter();
    let tools = entries.map(|entry| size_of::<ToolEntry>() + entry.name.len());
    let tools = tools.sum::<usize>();
    let pairs = config.metadata.iter().flatten();
    let metadata = pairs.flat_map(|(key, value)| [key, value]);
    single
        .map(|text| length(text.as_ref()))
        .iter()
        .sum::<usize>()
        + config
            .fallbacks
            .iter()
            .flatten()
            .map(fallback)
            .sum::<usize>()
        + config.rules.iter().flatten().map(rule).sum::<usize>()
        + model
        + titles
        + tools
        + texts(metadata)
}

fn fallback(fallback: &Fallback) -> usize {
    let inner = match fallback {
        Fallback::Engine(engine) => engine.len(),
        Fallback::WithModel(fallback) => fallback.engine.len() + fallback.model.len(),
        Fallback::Unknown(value) => json(value),
    };
    size_of::<Fallback>() + inner
}

fn rule(rule: &Rule) -> usize {
    let single = [&rule.name, &rule.pattern, &rule.capability];
    size_of::<Rule>()
        + single
            .map(|text| length(text.as_ref()))
            .iter()
            .sum::<usize>()
        + texts(rule.keywords.iter().flatten())
        + texts(rule.answers())
        + rule.call.as_ref().map_or(0, call)
}

fn call(call: &RuleCall) -> usize {
    let arguments = call.arguments.iter().flatten();
    call.tool.len() + arguments.map(member).sum::<usize>()
}

fn member((name, value): (&String, &Value)) -> usize {
    size_of::<String>() + name.len() + json(value)
}

fn json(value: &Value) -> usize {
    let inner = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(json).sum(),
        Value::Object(members) => members.iter().map(member).sum(),
    };
    size_of::<Value>() + inner
}

fn length(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

fn texts<'t>(texts: impl IntoIterator<Item = &'t String>) -> usize {
    let bytes = texts
        .into_iter()
        .map(|text| size_of::<String>() + text.len());
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agent(config: &Value) -> Agent {
        let agent = json!({
            "id": "01a1f9f5-e05d-732b-85dd-7c941357da9e", "name": "Ada", "personality": "",
            "capabilities": [], "config": config, "version": 1,
            "createdAt": "2026-11-20T17:16:42.972Z", "updatedAt": "2026-11-20T17:16:42.972Z",
        });
        serde_json::from_value(agent).unwrap()
    }

    #[test]
    fn every_text_of_an_agent_counts() {
        let text = "x".repeat(1_000);
        let without = agent(&json!({})).memory_bytes();
        for config in [
            json!({"engine": text}),
            json!({"fallbacks": [text]}),
            json!({"fallbacks": [{"engine": "a", "model": text}]}),
            json!({"fallbacks": [[text]]}),
            json!({"instructions": text}),
            json!({"greeting": text}),
            json!({"fallbackReply": text}),
            json!({"rules": [{"name": text}]}),
            json!({"rules": [{"pattern": text}]}),
            json!({"rules": [{"keywords": [text]}]}),
            json!({"rules": [{"reply": text}]}),
            json!({"rules": [{"replies": [text]}]}),
            json!({"rules": [{"capability": text}]}),
            json!({"rules": [{"call": {"tool": text}}]}),
            json!({"rules": [{"call": {"tool": "a", "arguments": {text.as_str(): [{"a": null}]}}}]}),
            json!({"rules": [{"call": {"tool": "a", "arguments": {"a": [{"b": text}]}}}]}),
            json!({"llm": {"model": text}}),
            json!({"llm": {"extraBody": {text.as_str(): 1}}}),
            json!({"llm": {"extraBody": {"a": [text]}}}),
            json!({"llm": {"stop": [text]}}),
            json!({"tools": [{"name": text}]}),
            json!({"metadata": {"a": text}}),
        ] {
            let with = agent(&config).memory_bytes();
            assert!(with >= without + 1_000, "{config}");
        }
    }
}
