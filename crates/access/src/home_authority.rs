//! Access in a far region, where the home region decides what a replica cannot.

mod questions;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use domain::{CredentialId, Timestamp};
use futures::TryStreamExt as _;
use http::{Request, StatusCode, header::CONTENT_TYPE};
use ports::{Home, HomeError, RepositoryError};
use serde::{Serialize, de::DeserializeOwned};

pub use questions::{AccessAnswer, AccessQuestion};

use crate::{AccessError, AuthContext, CredentialStatus};

/// The time without a report of the home region in which the replica's access version counts.
const REPORT_TRUSTED_FOR: Duration = Duration::from_secs(5);
/// The number of failures in a row after which the replica counts as unreadable. A single one may be a
/// read that waited behind those of clients.
const UNREADABLE_AFTER: u32 = 2;
/// The paths of the home region.
const ACCESS_PATH: &str = "/region/access";
const USES_PATH: &str = "/region/uses";

/// The home region, as the authority of a far region about access.
pub struct HomeAuthority {
    home: Arc<dyn Home>,
    offline_for: Duration,
    /// True until the replica is known to have the access version that the home region has reported.
    is_behind: AtomicBool,
    /// True once the access version of the replica was compared with a report.
    is_compared: AtomicBool,
    /// The number of reads of the replica's access version that have failed since the last success.
    failed_reads: AtomicU32,
    /// True before the first report of the home region, and from the end of access until the next one.
    is_closed: AtomicBool,
}

impl HomeAuthority {
    /// Creates an authority without which access goes on for `offline_for`.
    pub fn new(home: Arc<dyn Home>, offline_for: Duration) -> Self {
        Self {
            home,
            offline_for,
            is_behind: AtomicBool::new(true),
            is_compared: AtomicBool::new(false),
            failed_reads: AtomicU32::new(0),
            is_closed: AtomicBool::new(true),
        }
    }

    /// Compares the access version of the replica, if it can be read, with that of the home region.
    /// Returns the version of the cached credentials, or `None` while this region must not accept any.
    /// It changes when the home region reports a change, and again when the replica contains it. A
    /// replica that cannot be read counts as one that is behind, so that changes take effect without it.
    pub(crate) fn compare_versions(&self, replica: Result<i64, RepositoryError>) -> Option<i64> {
        let is_open = self.is_open();
        if self.is_closed.swap(!is_open, Ordering::AcqRel) == is_open {
            log_access(is_open);
        }
        if !is_open {
            return None;
        }
        let reported = self.home.status().access_version;
        self.count_failed_reads(&replica);
        let replica = replica.ok();
        let is_behind = replica.is_none_or(|replica| replica < reported);
        self.is_behind.store(is_behind, Ordering::Release);
        self.is_compared.store(true, Ordering::Release);
        Some(replica.unwrap_or(reported).max(reported) * 2 + i64::from(is_behind))
    }

    fn count_failed_reads(&self, replica: &Result<i64, RepositoryError>) {
        match replica {
            Ok(_) => {
                if self.failed_reads.swap(0, Ordering::AcqRel) >= UNREADABLE_AFTER {
                    tracing::info!("the replica can be read again");
                }
            }
            Err(error) => {
                if self.failed_reads.fetch_add(1, Ordering::AcqRel) + 1 == UNREADABLE_AFTER {
                    let error = ports::error::one_line(error);
                    tracing::warn!(error, "the replica cannot be read; the home region answers");
                }
            }
        }
    }

    /// Returns true while the replica can be read.
    pub(crate) fn is_replica_readable(&self) -> bool {
        self.failed_reads.load(Ordering::Acquire) < UNREADABLE_AFTER
    }

    /// Returns true if the home region has sent a report since the start of this process.
    fn has_reported(&self) -> bool {
        self.home.status().report_age.is_some()
    }

    /// Fails if this region must not accept credentials.
    pub(crate) fn check(&self) -> Result<(), AccessError> {
        if self.is_open() {
            return Ok(());
        }
        let reason = if self.has_reported() {
            "the home region has sent no report for longer than REGION__OFFLINE_FOR"
        } else {
            "the home region has sent no report since the start of this process"
        };
        Err(AccessError::HomeUnavailable(reason.into()))
    }

    /// Returns true while this region accepts credentials: the home region has sent a report, and
    /// not too long ago.
    pub fn is_open(&self) -> bool {
        !self.access_left().is_zero()
    }

    /// Returns true if this region accepts credentials, and has learned since its start whether the
    /// replica is current.
    pub fn is_ready(&self) -> bool {
        self.is_open() && self.is_compared.load(Ordering::Acquire)
    }

    /// Returns the time for which access goes on unless the home region sends a report.
    pub(crate) fn access_left(&self) -> Duration {
        let limit = REPORT_TRUSTED_FOR + self.offline_for;
        let age = self.home.status().report_age;
        age.map_or(Duration::ZERO, |age| limit.saturating_sub(age))
    }

    /// Returns true if the home region has sent a report within the last seconds.
    pub fn is_home_connected(&self) -> bool {
        let age = self.home.status().report_age;
        age.is_some_and(|age| age <= REPORT_TRUSTED_FOR)
    }

    /// Returns true while the replica may accept revoked credentials.
    pub(crate) fn is_replica_behind(&self) -> bool {
        self.is_behind.load(Ordering::Acquire)
    }

    /// Authenticates a key or a token.
    pub(crate) async fn authenticate(&self, text: &str) -> Result<AuthContext, AccessError> {
        let text = text.to_owned();
        match self.ask(&AccessQuestion::Credential { text }).await? {
            AccessAnswer::Valid { caller } => Ok((*caller).into()),
            AccessAnswer::Invalid => Err(AccessError::Invalid),
            AccessAnswer::Expired => Err(AccessError::Expired),
        }
    }

    /// Redeems a ticket.
    pub(crate) async fn redeem(
        &self,
        text: &str,
        origin: Option<&str>,
    ) -> Result<AuthContext, AccessError> {
        let question = AccessQuestion::Ticket {
            text: text.to_owned(),
            origin: origin.map(ToOwned::to_owned),
        };
        match self.ask(&question).await? {
            AccessAnswer::Valid { caller } => Ok((*caller).into()),
            AccessAnswer::Invalid | AccessAnswer::Expired => Err(AccessError::InvalidTicket),
        }
    }

    /// Checks the current status of a credential.
    pub(crate) async fn check_status(
        &self,
        caller: &AuthContext,
    ) -> Result<CredentialStatus, AccessError> {
        let caller = Box::new(caller.to_claims());
        Ok(match self.ask(&AccessQuestion::Caller { caller }).await? {
            AccessAnswer::Valid { caller } => CredentialStatus::Valid {
                ends_at: caller.credential_ends_at,
            },
            AccessAnswer::Invalid => CredentialStatus::Revoked,
            AccessAnswer::Expired => CredentialStatus::Expired,
        })
    }

    /// Records the last uses of credentials.
    pub(crate) async fn record_uses(
        &self,
        uses: &[(CredentialId, Timestamp)],
    ) -> Result<(), RepositoryError> {
        let sent: Result<serde_json::Value, _> = self.post(USES_PATH, &uses).await;
        sent.map(drop)
            .map_err(|error| RepositoryError::Unavailable(error.into()))
    }

    async fn ask(&self, question: &AccessQuestion) -> Result<AccessAnswer, AccessError> {
        self.post(ACCESS_PATH, question).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, AccessError> {
        let unavailable = |error: HomeError| AccessError::HomeUnavailable(error.into());
        // All members are serialisable.
        let body = Bytes::from(serde_json::to_vec(body).unwrap_or_default());
        let request = Request::post(path).header(CONTENT_TYPE, "application/json");
        let request = request
            .body(body.into())
            .map_err(|error| unavailable(error.into()))?;
        let response = self.home.send(request, None);
        let response = response.await.map_err(unavailable)?;
        let status = response.status();
        let body = response.into_body().try_collect::<BytesMut>();
        let body = body.await.map_err(unavailable)?;
        match serde_json::from_slice(&body) {
            Ok(answer) if status == StatusCode::OK => Ok(answer),
            _ => Err(AccessError::HomeUnavailable(
                format!("the home region has responded with {}", status.as_u16()).into(),
            )),
        }
    }
}

/// Logs that access has ended or goes on.
fn log_access(is_open: bool) {
    if is_open {
        tracing::info!("the home region has sent a report; credentials are accepted");
    } else {
        tracing::warn!(
            "the home region has sent no report for longer than REGION__OFFLINE_FOR; requests \
             with credentials are rejected"
        );
    }
}
