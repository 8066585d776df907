//! The home region, as a node of a far region reaches it.

use std::{net::IpAddr, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use domain::CallerClaims;
use futures::{future::BoxFuture, stream::BoxStream};
use http::{Request, Response};
use uuid::Uuid;

use crate::BoxError;

/// The body of a response of the home region, as it arrives. Dropping it informs the home region that
/// it is not read.
pub type HomeBody = BoxStream<'static, Result<Bytes, HomeError>>;

/// The body of a request to the home region.
pub enum SentBody {
    /// Its bytes.
    Whole(Bytes),
    /// Its bytes as they arrive. An error of the stream is that of the sender: the home region MUST NOT
    /// take what it has received for the whole.
    Streamed(BoxStream<'static, Result<Bytes, BoxError>>),
}

impl From<Bytes> for SentBody {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

/// The properties of a client's request that HTTP does not carry to the home region.
#[derive(Debug, Clone, Default)]
pub struct Forwarding {
    /// The authenticated caller; `None` if the request carries its own credential, or none.
    pub caller: Option<CallerClaims>,
    /// The address of the client, if known.
    pub client_address: Option<IpAddr>,
    /// True if the request has no other effect when it is sent twice.
    pub is_repeatable: bool,
}

/// The reason why the home region has not responded.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The request was not sent.
    #[error("the home region cannot be reached")]
    Unreachable(#[source] BoxError),
    /// The request was sent, and the connection was lost before the response: it is unknown whether
    /// it took effect.
    #[error("the connection to the home region was lost")]
    Lost(#[source] BoxError),
}

/// A request that cannot be built is not sent.
impl From<http::Error> for HomeError {
    fn from(error: http::Error) -> Self {
        Self::Unreachable(error.into())
    }
}

/// The last known state of the home region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HomeStatus {
    /// The time since its last report on the stream of signals; `None` before the first one.
    pub report_age: Option<Duration>,
    /// The newest access version that it has reported.
    pub access_version: i64,
    /// The time of a request to the home region and back.
    pub round_trip: Duration,
}

/// The home region, as a node of a far region reaches it.
#[async_trait]
pub trait Home: Send + Sync {
    /// Sends a request to a path and query, signed by this region, and returns when the head of the
    /// response has arrived. Without `forwarding` it is one of this node itself. MUST send it again
    /// only if it was provably not processed, or is repeatable, and not if a part of a streamed body was
    /// taken. MUST return `Unreachable` within about
    /// one second if there is no connection.
    async fn send(
        &self,
        request: Request<SentBody>,
        forwarding: Option<Forwarding>,
    ) -> Result<Response<HomeBody>, HomeError>;

    /// Returns the last known state of the home region.
    fn status(&self) -> HomeStatus;
}

/// The nodes of far regions, as a node of the home region exchanges signals with them.
pub trait FarNodes: Send + Sync {
    /// Returns the stream of signals to the node of a process. It MUST report at least once a second,
    /// tell the node when signals were lost, and end with `closing`, which it announces.
    fn open(&self, process: Uuid, closing: BoxFuture<'static, ()>) -> BoxStream<'static, Bytes>;

    /// Publishes the signals that a node has sent to all other nodes.
    fn receive(&self, process: Uuid, messages: &[u8]);
}
