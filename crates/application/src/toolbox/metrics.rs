//! The metrics of tool calls.

use std::{collections::BTreeSet, time::Duration};

use ports::{ReplyRequest, ToolReturn};

use super::provider_of;

/// The provider label of a tool that the agent does not have. A model may call any name, and each
/// would be a new label.
const NO_PROVIDER: &str = "none";

/// Records the tool calls of one reply.
pub(crate) struct ToolMetrics {
    /// The providers of the agent's tools, unavailable ones included.
    providers: BTreeSet<String>,
}

impl ToolMetrics {
    /// Creates the metrics of the reply to a request.
    pub(crate) fn of(request: &ReplyRequest) -> Self {
        let available = request.tools.iter().map(|it| &it.definition.name);
        let names = available.chain(&request.unavailable_tools);
        Self {
            providers: names.map(|name| provider_of(name).to_owned()).collect(),
        }
    }

    /// Records a call that has ended.
    pub(crate) fn record(&self, call: &ToolReturn) {
        let provider = self.providers.get(provider_of(&call.name));
        let labels = [
            (
                "provider",
                provider.map_or(NO_PROVIDER, String::as_str).to_owned(),
            ),
            ("status", call.status.clone()),
        ];
        let took = Duration::from_millis(u64::try_from(call.duration_ms).unwrap_or_default());
        metrics::histogram!("tool_call_seconds", &labels).record(took.as_secs_f64());
    }
}
