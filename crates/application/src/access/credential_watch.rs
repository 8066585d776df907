//! What holds of a credential while a socket or stream is open.

use std::{future::pending, sync::Arc, time::Duration};

use domain::{CredentialSource, Timestamp};
use futures::future::BoxFuture;
use tokio::{sync::watch, time::sleep};

use super::{AccessError, AuthContext, Authenticator, CredentialStatus};

/// How long to wait before a look is repeated that failed.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest time between two looks at the clock: the time of day may be set meanwhile.
const MOST_SLEEP: Duration = Duration::from_mins(1);

/// Why an entrant may not stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Its credential was taken back.
    Revoked,
    /// Its credential came to its end, or was replaced.
    Ended,
}

/// A look at the store that is under way.
type Look = BoxFuture<'static, Result<CredentialStatus, AccessError>>;

/// What holds of a credential while a socket or stream is open. While nothing happens it costs a
/// place among those who are told of changes, and a timer if the credential has an end.
pub struct CredentialWatch {
    authenticator: Arc<Authenticator>,
    entrant: Arc<AuthContext>,
    ends_at: Option<Timestamp>,
    /// How long beyond its end it stays.
    leeway: Duration,
    changes: watch::Receiver<()>,
    /// Kept here, so that it goes on however often nobody waits for it.
    look: Option<Look>,
}

impl CredentialWatch {
    /// Watches over an entrant that is told of changes from now on. What changed between its
    /// coming and now is found by a first look.
    pub(super) fn new(
        authenticator: Arc<Authenticator>,
        entrant: Arc<AuthContext>,
        changes: watch::Receiver<()>,
        now: Timestamp,
    ) -> Self {
        let mut watch = Self {
            ends_at: entrant.ends_at,
            leeway: entrant.leeway(now),
            authenticator,
            entrant,
            changes,
            look: None,
        };
        if watch.can_be_taken_back() {
            watch.look = Some(watch.look(Duration::ZERO));
        }
        watch
    }

    /// Who is watched over.
    pub fn entrant(&self) -> &Arc<AuthContext> {
        &self.entrant
    }

    /// Waits until the entrant may not stay any longer: for a second at the most after its
    /// credential was taken back, while the store can be read. May be dropped and called again at
    /// any time.
    pub async fn over(&mut self) -> Over {
        loop {
            let now = self.authenticator.now();
            let left = match self.ends_at {
                Some(end) if end + self.leeway <= now => return Over::Ended,
                Some(end) => Some((end + self.leeway).since(now).min(MOST_SLEEP)),
                None => None,
            };
            let can_change = self.can_be_taken_back();
            tokio::select! {
                found = finished(&mut self.look) => {
                    if let Some(over) = self.found(found) {
                        return over;
                    }
                }
                _ = self.changes.changed(), if self.look.is_none() && can_change => {
                    self.look = Some(self.look(Duration::ZERO));
                }
                () = elapsed(left) => {}
            }
        }
    }

    /// Goes on with another credential of the same principal.
    pub fn replace(&mut self, entrant: Arc<AuthContext>) -> Result<(), AccessError> {
        if !self.entrant.may_go_on_as(&entrant) {
            return Err(AccessError::Invalid);
        }
        *self = self.authenticator.watch_over(entrant);
        Ok(())
    }

    /// Takes in what a look has found.
    fn found(&mut self, found: Result<CredentialStatus, AccessError>) -> Option<Over> {
        self.look = None;
        match found {
            Ok(CredentialStatus::Stands { ends_at }) => {
                self.ends_at = ends_at;
                None
            }
            Ok(CredentialStatus::Revoked) => Some(Over::Revoked),
            Ok(CredentialStatus::Ended) => Some(Over::Ended),
            Err(error) => {
                tracing::debug!(
                    error = ports::error::chain(&error),
                    "a credential cannot be looked at again"
                );
                self.look = Some(self.look(PAUSE));
                None
            }
        }
    }

    fn can_be_taken_back(&self) -> bool {
        self.entrant.standing != CredentialSource::ForeignToken
    }

    /// A look after a pause.
    fn look(&self, pause: Duration) -> Look {
        let (authenticator, entrant) = (Arc::clone(&self.authenticator), Arc::clone(&self.entrant));
        Box::pin(async move {
            if !pause.is_zero() {
                sleep(pause).await;
            }
            authenticator.look_again(&entrant).await
        })
    }
}

/// What a look found; never, when none is under way.
async fn finished(look: &mut Option<Look>) -> Result<CredentialStatus, AccessError> {
    match look {
        Some(look) => look.await,
        None => pending().await,
    }
}

/// Waits for so long; for ever without a time.
async fn elapsed(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => pending().await,
    }
}
