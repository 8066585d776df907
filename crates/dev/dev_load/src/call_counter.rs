//! System calls and context switches of a process, counted by `perf`.

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use dev_tools::process::{signal, succeeds};
use tempfile::TempDir;

use crate::process_stats;

/// A write of eight bytes: the value of an eventfd, by which one thread wakes another. Nothing else
/// in a server writes so little with this call.
const WAKE: &str = "syscalls:sys_enter_write";
const WAKE_FILTER: &str = "count == 8";
/// The calls that write to a socket.
const SENDS: [&str; 3] = [
    "syscalls:sys_enter_sendto",
    "syscalls:sys_enter_sendmsg",
    "syscalls:sys_enter_writev",
];
const SWITCHES: &str = "context-switches";
/// The start of the names of the threads that serve HTTP. Other threads write to the database.
const WORKER: &str = "actix-server wo";
/// The file of the counts.
const COUNTS: &str = "counts";
/// The time that `perf` has to attach to all threads, of which it does not report the end.
const START: Duration = Duration::from_secs(1);
/// The text in place of a count for a process that did not run at all.
const NOT_COUNTED: &str = "<not counted>";

/// Counts since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Calls {
    /// Writes to eventfds.
    pub wakes: f64,
    /// Writes to sockets by the threads of the HTTP server.
    pub sends: f64,
    /// Context switches.
    pub switches: f64,
}

impl Calls {
    /// Returns the counts of one of `number` equal operations.
    #[must_use]
    pub fn divided_by(self, number: f64) -> Self {
        Self {
            wakes: self.wakes / number,
            sends: self.sends / number,
            switches: self.switches / number,
        }
    }
}

/// Counts the calls of one process.
pub struct CallCounter {
    in_process: Perf,
    in_workers: Perf,
}

impl CallCounter {
    /// Returns true if this machine can count: `perf` is installed and may trace system calls.
    pub fn is_available() -> bool {
        let mut perf = Command::new("perf");
        succeeds(perf.args(["stat", "-e", WAKE, "true"]))
    }

    /// Starts to count the calls of all threads that `process` has now.
    pub fn start(process: u32) -> Result<Self> {
        let wakes = ["--event", WAKE, "--filter", WAKE_FILTER];
        let in_process = [&wakes[..], &["--event", SWITCHES]].concat();
        let workers = process_stats::threads(process, WORKER)?.join(",");
        let counter = Self {
            in_process: Perf::start("--pid", &process.to_string(), &in_process)?,
            in_workers: Perf::start("--tid", &workers, &["--event", &SENDS.join(",")])?,
        };
        thread::sleep(START);
        Ok(counter)
    }

    /// Ends the count.
    pub fn stop(self) -> Result<Calls> {
        let counts = [self.in_process.stop()?, self.in_workers.stop()?];
        parse(&counts.concat())
    }
}

/// A running `perf stat`.
struct Perf {
    process: Child,
    folder: TempDir,
}

impl Perf {
    /// Starts to count events of a process or of threads.
    fn start(of: &str, ids: &str, events: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let mut command = Command::new("perf");
        command.args(["stat", "--field-separator", ",", "--output"]);
        command.arg(folder.path().join(COUNTS));
        command.args(events).args([of, ids]);
        let process = command.stdin(Stdio::null()).spawn();
        let process = process.context("cannot start perf")?;
        Ok(Self { process, folder })
    }

    /// Ends the count, and returns it as it is printed.
    fn stop(mut self) -> Result<String> {
        signal("INT", &[self.process.id()])?;
        self.process.wait().context("cannot wait for perf")?;
        let counts = fs::read_to_string(self.folder.path().join(COUNTS));
        counts.context("perf has written no counts")
    }
}

impl Drop for Perf {
    fn drop(&mut self) {
        // An error means that it has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Parses lines of the form `<count>,<unit>,<event>,…`.
fn parse(counts: &str) -> Result<Calls> {
    let mut calls = Calls::default();
    let mut known = 0;
    for line in counts.lines() {
        let mut fields = line.split(',');
        let (Some(count), Some(event)) = (fields.next(), fields.nth(1)) else {
            continue;
        };
        let count = if count == NOT_COUNTED { "0" } else { count };
        let count = count
            .parse::<f64>()
            .with_context(|| format!("perf cannot count: {line}"))?;
        known += 1;
        match event {
            WAKE => calls.wakes += count,
            SWITCHES => calls.switches += count,
            _ => calls.sends += count,
        }
    }
    if known != SENDS.len() + 2 {
        bail!("perf has counted something else: {counts}");
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_by_event() {
        let counts = "# started on Mon Jan  1\n\n\
            12,,syscalls:sys_enter_write,1,100.00,,\n\
            3,,syscalls:sys_enter_sendto,1,100.00,,\n\
            4,,syscalls:sys_enter_sendmsg,1,100.00,,\n\
            <not counted>,,syscalls:sys_enter_writev,0,100.00,,\n\
            99,,context-switches,1,100.00,,\n";
        let expected = Calls {
            wakes: 12.0,
            sends: 7.0,
            switches: 99.0,
        };
        assert_eq!(parse(counts).unwrap(), expected);
    }

    #[test]
    fn an_event_that_is_not_counted_is_an_error() {
        let counts = "<not supported>,,syscalls:sys_enter_write,0,100.00,,\n";
        assert!(parse(counts).is_err());
        assert!(parse("").is_err());
    }
}
