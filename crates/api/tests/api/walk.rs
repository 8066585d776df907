//! The result of a walk over all operations.

use crate::{operations::Operation, response::ApiResponse};

/// The result of a walk: the caller, the number of operations, and those that wrongly succeeded.
pub(crate) struct Walk {
    identity: &'static str,
    requests: usize,
    unexpected: Vec<String>,
}

impl Walk {
    /// A walk of one caller.
    pub(crate) fn new(identity: &'static str) -> Self {
        Self {
            identity,
            requests: 0,
            unexpected: Vec::new(),
        }
    }

    /// Checks a response, which must have this status and contain none of these texts.
    pub(crate) fn check(
        &mut self,
        operation: &Operation,
        response: &ApiResponse,
        status: u16,
        secrets: &[&str],
    ) {
        self.requests += 1;
        let shown = secrets.iter().find(|text| response.text().contains(**text));
        if response.status != status || shown.is_some() {
            let (id, identity) = (operation.id, self.identity);
            let received = response.text();
            let line = format!(
                "{id} as {identity}: {}, not {status}: {received}",
                response.status
            );
            self.unexpected.push(line);
        }
    }

    /// Prints the result, and fails if an operation wrongly succeeded.
    #[expect(
        clippy::print_stdout,
        reason = "the runner of tests shows it on demand"
    )]
    pub(crate) fn end(self) {
        let (identity, count) = (self.identity, self.unexpected.len());
        println!("{identity}: {} requests, {count} unexpected", self.requests);
        assert!(self.requests > 0, "{identity} did not walk");
        assert!(count == 0, "{}", self.unexpected.join("\n"));
    }
}
