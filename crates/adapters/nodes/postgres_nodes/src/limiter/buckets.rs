//! The buckets of all principals that were active recently.

use std::collections::HashMap;

use domain::{Quota, QuotaHolder, RatePolicy};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::limiter::{
    bucket::Bucket,
    rate::{Nanos, Rate},
};

/// The number of maps, each with its own lock.
const SHARDS: usize = 64;

/// A quota of a principal. If the quota changes, its usage starts at zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BucketKey {
    pub(crate) holder: QuotaHolder,
    pub(crate) policy: RatePolicy,
    pub(crate) quota: Quota,
}

impl BucketKey {
    /// The key of its row.
    pub(crate) fn digest(&self) -> Vec<u8> {
        let Quota { per_minute, burst } = self.quota;
        let policy = self.policy.as_str();
        let prefix = format!("{policy}/{per_minute}/{burst}/");
        Sha256::new()
            .chain_update(prefix)
            .chain_update(holder_digest(&self.holder))
            .finalize()
            .to_vec()
    }
}

/// The key of a row about a principal.
pub(crate) fn holder_digest(holder: &QuotaHolder) -> Vec<u8> {
    // A tenant's id contains no slash.
    Sha256::new()
        .chain_update(holder.tenant.as_str())
        .chain_update("/")
        .chain_update(holder.principal.as_str())
        .finalize()
        .to_vec()
}

#[derive(Debug)]
struct Entry {
    policy: RatePolicy,
    quota: Quota,
    bucket: Bucket,
}

type Shard = Mutex<HashMap<QuotaHolder, Vec<Entry>>>;

/// The buckets of all principals that were active recently.
#[derive(Debug)]
pub(crate) struct Buckets {
    shards: Vec<Shard>,
}

impl Default for Buckets {
    fn default() -> Self {
        let shards = std::iter::repeat_with(Shard::default).take(SHARDS);
        Self {
            shards: shards.collect(),
        }
    }
}

impl Buckets {
    /// Calls `with` with a bucket, which is created if it does not exist.
    pub(crate) fn with<T>(
        &self,
        (holder, policy, quota): (&QuotaHolder, RatePolicy, Quota),
        now: Nanos,
        with: impl FnOnce(&mut Bucket) -> T,
    ) -> T {
        let mut holders = self.shard(holder).lock();
        // Without a copy of the holder, unless it is new.
        let entries = match holders.get_mut(holder) {
            Some(entries) => entries,
            None => holders.entry(holder.clone()).or_default(),
        };
        let known = |entry: &Entry| entry.policy == policy && entry.quota == quota;
        let index = entries.iter().position(known).unwrap_or_else(|| {
            let bucket = Bucket::new(Rate::new(quota), now);
            entries.push(Entry {
                policy,
                quota,
                bucket,
            });
            entries.len() - 1
        });
        with(&mut entries[index].bucket)
    }

    /// Calls `with` with a bucket, if it exists.
    pub(crate) fn with_known<T>(
        &self,
        key: &BucketKey,
        with: impl FnOnce(&mut Bucket) -> T,
    ) -> Option<T> {
        let mut holders = self.shard(&key.holder).lock();
        let mut entries = holders.get_mut(&key.holder)?.iter_mut();
        let known = |entry: &&mut Entry| entry.policy == key.policy && entry.quota == key.quota;
        entries.find(known).map(|entry| with(&mut entry.bucket))
    }

    /// Returns the keys of the buckets that `select` returns `true` for.
    pub(crate) fn select(&self, mut select: impl FnMut(&mut Bucket) -> bool) -> Vec<BucketKey> {
        let mut selected = Vec::new();
        for shard in &self.shards {
            for (holder, entries) in shard.lock().iter_mut() {
                for entry in entries
                    .iter_mut()
                    .filter_map(|entry| select(&mut entry.bucket).then_some(&*entry))
                {
                    selected.push(BucketKey {
                        holder: holder.clone(),
                        policy: entry.policy,
                        quota: entry.quota,
                    });
                }
            }
        }
        selected
    }

    /// Removes idle buckets, and frees their memory.
    pub(crate) fn sweep(&self, now: Nanos) {
        for shard in &self.shards {
            let mut holders = shard.lock();
            holders.retain(|_, entries| {
                entries.retain_mut(|entry| !entry.bucket.is_idle(now));
                !entries.is_empty()
            });
            holders.shrink_to_fit();
        }
    }

    /// The number of principals with buckets.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    fn shard(&self, holder: &QuotaHolder) -> &Shard {
        // Only spreads the locks; the maps have a hash of their own.
        let bytes = holder.principal.as_str().bytes();
        let hash = bytes.fold(0_usize, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(usize::from(byte))
        });
        &self.shards[hash % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use domain::{PrincipalId, TenantId};

    use super::*;
    use crate::limiter::rate::SECOND;

    fn holder(tenant: &str, principal: &str) -> QuotaHolder {
        QuotaHolder {
            tenant: tenant.parse::<TenantId>().unwrap(),
            principal: PrincipalId::new(principal),
        }
    }

    #[test]
    fn rows_are_separate_for_each_holder_policy_and_quota() {
        let mut digests = std::collections::HashSet::new();
        for holder in [holder("a", "b"), holder("a", "c"), holder("c", "b")] {
            for policy in [RatePolicy::Requests, RatePolicy::Chat] {
                for quota in [Quota::new(1, 11), Quota::new(11, 1)] {
                    let holder = holder.clone();
                    let key = BucketKey {
                        holder,
                        policy,
                        quota,
                    };
                    assert!(digests.insert(key.digest()), "{key:?}");
                }
            }
        }
    }

    #[test]
    fn idle_principals_are_removed() {
        let buckets = Buckets::default();
        let quota = Quota::new(600, 100);
        for number in 0..1_000 {
            let holder = holder("a", &format!("user {number}"));
            let key = (&holder, RatePolicy::Requests, quota);
            buckets.with(key, 0, |bucket| bucket.take_locally(1 + number % 2 * 9, 0));
        }
        buckets.sweep(SECOND / 2);
        assert_eq!(buckets.len(), 500);
        buckets.sweep(SECOND);
        assert_eq!(buckets.len(), 0);
    }
}
