//! Why a configuration is refused. No message repeats a value: it may be a secret, also when it
//! stands in the wrong place.

use std::{fmt, io, path::PathBuf};

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("cannot read the configuration file '{}'", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("the configuration file '{}' is not valid TOML{place}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it, as far as it is known: ` at line 1, column 5`.
        place: String,
    },
    /// Settings are unknown or have values that do not fit: all of them, not only the first.
    #[error("the configuration is not valid:{}", listed(.0))]
    Invalid(Vec<InvalidSetting>),
}

/// One setting that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidSetting {
    /// There is no setting of this name.
    Unknown {
        /// The name as it was given: of a variable, or of a key in the file.
        name: String,
        /// The names that there are beside it.
        known: Vec<String>,
    },
    /// The value does not have the form of this setting.
    BadValue {
        /// The setting's variable.
        variable: String,
        /// The key in the file, when the value stands there.
        file_key: Option<String>,
        /// What would fit.
        expected: String,
    },
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, known } => {
                write!(
                    formatter,
                    "{name} is unknown; there is {}",
                    known.join(", ")
                )
            }
            Self::BadValue {
                variable,
                file_key,
                expected,
            } => {
                formatter.write_str(variable)?;
                if let Some(key) = file_key {
                    write!(formatter, " ({key} in the file)")?;
                }
                write!(formatter, " must be {expected}")
            }
        }
    }
}

fn listed(settings: &[InvalidSetting]) -> String {
    settings.iter().fold(String::new(), |list, setting| {
        list + "\n  " + &setting.to_string()
    })
}
