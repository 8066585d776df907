//! A turn that somebody waits for, wherever it runs.

use std::sync::Arc;

use ports::{RepositoryError, TurnRepository};
use tokio::sync::Notify;

use super::{
    live_turn::{LiveTurn, TurnOutcome},
    looks::Patience,
    stored,
};

/// A turn that somebody waits for, wherever it runs.
pub(super) struct FollowedTurn {
    pub(super) live: Arc<LiveTurn>,
    woken: Arc<Notify>,
    turns: Arc<dyn TurnRepository>,
}

impl FollowedTurn {
    pub(super) fn new(live: Arc<LiveTurn>, turns: Arc<dyn TurnRepository>) -> Self {
        let woken = Arc::new(Notify::new());
        live.listen(&woken);
        Self { live, woken, turns }
    }

    /// Waits until there may be something new.
    pub(super) async fn changed(&mut self) -> Result<(), RepositoryError> {
        let woken = self.woken.notified();
        if self.live.runs_under().is_some() {
            woken.await;
            return Ok(());
        }
        // What does not run here is only seen in the store.
        let _woken = tokio::time::timeout_at(self.live.next_look(), woken).await;
        if self.live.runs_under().is_some() || self.live.has_ended() || !self.live.takes_look() {
            return Ok(());
        }
        let looked = self.look().await;
        match self.live.looked(looked.is_ok()) {
            Patience::Left => Ok(()),
            Patience::Over => looked,
        }
    }

    /// Reads how far it has come.
    async fn look(&self) -> Result<(), RepositoryError> {
        let subject = self.live.subject();
        let found = self.turns.find(&subject.tenant, subject.turn_id).await?;
        match found.value {
            Some(found) => stored::tell(&self.live, found),
            // Only what was deleted is removed.
            None => self.live.end(TurnOutcome::Cancelled),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
