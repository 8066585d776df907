//! Errors of the configuration. No message contains a value, because a value may be a secret, even
//! in the wrong setting.

use std::{fmt, io, path::PathBuf};

/// An error of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("cannot read the configuration file '{}'", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("the configuration file '{}' is not valid TOML{position}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The position, if known: ` at line 1, column 5`.
        position: String,
    },
    /// Unknown settings and invalid values: all of them, not only the first.
    #[error("the configuration is not valid:{}", listed(.0))]
    Invalid(Vec<InvalidSetting>),
}

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidSetting {
    /// No setting has this name.
    Unknown {
        /// The name as written: of a variable, or of a key in the file.
        name: String,
        /// The known names in the same section.
        known: Vec<String>,
    },
    /// The value is invalid for this setting.
    BadValue {
        /// The setting's variable.
        variable: String,
        /// The key in the file, if the value is from there.
        file_key: Option<String>,
        /// A description of valid values, after "must be".
        expected: String,
    },
    /// The name that the variable contains is already in use.
    NameInUse {
        /// The setting's variable.
        variable: String,
        /// The key in the file, if the value is from there.
        file_key: Option<String>,
        /// The name, in lower case.
        name: String,
        /// The kind of thing that has the name, such as "an engine".
        used_by: &'static str,
    },
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, known } => {
                write!(
                    formatter,
                    "{name} is unknown; known settings are {}",
                    known.join(", ")
                )
            }
            Self::BadValue {
                variable,
                file_key,
                expected,
            } => {
                write_location(formatter, variable, file_key.as_deref())?;
                write!(formatter, " must be {expected}")
            }
            Self::NameInUse {
                variable,
                file_key,
                name,
                used_by,
            } => {
                write_location(formatter, variable, file_key.as_deref())?;
                write!(
                    formatter,
                    " cannot be set, because '{name}' is already the name of {used_by}; choose \
                     another name"
                )
            }
        }
    }
}

fn write_location(
    formatter: &mut fmt::Formatter<'_>,
    variable: &str,
    file_key: Option<&str>,
) -> fmt::Result {
    formatter.write_str(variable)?;
    match file_key {
        Some(key) => write!(formatter, " ({key} in the file)"),
        None => Ok(()),
    }
}

fn listed(settings: &[InvalidSetting]) -> String {
    settings.iter().fold(String::new(), |list, setting| {
        list + "\n  " + &setting.to_string()
    })
}
