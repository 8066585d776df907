//! Builds of the service and of its baselines.

use std::{path::PathBuf, process::Stdio};

use anyhow::{Context as _, Result, bail};
use dev_tools::process::cargo;
use serde::Deserialize;

/// The programs that are measured, built in one profile.
pub struct Binaries {
    profile: String,
    /// The service.
    pub service: PathBuf,
}

impl Binaries {
    /// Builds the service, unless `program` is a build of it.
    pub fn build(profile: &str, program: Option<PathBuf>) -> Result<Self> {
        let build = || build(profile, "api", "--bin", "agent-service");
        Ok(Self {
            service: program.map_or_else(build, Ok)?,
            profile: profile.to_owned(),
        })
    }

    /// Builds a baseline, which is an example of `package`. It is not built together with the
    /// service, to which it would give features that only test dependencies enable.
    pub fn baseline(&self, package: &str, name: &str) -> Result<PathBuf> {
        build(&self.profile, package, "--example", name)
    }
}

/// A line of cargo's JSON output.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
}

/// Builds a program in `profile` and returns its path.
pub fn build(profile: &str, package: &str, kind: &str, name: &str) -> Result<PathBuf> {
    println!("building {name} ({profile})");
    let built = cargo(["build", "--locked", "--quiet", "--profile", profile])
        .args(["--package", package, kind, name])
        .arg("--message-format=json-render-diagnostics")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !built.status.success() {
        bail!("{name} cannot be built ({})", built.status);
    }
    let printed = String::from_utf8(built.stdout).context("cargo printed no UTF-8")?;
    // The requested program is linked after the programs that it needs.
    let mut messages = printed.lines().rev();
    let executable =
        messages.find_map(|line| serde_json::from_str::<Message>(line).ok()?.executable);
    executable.with_context(|| format!("cargo printed no path of {name}"))
}
