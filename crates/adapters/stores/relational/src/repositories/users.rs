//! Users.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{AsOf, Listed, Page, Seq, TenantId, User};
use ports::{RepositoryError, UserRepository};

use super::Repositories;
use crate::{
    Store, page_budget, parameters,
    read::{self, ListedRow, ReadAs},
    statements,
    stored::{StoredFoundUser, StoredUser},
    user_columns,
};

statements! {
    const FIND: &str = concat!(
        "select t.head_seq, ",
        user_columns!(),
        " from tenants t left join users u on u.tenant_id = t.id and u.user_id = $2 where t.id = $1"
    );

    const LIST: &str = concat!(
        "select u.sort_seq, u.total, ",
        user_columns!(),
        " from ",
        page_budget!(
            "select *, octet_length(context) + octet_length(cast(metadata as text)) as bytes \
             from users where tenant_id = $1 and sort_seq < $2 order by sort_seq desc limit $3",
            "sort_seq desc"
        ),
        " u order by u.place"
    );
}

#[async_trait]
impl<S> UserRepository for Repositories<S>
where
    S: Store<Row: ReadAs<StoredFoundUser> + ReadAs<ListedRow<StoredUser>>>,
{
    async fn find(
        &self,
        tenant: &TenantId,
        user_id: &str,
    ) -> Result<AsOf<Option<Arc<User>>>, RepositoryError> {
        let parameters = parameters![tenant, user_id];
        let found = self.0.fetch_optional(FIND, parameters).await?;
        let found = read::one("users", found, |row: StoredFoundUser| {
            let position = Seq(row.head_seq);
            let value = row.into_user().map(Arc::new);
            Ok(AsOf { value, position })
        })?;
        Ok(found.unwrap_or(AsOf {
            value: None,
            position: Seq(0),
        }))
    }

    async fn list(
        &self,
        tenant: &TenantId,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<Listed<User>>, RepositoryError> {
        let before = after.map_or(i64::MAX, |after| after.0);
        let parameters = parameters![tenant, before, page_budget::one_more(limit)];
        let rows = self.0.fetch_all(LIST, parameters).await?;
        read::listing("users", rows, limit, |row: StoredUser| Ok(row.into()))
    }
}
