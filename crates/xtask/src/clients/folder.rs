//! The folder of the programs and their libraries.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
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
    /// True if npm fetches some of them.
    has_node: bool,
    /// Virtual environments and their requirements.
    environments: &'static [(&'static str, &'static str)],
    /// Folders of programs with libraries of their own.
    folders: &'static [&'static str],
}

/// The files that determine the libraries of a folder in the folder.
const FOLDER_INPUTS: [&str; 3] = ["package.json", "package-lock.json", "requirements.txt"];

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
    folders: &["ag_ui", "ai_sdk", "openai"],
};

/// The libraries of heavy tests: a language model server that is built from its source, and the
/// large libraries of web pages.
pub(super) const HEAVY: Libraries = Libraries {
    inputs: &["requirements-models.txt"],
    stamp: "stamp-heavy",
    has_node: false,
    environments: &[("venv-models", "requirements-models.txt")],
    folders: &["copilotkit"],
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
    let folders = copy_folders(programs, folder, libraries.folders)?;
    let mut wanted = stamp(folder, versions, libraries)?;
    for folder in &folders {
        let inputs = FOLDER_INPUTS.map(|name| fs::read_to_string(folder.join(name)));
        wanted.extend(inputs.into_iter().flatten());
    }
    let path = folder.join(libraries.stamp);
    if fs::read_to_string(&path).is_ok_and(|found| found == wanted) {
        println!("{} is up to date", folder.display());
        return Ok(());
    }
    if path.exists() {
        fs::remove_file(&path).context("cannot remove the old stamp")?;
    }
    fetch(folder, libraries)?;
    for folder in &folders {
        fetch_folder(folder)?;
    }
    fs::write(&path, wanted).context("cannot write the stamp")?;
    println!("fetched the libraries into {}", folder.display());
    Ok(())
}

/// Copies the files of a folder.
fn copy(programs: &Path, folder: &Path) -> Result<()> {
    for from in entries(programs)? {
        if from.is_dir() {
            continue;
        }
        let name = from.file_name().unwrap_or_default();
        fs::copy(&from, folder.join(name))
            .with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(())
}

/// Copies the programs in these folders, and returns the copies.
fn copy_folders(programs: &Path, folder: &Path, names: &[&str]) -> Result<Vec<PathBuf>> {
    let mut copies = Vec::new();
    for name in names {
        let into = folder.join(name);
        fs::create_dir_all(&into).with_context(|| format!("cannot make {}", into.display()))?;
        copy(&programs.join(name), &into)?;
        copies.push(into);
    }
    Ok(copies)
}

/// Returns the paths in a folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = || format!("cannot read {}", folder.display());
    let entries = fs::read_dir(folder).with_context(unreadable)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<Result<_, _>>().with_context(unreadable)
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
    if libraries.has_node {
        fetch_node(folder)?;
    }
    for (environment, requirements) in libraries.environments {
        fetch_python(folder, environment, requirements)?;
    }
    Ok(())
}

/// Fetches the libraries of a folder in the folder.
fn fetch_folder(folder: &Path) -> Result<()> {
    let [_, _, requirements] = FOLDER_INPUTS;
    fetch_node(folder)?;
    if folder.join(requirements).is_file() {
        fetch_python(folder, "venv", requirements)?;
    }
    Ok(())
}

fn fetch_node(folder: &Path) -> Result<()> {
    run(folder, "npm", &["ci", "--ignore-scripts"])
}

fn fetch_python(folder: &Path, environment: &str, requirements: &str) -> Result<()> {
    run(folder, "python3", &["-m", "venv", "--clear", environment])?;
    let pip = folder.join(environment).join("bin/pip");
    let pip = pip.to_str().context("the folder's path is not UTF-8")?;
    run(folder, pip, &["install", "--requirement", requirements])
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    output(command.current_dir(folder).args(arguments)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_has_what_is_wanted_is_only_given_the_programs() {
        let (programs, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let libraries = Libraries {
            folders: &[],
            ..EVERYDAY
        };
        for name in libraries.inputs {
            fs::write(programs.path().join(name), name).unwrap();
        }
        fs::write(programs.path().join("client.py"), "print(1)").unwrap();
        copy(programs.path(), folder.path()).unwrap();
        let wanted = stamp(folder.path(), "node 20", &libraries).unwrap();
        fs::write(folder.path().join(libraries.stamp), &wanted).unwrap();

        fs::write(programs.path().join("client.py"), "print(2)").unwrap();
        prepare(programs.path(), folder.path(), "node 20", &libraries).unwrap();
        let copied = fs::read_to_string(folder.path().join("client.py"));
        assert_eq!(copied.unwrap(), "print(2)");
        assert!(!folder.path().join("node_modules").exists());
    }

    #[test]
    fn the_files_of_a_named_folder_are_copied() {
        let (programs, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["own", "own/node_modules", "other"] {
            fs::create_dir(programs.path().join(name)).unwrap();
        }
        for name in FOLDER_INPUTS {
            fs::write(programs.path().join("own").join(name), name).unwrap();
        }
        let copies = copy_folders(programs.path(), folder.path(), &["own"]).unwrap();
        assert_eq!(copies, [folder.path().join("own")]);
        let files = entries(&copies[0]).unwrap();
        assert_eq!(files.len(), FOLDER_INPUTS.len(), "{files:?}");
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
