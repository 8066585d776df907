//! The watch on a credential while its socket or stream is open.

use std::{future::pending, sync::Arc, time::Duration};

use domain::{CredentialSource, Timestamp};
use futures::future::BoxFuture;
use tokio::{sync::watch, time::sleep};

use super::{AccessError, AuthContext, Authenticator, CredentialStatus};

/// The pause before a failed check is repeated.
const PAUSE: Duration = Duration::from_millis(250);
/// The maximum time between two reads of the clock, because the time of day may be changed
/// meanwhile.
const MOST_SLEEP: Duration = Duration::from_mins(1);

/// The reason why a connection must close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Its credential was revoked.
    Revoked,
    /// Its credential has expired or was replaced.
    Ended,
}

/// A check of the credential in progress.
type Look = BoxFuture<'static, Result<CredentialStatus, AccessError>>;

/// A watch on a credential while its socket or stream is open. Between changes it costs one
/// receiver of change notifications, and a timer if the credential has an end.
pub struct CredentialWatch {
    authenticator: Arc<Authenticator>,
    entrant: Arc<AuthContext>,
    ends_at: Option<Timestamp>,
    /// The time for which the connection stays open after the end of the credential.
    leeway: Duration,
    changes: watch::Receiver<()>,
    /// The check in progress. It is stored here so that it continues when `over` is dropped.
    look: Option<Look>,
}

impl CredentialWatch {
    /// Starts a watch that receives notifications of changes from now on. A first check finds
    /// changes between the authentication and now.
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

    /// The access that is being watched.
    pub fn entrant(&self) -> &Arc<AuthContext> {
        &self.entrant
    }

    /// Waits until the connection must close. After a revocation this takes at most one second,
    /// while the store is readable. The future may be dropped and created again at any time.
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

    /// Continues with another credential of the same principal.
    pub fn replace(&mut self, entrant: Arc<AuthContext>) -> Result<(), AccessError> {
        if !self.entrant.may_go_on_as(&entrant) {
            return Err(AccessError::Invalid);
        }
        *self = self.authenticator.watch_over(entrant);
        Ok(())
    }

    /// Applies the result of a check.
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

    /// Starts a check after a pause.
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

/// Returns the result of the check in progress. Never returns if there is none.
async fn finished(look: &mut Option<Look>) -> Result<CredentialStatus, AccessError> {
    match look {
        Some(look) => look.await,
        None => pending().await,
    }
}

/// Waits for this time. Never returns if it is `None`.
async fn elapsed(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => pending().await,
    }
}
