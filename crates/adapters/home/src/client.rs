//! The implementation of the port.

use std::{error::Error, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use domain::{ForwardedRequest, RegionKey, RegionName, region::body_digest};
use futures::{StreamExt as _, TryStreamExt as _};
use http::{Request, Response};
use http_body_util::{BodyDataStream, Full};
use hyper::body::Incoming;
use parking_lot::RwLock;
use ports::{Clock, Home, HomeError, HomeRequest, HomeResponse, HomeStatus, IdSource};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    address::HomeAddress,
    connection::{Connector, Sender},
};

/// The time for which a request waits for a connection.
const CONNECTION_WAIT: Duration = Duration::from_millis(800);

/// The identity of a region, with which it signs its requests.
pub struct Signer {
    /// The name of the region.
    pub region: RegionName,
    /// The key of the region.
    pub key: RegionKey,
    /// The time of signing.
    pub clock: Arc<dyn Clock>,
    /// The ids of requests.
    pub ids: Arc<dyn IdSource>,
}

impl Signer {
    fn sign(&self, request: &HomeRequest) -> String {
        let head = ForwardedRequest {
            region: self.region.clone(),
            sent_at: self.clock.now(),
            id: self.ids.next_id(),
            client_address: request.client_address,
            caller: request.caller.clone(),
            body_digest: body_digest(&request.body),
        };
        head.sign(&self.key, &request.method, &request.path)
    }
}

/// The header with the signed head of a request.
const SIGNATURE: &str = "x-region-request";

/// The home region of this process.
pub struct HomeClient {
    origin: String,
    base_path: String,
    signer: Signer,
    opened: watch::Receiver<Option<Sender>>,
    replace: Arc<Notify>,
    state: RwLock<ReportedState>,
    /// The time at which the stream of signals was opened; `None` without one.
    stream_since: watch::Sender<Option<Instant>>,
}

/// The state of the home region by its last report and the last measurement.
#[derive(Debug, Clone, Copy)]
struct ReportedState {
    /// `None` before the first report.
    reported_at: Option<Instant>,
    access_version: i64,
    round_trip: Duration,
}

impl HomeClient {
    /// Starts to connect. The task of the connection runs on the current runtime until `stop`.
    pub fn start(
        address: HomeAddress,
        signer: Signer,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<Self, rustls::Error> {
        let (origin, base_path) = (address.origin.clone(), address.base_path.clone());
        let connector = Connector::new(address, tasks.clone())?;
        let (opened, replace) = (connector.opened(), connector.replace());
        tasks.spawn(stop.clone().run_until_cancelled_owned(connector.run()));
        Ok(Self {
            origin,
            base_path,
            signer,
            opened,
            replace,
            state: RwLock::new(ReportedState {
                reported_at: None,
                access_version: 0,
                round_trip: Duration::ZERO,
            }),
            stream_since: watch::Sender::new(None),
        })
    }

    /// Records a report of the home region.
    pub(crate) fn heard(&self, access_version: i64) {
        let mut state = self.state.write();
        state.reported_at = Some(Instant::now());
        state.access_version = state.access_version.max(access_version);
    }

    /// Makes new requests use another connection, because the node at the other end shuts down.
    pub(crate) fn replace_connection(&self) {
        self.replace.notify_one();
    }

    /// Records the time of a request and its response.
    pub(crate) fn measured(&self, round_trip: Duration) {
        metrics::gauge!("region_home_round_trip_seconds").set(round_trip.as_secs_f64());
        self.state.write().round_trip = round_trip;
    }

    /// Records that the stream of signals was opened or lost.
    pub(crate) fn set_stream_open(&self, is_open: bool) {
        self.stream_since.send_replace(is_open.then(Instant::now));
    }

    /// Subscribes to the time at which the stream of signals was opened; `None` without one.
    pub(crate) fn stream_since(&self) -> watch::Receiver<Option<Instant>> {
        self.stream_since.subscribe()
    }

    /// Returns an open connection, as soon as there is one before `deadline`.
    async fn connection(&self, deadline: Instant) -> Result<Sender, HomeError> {
        let mut opened = self.opened.clone();
        let is_open = |sender: &Option<Sender>| sender.as_ref().is_some_and(|it| !it.is_closed());
        let found = timeout_at(deadline, opened.wait_for(is_open)).await;
        let unreachable = || HomeError::Unreachable("there is no connection".into());
        let sender = found.ok().and_then(Result::ok);
        sender.and_then(|it| (*it).clone()).ok_or_else(unreachable)
    }

    fn build(&self, request: &HomeRequest) -> Result<Request<Full<Bytes>>, http::Error> {
        let url = format!("{}{}{}", self.origin, self.base_path, request.path);
        let builder = Request::builder().method(request.method.as_str()).uri(url);
        let builder = request
            .headers
            .iter()
            .fold(builder, |builder, (name, value)| {
                builder.header(name.as_str(), &value[..])
            });
        let builder = builder.header(SIGNATURE, self.signer.sign(request));
        builder.body(Full::new(request.body.clone()))
    }
}

#[async_trait]
impl Home for HomeClient {
    async fn send(&self, request: HomeRequest) -> Result<HomeResponse, HomeError> {
        let deadline = Instant::now() + CONNECTION_WAIT;
        let mut can_repeat = request.is_repeatable;
        let mut lost = None;
        loop {
            let mut sender = match self.connection(deadline).await {
                Ok(sender) => sender,
                // It was sent once, and nobody knows what became of it.
                Err(error) => return Err(lost.unwrap_or(error)),
            };
            let built = self.build(&request);
            let built = built.map_err(|error| HomeError::Unreachable(error.into()))?;
            let failed = match sender.try_send_request(built).await {
                Ok(response) => return Ok(converted(response)),
                Err(failed) => failed,
            };
            let is_unsent = failed.message().is_some();
            let error = failed.into_error();
            if !is_unsent && !is_refused(&error) {
                lost = Some(HomeError::Lost(error.into()));
                if !std::mem::take(&mut can_repeat) {
                    break;
                }
            } else if Instant::now() >= deadline {
                return Err(HomeError::Unreachable(error.into()));
            }
            // The connection is closing, and its task replaces it.
            tokio::task::yield_now().await;
        }
        Err(lost.unwrap_or(HomeError::Unreachable("not sent".into())))
    }

    fn status(&self) -> HomeStatus {
        let state = *self.state.read();
        HomeStatus {
            report_age: state.reported_at.map(|at| at.elapsed()),
            access_version: state.access_version,
            round_trip: state.round_trip,
        }
    }
}

/// Returns true if the server has provably not processed a request.
fn is_refused(error: &hyper::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<h2::Error>() {
            let is_nack = error.reason() == Some(h2::Reason::REFUSED_STREAM);
            let is_closing = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
            return error.is_remote() && (is_nack || is_closing);
        }
        cause = error.source();
    }
    false
}

fn converted(response: Response<Incoming>) -> HomeResponse {
    let (head, body) = response.into_parts();
    let headers = head.headers.iter();
    let copied = |value: &http::HeaderValue| Bytes::copy_from_slice(value.as_bytes());
    HomeResponse {
        status: head.status.as_u16(),
        headers: headers
            .map(|(name, value)| (name.as_str().to_owned(), copied(value)))
            .collect(),
        body: BodyDataStream::new(body)
            .map_err(|error| HomeError::Lost(error.into()))
            .boxed(),
    }
}
