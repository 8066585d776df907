//! Third-party software for the tests: programs that use the service through OAuth libraries, and
//! servers that the service connects to.

mod folder;
mod tools;

use std::path::{Path, PathBuf};

use anyhow::Result;
use dev_tools::{environment, process::root};

pub(crate) use self::tools::provide_node;

/// The variable with the folder of the programs and their libraries.
pub(crate) const FOLDER_VARIABLE: &str = "TEST_CLIENTS";

/// The installed programs.
pub(crate) struct Clients {
    folder: PathBuf,
}

impl Clients {
    /// Uses the folder of `TEST_CLIENTS`, or else prepares one below `target`, with libraries from
    /// the registries of npm and pip if their versions have changed. Heavy tests need more
    /// libraries.
    pub(crate) fn provide(install: bool, heavy: bool) -> Result<Self> {
        if let Some(folder) = environment::variable(FOLDER_VARIABLE) {
            println!("using the folder of {FOLDER_VARIABLE}");
            return Ok(Self {
                folder: folder.into(),
            });
        }
        let tools = tools::provide(install)?;
        let folder = root().join("target/clients");
        let programs = root().join("crates/api/tests/clients");
        folder::prepare(&programs, &folder, &tools, &folder::EVERYDAY)?;
        if heavy {
            folder::prepare(&programs, &folder, &tools, &folder::HEAVY)?;
        }
        Ok(Self { folder })
    }

    /// The folder of the programs.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}
