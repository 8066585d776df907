//! Installing what the tests need where the system's packages allow it.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{
    database::is_root,
    process::{run, succeeds},
};

/// Installs packages of Debian; elsewhere fails with what is to be done instead.
pub(crate) fn debian_packages(packages: &[&str], otherwise: &str) -> Result<()> {
    if !succeeds(Command::new("apt-get").arg("--version")) {
        bail!("--install knows Debian and Ubuntu only\n{otherwise}");
    }
    let program = if is_root()? { "env" } else { "sudo" };
    run(&mut apt_get(program, &["update"]))?;
    let options = ["install", "--yes", "--no-install-recommends"];
    run(apt_get(program, &options).args(packages))
}

/// `apt-get` that asks nothing, by way of a program that sets variables.
fn apt_get(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"])
        .args(arguments);
    command
}
