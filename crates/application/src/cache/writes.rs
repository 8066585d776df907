//! Writes that keep the caches valid.

use domain::TenantId;
use ports::RepositoryError;
use writes::{Command, Committed, Writes};

use super::Caches;

/// A command whose write changes the caches.
pub trait CachedCommand: Command {
    /// The values that [`Self::apply`] needs, read before the write.
    type Before: Send;

    /// Reads what is needed before the write.
    fn before(&self, caches: &Caches) -> Self::Before;

    /// Replaces or drops entries, before the caller learns the outcome.
    fn apply(
        before: Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    );
}

/// A command whose write changes nothing that is cached. Those who follow the log learn of its events.
pub trait AnnouncedCommand: Command {
    /// Returns the tenant that owns the data.
    fn tenant(&self) -> &TenantId;

    /// Returns the positions of the events, if there are any.
    fn committed(outcome: &Self::Outcome) -> Option<Committed>;
}

impl<C: AnnouncedCommand> CachedCommand for C {
    type Before = TenantId;

    fn before(&self, _caches: &Caches) -> Self::Before {
        self.tenant().clone()
    }

    fn apply(
        tenant: Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        if let Some(committed) = outcome.as_ref().ok().and_then(C::committed) {
            caches.applied.announce(&tenant, committed);
        }
    }
}

/// The writes of this process, which keep its caches valid.
#[derive(Clone)]
pub struct CachedWrites {
    writes: Writes,
    caches: Caches,
}

impl CachedWrites {
    /// Creates writes that keep `caches` valid.
    pub const fn new(writes: Writes, caches: Caches) -> Self {
        Self { writes, caches }
    }

    /// Returns the writes for commands that change nothing that is cached.
    pub(crate) const fn of_uncached(&self) -> &Writes {
        &self.writes
    }

    /// Commits a command, and then changes the caches.
    pub async fn write<C: CachedCommand>(&self, command: C) -> Result<C::Outcome, RepositoryError> {
        let before = command.before(&self.caches);
        let outcome = self.writes.write(command).await;
        C::apply(before, &self.caches, &outcome);
        outcome
    }
}
