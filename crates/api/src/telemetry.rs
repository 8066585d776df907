//! Logs and metrics of the process.

mod log_writer;
mod logs;
mod metrics;

use std::io::{self, IsTerminal as _};

use ::metrics::SetRecorderError;
use metrics_exporter_prometheus::{BuildError, PrometheusHandle, PrometheusRecorder};
use tracing_subscriber::{filter::ParseError, util::SubscriberInitExt as _};

use self::{logs::subscriber, metrics::recorder};
use crate::settings::LogSettings;

pub use self::metrics::{record_request, run_upkeep};

/// Logs or metrics cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The level is not a valid filter. Loaded settings have been checked.
    #[error("LOG__LEVEL is not a filter")]
    Filter(#[from] ParseError),
    /// The process has already set up logging.
    #[error("logging is set up already")]
    Logs(#[from] tracing_subscriber::util::TryInitError),
    /// The buckets of histograms are rejected.
    #[error("the histograms cannot be built")]
    Histograms(#[from] BuildError),
    /// The process has already set up metrics.
    #[error("metrics are set up already")]
    Metrics(#[from] SetRecorderError<PrometheusRecorder>),
}

/// Sets up logs (on stderr) and metrics of the process, once. The handle renders the metrics;
/// [`run_upkeep`] must run, or histograms grow without limit.
pub fn init(settings: &LogSettings) -> Result<PrometheusHandle, TelemetryError> {
    let recorder = recorder()?;
    let handle = recorder.handle();
    // Set before the first log line, so that a line that cannot be written is counted.
    ::metrics::set_global_recorder(recorder)?;
    let is_terminal = io::stderr().is_terminal();
    subscriber(settings, is_terminal, io::stderr)?.try_init()?;
    Ok(handle)
}
