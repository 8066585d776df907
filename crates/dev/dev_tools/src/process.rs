//! Runs programs from the root of the workspace.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus, Stdio},
};

use anyhow::{Context as _, Result, bail};

/// A program that exited with an error.
#[derive(Debug)]
pub struct CommandFailed {
    program: String,
    status: ExitStatus,
}

impl fmt::Display for CommandFailed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` failed ({})", self.program, self.status)
    }
}

impl std::error::Error for CommandFailed {}

/// Returns the folder of the workspace's `Cargo.toml`.
pub fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder
        .ancestors()
        .nth(3)
        .unwrap_or(crate_folder)
        .to_owned()
}

/// Returns a `cargo` command in the workspace's folder.
pub fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root()).args(arguments);
    command
}

/// Prints a command and runs it with the input and output of this process.
pub fn run(command: &mut Command) -> Result<()> {
    let command_line = command_line(command);
    println!("$ {command_line}");
    let status = command
        .status()
        .with_context(|| format!("cannot start `{command_line}`"))?;
    if !status.success() {
        bail!(CommandFailed {
            program: command_line,
            status
        });
    }
    Ok(())
}

/// Runs a command and returns its standard output; its standard error is part of the error.
pub fn output(command: &mut Command) -> Result<String> {
    let command_line = command_line(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{command_line}`"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(CommandFailed {
            program: command_line,
            status: output.status,
        })
        .context(stderr);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{command_line}` printed no UTF-8"))
}

/// Returns true if a command starts and succeeds; its output is dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Sends a signal, such as `TERM`, to these processes.
pub fn signal(name: &str, processes: &[u32]) -> Result<()> {
    let ids = processes.iter().map(u32::to_string);
    output(Command::new("kill").arg(format!("-{name}")).args(ids))?;
    Ok(())
}

/// Reports the error of a command, if it failed, and returns the exit code.
#[expect(clippy::print_stderr, reason = "the terminal is its interface")]
pub fn conclude(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            exit_code_of(&error)
        }
    }
}

/// Returns the exit code of the failed program that caused the error, or else 1.
fn exit_code_of(error: &anyhow::Error) -> ExitCode {
    let code = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<CommandFailed>())
        .and_then(|failed| failed.status.code());
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn command_line(command: &Command) -> String {
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
    fn the_error_holds_the_standard_error() {
        let error = output(Command::new("sh").args(["-c", "echo no luck >&2; exit 1"]));
        assert!(format!("{:#}", error.unwrap_err()).contains("no luck"));
    }
}
