//! The metrics of requests.

use std::{borrow::Cow, time::Duration};

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
