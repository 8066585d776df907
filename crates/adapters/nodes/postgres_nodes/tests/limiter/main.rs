//! The contract tests of the port and tests of faults, on the server of `TEST_DATABASE_URL`.

mod contract_tests;
mod database;
mod faults;
mod joining;
mod killed_nodes;
mod nodes;
mod proxy;
mod statements;
mod sweep;
