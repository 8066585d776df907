//! The metrics of tool calls.

use std::collections::BTreeSet;

use domain::ToolEnd;
use ports::ModelRequest;

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
    pub(crate) fn of(request: &ModelRequest) -> Self {
        let available = request.tools.iter().map(|it| &it.definition.name);
        let names = available.chain(&request.unavailable_tools);
        Self {
            providers: names.map(|name| provider_of(name).to_owned()).collect(),
        }
    }

    /// Records a call that has ended.
    pub(crate) fn record(&self, name: &str, end: &ToolEnd) {
        let provider = self.providers.get(provider_of(name));
        let provider = provider.map_or(NO_PROVIDER, String::as_str).to_owned();
        let labels = [("provider", provider), ("status", end.status.clone())];
        metrics::histogram!("tool_call_seconds", &labels).record(end.took().as_secs_f64());
    }
}
