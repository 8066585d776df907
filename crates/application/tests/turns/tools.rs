//! Tools that count their calls.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use ports::{
    CapabilityInfo, CapabilityKind, ProvidedTools, ToolArguments, ToolContext, ToolDefinition,
    ToolError, ToolHints, ToolProvider,
};
use serde_json::json;
use tokio::sync::Semaphore;

/// A tool that acts.
pub(crate) const ACT: &str = "act";
/// A tool that changes nothing.
pub(crate) const LOOK: &str = "look";

/// Tools whose calls return at once, unless the test holds them.
pub(crate) struct TestTools {
    calls: Mutex<Vec<(String, ToolContext)>>,
    permits: Semaphore,
}

impl Default for TestTools {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
            permits: Semaphore::new(Semaphore::MAX_PERMITS),
        }
    }
}

impl TestTools {
    /// Makes calls wait from now on.
    pub(crate) fn hold(&self) {
        self.permits.forget_permits(Semaphore::MAX_PERMITS);
    }

    /// Lets this number of calls return.
    pub(crate) fn release(&self, calls: usize) {
        self.permits.add_permits(calls);
    }

    /// The tools that were called, in order.
    pub(crate) fn called(&self) -> Vec<String> {
        let calls = self.calls.lock();
        calls.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The id and the attempt of each call.
    pub(crate) fn attempts(&self) -> Vec<(String, u32)> {
        let calls = self.calls.lock();
        let attempts = calls.iter().map(|(_, it)| (it.call_id.clone(), it.attempt));
        attempts.collect()
    }
}

fn definition(name: &str, hints: ToolHints) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        hints,
    })
}

#[async_trait]
impl ToolProvider for TestTools {
    fn provided(&self) -> ProvidedTools {
        let read_only = ToolHints {
            read_only: Some(true),
            ..ToolHints::default()
        };
        let tools = vec![
            definition(ACT, ToolHints::default()),
            definition(LOOK, read_only),
        ];
        let capability = |name: &str| CapabilityInfo {
            name: name.to_owned(),
            description: String::new(),
            kind: CapabilityKind::Tool,
            is_available: true,
        };
        ProvidedTools {
            capabilities: [ACT, LOOK].map(capability).into(),
            tools,
        }
    }

    async fn call(
        &self,
        name: &str,
        _: &ToolArguments,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        self.calls.lock().push((name.to_owned(), context.clone()));
        let permit = self.permits.acquire().await;
        permit
            .map_err(|closed| ToolError::Failed(closed.to_string()))?
            .forget();
        Ok("done".to_owned())
    }
}
