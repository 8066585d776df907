//! Logs and metrics of the process.

mod log_writer;

use std::{
    borrow::Cow,
    io::{self, IsTerminal},
    time::Duration,
};

use metrics::{SetRecorderError, Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{
    BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use tokio_util::sync::CancellationToken;
use tracing::Subscriber;
use tracing_subscriber::{
    EnvFilter, filter::ParseError, fmt::MakeWriter, util::SubscriberInitExt as _,
};

use self::log_writer::{LOG_LINES_DROPPED, LogWriter};
use crate::settings::{LogFormat, LogSettings};

/// The upper bounds of histograms in seconds: fine in the range of cached reads and batched writes,
/// coarse up to the timeouts of language models.
const SECONDS_BUCKETS: [f64; 15] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// The upper bounds of histograms that count items, such as those of a batch.
const COUNT_BUCKETS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// The interval at which histograms are aggregated.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

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
    metrics::set_global_recorder(recorder)?;
    let is_terminal = io::stderr().is_terminal();
    logs(settings, is_terminal, io::stderr)?.try_init()?;
    Ok(handle)
}

/// Records a request. `route` is the pattern of the route and never the path, because there are as
/// many paths as agents.
pub fn record_request(route: &'static str, method: &str, status: u16, took: Duration) {
    metrics::histogram!(
        "http_request_seconds",
        "route" => route,
        "method" => method_label(method),
        "status" => status_label(status),
    )
    .record(took.as_secs_f64());
}

/// Returns the label for a method. Unknown methods share one label, so that clients cannot create
/// time series.
fn method_label(method: &str) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    KNOWN
        .into_iter()
        .find(|known| *known == method)
        .unwrap_or("other")
}

/// Returns the label for a status, without an allocation for the usual ones.
fn status_label(status: u16) -> Cow<'static, str> {
    match status {
        200 => "200".into(),
        201 => "201".into(),
        204 => "204".into(),
        304 => "304".into(),
        other => other.to_string().into(),
    }
}

/// Bounds the memory of the metrics, until `stop`.
pub async fn run_upkeep(metrics: PrometheusHandle, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(UPKEEP_INTERVAL);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        metrics.run_upkeep();
    }
}

/// Libraries that do not log unless the level names them. `actix_http` logs an error for every
/// malformed request, with which anyone could fill the log; `rmcp` logs the addresses of tool
/// servers, which may contain secrets.
const SILENCED_LIBRARIES: [&str; 2] = ["actix_http", "rmcp"];

fn logs<W>(
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
        .with_writer(LogWriter::new(writer));
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

fn recorder() -> Result<PrometheusRecorder, BuildError> {
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS_BUCKETS)?
        .set_buckets_for_metric(Matcher::Suffix("_items".to_owned()), &COUNT_BUCKETS)?
        .build_recorder();
    metrics::with_local_recorder(&recorder, || {
        describe();
        // Published before the first one, because alerts compare with an earlier value.
        metrics::counter!(LOG_LINES_DROPPED).absolute(0);
    });
    Ok(recorder)
}

/// Describes all metrics. To add one, describe it here; histograms end in `_seconds` or `_items`.
fn describe() {
    describe_histogram!(
        "http_request_seconds",
        Unit::Seconds,
        "Time from the head of a request to the head of its response, by route, method and status."
    );
    describe_histogram!(
        "engine_seconds",
        Unit::Seconds,
        "Duration of one attempt of a reply engine, by engine and outcome ('ok' or a problem code)."
    );
    describe_gauge!(
        "engine_breaker_open",
        Unit::Count,
        "1 while the circuit breaker of a reply engine is open, by engine."
    );
    describe_histogram!(
        "tool_call_seconds",
        Unit::Seconds,
        "Duration of one tool call, by provider (a tool server, a built-in tool, or 'none' for a tool that the agent does not have) and status."
    );
    describe_histogram!(
        "store_batch_items",
        Unit::Count,
        "Number of chat writes that shared one transaction."
    );
    describe_histogram!(
        "store_batch_seconds",
        Unit::Seconds,
        "Time until such a batch was committed or failed, including retries after an unknown outcome."
    );
    describe_gauge!(
        "cache_bytes",
        Unit::Bytes,
        "The approximate size of each cache in memory."
    );
    describe_gauge!(
        "open_streams",
        Unit::Count,
        "Open streams, by kind: events or sockets."
    );
    describe_gauge!(
        "log_position",
        Unit::Count,
        "The newest event in the log of each tenant that this process has seen."
    );
    describe_counter!(
        "sockets_ended",
        Unit::Count,
        "Ended sockets, by reason: the close code, 'client', 'gone' (connection lost), or 'dropped' (server stopped)."
    );
    describe_counter!(
        LOG_LINES_DROPPED,
        Unit::Count,
        "Log lines that could not be written, for example because the disk was full."
    );
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A writer that keeps the log in memory.
    #[derive(Clone, Default)]
    struct CapturedLog(Arc<Mutex<Vec<u8>>>);

    impl io::Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A writer that fails when `room` bytes are written, like a full disk.
    #[derive(Clone)]
    struct SmallDisk {
        captured: CapturedLog,
        room: Arc<Mutex<usize>>,
    }

    impl io::Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut room = self.room.lock().unwrap();
            let length = bytes.len().min(*room);
            if length == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            *room -= length;
            self.captured.write(&bytes[..length])
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted_and_the_next_one_begins_on_a_new_line() {
        let room = Arc::new(Mutex::new(20));
        let disk = SmallDisk {
            captured: CapturedLog::default(),
            room: Arc::clone(&room),
        };
        let settings = LogSettings {
            format: Some(LogFormat::Json),
            level: "info".to_owned(),
        };
        let writer = disk.clone();
        let subscriber = logs(&settings, false, move || writer.clone()).unwrap();
        let recorder = recorder().unwrap();
        let dropped = |count| format!("log_lines_dropped {count}\n");
        assert!(recorder.handle().render().contains(&dropped(0)));
        metrics::with_local_recorder(&recorder, || {
            tracing::subscriber::with_default(subscriber, || {
                tracing::info!("torn");
                tracing::info!("without room");
                *room.lock().unwrap() = 10_000;
                tracing::info!("whole");
                tracing::info!("whole");
            });
        });
        let metrics = recorder.handle().render();
        assert!(metrics.contains(&dropped(2)), "{metrics}");
        let text = String::from_utf8(disk.captured.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        for whole in &lines[1..] {
            let line: serde_json::Value = serde_json::from_str(whole).unwrap();
            assert_eq!(line["message"], "whole");
        }
    }

    fn logged(format: Option<LogFormat>, level: &str, is_terminal: bool) -> String {
        let captured = CapturedLog::default();
        let settings = LogSettings {
            format,
            level: level.to_owned(),
        };
        let writer = captured.clone();
        let subscriber = logs(&settings, is_terminal, move || writer.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(route = "/api/agents", "slow");
            tracing::info!("started");
        });
        String::from_utf8(captured.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn without_a_terminal_each_line_is_a_json_object() {
        let text = logged(None, "info", false);
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["level"], "WARN");
        assert_eq!(lines[0]["message"], "slow");
        assert_eq!(lines[0]["route"], "/api/agents");
    }

    #[test]
    fn colours_are_for_terminals() {
        let text = logged(Some(LogFormat::Pretty), "info", false);
        assert!(text.contains("slow") && !text.contains('\u{1b}'), "{text}");
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_err());
    }

    #[test]
    fn events_below_the_level_are_not_logged() {
        let text = logged(None, "warn", false);
        assert!(text.contains("slow") && !text.contains("started"), "{text}");
    }

    #[test]
    fn requests_are_counted_by_route_method_and_status() {
        let recorder = recorder().unwrap();
        metrics::with_local_recorder(&recorder, || {
            record_request("/api/agents/{id}", "GET", 200, Duration::from_millis(2));
            record_request(
                "/api/agents/{id}",
                "INVENTED",
                405,
                Duration::from_millis(1),
            );
        });
        let text = recorder.handle().render();
        assert!(
            text.contains("# TYPE http_request_seconds histogram"),
            "{text}"
        );
        for line in [
            r#"{route="/api/agents/{id}",method="GET",status="200",le="0.001"} 0"#,
            r#"{route="/api/agents/{id}",method="GET",status="200",le="0.0025"} 1"#,
            r#"{route="/api/agents/{id}",method="other",status="405",le="+Inf"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }

    #[test]
    fn described_metrics_are_published_with_their_meaning() {
        let recorder = recorder().unwrap();
        metrics::with_local_recorder(&recorder, || {
            metrics::gauge!("log_position", "tenant" => "default").set(7);
            metrics::histogram!("store_batch_items").record(100.0);
        });
        let text = recorder.handle().render();
        assert!(
            text.contains("# HELP log_position The newest event"),
            "{text}"
        );
        assert!(
            text.contains(r#"log_position{tenant="default"} 7"#),
            "{text}"
        );
        assert!(
            text.contains(r#"store_batch_items_bucket{le="128"} 1"#),
            "counts have buckets of their own: {text}"
        );
    }
}
