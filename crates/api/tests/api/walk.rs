//! The result of a walk over all operations.

use crate::{answer::ApiResponse, operations::Operation};

/// The result of a walk: the caller, the number of operations, and those that wrongly succeeded.
pub(crate) struct Walk {
    identity: &'static str,
    requests: usize,
    unexpected: Vec<String>,
}

impl Walk {
    /// A walk of one caller.
    pub(crate) fn of(identity: &'static str) -> Self {
        Self {
            identity,
            requests: 0,
            unexpected: Vec::new(),
        }
    }

    /// Checks a response, which must have this status and contain none of these texts.
    pub(crate) fn note(
        &mut self,
        operation: &Operation,
        answer: &ApiResponse,
        status: u16,
        secrets: &[&str],
    ) {
        self.requests += 1;
        let shown = secrets.iter().find(|text| answer.text().contains(**text));
        if answer.status != status || shown.is_some() {
            let (id, identity) = (operation.id, self.identity);
            let received = answer.text();
            let line = format!(
                "{id} as {identity}: {}, not {status}: {received}",
                answer.status
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
