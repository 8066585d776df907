//! The metrics of the process.

use std::time::Duration;

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{
    BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use tokio_util::sync::CancellationToken;

use super::log_output::LOG_LINES_DROPPED;

/// The upper bounds of histograms in seconds: fine in the range of cached reads and batched writes,
/// coarse up to the timeouts of language models.
const SECONDS_BUCKETS: [f64; 15] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// The upper bounds of histograms that count items, such as those of a batch.
const COUNT_BUCKETS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// The interval at which histograms are aggregated.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Bounds the memory of the metrics, until `stop`.
pub async fn run_upkeep(metrics: PrometheusHandle, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(UPKEEP_INTERVAL);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        metrics.run_upkeep();
    }
}

/// Creates the recorder, with all metrics described.
pub(super) fn recorder() -> Result<PrometheusRecorder, BuildError> {
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
        "log_position",
        Unit::Count,
        "The newest event in the log of each tenant that this process has seen."
    );
    describe_gauge!(
        "follower_lag",
        Unit::Count,
        "The number of events that a follower is behind, in the log in which it is furthest behind, by follower."
    );
    describe_counter!(
        LOG_LINES_DROPPED,
        Unit::Count,
        "Log lines that could not be written: the disk was full, or the log was not read."
    );
    describe_connections();
    describe_regions();
}

/// Describes the metrics of connections, to clients and other processes.
fn describe_connections() {
    describe_gauge!(
        "open_streams",
        Unit::Count,
        "Open streams, by kind: events or sockets."
    );
    describe_gauge!(
        "live_nodes",
        Unit::Count,
        "Nodes that are not known to be dead, this one included."
    );
    describe_gauge!(
        "lowest_node_level",
        Unit::Count,
        "The lowest level of the live nodes, those of far regions included."
    );
    describe_gauge!(
        "node_lease_age",
        Unit::Seconds,
        "Time since the last renewal of the lease of this node."
    );
    describe_gauge!(
        "limits_shared",
        Unit::Count,
        "1 while limits hold for all processes; 0 while this one counts on its own."
    );
    describe_histogram!(
        "limiter_seconds",
        Unit::Seconds,
        "Duration of round trips to the counters that processes share."
    );
    describe_gauge!(
        "bus_connected",
        Unit::Count,
        "1 while signals of other processes arrive; 0 if their changes are found once a second."
    );
    describe_counter!(
        "bus_signals_sent",
        Unit::Count,
        "Signals that were sent to other processes."
    );
    describe_counter!(
        "bus_signals_received",
        Unit::Count,
        "Signals that arrived from other processes."
    );
    describe_counter!(
        "bus_signals_dropped",
        Unit::Count,
        "Signals to other processes that could not be sent in time."
    );
    describe_counter!(
        "sockets_ended",
        Unit::Count,
        "Ended sockets, by reason: the close code, 'client', 'gone' (connection lost), or 'dropped' (server stopped)."
    );
}

/// Describes the metrics of a node of a far region.
fn describe_regions() {
    describe_gauge!(
        "region_home_connected",
        "1 while this node of a far region has a connection to the home region."
    );
    describe_gauge!(
        "region_home_round_trip_seconds",
        Unit::Seconds,
        "Time of a request to the home region and back."
    );
    describe_counter!(
        "region_reads",
        Unit::Count,
        "Reads of this node of a far region, by the database that answered."
    );
    describe_counter!(
        "region_forwarded",
        Unit::Count,
        "Requests to the home region, by outcome."
    );
}

#[cfg(test)]
mod tests {
    use kit::layers::record_request;

    use super::*;

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
