//! Running other programs, from the root of the workspace.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus, Stdio},
};

use anyhow::{Context as _, Result, bail};

/// A program that ran and said no.
#[derive(Debug)]
pub(crate) struct Failed {
    program: String,
    status: ExitStatus,
}

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` failed ({})", self.program, self.status)
    }
}

impl std::error::Error for Failed {}

/// The folder that holds the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder
        .ancestors()
        .nth(2)
        .unwrap_or(crate_folder)
        .to_owned()
}

/// `cargo` with these arguments.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root()).args(arguments);
    command
}

/// Runs a command with our own input and output, after showing it.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let status = command
        .status()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!(Failed {
            program: shown,
            status
        });
    }
    Ok(())
}

/// Runs a command and answers what it printed; its errors are part of ours.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failed {
            program: shown,
            status: output.status,
        })
        .context(said);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` printed no UTF-8"))
}

/// Whether a command can be started and succeeds; what it prints is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Sends a signal, such as `TERM`, to these processes.
pub(crate) fn signal(name: &str, processes: &[u32]) -> Result<()> {
    let ids = processes.iter().map(u32::to_string);
    output(Command::new("kill").arg(format!("-{name}")).args(ids))?;
    Ok(())
}

/// The exit code that tells the same as the error: that of the program that failed, if one did.
pub(crate) fn exit_code_of(error: &anyhow::Error) -> ExitCode {
    let code = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Failed>())
        .and_then(|failed| failed.status.code());
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace_manifest() {
        assert!(root().join("Cargo.lock").is_file());
    }

    #[test]
    fn the_exit_code_is_that_of_the_program_that_failed() {
        let error = run(Command::new("sh").args(["-c", "exit 42"]))
            .context("step")
            .unwrap_err();
        assert_eq!(exit_code_of(&error), ExitCode::from(42));
        assert_eq!(
            exit_code_of(&anyhow::anyhow!("no program")),
            ExitCode::FAILURE
        );
    }

    #[test]
    fn the_error_says_what_the_program_said() {
        let error = output(Command::new("sh").args(["-c", "echo no luck >&2; exit 1"]));
        assert!(format!("{:#}", error.unwrap_err()).contains("no luck"));
    }
}
