//! A script that runs when this process ends, even if it is killed.

use std::{
    os::unix::process::CommandExt as _,
    process::{Child, Stdio},
};

use anyhow::{Context as _, Result};

use super::user::SystemUser;

/// A shell script that runs when this is dropped, and when this process is interrupted or killed:
/// the shell waits for the end of its input, whose other end only this process holds.
pub(super) struct CleanupScript {
    shell: Child,
}

impl CleanupScript {
    /// Starts a shell that waits to run `script` with `arguments` as `$1`, `$2`, …
    pub(super) fn prepare(user: &SystemUser, script: &str, arguments: &[&str]) -> Result<Self> {
        let waiting = format!("trap '' HUP INT TERM\nread -r _\n{script}");
        let shell = user
            .command("sh")
            .args(["-c", &waiting, "afterwards"])
            .args(arguments)
            // Ctrl-C goes to the process group of the terminal, which must not contain the shell.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start a shell")?;
        Ok(Self { shell })
    }
}

impl Drop for CleanupScript {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // A failure cannot be reported here.
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_script_has_run_once_it_is_dropped_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("with a space");
        let cleanup = CleanupScript::prepare(
            &SystemUser::current(),
            "echo done >\"$1\"",
            &[path.to_str().unwrap()],
        )
        .unwrap();
        assert!(!path.exists());
        drop(cleanup);
        assert_eq!(fs::read_to_string(path).unwrap(), "done\n");
    }
}
