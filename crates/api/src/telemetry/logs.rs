//! The log of the process.

use tracing::Subscriber;
use tracing_subscriber::{EnvFilter, filter::ParseError, fmt::MakeWriter};

use crate::settings::{LogFormat, LogSettings};

/// Libraries that do not log unless the level names them. `actix_http` logs an error for every
/// malformed request, with which anyone could fill the log; `rmcp` logs the addresses of tool
/// servers, which may contain secrets; `sqlx_core::pool` warns of each lost connection, again and
/// again during an outage that this program reports once.
const SILENCED_LIBRARIES: [&str; 3] = ["actix_http", "rmcp", "sqlx_core::pool"];

/// Creates the subscriber that writes log lines to `writer`.
pub(super) fn subscriber<W>(
    settings: &LogSettings,
    is_terminal: bool,
    writer: W,
) -> Result<Box<dyn Subscriber + Send + Sync>, ParseError>
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let format = settings.format.unwrap_or(if is_terminal {
        LogFormat::Pretty
    } else {
        LogFormat::Json
    });
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter(&settings.level)?)
        // The library reports its errors with `eprintln!`, which panics if stderr, the log, cannot
        // be written.
        .log_internal_errors(false)
        .with_writer(writer);
    Ok(match format {
        LogFormat::Json => Box::new(
            lines
                .json()
                .flatten_event(true)
                .with_span_list(false)
                .finish(),
        ),
        // On a terminal the library decides, which respects NO_COLOR.
        LogFormat::Pretty if is_terminal => Box::new(lines.finish()),
        LogFormat::Pretty => Box::new(lines.with_ansi(false).finish()),
    })
}

fn filter(level: &str) -> Result<EnvFilter, ParseError> {
    let mut filter = EnvFilter::builder().parse(level)?;
    for library in SILENCED_LIBRARIES
        .into_iter()
        .filter(|it| !level.contains(it))
    {
        filter = filter.add_directive(format!("{library}=off").parse()?);
    }
    Ok(filter)
}

#[cfg(test)]
mod tests;
