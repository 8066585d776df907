//! The watch on a credential while its socket or stream is open.

use std::{future::pending, sync::Arc, time::Duration};

use domain::{CredentialSource, ProblemCode, Timestamp};
use futures::future::BoxFuture;
use tokio::{sync::watch, time::sleep};

use crate::{AccessError, AuthContext, Authenticator, CredentialStatus};

/// The pause before a failed check is repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// The maximum time between two reads of the clock, because the time of day may be changed
/// meanwhile.
const MAX_SLEEP: Duration = Duration::from_mins(1);

/// The reason why a connection must close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialEnd {
    /// Its credential was revoked.
    Revoked,
    /// Its credential has expired, was replaced, or reaches fewer agents.
    Expired,
    /// The home region, which decides about access, has sent no report for too long.
    HomeUnavailable,
}

impl From<CredentialEnd> for ProblemCode {
    fn from(end: CredentialEnd) -> Self {
        match end {
            CredentialEnd::Revoked => Self::InvalidCredentials,
            CredentialEnd::Expired => Self::TokenExpired,
            CredentialEnd::HomeUnavailable => Self::HomeUnavailable,
        }
    }
}

/// A check of the credential in progress.
type StatusCheck = BoxFuture<'static, Result<CredentialStatus, AccessError>>;

/// A watch on a credential while its socket or stream is open. Between changes it costs one
/// receiver of change notifications, and a timer if the credential has an end or the region is a far
/// one.
pub struct CredentialWatch {
    authenticator: Arc<Authenticator>,
    auth_context: Arc<AuthContext>,
    ends_at: Option<Timestamp>,
    /// The time for which the connection stays open after the end of the credential.
    leeway: Duration,
    changes: watch::Receiver<()>,
    /// The check in progress. It is stored here so that it continues when `ended` is dropped.
    check: Option<StatusCheck>,
}

impl CredentialWatch {
    /// Starts a watch that receives notifications of changes from now on. A first check finds
    /// changes between the authentication and now.
    pub(crate) fn new(
        authenticator: Arc<Authenticator>,
        auth_context: Arc<AuthContext>,
        changes: watch::Receiver<()>,
        now: Timestamp,
    ) -> Self {
        let mut watch = Self {
            ends_at: auth_context.ends_at,
            leeway: auth_context.leeway(now),
            authenticator,
            auth_context,
            changes,
            check: None,
        };
        if watch.is_revocable() {
            watch.check = Some(watch.start_check(Duration::ZERO));
        }
        watch
    }

    /// The context of the watched credential.
    pub fn auth_context(&self) -> &Arc<AuthContext> {
        &self.auth_context
    }

    /// Waits until the connection must close. After a revocation this takes at most one second,
    /// while the store is readable. In a far region that has lost its home region, open connections end
    /// when new ones are rejected. The future may be dropped and created again at any time.
    pub async fn ended(&mut self) -> CredentialEnd {
        loop {
            let now = self.authenticator.now();
            let left = match self.ends_at {
                Some(end) if end + self.leeway <= now => return CredentialEnd::Expired,
                Some(end) => Some((end + self.leeway).since(now).min(MAX_SLEEP)),
                None => None,
            };
            let access_left = self.authenticator.access_left();
            if access_left.is_some_and(|left| left.is_zero()) {
                return CredentialEnd::HomeUnavailable;
            }
            let left = left.into_iter().chain(access_left).min();
            let can_change = self.is_revocable();
            tokio::select! {
                result = finished(&mut self.check) => {
                    if let Some(end) = self.apply(result) {
                        return end;
                    }
                }
                _ = self.changes.changed(), if self.check.is_none() && can_change => {
                    self.check = Some(self.start_check(Duration::ZERO));
                }
                () = elapsed(left) => {}
            }
        }
    }

    /// Continues with another credential of the same principal.
    pub fn replace(&mut self, auth_context: Arc<AuthContext>) -> Result<(), AccessError> {
        if !self.auth_context.is_same_principal(&auth_context) {
            return Err(AccessError::Invalid);
        }
        *self = self.authenticator.watch_credential(auth_context);
        Ok(())
    }

    /// Applies the result of a check.
    fn apply(&mut self, result: Result<CredentialStatus, AccessError>) -> Option<CredentialEnd> {
        self.check = None;
        match result {
            Ok(CredentialStatus::Valid { ends_at }) => {
                self.ends_at = ends_at;
                None
            }
            Ok(CredentialStatus::Revoked) => Some(CredentialEnd::Revoked),
            Ok(CredentialStatus::Expired) => Some(CredentialEnd::Expired),
            Err(error) => {
                tracing::debug!(
                    error = ports::error::one_line(&error),
                    "credential status check failed; retrying"
                );
                self.check = Some(self.start_check(RETRY_PAUSE));
                None
            }
        }
    }

    fn is_revocable(&self) -> bool {
        *self.auth_context.source != CredentialSource::ExternalToken
    }

    /// Starts a check after a pause.
    fn start_check(&self, pause: Duration) -> StatusCheck {
        let (authenticator, auth_context) = (
            Arc::clone(&self.authenticator),
            Arc::clone(&self.auth_context),
        );
        Box::pin(async move {
            if !pause.is_zero() {
                sleep(pause).await;
            }
            authenticator.check_status(&auth_context).await
        })
    }
}

/// Returns the result of the check in progress. Never returns if no check is in progress.
async fn finished(check: &mut Option<StatusCheck>) -> Result<CredentialStatus, AccessError> {
    match check {
        Some(check) => check.await,
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
