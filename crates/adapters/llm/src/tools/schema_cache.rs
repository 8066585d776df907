//! A cache of compiled schemas of tool arguments.

mod deadline;
mod isolation;
mod schema;
mod schema_limits;

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use domain::TenantId;
use parking_lot::Mutex;
use ports::ToolDefinition;
use serde_json::Value;
use tokio::sync::OnceCell;

use isolation::IsolationError;
pub(crate) use schema::Schema;

/// The size at which unused definitions are removed from the cache: enough for all tools of four
/// servers.
const MAX_CACHED: usize = 1_024;

/// A compiled schema; `None` if it is unusable, so that its tool is not offered.
type Compiled = Option<Arc<Schema>>;

/// A definition, and its schema once it is compiled.
type CacheEntry = (Weak<ToolDefinition>, Arc<OnceCell<Compiled>>);

/// Compiled schemas. Each is compiled once and kept while its definition is in use.
#[derive(Default)]
pub(crate) struct SchemaCache(Mutex<HashMap<usize, CacheEntry>>);

impl SchemaCache {
    /// Returns the schema of a tool's arguments. Concurrent callers wait for one compilation.
    pub(crate) async fn get(&self, definition: &Arc<ToolDefinition>) -> Compiled {
        self.get_or_compile(definition, || compile(definition))
            .await
    }

    /// Returns whether the schema of this tool was found to be unusable.
    pub(crate) fn has_refused(&self, definition: &Arc<ToolDefinition>) -> bool {
        let entries = self.0.lock();
        let compiled = entries.get(&address(definition));
        let compiled = compiled.and_then(|(_, cell)| cell.get());
        compiled.is_some_and(Option::is_none)
    }

    /// Returns the cached result, or compiles the schema. The next caller tries again after an
    /// error.
    async fn get_or_compile<Compilation>(
        &self,
        definition: &Arc<ToolDefinition>,
        compile_schema: impl FnOnce() -> Compilation,
    ) -> Compiled
    where
        Compilation: Future<Output = Result<Compiled, IsolationError>>,
    {
        let cell = self.entry(definition);
        match cell.get_or_try_init(compile_schema).await {
            Ok(compiled) => compiled.clone(),
            Err(error) => {
                tracing::warn!(
                    tool = definition.name,
                    error = ports::error::one_line(&error),
                    "schema of a tool cannot be compiled now; the tool is not offered in this turn"
                );
                None
            }
        }
    }

    fn entry(&self, definition: &Arc<ToolDefinition>) -> Arc<OnceCell<Compiled>> {
        let mut entries = self.0.lock();
        // The weak pointer prevents another definition from getting the same address.
        if let Some((_, compiled)) = entries.get(&address(definition)) {
            return Arc::clone(compiled);
        }
        if entries.len() >= MAX_CACHED {
            entries.retain(|_, (definition, _)| definition.strong_count() > 0);
        }
        if entries.len() >= MAX_CACHED {
            entries.clear();
        }
        let compiled = Arc::default();
        let entry = (Arc::downgrade(definition), Arc::clone(&compiled));
        entries.insert(address(definition), entry);
        compiled
    }
}

fn address(definition: &Arc<ToolDefinition>) -> usize {
    Arc::as_ptr(definition).addr()
}

/// Compiles a schema, which takes tens of microseconds, or a tenth of a second the first time.
async fn compile(definition: &Arc<ToolDefinition>) -> Result<Compiled, IsolationError> {
    let shared = Arc::clone(definition);
    let compiled =
        match isolation::run_compilation(move || Schema::compile(&shared.input_schema)).await {
            Ok(compiled) => compiled,
            Err(IsolationError::Panicked) => Err("it cannot be compiled".to_owned()),
            Err(IsolationError::TimedOut) => Err("it takes too long to compile".to_owned()),
            Err(passing @ (IsolationError::NoThread(_) | IsolationError::Overloaded)) => {
                return Err(passing);
            }
        };
    let usable = compiled
        .inspect_err(|reason| {
            tracing::warn!(
                tool = definition.name,
                reason = %reason.escape_debug(),
                "schema of a tool is invalid or exceeds a limit; the tool is not offered"
            );
        })
        .ok()
        .map(Arc::new);
    Ok(usable)
}

/// Returns the first violation of the schema by a tenant's arguments, if any.
pub(crate) async fn first_violation(
    tenant: &TenantId,
    schema: Arc<Schema>,
    arguments: Value,
) -> Option<String> {
    let checked = isolation::run_check(tenant, move || schema.first_violation(&arguments)).await;
    checked.unwrap_or_else(|_error| Some("the arguments cannot be checked".to_owned()))
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
    #[case::reference_to_itself(json!({"allOf": [{"$ref": "#"}]}), true)]
    #[case(json!(true), false)]
    #[case(json!(null), false)]
    #[case(json!({"type": "nonsense"}), false)]
    #[case::external_reference(json!({"$ref": "https://example.com/schema.json"}), false)]
    #[case::file_reference(json!({"$ref": "file:///etc/passwd"}), false)]
    #[case::look_around(json!({"properties": {"a": {"pattern": "(?=a)"}}}), false)]
    #[case::huge_pattern(json!({"properties": {"a": {"pattern": "(a{1000}){1000}"}}}), false)]
    #[case::too_long(json!({"description": "a".repeat(64 * 1024)}), false)]
    #[tokio::test]
    async fn a_tool_is_offered_only_if_its_schema_can_be_used(
        #[case] schema: Value,
        #[case] expected: bool,
    ) {
        let (schemas, definition) = (SchemaCache::default(), definition(schema));
        assert!(!schemas.has_refused(&definition), "nothing is known yet");
        let compiled = schemas.get(&definition).await;
        assert_eq!(compiled.is_some(), expected);
        assert_eq!(schemas.has_refused(&definition), !expected);
    }

    #[tokio::test]
    async fn a_definition_is_compiled_once() {
        let schemas = SchemaCache::default();
        let definition = definition(json!({"type": "object"}));
        let (first, second) = tokio::join!(schemas.get(&definition), schemas.get(&definition));
        let third = schemas.get(&definition).await.unwrap();
        assert!(Arc::ptr_eq(&first.unwrap(), &third));
        assert!(Arc::ptr_eq(&second.unwrap(), &third));
    }

    #[tokio::test]
    async fn a_failed_compilation_is_repeated() {
        let schemas = SchemaCache::default();
        let definition = definition(json!({"type": "object"}));
        let no_thread = || async { Err(IsolationError::NoThread(ErrorKind::WouldBlock.into())) };
        assert!(
            schemas
                .get_or_compile(&definition, no_thread)
                .await
                .is_none()
        );
        assert!(schemas.get(&definition).await.is_some());
        assert!(
            schemas
                .get_or_compile(&definition, no_thread)
                .await
                .is_some()
        );
    }

    #[tokio::test]
    async fn unused_definitions_are_removed() {
        let schemas = SchemaCache::default();
        for _ in 0..=MAX_CACHED {
            schemas.get(&definition(json!({"type": "object"}))).await;
        }
        assert_eq!(schemas.0.lock().len(), 1);
    }
}
