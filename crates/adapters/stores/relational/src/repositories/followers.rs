//! Followers of the logs.

use async_trait::async_trait;
use domain::{ConversationId, NodeId, Seq, TenantId};
use ports::{FollowerPosition, FollowerRepository, FollowerStep, RepositoryError};
use uuid::Uuid;

use super::Repositories;
use crate::{
    Store, column, parameters,
    read::{self, ReadAs},
    statements,
};

/// The columns of a position.
pub type StoredPosition = (String, i64, Option<Uuid>);

statements! {
    const TAKE_OVER: &str = "insert into follower_leases (follower, node_id) values ($1, $2) \
        on conflict (follower) do update set node_id = excluded.node_id \
            where follower_leases.node_id = $3";

    /// The positions of follower 1.
    const POSITIONS: &str =
        "select tenant_id, position, backfilled_to from follower_positions where follower = $1";

    /// The position of follower 1 in the log of tenant 2.
    const POSITION: &str =
        "select tenant_id, position, backfilled_to from follower_positions \
         where follower = $1 and tenant_id = $2";

    const BEGIN: &str = "insert into follower_positions (follower, tenant_id, position, backfilled_to) \
        values ($1, $2, $3, $4) on conflict do nothing";

    const ADVANCE: &str = "update follower_positions set position = $3, backfilled_to = $4 \
        where follower = $1 and tenant_id = $2 and position = $5 \
            and coalesce(backfilled_to, $7) = coalesce($6, $7)";
}

/// The statements on followers.
pub trait FollowerSql: Store<Row: ReadAs<StoredPosition> + ReadAs<(Uuid, bool)>> {
    statements! {
        /// The node that runs follower 1, and whether its lease is valid.
        const LEASE: &'static str;
    }
}

#[async_trait]
impl<S: FollowerSql> FollowerRepository for Repositories<S> {
    async fn claim(&self, follower: &str, node: NodeId) -> Result<bool, RepositoryError> {
        let lease = self.0.fetch_own(S::LEASE, parameters![follower]).await?;
        let lease = lease.into_iter().next();
        let holder: Option<(Uuid, bool)> = read::one("follower_leases", lease, Ok)?;
        if let Some((holder, is_live)) = holder
            && (is_live || holder == node.uuid())
        {
            return Ok(holder == node.uuid());
        }
        // Another node may take it over at the same time.
        let before = holder.map_or(node.uuid(), |(holder, _)| holder);
        let parameters = parameters![follower, node, before];
        Ok(self.0.execute(TAKE_OVER, parameters).await? == 1)
    }

    async fn positions(
        &self,
        follower: &str,
    ) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError> {
        follower_positions(&self.0, follower).await
    }

    async fn advance(&self, follower: &str, step: &FollowerStep) -> Result<bool, RepositoryError> {
        let (follower, step) = (follower.to_owned(), step.clone());
        let advance = self.0.transaction(move |connection| {
            Box::pin(async move { advance_in::<S>(connection, &follower, &step).await })
        });
        advance.await
    }
}

/// Moves the position of a follower in a transaction, unless it is not the one before the step.
pub async fn advance_in<S: Store>(
    connection: &mut S::Connection,
    follower: &str,
    step: &FollowerStep,
) -> Result<bool, RepositoryError> {
    let (tenant, to) = (&step.tenant, step.to);
    let parameters = parameters![follower, tenant, to.seq, to.backfilled_to];
    let Some(from) = step.from else {
        return Ok(S::execute_in(connection, BEGIN, parameters).await? == 1);
    };
    // No conversation has this id.
    let none = Uuid::max();
    let mut parameters = parameters.to_vec();
    parameters.extend(parameters![from.seq, from.backfilled_to, none]);
    Ok(S::execute_in(connection, ADVANCE, &parameters).await? == 1)
}

/// Returns the positions of a follower.
pub async fn follower_positions<S: FollowerSql>(
    store: &S,
    follower: &str,
) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError> {
    let rows = store.fetch_own(POSITIONS, parameters![follower]).await?;
    read::rows("follower_positions", rows, position)
}

/// Returns the position of a follower in the log of a tenant.
pub async fn follower_position<S: FollowerSql>(
    store: &S,
    follower: &str,
    tenant: &TenantId,
) -> Result<Option<FollowerPosition>, RepositoryError> {
    let row = store
        .fetch_optional(POSITION, parameters![follower, tenant])
        .await?;
    let found = read::one("follower_positions", row, position)?;
    Ok(found.map(|(_, position)| position))
}

/// Converts a stored position.
pub fn position(
    (tenant, seq, backfilled_to): StoredPosition,
) -> Result<(TenantId, FollowerPosition), RepositoryError> {
    let position = FollowerPosition {
        seq: Seq(seq),
        backfilled_to: backfilled_to.map(ConversationId::new),
    };
    Ok((
        column::parse("follower_positions.tenant_id", &tenant)?,
        position,
    ))
}
