//! The requests of a reply to engines.

use domain::{Agent, RequestUsage, Usage};

use super::Candidate;

/// The requests of a reply to engines, in order.
#[derive(Debug, Default, Clone)]
pub(crate) struct RequestLog(Vec<LoggedRequest>);

#[derive(Debug, Clone)]
struct LoggedRequest {
    engine: String,
    model: Option<String>,
    /// False if the engine replies without a model.
    reaches_model: bool,
    /// The token counts, once they are reported.
    usage: Option<Usage>,
}

impl RequestLog {
    /// Adds a request that is about to be sent. It counts as sent if its reply ends meanwhile.
    pub(super) fn begin(&mut self, candidate: &Candidate, agent: &Agent) {
        self.0.push(LoggedRequest {
            engine: candidate.name.clone(),
            model: candidate.engine.model(agent),
            reaches_model: !candidate.engine.is_immediate(),
            usage: None,
        });
    }

    /// Stores the token counts of the last request.
    pub(super) fn report(&mut self, usage: Option<Usage>) {
        if let Some(last) = self.0.last_mut() {
            last.usage = usage;
        }
    }

    /// Removes the last request, which nobody bills.
    pub(super) fn withdraw(&mut self) {
        self.0.pop();
    }

    /// Returns the log of a turn that made these requests before it was resumed.
    pub(super) fn resumed(requests: Vec<RequestUsage>) -> Self {
        let logged = |request: RequestUsage| LoggedRequest {
            engine: request.engine,
            model: request.model,
            reaches_model: true,
            usage: request.usage,
        };
        Self(requests.into_iter().map(logged).collect())
    }

    /// Returns the sum of all token counts that were reported.
    pub(crate) fn usage(&self) -> Option<Usage> {
        let reported = self.0.iter().filter_map(|request| request.usage);
        reported.reduce(Usage::plus)
    }

    /// Returns the requests to models.
    pub(crate) fn to_models(&self) -> Vec<RequestUsage> {
        let requests = self.0.iter().filter(|request| request.reaches_model);
        let numbered = |(number, request): (i64, &LoggedRequest)| RequestUsage {
            number,
            engine: request.engine.clone(),
            model: request.model.clone(),
            usage: request.usage,
        };
        (1..).zip(requests).map(numbered).collect()
    }
}

#[cfg(test)]
mod tests;
