//! Foreign client libraries for the tests: programs that talk to the service by OAuth libraries of
//! others, and an identity provider of somebody else's.

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
    /// from the registries of npm and pip when what is needed has changed.
    pub(crate) fn provide(install: bool) -> Result<Self> {
        if let Some(folder) = environment::variable(FOLDER_VARIABLE) {
            println!("using the folder that {FOLDER_VARIABLE} names");
            return Ok(Self {
                folder: folder.into(),
            });
        }
        let tools = tools::provide(install)?;
        let folder = root().join("target/clients");
        folder::prepare(&root().join("crates/api/tests/clients"), &folder, &tools)?;
        Ok(Self { folder })
    }

    /// Where they are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}
