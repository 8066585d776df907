//! `cargo xtask websocket-cases`: holds the service's socket to the WebSocket protocol.

use anyhow::Result;

use crate::process::{cargo, run as run_program};

/// Runs the one test that plays all cases, and shows what each of them came to.
pub(crate) fn run() -> Result<()> {
    run_program(&mut cargo([
        "test",
        "--locked",
        "--package=agent-service",
        "--test=api",
        "sockets::protocol::",
        "--",
        "--nocapture",
    ]))
}
