//! A SQLite file has one server at a time, whatever the path by which another one reaches it.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;
use tempfile::TempDir;

use crate::{
    chat_client::{ChatClient, key, send_json, serving},
    process::{RunningService, folder, refusal, service},
};

/// A running server, with an agent that answers by rules.
struct FirstServer {
    running: RunningService,
    folder: TempDir,
    chat_client: ChatClient,
    agent: String,
}

impl FirstServer {
    async fn start() -> Self {
        let folder = folder();
        let key = key(folder.path());
        let running = serving(folder.path(), &key, None);
        let chat_client = ChatClient::new(&running, &key);
        let draft = chat_client.post("/api/agents", &json!({"name": "Ada"}));
        let (status, agent) = send_json(draft).await;
        assert_eq!(status, 201, "{agent}");
        Self {
            running,
            folder,
            chat_client,
            agent: agent["id"].as_str().expect("an id").to_owned(),
        }
    }

    /// Returns a path in its folder.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Chats, which reads and writes the file.
    async fn assert_chats(&self) {
        let message = json!({"agentId": self.agent, "message": "Who are you?"});
        let (status, reply) = send_json(self.chat_client.chat(&message)).await;
        assert_eq!(status, 200, "{reply}");
    }

    /// Asserts that a second server on the file at this path exits with this reason.
    fn assert_rejects_second(&self, path: &Path, reason: &str) {
        let url = format!("sqlite://{}", path.display());
        let variables = [("SERVER__PORT", "0"), ("DATABASE_URL", &url)];
        let text = refusal(self.folder.path(), &["serve"], &variables);
        assert!(text.contains(reason), "{url}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_exits_by_whatever_path_it_reaches_the_file() {
    let first = FirstServer::start().await;
    let database = first.path("data/agent-service.db");
    let in_use = "another process uses the database";
    first.assert_rejects_second(&database, in_use);
    symlink(first.path("data"), first.path("linked")).expect("a link to the folder");
    first.assert_rejects_second(&first.path("linked/agent-service.db"), in_use);
    symlink(&database, first.path("link.db")).expect("a link to the file");
    first.assert_rejects_second(&first.path("link.db"), in_use);
    fs::hard_link(&database, first.path("hard.db")).expect("a hard link");
    first.assert_rejects_second(&first.path("hard.db"), "has 2 hard links");
    first.assert_rejects_second(&database, "has 2 hard links");
    first.assert_chats().await;
    fs::remove_file(first.path("hard.db")).expect("no hard link");
    first.assert_rejects_second(&database, in_use);
    first.assert_chats().await;
    first.running.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_holds_no_lock() {
    let mut first = FirstServer::start().await;
    first.running.process.kill().expect("it can be killed");
    first.running.process.wait().expect("its end");
    let next = RunningService::start(first.folder.path(), &["serve"]);
    first.chat_client.url.clone_from(&next.url);
    first.assert_chats().await;
    next.abort();
}

/// Mounts the file, as for a container, and starts a server there.
const MOUNT_AND_SERVE: &str = "\
    touch mounted.db && mount --bind data/agent-service.db mounted.db && exec \"$0\" serve";

/// The test needs root, or namespaces of users.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_exits_if_the_file_alone_is_mounted() {
    let first = FirstServer::start().await;
    let program = service(first.folder.path(), &[], &[]);
    let mut second = Command::new("unshare");
    second
        .args(["--map-root-user", "--mount", "sh", "-c", MOUNT_AND_SERVE])
        .arg(program.get_program())
        .current_dir(first.folder.path())
        .env("DATABASE_URL", "sqlite://mounted.db")
        .env("SERVER__PORT", "0");
    let output = second.output().expect("`unshare` of util-linux");
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    let expected = "/mounted.db' is mounted by itself; mount the folder that contains it";
    assert!(text.contains(expected), "{text}");
    assert_eq!(output.status.code(), Some(1), "{text}");
    first.assert_chats().await;
    first.running.abort();
}
