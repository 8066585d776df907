//! External programs and libraries in `tests/clients` that test the service.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// The timeout of a test: long enough for slow machines that generate RSA keys.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The timeout of a program that starts the service and perhaps a browser. The test runner waits
/// two minutes.
const PATIENCE_WITH_BINARY: Duration = Duration::from_secs(110);

/// A program that answers lines with lines, until dropped.
pub(crate) struct ChildProgram {
    script: String,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Killed when dropped.
    _process: Child,
}

impl ChildProgram {
    /// Starts a program.
    pub(crate) fn start(script: &str, arguments: &[&str]) -> Self {
        let mut command = command(script);
        command.args(arguments).stderr(Stdio::inherit());
        let mut process = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {script}: {error}"));
        let output = process.stdout.take().expect("its output");
        Self {
            script: script.to_owned(),
            input: process.stdin.take().expect("its input"),
            output: BufReader::new(output).lines(),
            _process: process,
        }
    }

    /// The next line of output, as JSON.
    pub(crate) async fn read_json(&mut self) -> Value {
        self.read_json_within(TIMEOUT).await
    }

    /// The next line of output within this time, as JSON.
    pub(crate) async fn read_json_within(&mut self, patience: Duration) -> Value {
        let script = &self.script;
        let line = tokio::time::timeout(patience, self.output.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("{script} prints nothing"));
        let line = line.expect("UTF-8");
        let line = line.unwrap_or_else(|| panic!("{script} has ended; see its stderr"));
        json_of(script, &line)
    }

    /// The response to a line of JSON.
    pub(crate) async fn ask(&mut self, order: &Value) -> Value {
        let line = format!("{order}\n");
        let sent = self.input.write_all(line.as_bytes()).await;
        sent.unwrap_or_else(|error| panic!("{} does not listen: {error}", self.script));
        let response = self.read_json().await;
        assert!(
            response["error"].is_null(),
            "{order}: {}",
            response["error"]
        );
        response
    }
}

/// The output of a successful program with this JSON input and these arguments.
pub(crate) async fn run(script: &str, arguments: &[&str], order: &Value) -> Value {
    run_within(TIMEOUT, script, arguments, order).await
}

async fn run_within(patience: Duration, script: &str, arguments: &[&str], order: &Value) -> Value {
    let mut command = command(script);
    command.args(arguments).stderr(Stdio::piped());
    let mut process = command
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {script}: {error}"));
    let mut input = process.stdin.take().expect("its input");
    // It may have ended without reading; its output has the reason.
    let _ = input.write_all(order.to_string().as_bytes()).await;
    drop(input);
    let ended = tokio::time::timeout(patience, process.wait_with_output()).await;
    let output = ended.unwrap_or_else(|_| panic!("{script} does not end"));
    let output = output.expect("its output");
    let received = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {received}");
    json_of(script, &String::from_utf8(output.stdout).expect("UTF-8"))
}

/// The output of a program that starts the service itself: its first argument is the binary.
pub(crate) async fn run_with_binary(script: &str, arguments: &[&str]) -> Value {
    let arguments = [&[env!("CARGO_BIN_EXE_agent-service")], arguments].concat();
    run_within(PATIENCE_WITH_BINARY, script, &arguments, &Value::Null).await
}

/// The path of a program in `tests/clients`, next to its libraries.
fn command(script: &str) -> Command {
    let folder = folder();
    let path = folder.join(script);
    assert!(path.is_file(), "there is no {}", path.display());
    let mut command = Command::new(interpreter(&path));
    command
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// The interpreter of a program. Python programs have virtual environments next to them, named by
/// their suffix.
fn interpreter(program: &Path) -> PathBuf {
    if program
        .extension()
        .is_none_or(|extension| extension != "py")
    {
        return "node".into();
    }
    let environment = match program.file_stem().and_then(|name| name.to_str()) {
        Some("llama_server") => "venv-models",
        Some(name) if name.ends_with("_server") => "venv-servers",
        _ => "venv",
    };
    program.with_file_name(environment).join("bin/python")
}

fn folder() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "the one setting of these tests")]
    let folder = std::env::var("TEST_CLIENTS");
    let folder = folder.expect("TEST_CLIENTS is not set: run `cargo xtask test --install`");
    folder.into()
}

fn json_of(script: &str, line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{script}: {error}: {line}"))
}
