//! A throw-away server in a container.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use super::{Database, cleanup::CleanupScript, local, secret::random_hex, user::SystemUser};
use crate::process::{output, run, succeeds};

const IMAGE: &str = "postgres:17";
const START_LIMIT: Duration = Duration::from_mins(2);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Returns true if a Docker engine is available.
pub(super) fn is_available() -> bool {
    succeeds(docker().args(["version", "--format", "{{.Server.Version}}"]))
}

/// Starts a container on a free loopback port, with its data in memory.
pub(super) fn start() -> Result<Database> {
    if !succeeds(docker().args(["image", "inspect", IMAGE])) {
        run(docker().args(["pull", IMAGE]))?;
    }
    let name = format!("agent-service-test-{}", random_hex()?);
    let password = random_hex()?;
    let cleanup =
        CleanupScript::prepare(&SystemUser::current(), "docker rm --force \"$1\"", &[&name])?;
    output(
        docker()
            .args(["run", "--detach", "--rm", "--name", &name])
            .args([
                "--env",
                &format!("POSTGRES_PASSWORD={password}"),
                "--publish=127.0.0.1::5432",
                "--tmpfs=/var/lib/postgresql/data",
                IMAGE,
            ])
            .args(local::SETTINGS.iter().map(|setting| format!("--{setting}"))),
    )?;
    wait_until_ready(&name)?;
    let published = output(docker().args(["port", &name, "5432/tcp"]))?;
    let port = port_of(&published).context("`docker port` printed no port")?;
    println!("started {IMAGE} in Docker on port {port}");
    Ok(Database::started(port, &password, cleanup))
}

fn docker() -> Command {
    let mut command = Command::new("docker");
    command.stdin(Stdio::null());
    command
}

/// Polls over TCP: the server that only initialises the data listens on a Unix socket alone.
fn wait_until_ready(name: &str) -> Result<()> {
    let started = Instant::now();
    let arguments = ["exec", name, "pg_isready", "--quiet", "--host=127.0.0.1"];
    while !succeeds(docker().args(arguments)) {
        if started.elapsed() > START_LIMIT {
            bail!(
                "the container was not ready after {} s",
                START_LIMIT.as_secs()
            );
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn port_of(published: &str) -> Option<u16> {
    published
        .lines()
        .next()?
        .rsplit_once(':')?
        .1
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_published_port() {
        assert_eq!(port_of("127.0.0.1:49153\n"), Some(49153));
        assert_eq!(port_of(""), None);
    }
}
