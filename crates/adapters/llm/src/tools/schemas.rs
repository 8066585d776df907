//! Compiled schemas of tools' arguments.

mod bounds;
mod schema;
mod work;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use ports::ToolDefinition;
use serde_json::Value;
use tokio::sync::OnceCell;

pub(crate) use schema::Schema;
use work::Undone;

/// So many definitions are remembered before those that nobody else holds are forgotten: all tools
/// of four servers.
const REMEMBERED: usize = 1_024;

/// What a schema is good for; `None` when it cannot be checked by, and its tool is not offered.
type Compiled = Option<Arc<Schema>>;

/// A definition, and its schema once it is compiled.
type Known = (Weak<ToolDefinition>, Arc<OnceCell<Compiled>>);

/// Compiled schemas, each made once for as long as somebody has the definition.
#[derive(Default)]
pub(crate) struct Schemas(Mutex<HashMap<usize, Known>>);

impl Schemas {
    /// The schema of a tool's arguments. Whoever asks for one while it is compiled waits for that.
    pub(crate) async fn of(&self, definition: &Arc<ToolDefinition>) -> Compiled {
        self.judged(definition, || compile(definition)).await
    }

    /// What was judged of a definition, once; what could not be judged is tried again by the next
    /// who asks.
    async fn judged<Judging>(
        &self,
        definition: &Arc<ToolDefinition>,
        judge: impl FnOnce() -> Judging,
    ) -> Compiled
    where
        Judging: Future<Output = Result<Compiled, Undone>>,
    {
        let judged = self.known(definition);
        match judged.get_or_try_init(judge).await {
            Ok(compiled) => compiled.clone(),
            Err(undone) => {
                tracing::warn!(
                    tool = definition.name,
                    error = ports::error::chain(&undone),
                    "a tool's schema cannot be read now; the tool is not offered in this turn"
                );
                None
            }
        }
    }

    fn known(&self, definition: &Arc<ToolDefinition>) -> Arc<OnceCell<Compiled>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A weak pointer keeps the address from being given to another definition.
        if let Some((_, compiled)) = known.get(&address(definition)) {
            return Arc::clone(compiled);
        }
        if known.len() >= REMEMBERED {
            known.retain(|_, (definition, _)| definition.strong_count() > 0);
        }
        if known.len() >= REMEMBERED {
            known.clear();
        }
        let compiled = Arc::default();
        let entry = (Arc::downgrade(definition), Arc::clone(&compiled));
        known.insert(address(definition), entry);
        compiled
    }
}

fn address(definition: &Arc<ToolDefinition>) -> usize {
    Arc::as_ptr(definition).addr()
}

/// Takes from tens of microseconds to, the first time, a tenth of a second.
async fn compile(definition: &Arc<ToolDefinition>) -> Result<Compiled, Undone> {
    let foreign = Arc::clone(definition);
    let compiled = match work::apart(move || Schema::compile(&foreign.input_schema)).await {
        Ok(compiled) => compiled,
        Err(Undone::Panicked) => Err("it cannot be read".to_owned()),
        Err(passing @ Undone::NoThread(_)) => return Err(passing),
    };
    let usable = compiled
        .inspect_err(|reason| {
            tracing::warn!(
                tool = definition.name,
                reason = %reason.escape_debug(),
                "the schema of a tool's arguments cannot be used; the tool is not offered"
            );
        })
        .ok()
        .map(Arc::new);
    Ok(usable)
}

/// What is wrong with arguments, if anything is.
pub(crate) async fn first_fault(schema: Arc<Schema>, arguments: Value) -> Option<String> {
    let checked = work::apart(move || schema.first_fault(&arguments)).await;
    checked.unwrap_or_else(|_undone| Some("the arguments cannot be checked".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use rstest::rstest;
    use serde_json::json;

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
    #[case::is_long(json!({"description": "a".repeat(64 * 1024)}), false)]
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
        let (first, second) = tokio::join!(schemas.of(&definition), schemas.of(&definition));
        let third = schemas.of(&definition).await.unwrap();
        assert!(Arc::ptr_eq(&first.unwrap(), &third));
        assert!(Arc::ptr_eq(&second.unwrap(), &third));
    }

    #[tokio::test]
    async fn what_could_not_be_judged_is_judged_later() {
        let schemas = Schemas::default();
        let definition = definition(json!({"type": "object"}));
        let no_thread = || async { Err(Undone::NoThread(ErrorKind::WouldBlock.into())) };
        assert!(schemas.judged(&definition, no_thread).await.is_none());
        assert!(schemas.of(&definition).await.is_some());
        assert!(schemas.judged(&definition, no_thread).await.is_some());
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
