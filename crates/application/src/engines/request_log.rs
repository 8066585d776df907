//! The requests of a reply to engines.

use domain::{Agent, RequestUsage, TurnStep, Usage};

use super::Candidate;

/// The requests of a reply to engines, in order.
#[derive(Debug, Default, Clone)]
pub(crate) struct RequestLog(Vec<LoggedRequest>);

#[derive(Debug, Clone)]
struct LoggedRequest {
    engine: String,
    /// The model that was asked for.
    model: Option<String>,
    response: Option<LoggedResponse>,
    /// False if the engine replies without a model.
    reaches_model: bool,
    /// The token counts, once they are reported.
    usage: Option<Usage>,
}

/// The response to a request.
#[derive(Debug, Clone)]
struct LoggedResponse {
    /// The model, if the engine reported it.
    model: Option<String>,
}

impl LoggedRequest {
    /// Returns the model that replies: as reported, or else as asked for.
    fn effective_model(&self) -> Option<&str> {
        let reported = self.response.as_ref().and_then(|it| it.model.as_deref());
        let model = reported.or(self.model.as_deref());
        model.filter(|_| self.reaches_model)
    }
}

impl RequestLog {
    /// Adds a request that is about to be sent. It counts as sent if its reply ends meanwhile.
    pub(super) fn begin(&mut self, candidate: &Candidate, agent: &Agent) {
        self.0.push(LoggedRequest {
            engine: candidate.name.clone(),
            model: candidate.engine.model(agent),
            reaches_model: !candidate.engine.is_immediate(),
            response: None,
            usage: None,
        });
    }

    /// Stores the token counts of the last request and the model that the response names.
    pub(super) fn report(&mut self, usage: Option<Usage>, model: Option<String>) {
        if let Some(last) = self.0.last_mut() {
            last.usage = usage;
            last.response = Some(LoggedResponse { model });
        }
    }

    /// Removes the last request, which nobody bills.
    pub(super) fn withdraw(&mut self) {
        self.0.pop();
    }

    /// Forgets the responses: none of them is a part of the reply.
    pub(super) fn discard_responses(&mut self) {
        for request in &mut self.0 {
            request.response = None;
        }
    }

    /// Returns the log of a turn with this journal that is resumed.
    pub(super) fn resumed(journal: &[TurnStep]) -> Self {
        let mut log = Self::default();
        for step in journal {
            let TurnStep::Model(response) = step else {
                continue;
            };
            let logged = |request: &RequestUsage| LoggedRequest {
                engine: request.engine.clone(),
                model: request.model.clone(),
                response: None,
                reaches_model: true,
                usage: request.usage,
            };
            log.0.extend(response.requests.iter().map(logged));
            if !response.requests.is_empty()
                && let Some(last) = log.0.last_mut()
            {
                last.response = Some(LoggedResponse {
                    model: response.model.clone(),
                });
            }
        }
        log
    }

    /// Returns the model of the reply: that of all requests with a response, and of the last one, which may
    /// still wait for it. `None` if they differ, and if one is unknown.
    pub(crate) fn model(&self) -> Option<String> {
        let (last, earlier) = self.0.split_last()?;
        let model = last.effective_model()?;
        let mut others = earlier.iter().filter(|request| request.response.is_some());
        let is_only = others.all(|request| request.effective_model() == Some(model));
        is_only.then(|| model.to_owned())
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
