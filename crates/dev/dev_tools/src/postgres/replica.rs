//! A server that follows another one by streaming replication.

use std::{fs, io::Write as _, net::SocketAddr, path::Path};

use anyhow::{Context as _, Result};

use super::{
    DurableServer,
    durable::{MISSING, client, parts},
    local::Programs,
    user::SystemUser,
};
use crate::process::output;

/// Settings of a replica.
const SETTINGS: &[&str] = &[
    // At least that of the primary.
    "max_connections=300",
    // By default, a receiver notices after a minute that its connection transfers nothing, and then
    // waits five seconds before it connects again.
    "wal_receiver_timeout=2s",
    "wal_retrieve_retry_interval=500ms",
    // The primary keeps row versions that queries of the replica read.
    "hot_standby_feedback=on",
];

impl DurableServer {
    /// Returns the number of replicas that receive changes as they happen.
    pub fn streaming_replicas(&self) -> Result<usize> {
        let query = "select count(*) from pg_stat_replication where state = 'streaming'";
        let number = self.sql("postgres", query)?;
        number.trim().parse().context("not a number of replicas")
    }

    /// Copies this server, and starts the copy as a replica that streams changes from `address`,
    /// which may be that of a proxy in front of this server.
    pub fn start_replica(&self, address: SocketAddr) -> Result<Self> {
        let programs = Programs::newest().context(MISSING)?;
        let base_backup = client(&programs, "pg_basebackup").context(MISSING)?;
        // The checkpoint of each copy would remove the log that an earlier copy has not yet read.
        self.sql("postgres", "alter system set wal_keep_size = '1GB'")?;
        self.sql("postgres", "select pg_reload_conf()")?;
        let url = self.url("postgres");
        let (password, _) = parts(&url).context("the server's URL has another form")?;
        let server = programs.start_on_data(SETTINGS, None, password, |user, folder| {
            let mut copy = user.command(&base_backup);
            copy.env("PGPASSWORD", password).env("PGUSER", "postgres");
            copy.args(["--host=127.0.0.1", &format!("--port={}", self.port())]);
            copy.args(["--checkpoint=fast", "--wal-method=stream", "--no-sync"]);
            copy.arg("--pgdata").arg(folder.join("data"));
            output(&mut copy)?;
            follow(user, &folder.join("data"), address, password)
        })?;
        Ok(Self {
            server,
            clients: self.clients.clone(),
        })
    }
}

/// Configures a copy as a replica.
fn follow(user: &SystemUser, data: &Path, primary: SocketAddr, password: &str) -> Result<()> {
    let signal = data.join("standby.signal");
    fs::write(&signal, "").context("cannot write standby.signal")?;
    user.own(&signal)?;
    let (host, port) = (primary.ip(), primary.port());
    // Replication ignores `connect_timeout`; without this one, an attempt to connect during an outage
    // blocks the next ones for long after it.
    let setting = format!(
        "primary_conninfo = 'host={host} port={port} user=postgres password={password} \
         sslmode=disable gssencmode=disable tcp_user_timeout=3000'\n"
    );
    let settings = data.join("postgresql.auto.conf");
    let mut file = fs::File::options().append(true).open(settings)?;
    let written = file.write_all(setting.as_bytes());
    written.context("cannot write the settings of a replica")
}

#[cfg(test)]
mod tests {
    use std::{
        net::Ipv4Addr,
        thread::sleep,
        time::{Duration, Instant},
    };

    use super::*;

    fn wait_for(server: &DurableServer, query: &str, expected: &str) {
        let started = Instant::now();
        loop {
            let result = server.sql("followed", query);
            if result.as_deref().is_ok_and(|it| it.trim() == expected) {
                return;
            }
            let limit = Duration::from_secs(20);
            assert!(started.elapsed() < limit, "{query} returns {result:?}");
            sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_replica_has_the_data_of_its_primary_and_follows_its_changes() {
        let primary = DurableServer::start().unwrap();
        primary.create("followed").unwrap();
        primary
            .sql("followed", "create table kept as select 1 as number")
            .unwrap();
        let address = (Ipv4Addr::LOCALHOST, primary.port()).into();
        let replica = primary.start_replica(address).unwrap();
        wait_for(&replica, "select sum(number) from kept", "1");
        wait_for(
            &primary,
            "select count(*) from pg_stat_replication where state = 'streaming'",
            "1",
        );
        assert_eq!(primary.streaming_replicas().unwrap(), 1);
        primary
            .sql("followed", "insert into kept values (41)")
            .unwrap();
        wait_for(&replica, "select sum(number) from kept", "42");
        let refused = replica.sql("followed", "insert into kept values (1)");
        assert!(format!("{:#}", refused.unwrap_err()).contains("read-only"));
        primary.stop().unwrap();
        wait_for(&replica, "select sum(number) from kept", "42");
        primary.restart().unwrap();
        primary
            .sql("followed", "delete from kept where number = 1")
            .unwrap();
        wait_for(&replica, "select sum(number) from kept", "41");
    }
}
