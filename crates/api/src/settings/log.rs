//! Settings of the log.

use tracing_subscriber::{EnvFilter, filter::LevelFilter};

use super::values::Values;

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Pretty,
    /// One JSON object a line, for machines.
    Json,
}

/// Settings of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// `LOG__FORMAT`; `None` means pretty on a terminal, and JSON otherwise.
    pub format: Option<LogFormat>,
    /// `LOG__LEVEL`: directives that `tracing_subscriber`'s `EnvFilter` takes.
    pub level: String,
}

impl LogSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let level = "off, error, warn, info, debug or trace, or directives such as info,sqlx=warn";
        Self {
            format: values.read_optional("LOG__FORMAT", "pretty or json", format),
            level: values.read("LOG__LEVEL", "info".to_owned(), level, directives),
        }
    }
}

fn format(text: &str) -> Option<LogFormat> {
    match text {
        "pretty" => Some(LogFormat::Pretty),
        "json" => Some(LogFormat::Json),
        _ => None,
    }
}

fn directives(text: &str) -> Option<String> {
    // A filter interprets an unknown word as the name of a module, so `inof` would silence all
    // others.
    let is_word = |part: &str| !part.contains(['=', ':', '[', ']', '{', '}']);
    let is_level = |part: &str| !part.is_empty() && part.parse::<LevelFilter>().is_ok();
    let misspelt = |part: &str| is_word(part) && !is_level(part);
    if text.split(',').any(misspelt) {
        return None;
    }
    let readable = EnvFilter::builder().parse(text).is_ok();
    readable.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_directives_are_accepted() {
        for good in [
            "info",
            "WARN",
            "off",
            "info,sqlx=warn",
            "warn,api::layers=debug,[request]=trace",
        ] {
            assert_eq!(directives(good).as_deref(), Some(good));
        }
    }

    #[test]
    fn misspelt_levels_are_rejected() {
        for bad in [
            "",
            "inof",
            "info,",
            "info,debgu",
            "sqlx=loud",
            "verbose,sqlx=warn",
        ] {
            assert_eq!(directives(bad), None, "{bad}");
        }
    }
}
