//! The memory for files that are in memory as a whole: those in the bodies of requests, and those that are fetched.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use domain::{Principal, TenantId};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The maximum number of bytes of this process.
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// The share of a tenant, so that another one always finds some memory.
const MAX_TENANT_BYTES: usize = MAX_BYTES / 4 * 3;
/// The share of a user: one of the largest bodies, and the files that are fetched for its message.
const MAX_USER_BYTES: usize = 52 * 1024 * 1024;

/// The memory for the files of all requests of this process.
#[derive(Debug, Clone, Default)]
pub struct FileMemory(Arc<Pool>);

#[derive(Debug, Default)]
struct Pool {
    taken: Mutex<Taken>,
    /// Notified when memory is given back.
    freed: Notify,
}

/// The bytes in use: all of them, those of each tenant, and those of each user.
#[derive(Debug, Default)]
struct Taken {
    all: usize,
    tenants: HashMap<TenantId, usize>,
    users: HashMap<(TenantId, String), usize>,
}

/// Memory that is in use until this is dropped. It can grow.
#[derive(Debug)]
pub struct TakenMemory {
    pool: FileMemory,
    tenant: TenantId,
    /// `None` for keys and clients that name no user.
    user: Option<String>,
    bytes: usize,
}

/// There is no memory left for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no memory left for files")]
pub struct OutOfMemory;

impl FileMemory {
    /// Returns memory of no bytes for a caller.
    pub fn of(&self, caller: &Principal) -> TakenMemory {
        TakenMemory {
            pool: self.clone(),
            tenant: caller.tenant.clone(),
            user: caller.user_id.clone(),
            bytes: 0,
        }
    }
}

impl TakenMemory {
    /// Takes as much as `bytes` need.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let more = bytes.saturating_sub(self.bytes);
        if !self.try_take(more) {
            return Err(OutOfMemory);
        }
        self.bytes += more;
        Ok(())
    }

    /// Returns whether `bytes` could be taken now.
    pub fn has_room_for(&self, bytes: usize) -> bool {
        let taken = self.pool.0.taken.lock();
        taken.has_room_for(self, bytes.saturating_sub(self.bytes))
    }

    /// Waits until as much as `bytes` need is free, and takes it.
    pub async fn wait_for(&mut self, bytes: usize) {
        loop {
            let pool = self.pool.clone();
            let freed = pool.0.freed.notified();
            if self.grow_to(bytes).is_ok() {
                return;
            }
            freed.await;
        }
    }

    /// Takes more, if it is free.
    fn try_take(&self, more: usize) -> bool {
        let mut taken = self.pool.0.taken.lock();
        let is_free = taken.has_room_for(self, more);
        if is_free && more > 0 {
            taken.all += more;
            *taken.tenants.entry(self.tenant.clone()).or_default() += more;
            if let Some(user) = &self.user {
                let user = (self.tenant.clone(), user.clone());
                *taken.users.entry(user).or_default() += more;
            }
        }
        is_free
    }
}

impl Taken {
    fn has_room_for(&self, holder: &TakenMemory, more: usize) -> bool {
        let of_tenant = self.tenants.get(&holder.tenant).copied();
        let of_user = holder.user.clone().and_then(|user| {
            let user = (holder.tenant.clone(), user);
            self.users.get(&user).copied()
        });
        let is_user = holder.user.is_some();
        self.all + more <= MAX_BYTES
            && of_tenant.unwrap_or_default() + more <= MAX_TENANT_BYTES
            && (!is_user || of_user.unwrap_or_default() + more <= MAX_USER_BYTES)
    }

    fn give_back(&mut self, holder: &TakenMemory) {
        self.all -= holder.bytes;
        subtract(&mut self.tenants, &holder.tenant, holder.bytes);
        if let Some(user) = &holder.user {
            let user = (holder.tenant.clone(), user.clone());
            subtract(&mut self.users, &user, holder.bytes);
        }
    }
}

/// Subtracts from the bytes of a holder, which is removed when it holds nothing.
fn subtract<K: Eq + Hash>(taken: &mut HashMap<K, usize>, holder: &K, bytes: usize) {
    if let Some(of_holder) = taken.get_mut(holder) {
        *of_holder -= bytes;
        if *of_holder == 0 {
            taken.remove(holder);
        }
    }
}

impl Drop for TakenMemory {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.pool.0.taken.lock().give_back(self);
            self.pool.0.freed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{AgentReach, PrincipalId, Scopes};
    use futures::FutureExt as _;

    use super::*;

    fn caller(tenant: &str, user: Option<&str>) -> Principal {
        Principal {
            tenant: tenant.parse().unwrap(),
            id: PrincipalId::new("key:1"),
            scopes: Scopes::default(),
            user_id: user.map(str::to_owned),
            agents: AgentReach::default(),
            names_user: false,
        }
    }

    #[test]
    fn a_user_and_a_tenant_have_shares() {
        let memory = FileMemory::default();
        let take = |caller: &Principal, bytes| {
            let mut taken = memory.of(caller);
            taken.grow_to(bytes).map(|()| taken)
        };
        let (ada, bob) = (caller("one", Some("ada")), caller("one", Some("bob")));
        let (key, other) = (caller("one", None), caller("two", Some("ada")));
        let mut body = memory.of(&ada);
        body.grow_to(1).unwrap();
        body.grow_to(MAX_USER_BYTES).unwrap();
        body.grow_to(5).unwrap();
        assert_eq!(body.grow_to(MAX_USER_BYTES + 1), Err(OutOfMemory));
        assert!(take(&ada, 1).is_err());
        let of_bob = take(&bob, MAX_TENANT_BYTES - MAX_USER_BYTES).unwrap();
        assert!(take(&key, 1).is_err(), "the share of the tenant");
        assert!(!memory.of(&key).has_room_for(1));
        let of_other = take(&other, MAX_BYTES - MAX_TENANT_BYTES).unwrap();
        let another = caller("three", None);
        assert!(take(&another, 1).is_err(), "all memory");
        drop(of_bob);
        assert!(take(&another, 1).is_ok());
        drop((body, of_other));
        assert!(take(&key, MAX_TENANT_BYTES).is_ok());
        assert!(take(&key, MAX_TENANT_BYTES + 1).is_err());
        let taken = memory.0.taken.lock();
        assert!(taken.tenants.is_empty() && taken.users.is_empty() && taken.all == 0);
    }

    #[tokio::test]
    async fn memory_is_waited_for() {
        let memory = FileMemory::default();
        let ada = caller("one", Some("ada"));
        let mut first = memory.of(&ada);
        first.grow_to(MAX_USER_BYTES).unwrap();
        let mut second = memory.of(&ada);
        let waiting = second.wait_for(1);
        tokio::pin!(waiting);
        assert!((&mut waiting).now_or_never().is_none());
        drop(first);
        waiting.await;
    }
}
