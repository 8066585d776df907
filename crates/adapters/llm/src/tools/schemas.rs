//! Compiled schemas of tools' arguments.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use jsonschema::{PatternOptions, Validator};
use ports::ToolDefinition;
use tokio::task::spawn_blocking;

/// A schema larger than this, as text, is not offered.
const SCHEMA_BYTES: usize = 64 * 1024;
/// The most that one compiled pattern may take.
const PATTERN_BYTES: usize = 64 * 1024;
/// So many definitions are remembered before those that nobody else holds are forgotten.
const REMEMBERED: usize = 256;

/// What a schema is good for; `None` when it cannot be checked by, and its tool is not offered.
type Compiled = Option<Arc<Validator>>;

/// Compiled schemas, each made once for as long as somebody has the definition.
#[derive(Default)]
pub(crate) struct Schemas(Mutex<HashMap<usize, (Weak<ToolDefinition>, Compiled)>>);

impl Schemas {
    /// The schema of a tool's arguments. Compiling takes from tens of microseconds to, the first
    /// time, a tenth of a second: off the tasks that others wait for.
    pub(crate) async fn of(&self, definition: &Arc<ToolDefinition>) -> Compiled {
        if let Some(known) = self.known(definition) {
            return known;
        }
        let foreign = Arc::clone(definition);
        let compiled = spawn_blocking(move || compile(&foreign)).await;
        let compiled = compiled.ok().flatten().map(Arc::new);
        if compiled.is_none() {
            tracing::warn!(
                tool = definition.name,
                "the schema of a tool's arguments cannot be used; the tool is not offered"
            );
        }
        self.remember(definition, compiled.clone());
        compiled
    }

    fn known(&self, definition: &Arc<ToolDefinition>) -> Option<Compiled> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A weak pointer keeps the address from being given to another definition.
        let (_, compiled) = known.get(&address(definition))?;
        Some(compiled.clone())
    }

    fn remember(&self, definition: &Arc<ToolDefinition>, compiled: Compiled) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.retain(|_, (definition, _)| definition.strong_count() > 0);
        }
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(address(definition), (Arc::downgrade(definition), compiled));
    }
}

fn address(definition: &Arc<ToolDefinition>) -> usize {
    Arc::as_ptr(definition).addr()
}

/// Foreign schemas: nothing is fetched for them, and their patterns match in linear time.
fn compile(definition: &ToolDefinition) -> Option<Validator> {
    let schema = &definition.input_schema;
    if !schema.is_object() || schema.to_string().len() > SCHEMA_BYTES {
        return None;
    }
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES);
    let options = jsonschema::options().with_pattern_options(patterns);
    options.build(schema).ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn definition(input_schema: Value) -> Arc<ToolDefinition> {
        Arc::new(ToolDefinition {
            name: "tool".to_owned(),
            description: String::new(),
            input_schema,
        })
    }

    #[rstest]
    #[case(json!({}), true)]
    #[case(json!({"type": "object", "properties": {"a": {"pattern": "^a+$"}}}), true)]
    #[case(json!({"$schema": "http://json-schema.org/draft-07/schema#"}), true)]
    #[case::refers_to_itself(json!({"allOf": [{"$ref": "#"}]}), true)]
    #[case(json!(true), false)]
    #[case(json!(null), false)]
    #[case(json!({"type": "nonsense"}), false)]
    #[case::is_elsewhere(json!({"$ref": "https://example.com/schema.json"}), false)]
    #[case::is_a_file(json!({"$ref": "file:///etc/passwd"}), false)]
    #[case::looks_around(json!({"properties": {"a": {"pattern": "(?=a)"}}}), false)]
    #[case::is_vast(json!({"properties": {"a": {"pattern": "(a{1000}){1000}"}}}), false)]
    #[case::is_long(json!({"description": "a".repeat(SCHEMA_BYTES)}), false)]
    #[tokio::test]
    async fn a_tool_is_offered_only_if_its_schema_can_be_used(
        #[case] schema: Value,
        #[case] expected: bool,
    ) {
        let compiled = Schemas::default().of(&definition(schema)).await;
        assert_eq!(compiled.is_some(), expected);
    }

    #[tokio::test]
    async fn compiles_a_definition_once() {
        let schemas = Schemas::default();
        let definition = definition(json!({"type": "object"}));
        let first = schemas.of(&definition).await.unwrap();
        let second = schemas.of(&definition).await.unwrap();
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[tokio::test]
    async fn forgets_what_nobody_has_any_more() {
        let schemas = Schemas::default();
        for _ in 0..=REMEMBERED {
            schemas.of(&definition(json!({"type": "object"}))).await;
        }
        assert_eq!(schemas.0.lock().unwrap().len(), 1);
    }
}
