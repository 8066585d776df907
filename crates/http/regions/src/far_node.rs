//! A node of a far region.

use std::{sync::Arc, time::Duration};

use access::AuthContext;
use application::KeyedSemaphore;
use domain::{QuotaHolder, Seq};
use http::Response;
use kit::{auth::TrustedProxies, region::X_CONSISTENCY};
use ports::{Home, HomeBody};

use super::{forward::parse_position, newest_writes::NewestWrites};

/// The maximum time for which a read waits for the replica.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// The maximum number of files that one caller streams to the home region at the same time. A slow client does so for
/// minutes, and all callers share the connection.
const UPLOADS_OF_A_CALLER: usize = 8;

/// A node of a far region.
pub struct FarNode {
    /// The home region.
    pub home: Arc<dyn Home>,
    /// The proxies in front of this node, for the addresses of clients.
    pub proxies: TrustedProxies,
    pub(super) uploads: KeyedSemaphore<QuotaHolder>,
    newest_writes: NewestWrites,
}

impl FarNode {
    /// Creates the node of a far region.
    pub fn new(home: Arc<dyn Home>, proxies: TrustedProxies) -> Self {
        Self {
            home,
            proxies,
            uploads: KeyedSemaphore::new(UPLOADS_OF_A_CALLER),
            newest_writes: NewestWrites::default(),
        }
    }

    /// Records the position of a write to which the home region has responded.
    pub(super) fn record_position(&self, caller: &AuthContext, response: &Response<HomeBody>) {
        let position = response.headers().get(X_CONSISTENCY.as_str());
        if let Some(position) = position.and_then(|value| parse_position(value.as_bytes())) {
            self.record_write(caller, position);
        }
    }

    /// Records the position of a write that was forwarded.
    pub fn record_write(&self, caller: &AuthContext, position: Seq) {
        self.newest_writes.record(&caller.quota_holder(), position);
    }

    /// Returns the position that a read of this caller requires.
    pub fn required_position(&self, caller: &AuthContext, requested: Option<Seq>) -> Option<Seq> {
        requested.max(self.newest_writes.find(&caller.quota_holder()))
    }

    /// Returns the time for which a read waits for the replica. It is shorter than a read at home.
    pub fn wait_for_replica(&self) -> Duration {
        MAX_WAIT.min(self.home.status().round_trip / 2)
    }
}
