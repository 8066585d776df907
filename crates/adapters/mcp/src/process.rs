//! Servers that are processes of ours, spoken to over their standard streams.

use std::{collections::BTreeMap, ffi::OsString, io, process::Stdio, sync::Arc, time::Duration};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use rmcp::{
    RoleClient,
    model::{ErrorData, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::Mutex,
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    LARGEST_MESSAGE,
    lines::{Line, Lines},
};

/// What a program needs of our environment to find others, its files and its language. All else
/// stays with us: it holds our secrets.
const HANDED_ON: [&str; 10] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LC_ALL",
];

/// How long a process has to end by itself: once when its input is closed, and once more when it
/// is told to.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest line of a process' own log that is passed on to ours.
const LONGEST_LOG_LINE: usize = 4 * 1024;

/// A program to start.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, SecretString>,
}

/// The standard streams of a process. Dropping this kills it, and all that it started.
pub(crate) struct ProcessTransport {
    child: Child,
    group: ProcessGroup,
    input: Arc<Mutex<Option<ChildStdin>>>,
    output: Lines<BufReader<ChildStdout>>,
    _log: DropGuard,
}

impl Program {
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
        let log = ProcessLog {
            lines: Lines::new(
                BufReader::new(child.stderr.take().ok_or_else(missing)?),
                LONGEST_LOG_LINE,
            ),
            ended: ended.clone(),
        };
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let transport = ProcessTransport {
            child,
            group,
            input: Arc::new(Mutex::new(Some(input))),
            output: Lines::new(BufReader::new(output), LARGEST_MESSAGE),
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
            match self.output.next().await {
                Ok(Some(line)) => {
                    if let Some(message) = message(&line) {
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
        // A process that does not read holds up whoever writes to it.
        if let Ok(mut input) = timeout(PATIENCE, self.input.lock()).await {
            drop(input.take());
        }
        if timeout(PATIENCE, self.child.wait()).await.is_err() {
            self.group.signal(Signal::SIGTERM);
            let _ = timeout(PATIENCE, self.child.wait()).await;
        }
        // What it started itself may still be there.
        self.group.signal(Signal::SIGKILL);
        self.child.wait().await?;
        Ok(())
    }
}

/// A message, if the line is one. An answer that is too long is a refusal of the call that it
/// answers.
fn message(line: &Line) -> Option<RxJsonRpcMessage<RoleClient>> {
    match line {
        Line::Whole(line) => serde_json::from_slice(line)
            .inspect_err(
                |error| tracing::debug!(%error, "a server of tools says what is no message"),
            )
            .ok(),
        Line::TooLong { start, end } => {
            tracing::warn!("a message of a server of tools was too large");
            let error = ErrorData::internal_error("its answer is too large", None);
            Some(JsonRpcMessage::error(error, Some(id(start, end)?)))
        }
    }
}

/// The id of a message of which only both ends are known: it stands before or behind what is long.
fn id(start: &[u8], end: &[u8]) -> Option<RequestId> {
    let start = String::from_utf8_lossy(start);
    let end = String::from_utf8_lossy(end);
    let first = start.split_once("\"id\":");
    let last = end.rsplit_once("\"id\":");
    // Behind the long member stands only what is short: no brace is opened there any more.
    let last = last.filter(|(_, rest)| !rest.contains(['{', '[']));
    let before_content = first.filter(|(before, _)| !before.contains("\"result\""));
    let (_, rest) = before_content.or(last)?;
    let number = rest.trim_start();
    let number = &number[..number.find([',', '}'])?];
    match serde_json::from_str(number.trim()).ok()? {
        Value::Number(number) => Some(RequestId::Number(number.as_i64()?)),
        _ => None,
    }
}

/// What a process writes to its standard error.
pub(crate) struct ProcessLog {
    lines: Lines<BufReader<ChildStderr>>,
    /// Whoever fled from the group may keep the stream open.
    ended: CancellationToken,
}

impl ProcessLog {
    /// Passes it on to our log until the process has ended.
    pub(crate) async fn pass_on(mut self, server: String) {
        let ended = self.ended.clone();
        let passing = async {
            while let Ok(Some(line)) = self.lines.next().await {
                let (Line::Whole(line) | Line::TooLong { start: line, .. }) = line;
                let line = String::from_utf8_lossy(&line);
                tracing::debug!(server, line = %line.trim_end(), "a server of tools logs");
            }
        };
        let _ = ended.run_until_cancelled(passing).await;
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
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":["#,
        r#"]},"x":1}"#,
        Some(7)
    )]
    #[case(
        r#"{"result":{"content":[{"id":1}"#,
        r#"xx"}]},"jsonrpc":"2.0","id":12}"#,
        Some(12)
    )]
    #[case(r#"{"result":{"content":[{"id":1}"#, r#"{"id":3}]}}"#, Some(3))]
    #[case(
        r#"{"result":{"content":["#,
        r#"xx"}]},"jsonrpc":"2.0","id":"a"}"#,
        None
    )]
    #[case(r#"{"method":"notifications/message","params":{"#, r#"xx"}}"#, None)]
    fn finds_out_which_call_a_long_message_answers(
        #[case] start: &str,
        #[case] end: &str,
        #[case] found: Option<i64>,
    ) {
        let id = id(start.as_bytes(), end.as_bytes());
        assert_eq!(id, found.map(RequestId::Number));
    }
}
