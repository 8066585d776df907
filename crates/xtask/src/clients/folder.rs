//! The folder with everything that the programs need.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::process::output;

/// What decides which libraries there are.
const INPUTS: [&str; 4] = [
    "package.json",
    "package-lock.json",
    ".npmrc",
    "requirements.txt",
];

/// Holds, once the libraries are there, everything that they were chosen by.
const STAMP: &str = "stamp";

/// Copies the programs into the folder and fetches their libraries, unless it has them already.
pub(super) fn prepare(programs: &Path, folder: &Path, versions: &str) -> Result<()> {
    fs::create_dir_all(folder).context("cannot make the folder of the client libraries")?;
    // Two runs at once would fetch into each other's hands.
    let lock = File::create(folder.join("lock")).context("cannot make a lock file")?;
    lock.lock().context("cannot take the lock file")?;

    copy(programs, folder)?;
    let wanted = stamp(folder, versions)?;
    let path = folder.join(STAMP);
    if fs::read_to_string(&path).is_ok_and(|found| found == wanted) {
        println!("{} is up to date", folder.display());
        return Ok(());
    }
    if path.exists() {
        fs::remove_file(&path).context("cannot remove the old stamp")?;
    }
    fetch(folder)?;
    fs::write(&path, wanted).context("cannot write the stamp")?;
    println!("fetched the libraries into {}", folder.display());
    Ok(())
}

fn copy(programs: &Path, folder: &Path) -> Result<()> {
    let unreadable = || format!("cannot read {}", programs.display());
    for entry in fs::read_dir(programs).with_context(unreadable)? {
        let from = entry.with_context(unreadable)?;
        if from.path().is_dir() {
            continue;
        }
        fs::copy(from.path(), folder.join(from.file_name()))
            .with_context(|| format!("cannot copy {}", from.path().display()))?;
    }
    Ok(())
}

/// The path is part of it, since virtual environments do not survive a move.
fn stamp(folder: &Path, versions: &str) -> Result<String> {
    let mut stamp = format!("{}\n{versions}", folder.display());
    for name in INPUTS {
        let text = fs::read_to_string(folder.join(name));
        stamp.push_str(&text.with_context(|| format!("cannot read {name}"))?);
    }
    Ok(stamp)
}

fn fetch(folder: &Path) -> Result<()> {
    let fetch = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        output(command.current_dir(folder).args(arguments))
    };
    fetch("npm", &["ci", "--ignore-scripts"])?;
    fetch("python3", &["-m", "venv", "--clear", "venv"])?;
    let pip = folder.join("venv/bin/pip");
    let pip = pip.to_str().context("the folder's path is not UTF-8")?;
    fetch(pip, &["install", "--requirement", "requirements.txt"])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_has_what_is_wanted_is_only_given_the_programs() {
        let (programs, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in INPUTS {
            fs::write(programs.path().join(name), name).unwrap();
        }
        fs::write(programs.path().join("client.py"), "print(1)").unwrap();
        copy(programs.path(), folder.path()).unwrap();
        let wanted = stamp(folder.path(), "node 20").unwrap();
        fs::write(folder.path().join(STAMP), &wanted).unwrap();

        fs::write(programs.path().join("client.py"), "print(2)").unwrap();
        prepare(programs.path(), folder.path(), "node 20").unwrap();
        let copied = fs::read_to_string(folder.path().join("client.py"));
        assert_eq!(copied.unwrap(), "print(2)");
        assert!(!folder.path().join("node_modules").exists());
    }

    #[test]
    fn other_inputs_and_other_tools_want_other_libraries() {
        let folder = tempfile::tempdir().unwrap();
        for name in INPUTS {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let before = stamp(folder.path(), "node 20").unwrap();
        assert_ne!(before, stamp(folder.path(), "node 22").unwrap());
        for name in INPUTS {
            fs::write(folder.path().join(name), "changed").unwrap();
            assert_ne!(before, stamp(folder.path(), "node 20").unwrap(), "{name}");
            fs::write(folder.path().join(name), name).unwrap();
        }
    }
}
