//! Foreign software for the tests: programs that talk to the service by OAuth libraries of others,
//! and servers of others that the service talks to.

mod folder;
mod tools;

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::{environment, process::root};

/// Names the folder with the programs and the libraries that they need.
pub(crate) const FOLDER_VARIABLE: &str = "TEST_CLIENTS";

/// The programs, ready to be started.
pub(crate) struct Clients {
    folder: PathBuf,
}

impl Clients {
    /// Takes the folder that `TEST_CLIENTS` names, else prepares one below `target`, with libraries
    /// from the registries of npm and pip when what is needed has changed. Heavy tests need more.
    pub(crate) fn provide(install: bool, heavy: bool) -> Result<Self> {
        if let Some(folder) = environment::variable(FOLDER_VARIABLE) {
            println!("using the folder that {FOLDER_VARIABLE} names");
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

    /// Where they are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}
