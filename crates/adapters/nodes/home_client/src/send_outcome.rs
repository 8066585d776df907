//! The outcome of sending a request once.

use std::error::Error;

use domain::region::REGION_CHALLENGE;
use futures::{StreamExt as _, TryStreamExt as _};
use http::{Request, Response, header::WWW_AUTHENTICATE};
use http_body_util::BodyDataStream;
use hyper::{body::Incoming, client::conn::TrySendError};
use ports::{BoxError, HomeBody, HomeError};
use tokio::sync::OwnedSemaphorePermit;

use crate::outgoing::WireBody;

/// The header that every response of a home node has.
const REQUEST_ID: &str = "x-request-id";

/// The outcome of sending a request once.
pub(crate) enum SendOutcome {
    /// The home region has responded.
    Answered(Box<Response<HomeBody>>),
    /// The home region has provably not processed it.
    Unprocessed(BoxError),
    /// The home region does not accept the signature, and has not processed it.
    Rejected,
    /// A proxy has responded with this status in place of a node: it is unknown whether it took effect.
    OfProxy(u16),
    /// It is unknown whether it took effect.
    Lost(BoxError),
}

impl SendOutcome {
    /// Classifies the outcome. `permits` are held until the body of the response is read or dropped.
    pub(crate) fn of(
        sent: Result<Response<Incoming>, TrySendError<Request<WireBody>>>,
        permits: Vec<OwnedSemaphorePermit>,
    ) -> Self {
        match sent {
            Ok(response) if !response.headers().contains_key(REQUEST_ID) => {
                Self::OfProxy(response.status().as_u16())
            }
            Ok(response) if is_rejection(&response) => Self::Rejected,
            Ok(response) => Self::Answered(Box::new(response.map(|body| held(body, permits)))),
            Err(failed) => {
                let is_unsent = failed.message().is_some();
                let error = failed.into_error();
                if is_unsent || is_refused(&error) {
                    Self::Unprocessed(error.into())
                } else {
                    Self::Lost(error.into())
                }
            }
        }
    }
}

/// Returns true for the response to a request whose signature is not valid.
fn is_rejection(response: &Response<Incoming>) -> bool {
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    challenge.is_some_and(|challenge| challenge == REGION_CHALLENGE)
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

/// Holds `permits` until the body is read or dropped.
fn held(body: Incoming, permits: Vec<OwnedSemaphorePermit>) -> HomeBody {
    BodyDataStream::new(body)
        .map_err(move |error| {
            // Captured, so that they are released with the body.
            let _held = &permits;
            HomeError::Lost(error.into())
        })
        .boxed()
}
