//! The account of a walk over every operation.

use crate::{answer::Answer, operations::Operation};

/// Who walked, how far, and where somebody was let in who should not have been.
pub(crate) struct Walk {
    identity: &'static str,
    requests: usize,
    unexpected: Vec<String>,
}

impl Walk {
    /// A walk of somebody.
    pub(crate) fn of(identity: &'static str) -> Self {
        Self {
            identity,
            requests: 0,
            unexpected: Vec::new(),
        }
    }

    /// Notes an answer that must have this status and show none of these texts.
    pub(crate) fn note(
        &mut self,
        operation: &Operation,
        answer: &Answer,
        status: u16,
        secrets: &[&str],
    ) {
        self.requests += 1;
        let shown = secrets.iter().find(|text| answer.text().contains(**text));
        if answer.status != status || shown.is_some() {
            let (id, identity) = (operation.id, self.identity);
            let told = answer.text();
            let line = format!(
                "{id} as {identity}: {}, not {status}: {told}",
                answer.status
            );
            self.unexpected.push(line);
        }
    }

    /// Prints the account, for who wants to see it, and fails if anybody was let in who should not have been.
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
