//! Every promise of the ports, kept by PostgreSQL.

use crate::database::Database;

pub(crate) async fn fixture() -> Database {
    Database::make().await
}

contract::storage_contract!(crate::contract::fixture);
