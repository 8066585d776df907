//! The contract tests of all ports, run with PostgreSQL.

use crate::database::Database;

pub(crate) async fn fixture() -> Database {
    Database::new().await
}

contract::storage_contract!(crate::contract::fixture);
