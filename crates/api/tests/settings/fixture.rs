//! The configuration of an operator, and its errors.

use std::{fs, path::PathBuf};

use api::settings::{InvalidSetting, Settings, SettingsError};

pub(crate) type Variables<'fixture> = &'fixture [(&'fixture str, &'fixture str)];

pub(crate) fn load(variables: Variables<'_>) -> Result<Settings, SettingsError> {
    Settings::load(None, owned(variables))
}

pub(crate) fn owned(variables: Variables<'_>) -> Vec<(String, String)> {
    variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// A configuration file that is deleted when the test ends.
pub(crate) struct ConfigFile {
    folder: tempfile::TempDir,
}

impl ConfigFile {
    pub(crate) fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        fs::write(folder.path().join("service.toml"), text).expect("a file in it");
        Self { folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("service.toml")
    }

    pub(crate) fn load(&self, variables: Variables<'_>) -> Result<Settings, SettingsError> {
        Settings::load(Some(&self.path()), owned(variables))
    }
}

/// A setting's variable as an operator would write it.
pub(crate) fn written(variable: &str) -> String {
    let variable = variable.replace("<ID>", "MAIN");
    variable.replace("<HEADER>", "AUTHORIZATION")
}

pub(crate) fn invalid_settings(outcome: Result<Settings, SettingsError>) -> Vec<InvalidSetting> {
    match outcome {
        Err(SettingsError::Invalid(settings)) => settings,
        other => panic!("expected refused settings, found {other:?}"),
    }
}

pub(crate) fn error_text(outcome: Result<Settings, SettingsError>) -> String {
    outcome.expect_err("to be refused").to_string()
}
