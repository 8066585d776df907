//! Something that must be done when we are gone, however that comes about.

use std::{
    os::unix::process::CommandExt as _,
    process::{Child, Stdio},
};

use anyhow::{Context as _, Result};

use super::user::User;

/// A shell script that runs when this is dropped, and also when this process is interrupted or
/// killed: a shell waits for the end of its input, whose other end only we hold.
pub(super) struct Afterwards {
    shell: Child,
}

impl Afterwards {
    /// Has `script` run afterwards with `arguments` as `$1`, `$2`, …
    pub(super) fn run(user: &User, script: &str, arguments: &[&str]) -> Result<Self> {
        let waiting = format!("trap '' HUP INT TERM\nread -r _\n{script}");
        let shell = user
            .command("sh")
            .args(["-c", &waiting, "afterwards"])
            .args(arguments)
            // Out of reach of the terminal's Ctrl-C, which goes to our group.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start a shell")?;
        Ok(Self { shell })
    }
}

impl Drop for Afterwards {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // There is nobody to tell that the shell could not be waited for.
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
        let afterwards = Afterwards::run(
            &User::ourselves(),
            "echo done >\"$1\"",
            &[path.to_str().unwrap()],
        )
        .unwrap();
        assert!(!path.exists());
        drop(afterwards);
        assert_eq!(fs::read_to_string(path).unwrap(), "done\n");
    }
}
