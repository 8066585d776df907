//! The contract tests of the port and tests of outages, on the server of `TEST_DATABASE_URL`.

mod contract_tests;
mod outage;
