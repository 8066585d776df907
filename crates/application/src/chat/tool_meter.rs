//! How calls of tools end and what they take, for whoever watches the service.

use std::{collections::BTreeSet, time::Duration};

use domain::ToolCall;
use ports::ReplyRequest;

use crate::toolbox::provider_of;

/// Stands for the provider of what the agent does not have: a model may call it anything.
const NOBODY: &str = "none";

/// Measures the calls of tools in one answer.
pub(super) struct ToolMeter {
    /// Who has the agent's tools, those that are away included.
    providers: BTreeSet<String>,
}

impl ToolMeter {
    /// For the answer to this.
    pub(super) fn of(request: &ReplyRequest) -> Self {
        let offered = request.tools.iter().map(|it| &it.definition.name);
        let names = offered.chain(&request.unavailable_tools);
        Self {
            providers: names.map(|name| provider_of(name).to_owned()).collect(),
        }
    }

    /// Notes a call that has ended.
    pub(super) fn record(&self, call: &ToolCall) {
        let provider = self.providers.get(provider_of(&call.name));
        let labels = [
            (
                "provider",
                provider.map_or(NOBODY, String::as_str).to_owned(),
            ),
            ("status", call.status.clone()),
        ];
        let took = Duration::from_millis(u64::try_from(call.duration_ms).unwrap_or_default());
        metrics::histogram!("tool_call_seconds", &labels).record(took.as_secs_f64());
    }
}
