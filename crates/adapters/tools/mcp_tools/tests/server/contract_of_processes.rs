//! The contract tests of the port, with the reference server in a child process.

use crate::fixture::{Fixture, everything_process};

async fn fixture() -> Fixture {
    Fixture::new(everything_process())
        .wait_until_connected()
        .await
}

contract::tool_provider_contract!(
    crate::contract_of_processes::fixture,
    crate::fixture::sample_call
);
