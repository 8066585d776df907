//! What the tests share.

use std::{
    collections::BTreeMap,
    ops::Deref,
    path::{Path, PathBuf},
    time::Duration,
};

use mcp_tools::{McpServer, McpTimes, McpTransport, Program};
use ports::{ToolArguments, ToolError, ToolProvider as _};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Long enough for a slow machine, short enough for a test that hangs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A server under test, with what it runs on.
pub(crate) struct Ground {
    server: McpServer,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// What the scripted server writes down.
    notes: tempfile::TempDir,
}

impl Ground {
    /// The scripted server, behaving in its way.
    pub(crate) fn scripted(behaviour: &str) -> Self {
        Self::scripted_at(behaviour, times())
    }

    /// The same, asked for its tools every few milliseconds.
    pub(crate) fn scripted_asked_often(behaviour: &str) -> Self {
        Self::scripted_at(behaviour, often())
    }

    fn scripted_at(behaviour: &str, times: McpTimes) -> Self {
        let script = partners().join("scripted.mjs");
        let notes = tempfile::tempdir().expect("a folder");
        let transport = McpTransport::Process(Program {
            command: "node".to_owned(),
            arguments: vec![text(&script), behaviour.to_owned()],
            environment: BTreeMap::from([(
                "NOTES".to_owned(),
                text(&notes.path().join("notes")).into(),
            )]),
        });
        Self::start("scripted", transport, times, notes)
    }

    /// Any server, named `everything`.
    pub(crate) fn of(transport: McpTransport) -> Self {
        let notes = tempfile::tempdir().expect("a folder");
        Self::start("everything", transport, times(), notes)
    }

    /// The same, asked for its tools every few milliseconds.
    pub(crate) fn asked_often(transport: McpTransport) -> Self {
        let notes = tempfile::tempdir().expect("a folder");
        Self::start("everything", transport, often(), notes)
    }

    fn start(
        name: &str,
        transport: McpTransport,
        times: McpTimes,
        notes: tempfile::TempDir,
    ) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let server = McpServer::start_with(name.to_owned(), transport, times, &tasks, stop.clone());
        Self {
            server,
            tasks,
            stop,
            notes,
        }
    }

    /// Waits until its tools can be called.
    pub(crate) async fn connected(self) -> Self {
        self.until("it is there", |server| !server.tools().is_empty())
            .await;
        self
    }

    /// Waits until something holds.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&McpServer) -> bool) {
        eventually(what, || holds(&self.server)).await;
    }

    /// Calls a tool by its name at the server.
    pub(crate) async fn call(&self, tool: &str, given: Value) -> Result<String, ToolError> {
        let name = format!("{}/{tool}", self.server.capabilities()[0].name);
        let arguments = arguments(given);
        let answer = timeout(PATIENCE, self.server.call(&name, &arguments)).await;
        answer.unwrap_or_else(|_| panic!("{tool} does not answer"))
    }

    /// Waits until a call is answered that needs no arguments.
    pub(crate) async fn answers_again(&self, tool: &str) -> String {
        let asking = async {
            loop {
                match self.call(tool, json!({})).await {
                    Ok(answer) => return answer,
                    Err(_) => sleep(Duration::from_millis(10)).await,
                }
            }
        };
        let answer = timeout(PATIENCE, asking).await;
        answer.unwrap_or_else(|_| panic!("{tool} does not answer again"))
    }

    /// What the scripted server has written down.
    pub(crate) fn notes(&self) -> String {
        std::fs::read_to_string(self.notes.path().join("notes")).unwrap_or_default()
    }

    /// The names of the tools that can be called.
    pub(crate) fn tool_names(&self) -> Vec<String> {
        let tools = self.server.tools();
        tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// Stops it, and waits until all is done.
    pub(crate) async fn stopped(&self) {
        self.stop.cancel();
        self.tasks.close();
        let stopped = timeout(PATIENCE, self.tasks.wait()).await;
        stopped.expect("all tasks end");
    }
}

impl Deref for Ground {
    type Target = McpServer;

    fn deref(&self) -> &McpServer {
        &self.server
    }
}

/// Nobody waits long for a server that comes back.
fn times() -> McpTimes {
    McpTimes {
        shortest_pause: Duration::from_millis(100),
        longest_pause: Duration::from_secs(1),
        ..McpTimes::default()
    }
}

fn often() -> McpTimes {
    let refresh = Duration::from_millis(50);
    McpTimes { refresh, ..times() }
}

/// Waits until something holds.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let watching = async {
        while !holds() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let watched = timeout(PATIENCE, watching).await;
    watched.unwrap_or_else(|_| panic!("it never came about that {what}"));
}

/// Arguments of a call.
pub(crate) fn arguments(value: Value) -> ToolArguments {
    match value {
        Value::Object(arguments) => arguments,
        other => panic!("{other} is no object"),
    }
}

/// A call that both contracts make.
pub(crate) fn sample() -> (&'static str, ToolArguments) {
    ("everything/echo", arguments(json!({ "message": "hello" })))
}

/// The programs beside these tests.
pub(crate) fn partners() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/partners")
}

/// The program of somebody else's server.
pub(crate) fn everything() -> String {
    #[expect(clippy::disallowed_methods, reason = "the one setting of these tests")]
    let folder = std::env::var("TEST_CLIENTS")
        .expect("TEST_CLIENTS names no folder with partners; `cargo xtask test` prepares one");
    let package = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    let program = Path::new(&folder).join(package);
    assert!(program.is_file(), "there is no {}", program.display());
    text(&program)
}

/// A path as text.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("a path of UTF-8").to_owned()
}

/// Somebody else's server, as a process of ours.
pub(crate) fn everything_as_a_process() -> McpTransport {
    McpTransport::Process(Program {
        command: "node".to_owned(),
        arguments: vec![everything(), "stdio".to_owned()],
        environment: BTreeMap::from([("TOKEN".to_owned(), "of-the-server".into())]),
    })
}
