//! The log of the times without a connection to the home region.

use std::{
    collections::HashSet,
    mem::{Discriminant, discriminant},
    time::Instant,
};

use ports::error::with_causes;

use crate::connect_error::ConnectError;

/// A time without a connection, which is logged once for each kind of cause.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    began: Option<Instant>,
    logged: HashSet<Discriminant<ConnectError>>,
}

impl Outage {
    /// Logs an attempt to connect that has failed.
    pub(crate) fn record(&mut self, error: &ConnectError) {
        self.began.get_or_insert_with(Instant::now);
        let is_new = self.logged.insert(discriminant(error));
        let error = with_causes(error);
        if is_new {
            tracing::warn!(
                error,
                "home region cannot be reached; writes are rejected until it can"
            );
        } else {
            tracing::debug!(error, "home region still cannot be reached");
        }
    }

    /// Logs that there is a connection.
    pub(crate) fn end(&mut self) {
        if let Some(began) = self.began.take() {
            let seconds = began.elapsed().as_secs_f64();
            tracing::info!(seconds, "home region can be reached again");
        }
        self.logged.clear();
    }
}
