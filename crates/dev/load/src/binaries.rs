//! Builds of the service and of its baselines.

use std::{path::PathBuf, process::Stdio};

use anyhow::{Context as _, Result, bail};
use dev_tools::process::cargo;
use serde::Deserialize;

/// The programs that are measured.
pub struct Binaries {
    /// The service.
    pub service: PathBuf,
    /// The bare framework with a body of a given size.
    pub bare_hello: PathBuf,
    /// The service without access control.
    pub open_reading: PathBuf,
    /// A chat service written by hand.
    pub reference_service: PathBuf,
}

impl Binaries {
    /// Builds all programs in `profile`, one after the other: building the examples together with
    /// the service would give it features that only test dependencies enable.
    pub fn build(profile: &str) -> Result<Self> {
        Ok(Self {
            service: build(profile, "agent-service", "--bin", "agent-service")?,
            bare_hello: build(profile, "agent-service", "--example", "bare_hello")?,
            open_reading: build(profile, "agent-service", "--example", "open_reading")?,
            reference_service: build(profile, "dev_bench", "--example", "reference_service")?,
        })
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
