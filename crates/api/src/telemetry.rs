//! Logs and metrics of the process.

mod log_output;
mod log_queue;
mod logs;
mod metrics;

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io::{self, IsTerminal as _},
    panic,
    time::Duration,
};

use ::metrics::SetRecorderError;
use metrics_exporter_prometheus::{BuildError, PrometheusHandle, PrometheusRecorder};
use tracing_subscriber::{filter::ParseError, util::SubscriberInitExt as _};

use self::{log_queue::LogQueue, logs::subscriber, metrics::recorder};
use crate::settings::LogSettings;

pub use self::metrics::run_upkeep;

/// The time for which the end of the process waits until the log is written.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(1);

/// Logs or metrics cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The level is not a valid filter. Loaded settings have been checked.
    #[error("LOG__LEVEL is not a filter")]
    Filter(#[from] ParseError),
    /// The process has already set up logging.
    #[error("logging is set up already")]
    Logs(#[from] tracing_subscriber::util::TryInitError),
    /// The thread that writes the log cannot be started.
    #[error("the log's thread cannot be started")]
    Thread(#[from] io::Error),
    /// The buckets of histograms are rejected.
    #[error("the histograms cannot be built")]
    Histograms(#[from] BuildError),
    /// The process has already set up metrics.
    #[error("metrics are set up already")]
    Metrics(#[from] SetRecorderError<PrometheusRecorder>),
}

/// The log of the process. Dropping this waits until it is written, for at most a second.
pub struct LogGuard(LogQueue);

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.0.wait_until_written(LAST_LINES_TIMEOUT);
    }
}

/// Sets up logs (on stderr) and metrics of the process, once. The handle renders the metrics;
/// [`run_upkeep`] must run, or histograms grow without limit.
pub fn init(settings: &LogSettings) -> Result<(PrometheusHandle, LogGuard), TelemetryError> {
    let recorder = recorder()?;
    let handle = recorder.handle();
    // Set before the first log line, so that a line that cannot be written is counted.
    ::metrics::set_global_recorder(recorder)?;
    let is_terminal = io::stderr().is_terminal();
    let queue = LogQueue::start(io::stderr())?;
    subscriber(settings, is_terminal, queue.clone())?.try_init()?;
    log_panics();
    Ok((handle, LogGuard(queue)))
}

/// Logs panics, which are written to stderr otherwise: the thread would wait for its reader.
fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        let backtrace = Backtrace::capture();
        let backtrace = (backtrace.status() == BacktraceStatus::Captured)
            .then(|| tracing::field::display(backtrace));
        tracing::error!(backtrace, "{panic}");
    }));
}
