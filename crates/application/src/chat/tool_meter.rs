//! How calls of tools end and what they take, for whoever watches the service.

use std::{sync::Arc, time::Duration};

use domain::ToolCall;
use ports::{AgentTool, ToolDefinition};

use crate::toolbox::provider_of;

/// Stands for the provider of what the agent was not offered: the model may call it anything.
const NOBODY: &str = "none";

/// Measures the calls of tools in one answer.
pub(super) struct ToolMeter(Vec<Arc<ToolDefinition>>);

impl ToolMeter {
    /// For an answer in which these are offered.
    pub(super) fn of(tools: &[AgentTool]) -> Self {
        Self(tools.iter().map(|it| Arc::clone(&it.definition)).collect())
    }

    /// Notes a call that has ended.
    pub(super) fn record(&self, call: &ToolCall) {
        let is_offered = self.0.iter().any(|it| it.name == call.name);
        let provider = if is_offered {
            provider_of(&call.name)
        } else {
            NOBODY
        };
        let labels = [
            ("provider", provider.to_owned()),
            ("status", call.status.clone()),
        ];
        let took = Duration::from_millis(u64::try_from(call.duration_ms).unwrap_or_default());
        metrics::histogram!("tool_call_seconds", &labels).record(took.as_secs_f64());
    }
}
