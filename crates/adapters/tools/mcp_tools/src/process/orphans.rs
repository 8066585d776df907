//! Processes whose parent has ended before them. The system makes them children of process 1, which
//! the service is in a container without an init. They remain as zombies until it waits for them.

use std::{collections::BTreeSet, io, time::Duration};

use nix::unistd::Pid;
use parking_lot::Mutex;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

const REAP_INTERVAL: Duration = Duration::from_secs(1);

/// The children whose exit status is needed. Locked while one is started and while orphans are reaped,
/// so that no status is lost.
static OWN_CHILDREN: Mutex<BTreeSet<Pid>> = Mutex::new(BTreeSet::new());

/// Excludes a child from those that are reaped, until dropped.
pub(super) struct OwnChild(Pid);

impl OwnChild {
    /// Returns the id of the child.
    pub(super) const fn pid(&self) -> Pid {
        self.0
    }
}

impl Drop for OwnChild {
    fn drop(&mut self) {
        OWN_CHILDREN.lock().remove(&self.0);
    }
}

/// Starts a child whose exit status the caller needs.
pub(super) fn spawn(command: &mut Command) -> io::Result<(Child, OwnChild)> {
    let mut own_children = OWN_CHILDREN.lock();
    let child = command.spawn()?;
    let pid = child.id().and_then(|id| i32::try_from(id).ok());
    let pid = Pid::from_raw(pid.ok_or_else(|| io::Error::other("the process has no id"))?);
    own_children.insert(pid);
    Ok((child, OwnChild(pid)))
}

/// Waits for orphans until `stop`, if this is process 1. Otherwise they have another parent.
pub async fn reap_orphans(stop: CancellationToken) {
    if std::process::id() != 1 {
        return;
    }
    let mut ticks = tokio::time::interval(REAP_INTERVAL);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        reap();
    }
}

/// Waits for all children that have exited, up to the first whose exit status is needed: its
/// task reads it at once.
#[cfg(target_os = "linux")]
fn reap() {
    use nix::sys::wait::{Id, WaitPidFlag, waitid};

    let exited = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG;
    let own_children = OWN_CHILDREN.lock();
    while let Ok(status) = waitid(Id::All, exited | WaitPidFlag::WNOWAIT)
        && let Some(pid) = status.pid()
        && !own_children.contains(&pid)
        && waitid(Id::Pid(pid), exited).is_ok()
    {}
}

/// Containers run on Linux.
#[cfg(not(target_os = "linux"))]
const fn reap() {}

#[cfg(all(test, target_os = "linux"))]
mod tests;
