//! The home region, as a node of a far region reaches it.

use std::{net::IpAddr, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use domain::Ticket;
use futures::{future::BoxFuture, stream::BoxStream};
use uuid::Uuid;

use crate::BoxError;

/// A request to the home region.
#[derive(Debug, Clone)]
pub struct HomeRequest {
    /// The HTTP method, in capitals.
    pub method: String,
    /// The path and the query.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, Bytes)>,
    /// The whole body.
    pub body: Bytes,
    /// The authenticated caller; `None` if the request carries its own credential, or none.
    pub caller: Option<Ticket>,
    /// The address of the client, if known.
    pub client_address: Option<IpAddr>,
    /// True if the request has no other effect when it is sent twice.
    pub is_repeatable: bool,
}

impl HomeRequest {
    /// Creates a request of this node itself, as opposed to one of a client.
    pub fn of_node(method: &str, path: String, body: Bytes) -> Self {
        Self {
            method: method.to_owned(),
            path,
            headers: vec![("content-length".to_owned(), body.len().to_string().into())],
            body,
            caller: None,
            client_address: None,
            is_repeatable: false,
        }
    }
}

/// A response of the home region.
pub struct HomeResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, Bytes)>,
    /// The body, as it arrives. Dropping it informs the home region that it is not read.
    pub body: BoxStream<'static, Result<Bytes, HomeError>>,
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
    /// Sends a request, signed by this region, and returns when the head of the response has
    /// arrived. MUST send it again only if it was provably not processed, or is repeatable. MUST
    /// return `Unreachable` within about one second if there is no connection.
    async fn send(&self, request: HomeRequest) -> Result<HomeResponse, HomeError>;

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
