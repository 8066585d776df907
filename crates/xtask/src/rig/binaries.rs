//! Builds what is measured, and what measures.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::process::{cargo, run};

/// The profile in which the load generator is built.
const OWN_PROFILE: &str = "bench-local";

/// What is measured.
pub(crate) struct Binaries {
    pub(crate) service: PathBuf,
    pub(crate) bare_hello: PathBuf,
    pub(crate) open_reading: PathBuf,
}

impl Binaries {
    /// Builds all in `profile`. Apart from each other: the examples bring the dependencies of the
    /// tests along, whose features the service is not shipped with.
    pub(crate) fn build(profile: &str) -> Result<Self> {
        Ok(Self {
            service: build(profile, "agent-service", "--bin", "agent-service")?,
            bare_hello: build(profile, "agent-service", "--example", "bare_hello")?,
            open_reading: build(profile, "agent-service", "--example", "open_reading")?,
        })
    }
}

/// Does what this process was asked to do, in an optimised build: a generator of load without
/// optimisation takes the time of what it measures.
pub(crate) fn run_optimised() -> Result<()> {
    let program = build(OWN_PROFILE, "xtask", "--bin", "xtask")?;
    run(Command::new(program).args(env::args_os().skip(1)))
}

/// A line of what cargo prints.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
}

/// Builds a program in `profile`, and answers where it is.
pub(crate) fn build(profile: &str, package: &str, kind: &str, name: &str) -> Result<PathBuf> {
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
    executable(&printed).with_context(|| format!("cargo did not say where {name} is"))
}

/// The program that was linked last: what was asked for comes after what it needs.
fn executable(printed: &str) -> Option<PathBuf> {
    let messages = printed.lines().rev();
    messages
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .find_map(|message| message.executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_program_among_what_cargo_prints() {
        let printed = r#"{"reason":"compiler-artifact","executable":null}
{"reason":"compiler-artifact","executable":"/target/bench-local/xtask"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(
            executable(printed),
            Some(PathBuf::from("/target/bench-local/xtask"))
        );
        assert_eq!(executable(""), None);
    }
}
