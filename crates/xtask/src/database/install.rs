//! Installing a server where the system's packages allow it.

use std::process::Command;

use anyhow::{Result, bail};

use super::user;
use crate::process::{run, succeeds};

/// Installs Debian's package; the cluster that comes with it is not used.
pub(super) fn postgres() -> Result<()> {
    if !succeeds(Command::new("apt-get").arg("--version")) {
        bail!(
            "--install knows Debian and Ubuntu only\n{}",
            super::NOTHING_FOUND
        );
    }
    let program = if user::is_root()? { "env" } else { "sudo" };
    run(&mut apt_get(program, &["update"]))?;
    run(&mut apt_get(
        program,
        &["install", "--yes", "--no-install-recommends", "postgresql"],
    ))
}

/// `apt-get` that asks nothing, by way of a program that sets variables.
fn apt_get(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"])
        .args(arguments);
    command
}
