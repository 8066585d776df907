//! Processes of the built binary.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// The timeout of a service that does not become ready.
const READINESS_TIMEOUT: Duration = Duration::from_mins(1);

const SERVICE: &str = env!("CARGO_BIN_EXE_agent-service");

/// A command of the service, in a separate folder and environment.
pub(crate) fn service(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    program(Path::new(SERVICE), folder, arguments, variables)
}

/// The same for the service with the scripted engine.
pub(crate) fn scripted_service(
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Command {
    // Cargo passes the paths of binaries to tests; examples are next to them.
    let path = Path::new(SERVICE).with_file_name("examples/scripted_service");
    assert!(
        path.exists(),
        "it is not built: `cargo build -p api --example scripted_service`"
    );
    program(&path, folder, arguments, variables)
}

/// The service as process 1 of a namespace of processes, as in a container without an init. Its
/// parent is the program that creates the namespace, which needs root or namespaces of users.
pub(crate) fn first_process(folder: &Path, variables: &[(&str, &str)]) -> Command {
    let isolated = [
        "--map-root-user",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ];
    let arguments = [&isolated[..], &[SERVICE, "serve"]].concat();
    program(Path::new("unshare"), folder, &arguments, variables)
}

/// The service with a file of its own instead of `/etc/resolv.conf`.
pub(crate) fn with_name_server(
    folder: &Path,
    servers: &Path,
    variables: &[(&str, &str)],
) -> Command {
    let mount = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
    let servers = servers.to_str().expect("UTF-8");
    let arguments = ["--mount", "sh", "-c", mount, servers, SERVICE, "serve"];
    program(Path::new("unshare"), folder, &arguments, variables)
}

fn program(path: &Path, folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(path);
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn run(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = service(folder, arguments, variables);
    command.output().expect("the binary starts")
}

/// The output of a successful command.
pub(crate) fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments, &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The error output of a failed command.
pub(crate) fn refusal(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = run(folder, arguments, variables);
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed something");
    text
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

/// A running service, which is killed if the test fails.
pub(crate) struct RunningService {
    pub(crate) process: Child,
    pub(crate) url: String,
}

impl RunningService {
    /// Starts it on a free port and waits until it listens.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::of(service(folder, arguments, &[("SERVER__PORT", "0")]))
    }

    /// Runs a command that serves, and waits until it listens.
    pub(crate) fn of(mut command: Command) -> Self {
        Self::listening(command.spawn().expect("the binary starts"))
    }

    /// Waits until a started process listens.
    pub(crate) fn listening(mut process: Child) -> Self {
        let out = process.stdout.take().expect("its stdout");
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).expect("a line");
        let Some(url) = line.trim_end().strip_prefix("listening on ") else {
            let output = process.wait_with_output();
            panic!("'{line}' names no address: {output:?}");
        };
        let url = url.to_owned();
        Self { process, url }
    }

    /// Waits until `/readyz` responds with this status.
    pub(crate) async fn wait_for_status(&self, expected: u16) {
        let began = Instant::now();
        let url = format!("{}/readyz", self.url);
        loop {
            let status = reqwest::get(&url).await.map(|response| response.status());
            if status.as_ref().is_ok_and(|status| *status == expected) {
                return;
            }
            assert!(began.elapsed() < READINESS_TIMEOUT, "{status:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Requests a clean shutdown.
    pub(crate) fn stop(&self) {
        self.signal(&["TERM"]);
    }

    /// Stops it immediately, by a second signal. One shell sends both: after the first one, the service
    /// listens for the second one for only a few seconds.
    pub(crate) fn abort(&self) {
        self.signal(&["TERM", "INT"]);
    }

    /// Sends signals, one after the other, each late enough to count on its own.
    pub(crate) fn signal(&self, names: &[&str]) {
        signal(self.process.id(), names);
    }

    /// Waits for the end; returns the exit code and the contents of stderr.
    pub(crate) fn wait_for_exit(mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        let stderr = self.process.stderr.as_mut().expect("its stderr");
        stderr.read_to_string(&mut text).expect("UTF-8");
        let status = self.process.wait().expect("an end");
        (status.code(), text)
    }
}

impl Drop for RunningService {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends signals to a process, one after the other, each late enough to count on its own.
pub(crate) fn signal(id: u32, names: &[&str]) {
    signal_with_pauses(id, names, Duration::from_millis(600));
}

/// Sends signals to a process with pauses between them. One shell sends all, so that the pauses are exact.
pub(crate) fn signal_with_pauses(id: u32, names: &[&str], pause: Duration) {
    let commands: Vec<_> = names
        .iter()
        .map(|name| format!("kill -s {name} {id}"))
        .collect();
    let mut shell = Command::new("sh");
    let sent = shell
        .args([
            "-c",
            &commands.join(&format!(" && sleep {} && ", pause.as_secs_f64())),
        ])
        .status();
    assert!(sent.expect("a shell").success());
}
