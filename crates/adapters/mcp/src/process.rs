//! Servers that are processes of ours, spoken to over their standard streams.

mod log;
mod message;
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
    LARGEST_MESSAGE,
    foreign_text::Told,
    lines::{Line, Lines},
};

pub(crate) use log::ProcessLog;
use message::message;

/// Where programs are.
const PATH: &str = "PATH";

/// What a program needs of our environment to find others, its files and its language. All else
/// stays with us: it holds our secrets.
const HANDED_ON: [&str; 10] = [
    PATH, "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LC_ALL",
];

/// How long a process has to end by itself: once until its input is closed and it has ended, and
/// once more when it is told to. It is killed after both, before whoever shuts down goes on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// How long is read what a process that has ended said last: somebody else may hold its output.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A program to start.
#[derive(Clone)]
pub struct Program {
    /// Its name, or the path to it.
    pub command: String,
    /// What it is given.
    pub arguments: Vec<String>,
    /// Its environment, beside what every program needs.
    pub environment: BTreeMap<String, SecretString>,
}

/// The standard streams of a process. Dropping this kills it, and all that it started.
pub(crate) struct ProcessTransport {
    /// Before the process itself, which holds the group's number until it is asked how it ended.
    group: Option<ProcessGroup>,
    child: Child,
    input: Arc<Mutex<Option<ChildStdin>>>,
    output: Lines<BufReader<ChildStdout>>,
    /// Until when the output is read once the process has ended.
    last: Option<Instant>,
    told: Told,
    _log: DropGuard,
}

impl Program {
    /// Whether it is where it will be looked for, and may be executed.
    pub(crate) fn is_there(&self) -> bool {
        let own = self.environment.get(PATH);
        let path = own.map(|path| path.expose_secret().into());
        search::is_there(&self.command, path.or_else(|| std::env::var_os(PATH)))
    }

    /// Starts it as the leader of a group of its own, and gives what it logs.
    pub(crate) fn start(&self) -> io::Result<(ProcessTransport, ProcessLog)> {
        let mut child = Command::new(&self.command)
            .args(&self.arguments)
            .env_clear()
            .envs(handed_on())
            .envs(self.variables())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let missing = || io::Error::other("a stream of the process is missing");
        let group = ProcessGroup::of(&child).ok_or_else(missing)?;
        let ended = CancellationToken::new();
        let written = child.stderr.take().ok_or_else(missing)?;
        let log = ProcessLog::new(written, ended.clone());
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let transport = ProcessTransport {
            group: Some(group),
            child,
            input: Arc::new(Mutex::new(Some(input))),
            output: Lines::new(BufReader::new(output), LARGEST_MESSAGE),
            last: None,
            told: Told::default(),
            _log: ended.drop_guard(),
        };
        Ok((transport, log))
    }

    fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = self.environment.iter();
        variables.map(|(name, value)| (name.as_str(), value.expose_secret()))
    }
}

fn handed_on() -> impl Iterator<Item = (&'static str, OsString)> {
    // No configuration of ours: it is only passed on.
    let value = |name: &'static str| std::env::var_os(name).map(|value| (name, value));
    HANDED_ON.into_iter().filter_map(value)
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
            match self.line().await {
                Ok(Some(line)) => {
                    if let Some(message) = message(&line, &mut self.told) {
                        return Some(message);
                    }
                }
                Ok(None) => return None,
                Err(error) => {
                    tracing::debug!(%error, "a server of tools cannot be read");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        let by_itself = begun + PATIENCE;
        // A process that does not read holds up whoever writes to it.
        if let Ok(mut input) = timeout_at(by_itself, self.input.lock()).await {
            drop(input.take());
        }
        if timeout_at(by_itself, self.child.wait()).await.is_err() {
            if let Some(group) = &self.group {
                group.signal(Signal::SIGTERM);
            }
            let _ = timeout_at(begun + 2 * PATIENCE, self.child.wait()).await;
        }
        // What it started itself may still be there. Later, the number may be another's.
        drop(self.group.take());
        self.child.wait().await?;
        Ok(())
    }
}

impl ProcessTransport {
    /// The next line of the process; none once it has ended, though others may still write.
    /// Whoever stops waiting for one loses nothing.
    async fn line(&mut self) -> io::Result<Option<Line>> {
        let until = if let Some(until) = self.last {
            until
        } else {
            tokio::select! {
                line = self.output.next() => return line,
                ended = self.child.wait() => {
                    ended?;
                    // Later, the number of the group may be another's.
                    drop(self.group.take());
                    *self.last.insert(Instant::now() + LAST_WORDS)
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

/// A process and all that it started. Dropping this kills them.
struct ProcessGroup(Pid);

impl ProcessGroup {
    /// The group that the process leads.
    fn of(leader: &Child) -> Option<Self> {
        let id = i32::try_from(leader.id()?).ok()?;
        Some(Self(Pid::from_raw(id)))
    }

    fn signal(&self, signal: Signal) {
        // It fails when nobody is left.
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
