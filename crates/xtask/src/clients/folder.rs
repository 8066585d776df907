//! The folder of the programs and their libraries.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
};

use anyhow::{Context as _, Result};
use dev_tools::process::output;

/// Libraries that are fetched together.
pub(super) struct Libraries {
    /// The files that determine the libraries.
    inputs: &'static [&'static str],
    /// The file that holds the inputs of the fetched libraries.
    stamp: &'static str,
    /// Whether npm fetches some of them.
    has_node: bool,
    /// Virtual environments and their requirements.
    environments: &'static [(&'static str, &'static str)],
}

/// The libraries of every test run.
pub(super) const EVERYDAY: Libraries = Libraries {
    inputs: &[
        "package.json",
        "package-lock.json",
        ".npmrc",
        "requirements.txt",
        "requirements-servers.txt",
    ],
    stamp: "stamp",
    has_node: true,
    environments: &[
        ("venv", "requirements.txt"),
        ("venv-servers", "requirements-servers.txt"),
    ],
};

/// The libraries of heavy tests: a language model server that is built from its source.
pub(super) const HEAVY: Libraries = Libraries {
    inputs: &["requirements-models.txt"],
    stamp: "stamp-heavy",
    has_node: false,
    environments: &[("venv-models", "requirements-models.txt")],
};

/// Copies the programs into the folder, and fetches the libraries unless they are up to date.
pub(super) fn prepare(
    programs: &Path,
    folder: &Path,
    versions: &str,
    libraries: &Libraries,
) -> Result<()> {
    fs::create_dir_all(folder).context("cannot make the folder of the client libraries")?;
    // Concurrent runs must not fetch into the same folder.
    let lock = File::create(folder.join("lock")).context("cannot make a lock file")?;
    lock.lock().context("cannot take the lock file")?;

    copy(programs, folder)?;
    let wanted = stamp(folder, versions, libraries)?;
    let path = folder.join(libraries.stamp);
    if fs::read_to_string(&path).is_ok_and(|found| found == wanted) {
        println!("{} is up to date", folder.display());
        return Ok(());
    }
    if path.exists() {
        fs::remove_file(&path).context("cannot remove the old stamp")?;
    }
    fetch(folder, libraries)?;
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

/// Returns the content of the stamp. It contains the path, since virtual environments cannot be
/// moved.
fn stamp(folder: &Path, versions: &str, libraries: &Libraries) -> Result<String> {
    let mut stamp = format!("{}\n{versions}", folder.display());
    for name in libraries.inputs {
        let text = fs::read_to_string(folder.join(name));
        stamp.push_str(&text.with_context(|| format!("cannot read {name}"))?);
    }
    Ok(stamp)
}

fn fetch(folder: &Path, libraries: &Libraries) -> Result<()> {
    let fetch = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        output(command.current_dir(folder).args(arguments))
    };
    if libraries.has_node {
        fetch("npm", &["ci", "--ignore-scripts"])?;
    }
    for (environment, requirements) in libraries.environments {
        fetch("python3", &["-m", "venv", "--clear", environment])?;
        let pip = folder.join(environment).join("bin/pip");
        let pip = pip.to_str().context("the folder's path is not UTF-8")?;
        fetch(pip, &["install", "--requirement", requirements])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_has_what_is_wanted_is_only_given_the_programs() {
        let (programs, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in EVERYDAY.inputs {
            fs::write(programs.path().join(name), name).unwrap();
        }
        fs::write(programs.path().join("client.py"), "print(1)").unwrap();
        copy(programs.path(), folder.path()).unwrap();
        let wanted = stamp(folder.path(), "node 20", &EVERYDAY).unwrap();
        fs::write(folder.path().join(EVERYDAY.stamp), &wanted).unwrap();

        fs::write(programs.path().join("client.py"), "print(2)").unwrap();
        prepare(programs.path(), folder.path(), "node 20", &EVERYDAY).unwrap();
        let copied = fs::read_to_string(folder.path().join("client.py"));
        assert_eq!(copied.unwrap(), "print(2)");
        assert!(!folder.path().join("node_modules").exists());
    }

    #[test]
    fn other_inputs_and_other_tools_want_other_libraries() {
        let folder = tempfile::tempdir().unwrap();
        for libraries in [&EVERYDAY, &HEAVY] {
            for name in libraries.inputs {
                fs::write(folder.path().join(name), name).unwrap();
            }
            let stamp = |versions| stamp(folder.path(), versions, libraries).unwrap();
            let before = stamp("node 20");
            assert_ne!(before, stamp("node 22"));
            for name in libraries.inputs {
                fs::write(folder.path().join(name), "changed").unwrap();
                assert_ne!(before, stamp("node 20"), "{name}");
                fs::write(folder.path().join(name), name).unwrap();
            }
        }
    }
}
