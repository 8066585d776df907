//! The fixture of the tests.

use std::{
    collections::BTreeMap,
    ops::Deref,
    path::{Path, PathBuf},
    time::Duration,
};

use contract::tool_provider::context;
use mcp_tools::{McpConfig, McpIntervals, McpServer, McpTransport, Program};
use ports::{ToolArguments, ToolContext, ToolError, ToolProvider as _};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The time limit of each wait.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// A server under test, with its tasks.
pub(crate) struct Fixture {
    server: McpServer,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// The directory of the file that the scripted server writes.
    notes: tempfile::TempDir,
}

impl Fixture {
    /// Starts the scripted server with this behaviour.
    pub(crate) fn scripted(behaviour: &str) -> Self {
        Self::scripted_at(behaviour, intervals())
    }

    /// Like [`Self::scripted`], with a listing every few milliseconds.
    pub(crate) fn scripted_listed_often(behaviour: &str) -> Self {
        Self::scripted_at(behaviour, often())
    }

    fn scripted_at(behaviour: &str, intervals: McpIntervals) -> Self {
        let script = servers_dir().join("scripted.mjs");
        let notes = tempfile::tempdir().expect("a directory");
        let transport = McpTransport::Process(Program {
            command: "node".to_owned(),
            arguments: vec![text(&script), behaviour.to_owned()],
            environment: BTreeMap::from([(
                "NOTES".to_owned(),
                text(&notes.path().join("notes")).into(),
            )]),
        });
        Self::start("scripted", transport, intervals, notes)
    }

    /// Starts any server, named `everything`.
    pub(crate) fn new(transport: McpTransport) -> Self {
        let notes = tempfile::tempdir().expect("a directory");
        Self::start("everything", transport, intervals(), notes)
    }

    /// Like [`Self::new`], with a listing every few milliseconds.
    pub(crate) fn listed_often(transport: McpTransport) -> Self {
        let notes = tempfile::tempdir().expect("a directory");
        Self::start("everything", transport, often(), notes)
    }

    fn start(
        name: &str,
        transport: McpTransport,
        intervals: McpIntervals,
        notes: tempfile::TempDir,
    ) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let config = McpConfig {
            name: name.to_owned(),
            transport,
            intervals,
            hints: mcp_tools::HintPolicy {
                are_trusted: true,
                are_repeatable: false,
            },
        };
        let server = McpServer::start(config, &tasks, stop.clone());
        Self {
            server,
            tasks,
            stop,
            notes,
        }
    }

    /// Waits until its tools can be called.
    pub(crate) async fn wait_until_connected(self) -> Self {
        self.wait_until("the server is connected", |server| {
            !server.tools().is_empty()
        })
        .await;
        self
    }

    /// Waits until a condition holds.
    pub(crate) async fn wait_until(&self, what: &str, condition: impl Fn(&McpServer) -> bool) {
        wait_until(what, || condition(&self.server)).await;
    }

    /// Calls a tool by its name at the server.
    pub(crate) async fn call(&self, tool: &str, input: Value) -> Result<String, ToolError> {
        self.call_for(&context(), tool, input).await
    }

    /// Like [`Self::call`], with this context.
    pub(crate) async fn call_for(
        &self,
        context: &ToolContext,
        tool: &str,
        input: Value,
    ) -> Result<String, ToolError> {
        let name = format!("{}/{tool}", self.server.capabilities()[0].name);
        let arguments = arguments(input);
        let result = timeout(TEST_TIMEOUT, self.server.call(&name, &arguments, context)).await;
        result.unwrap_or_else(|_| panic!("{tool} does not return"))
    }

    /// Waits until a call without arguments succeeds.
    pub(crate) async fn wait_for_result(&self, tool: &str) -> String {
        let attempts = async {
            loop {
                match self.call(tool, json!({})).await {
                    Ok(result) => return result,
                    Err(_) => sleep(Duration::from_millis(10)).await,
                }
            }
        };
        let result = timeout(TEST_TIMEOUT, attempts).await;
        result.unwrap_or_else(|_| panic!("{tool} still fails"))
    }

    /// The text that the scripted server has written.
    pub(crate) fn notes(&self) -> String {
        std::fs::read_to_string(self.notes.path().join("notes")).unwrap_or_default()
    }

    /// The names of the available tools.
    pub(crate) fn tool_names(&self) -> Vec<String> {
        let tools = self.server.tools();
        tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// Stops the server and waits for its tasks.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        let ended = timeout(TEST_TIMEOUT, self.tasks.wait()).await;
        ended.expect("all tasks end");
    }
}

impl Deref for Fixture {
    type Target = McpServer;

    fn deref(&self) -> &McpServer {
        &self.server
    }
}

/// Short pauses between attempts to reconnect.
fn intervals() -> McpIntervals {
    McpIntervals {
        shortest_pause: Duration::from_millis(100),
        longest_pause: Duration::from_secs(1),
        ..McpIntervals::default()
    }
}

fn often() -> McpIntervals {
    let refresh = Duration::from_millis(50);
    McpIntervals {
        refresh,
        ..intervals()
    }
}

/// Waits until a condition holds.
pub(crate) async fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let polling = async {
        while !condition() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let finished = timeout(TEST_TIMEOUT, polling).await;
    finished.unwrap_or_else(|_| panic!("timeout while waiting until {what}"));
}

/// Arguments of a call.
pub(crate) fn arguments(value: Value) -> ToolArguments {
    match value {
        Value::Object(arguments) => arguments,
        other => panic!("{other} is not an object"),
    }
}

/// The call of both contract tests.
pub(crate) fn sample_call() -> (&'static str, ToolArguments) {
    ("everything/echo", arguments(json!({ "message": "hello" })))
}

/// The directory of the test servers.
pub(crate) fn servers_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers")
}

/// The program of the reference server of the protocol.
pub(crate) fn everything() -> String {
    #[expect(clippy::disallowed_methods, reason = "the one setting of these tests")]
    let folder = std::env::var("TEST_CLIENTS")
        .expect("TEST_CLIENTS is not set: run `cargo xtask test --install`");
    let package = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    let program = Path::new(&folder).join(package);
    assert!(program.is_file(), "{} does not exist", program.display());
    text(&program)
}

/// Converts a path to text.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("a path of UTF-8").to_owned()
}

/// The reference server, as a child process.
pub(crate) fn everything_process() -> McpTransport {
    McpTransport::Process(Program {
        command: "node".to_owned(),
        arguments: vec![everything(), "stdio".to_owned()],
        environment: BTreeMap::from([("TOKEN".to_owned(), "of-the-server".into())]),
    })
}
