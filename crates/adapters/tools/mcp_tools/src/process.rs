//! Servers that run as child processes, with messages over their standard streams.

mod log;
mod message;
mod orphans;
mod search;

use std::{collections::BTreeMap, ffi::OsString, io, process::Stdio, sync::Arc, time::Duration};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::Mutex,
    time::{Instant, timeout_at},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    MAX_MESSAGE_BYTES,
    foreign_text::LogThrottle,
    lines::{Line, Lines},
};

pub(crate) use log::ProcessLog;
use message::message;
use orphans::OwnChild;
pub use orphans::reap_orphans;

/// The variable with the directories of programs.
const PATH: &str = "PATH";

/// The variables of our environment that a program inherits: it needs them to find programs and
/// files and to select its language. All others may contain secrets of the service.
const INHERITED: [&str; 10] = [
    PATH, "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LC_ALL",
];

/// The time in which a process may exit: once after its input was closed, and once more after
/// SIGTERM. After both it is killed.
pub(crate) const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The time for which the output of an exited process is still read: another process may keep it
/// open.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);

/// A program that runs as an MCP server.
#[derive(Clone)]
pub struct Program {
    /// Its name, or the path to it.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment, in addition to the inherited variables.
    pub environment: BTreeMap<String, SecretString>,
}

/// The standard streams of a process. Dropping this kills the process and its process group.
pub(crate) struct ProcessTransport {
    /// Declared before `child`, so it is dropped first: the id of the group is reserved until the
    /// process was waited for.
    group: Option<ProcessGroup>,
    child: Child,
    /// Declared after `child`, so it is dropped later: until then the exit status is needed.
    _own_child: OwnChild,
    input: Arc<Mutex<Option<ChildStdin>>>,
    output: Lines<BufReader<ChildStdout>>,
    /// The time until which output is read after the process has exited.
    read_until: Option<Instant>,
    log_throttle: LogThrottle,
    _log: DropGuard,
}

impl Program {
    /// Returns whether the program exists in the search path and is executable.
    pub(crate) fn exists(&self) -> bool {
        let own = self.environment.get(PATH);
        let path = own.map(|path| path.expose_secret().into());
        search::exists(&self.command, path.or_else(|| std::env::var_os(PATH)))
    }

    /// Starts the program as the leader of a process group. Returns its streams and its standard
    /// error.
    pub(crate) fn start(&self) -> io::Result<(ProcessTransport, ProcessLog)> {
        let mut command = Command::new(&self.command);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(inherited_variables())
            .envs(self.variables())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let (mut child, own_child) = orphans::spawn(&mut command)?;
        let group = ProcessGroup(own_child.pid());
        let missing = || io::Error::other("a stream of the process is missing");
        let ended = CancellationToken::new();
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let log = ProcessLog::new(stderr, ended.clone());
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let transport = ProcessTransport {
            group: Some(group),
            child,
            _own_child: own_child,
            input: Arc::new(Mutex::new(Some(input))),
            output: Lines::new(BufReader::new(output), MAX_MESSAGE_BYTES),
            read_until: None,
            log_throttle: LogThrottle::default(),
            _log: ended.drop_guard(),
        };
        Ok((transport, log))
    }

    fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = self.environment.iter();
        variables.map(|(name, value)| (name.as_str(), value.expose_secret()))
    }
}

fn inherited_variables() -> impl Iterator<Item = (&'static str, OsString)> {
    // This is not configuration of the service; it is only passed on.
    let value = |name: &'static str| std::env::var_os(name).map(|value| (name, value));
    INHERITED.into_iter().filter_map(value)
}

impl Transport<RoleClient> for ProcessTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let input = Arc::clone(&self.input);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let input = input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            input.write_all(&line).await?;
            input.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.next_line().await {
                Ok(Some(line)) => {
                    if let Some(message) = message(&line, &mut self.log_throttle) {
                        return Some(message);
                    }
                }
                Ok(None) => return None,
                Err(error) => {
                    tracing::debug!(%error, "cannot read the output of an MCP server; closing its connection");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        let by_itself = begun + EXIT_TIMEOUT;
        // A process that does not read its input blocks the writer, which holds this lock.
        if let Ok(mut input) = timeout_at(by_itself, self.input.lock()).await {
            drop(input.take());
        }
        if timeout_at(by_itself, self.child.wait()).await.is_err() {
            if let Some(group) = &self.group {
                group.signal(Signal::SIGTERM);
            }
            let _ = timeout_at(begun + 2 * EXIT_TIMEOUT, self.child.wait()).await;
        }
        // Kills what remains of the group. After the wait, its id may belong to another group.
        drop(self.group.take());
        self.child.wait().await?;
        Ok(())
    }
}

impl ProcessTransport {
    /// Returns the next line of the process; `None` once it has exited, even if another process
    /// still writes. Cancel safe.
    async fn next_line(&mut self) -> io::Result<Option<Line>> {
        let until = if let Some(until) = self.read_until {
            until
        } else {
            tokio::select! {
                line = self.output.next() => return line,
                ended = self.child.wait() => {
                    ended?;
                    // From now on, the id of the group may belong to another group.
                    drop(self.group.take());
                    *self.read_until.insert(Instant::now() + OUTPUT_GRACE)
                }
            }
        };
        if Instant::now() >= until {
            return Ok(None);
        }
        let line = timeout_at(until, self.output.next()).await;
        line.unwrap_or(Ok(None))
    }
}

/// A process group. Dropping this kills it.
struct ProcessGroup(Pid);

impl ProcessGroup {
    fn signal(&self, signal: Signal) {
        // Fails if no process is left.
        let _ = killpg(self.0, signal);
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

#[cfg(test)]
mod tests;
