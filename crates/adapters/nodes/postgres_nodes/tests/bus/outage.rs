//! Log lines of a bus that cannot use the database. On the server of `TEST_DATABASE_URL`.

use std::{
    io,
    str::FromStr as _,
    sync::{Arc, Mutex},
    time::Duration,
};

use dev_tools::postgres::test_server_url;
use postgres_nodes::PostgresBus;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions,
};
use tokio::time::{Instant, sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

const FAILS: &str = "no signals pass between nodes";
const WORKS: &str = "signals pass between nodes again";

/// Longer than the pauses of several attempts.
const SEVERAL_ATTEMPTS: Duration = Duration::from_secs(3);

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("a log").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Its lines from now on, at the level of a production log, including those of the driver.
    fn capture() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let lines = tracing_subscriber::fmt().with_ansi(false);
        let subscriber = lines.with_writer(move || writer.clone()).finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn lines(&self) -> Vec<String> {
        let text = self.0.lock().expect("a log");
        let text = String::from_utf8_lossy(&text);
        text.lines().map(str::to_owned).collect()
    }

    async fn wait_for(&self, text: &str) {
        let since = Instant::now();
        while !self.lines().iter().any(|line| line.contains(text)) {
            assert!(
                since.elapsed() < Duration::from_secs(30),
                "{:?}",
                self.lines()
            );
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A role and a database of its own.
struct Role {
    server: PgConnectOptions,
    administrator: PgConnection,
    name: String,
}

impl Role {
    async fn create() -> Self {
        let server = PgConnectOptions::from_str(&test_server_url()).expect("a URL of Postgres");
        let name = format!("bus_{}", new_id().simple());
        let mut role = Self {
            administrator: server.connect().await.expect("a connection"),
            server,
            name,
        };
        let name = role.name.clone();
        role.run(format!("create role {name} login password 'bus'"))
            .await;
        role.run(format!("create database {name} owner {name}"))
            .await;
        role
    }

    fn options(&self) -> PgConnectOptions {
        let server = self.server.clone().database(&self.name);
        server.username(&self.name).password("bus")
    }

    async fn run(&mut self, sql: String) {
        let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut self.administrator);
        done.await.expect("it is executed");
    }

    async fn run_in_database(&self, sql: String) {
        let own = self.server.clone().database(&self.name);
        let mut connection = own.connect().await.expect("a connection");
        let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection);
        done.await.expect("it is executed");
        connection.close().await.expect("it ends");
    }

    async fn drop(mut self) {
        let name = self.name.clone();
        self.run(format!("drop database {name} with (force)")).await;
        self.run(format!("drop role {name}")).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "names a bus and nothing else")]
fn new_id() -> Uuid {
    Uuid::now_v7()
}

fn start(options: &PgConnectOptions) -> PostgresBus {
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    PostgresBus::start(options, new_id(), new_id(), &tasks, &stop)
}

/// Everything is on this thread, whose log is captured.
#[tokio::test]
async fn a_bus_without_connections_is_reported_once_and_so_is_its_return() {
    let mut role = Role::create().await;
    let name = role.name.clone();
    role.run(format!("alter role {name} connection limit 0"))
        .await;
    let (log, _capture) = Log::capture();
    let bus = start(&role.options());
    log.wait_for(FAILS).await;
    sleep(SEVERAL_ATTEMPTS).await;
    role.run(format!("alter role {name} connection limit 2"))
        .await;
    log.wait_for(WORKS).await;
    drop(bus);
    let lines = log.lines();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(
        lines[0].contains("too many connections for role"),
        "{lines:#?}"
    );
    role.drop().await;
}

#[tokio::test]
async fn a_bus_that_cannot_send_is_reported_once_and_so_is_its_return() {
    let role = Role::create().await;
    let function = "execute on function pg_notify(text, text)";
    role.run_in_database(format!("revoke {function} from public"))
        .await;
    let (log, _capture) = Log::capture();
    let bus = start(&role.options());
    log.wait_for(FAILS).await;
    sleep(SEVERAL_ATTEMPTS).await;
    role.run_in_database(format!("grant {function} to public"))
        .await;
    log.wait_for(WORKS).await;
    drop(bus);
    let lines = log.lines();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].contains("permission denied"), "{lines:#?}");
    role.drop().await;
}
