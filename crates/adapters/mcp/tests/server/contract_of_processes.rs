//! The promises of the port, kept with somebody else's server in a process.

use crate::ground::{Ground, everything_as_a_process};

async fn fixture() -> Ground {
    Ground::of(everything_as_a_process()).connected().await
}

contract::tool_provider_contract!(crate::contract_of_processes::fixture, crate::ground::sample);
