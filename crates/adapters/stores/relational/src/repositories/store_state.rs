//! The state of the store as a whole.

use ports::{RepositoryError, Rows};

use crate::{
    Store,
    read::{self, ReadAs},
    statements,
};

statements! {
    pub(super) const ACCESS_VERSION: &str = "select access_version from store_state";

    pub(super) const HAD_KEY: &str = "select had_key from store_state";
}

/// Raises the version that grows with every change that restricts access, so that every node
/// discards its cached credentials.
pub(super) async fn raise_access_version<S: Store>(
    connection: &mut S::Connection,
) -> Result<(), RepositoryError> {
    let mut rows = Rows::default();
    rows.state.raises_access_version = true;
    S::write(connection, &rows).await
}

/// Returns whether the store has ever contained a key.
pub(super) async fn had_key<S: Store<Row: ReadAs<(bool,)>>>(
    connection: &mut S::Connection,
) -> Result<bool, RepositoryError> {
    let rows = S::fetch_all_in(connection, HAD_KEY, &[]).await?;
    read::value("store_state", rows)
}
