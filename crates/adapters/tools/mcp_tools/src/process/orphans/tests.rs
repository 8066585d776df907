use std::time::Instant;

use nix::{
    errno::Errno,
    sys::wait::{Id, WaitPidFlag, waitid},
};

use super::*;

/// Waits until a child has exited, and leaves it as a zombie.
fn wait_for_exit(pid: Pid) {
    let exited = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    waitid(Id::Pid(pid), exited).expect("a child");
}

#[tokio::test]
async fn orphans_are_reaped_and_own_children_keep_their_status() {
    let mut command = Command::new("sh");
    let (mut child, own_child) = spawn(command.args(["-c", "exit 3"])).expect("a shell");
    wait_for_exit(own_child.pid());
    reap();
    assert_eq!(child.wait().await.expect("its status").code(), Some(3));
    drop(own_child);

    let mut orphan = std::process::Command::new("true").spawn().expect("a child");
    let pid = Pid::from_raw(i32::try_from(orphan.id()).expect("an id"));
    wait_for_exit(pid);
    let exists = || {
        let exited = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        waitid(Id::Pid(pid), exited) != Err(Errno::ECHILD)
    };
    // Children of other tests may be in front of it.
    let began = Instant::now();
    while exists() {
        assert!(began.elapsed() < Duration::from_mins(1), "it is not reaped");
        reap();
        tokio::task::yield_now().await;
    }
    orphan.wait().expect_err("it was waited for");
}
