//! The units that principals take of their quotas.

use std::{num::NonZeroU32, sync::LazyLock, time::Duration};

use domain::{Quota, QuotaHolder, RatePolicy};
use ports::QuotaDecision;
use redis::{RedisResult, Script};
use uuid::Uuid;

use crate::connection::Connection;

static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take.lua")));

/// The microseconds of a minute.
const MINUTE: f64 = 60_000_000.0;
/// The maximum time in which a full burst is replenished, in microseconds: about a hundred years. The
/// burst is lowered to it, so that times are exact in the server.
const MAX_REPLENISH_TIME: f64 = 3e15;

/// The key of a holder's usage of a quota. If the quota changes, its usage starts at zero.
pub(super) fn key(store: Uuid, holder: &QuotaHolder, policy: RatePolicy, quota: Quota) -> String {
    let (tenant, principal) = (&holder.tenant, holder.principal.as_str());
    let (store, policy) = (store.simple(), policy.as_str());
    let Quota { per_minute, burst } = quota;
    format!("agent-service:{store}:rate:{tenant}:{principal}:{policy}:{per_minute}:{burst}")
}

/// Takes units of the quota at `key`, all or none.
pub(super) async fn take(
    connection: &mut Connection,
    key: &str,
    quota: Quota,
    units: NonZeroU32,
) -> RedisResult<QuotaDecision> {
    let interval = MINUTE / f64::from(quota.per_minute.get());
    let burst = f64::from(quota.burst.get()).min((MAX_REPLENISH_TIME / interval).floor());
    let mut script = TAKE.key(key);
    script.arg(interval).arg(burst).arg(units.get());
    let (is_admitted, remaining, wait): (bool, u32, u64) = script.invoke_async(connection).await?;
    Ok(QuotaDecision {
        is_admitted,
        remaining,
        more_in: Duration::from_micros(wait),
    })
}
