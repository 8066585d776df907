//! Installs requirements of the tests by the system's package manager.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{
    postgres::is_root,
    process::{run, succeeds},
};

/// Installs packages of Debian; on other systems it fails with `otherwise`.
pub fn debian_packages(packages: &[&str], otherwise: &str) -> Result<()> {
    if !succeeds(Command::new("apt-get").arg("--version")) {
        bail!("--install knows Debian and Ubuntu only\n{otherwise}");
    }
    let program = if is_root()? { "env" } else { "sudo" };
    run(&mut apt_get(program, &["update"]))?;
    let options = ["install", "--yes", "--no-install-recommends"];
    run(apt_get(program, &options).args(packages))
}

/// Returns a non-interactive `apt-get` command, started through `program`.
fn apt_get(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"])
        .args(arguments);
    command
}
