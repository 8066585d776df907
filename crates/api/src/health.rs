//! Signs of life: `/livez`, `/readyz`, `/metrics`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use actix_web::{HttpResponse, web::Data};
use domain::ProblemCode;
use ports::Maintenance;
use serde::Serialize;
use tokio::sync::Mutex;
use utoipa::ToSchema;

use crate::{
    access::{Authorized, MetricsRead},
    problem::ApiError,
    state::ApiState,
};

/// How long the store may take to give a sign of life.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long an answer is good for.
const CACHED: Duration = Duration::from_secs(1);

/// Whether this process can do its work.
pub struct Readiness {
    store: Arc<dyn Maintenance>,
    draining: AtomicBool,
    last: Mutex<Option<(Instant, bool)>>,
}

impl Readiness {
    /// Readiness of a process beside this store.
    pub fn new(store: Arc<dyn Maintenance>) -> Self {
        Self {
            store,
            draining: AtomicBool::new(false),
            last: Mutex::new(None),
        }
    }

    /// From now on the process takes no new work.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    async fn check(&self) -> Result<(), ProblemCode> {
        if self.draining.load(Ordering::Acquire) {
            return Err(ProblemCode::Draining);
        }
        let mut last = self.last.lock().await;
        let alive = match *last {
            Some((at, alive)) if at.elapsed() < CACHED => alive,
            _ => {
                let answer = tokio::time::timeout(PATIENCE, self.store.ping()).await;
                let alive = matches!(answer, Ok(Ok(())));
                *last = Some((Instant::now(), alive));
                alive
            }
        };
        if alive {
            Ok(())
        } else {
            Err(ProblemCode::StoreUnavailable)
        }
    }
}

/// A sign of life.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    #[schema(value_type = String)]
    status: &'static str,
}

/// Ask whether the process lives. Touches nothing.
#[utoipa::path(
    get, path = "/livez", operation_id = "get_livez", tag = "Operation",
    responses((status = 200, description = "It lives.", body = Health)),
)]
pub async fn get_livez() -> HttpResponse {
    HttpResponse::Ok().json(Health { status: "ok" })
}

/// Ask whether the process can do its work: the store answers, and it is not shutting down.
#[utoipa::path(
    get, path = "/readyz", operation_id = "get_readyz", tag = "Operation",
    responses((status = 200, description = "It can.", body = Health)),
)]
pub async fn get_readyz(state: Data<ApiState>) -> Result<HttpResponse, ApiError> {
    state.readiness.check().await?;
    Ok(HttpResponse::Ok().json(Health { status: "ok" }))
}

/// Read the service's metrics, in the Prometheus text format.
#[utoipa::path(
    get, path = "/metrics", operation_id = "get_metrics", tag = "Operation",
    responses((status = 200, description = "The metrics.", body = String, content_type = "text/plain")),
)]
pub async fn get_metrics(
    _authorized: Authorized<MetricsRead>,
    state: Data<ApiState>,
) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4")
        .body(state.metrics.render())
}

/// Asks a running service whether it is ready; answers the status. HTTP by hand: a check that
/// runs every few seconds in a container should not carry a client's weight.
pub async fn ask(url: &str) -> anyhow::Result<u16> {
    use anyhow::Context as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let authority = url
        .strip_prefix("http://")
        .context("the URL must begin with http://")?
        .trim_end_matches('/');
    let address = if authority.contains(':') {
        authority.to_owned()
    } else {
        format!("{authority}:80")
    };
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(4096).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).context("no HTTP answer")?;
    Ok(status.parse()?)
}
