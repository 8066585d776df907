//! A turn that somebody waits for, wherever it runs.

use std::{sync::Arc, time::Duration};

use ports::{RepositoryError, TurnRepository};
use tokio::{sync::Notify, time::Instant};

use super::{
    live_turn::{LiveTurn, TurnOutcome},
    stored,
};

/// How often the store is asked for a turn that does not run here: the log tells of its changes
/// too, so that this is only the bound.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// For how long the store may be away before those who wait are told so.
const PATIENCE: Duration = Duration::from_secs(5);

/// A turn that somebody waits for, wherever it runs.
pub(super) struct FollowedTurn {
    pub(super) live: Arc<LiveTurn>,
    woken: Arc<Notify>,
    turns: Arc<dyn TurnRepository>,
    away_since: Option<Instant>,
}

impl FollowedTurn {
    pub(super) fn new(live: Arc<LiveTurn>, turns: Arc<dyn TurnRepository>) -> Self {
        let woken = Arc::new(Notify::new());
        live.listen(&woken);
        Self {
            live,
            woken,
            turns,
            away_since: None,
        }
    }

    /// Waits until there may be something new.
    pub(super) async fn changed(&mut self) -> Result<(), RepositoryError> {
        let woken = self.woken.notified();
        if self.live.runs_under().is_some() {
            woken.await;
            return Ok(());
        }
        // Whether it was woken or not: what does not run here is only seen in the store.
        let _woken = tokio::time::timeout(LOOK_AGAIN, woken).await;
        if self.live.runs_under().is_some() || self.live.has_ended() {
            return Ok(());
        }
        match self.look().await {
            Ok(()) => self.away_since = None,
            Err(error) => {
                let since = *self.away_since.get_or_insert_with(Instant::now);
                if since.elapsed() > PATIENCE {
                    return Err(error);
                }
            }
        }
        Ok(())
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
