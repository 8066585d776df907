//! The reasons why there is no connection to the home region.

use std::io;

use ports::BoxError;
use rustls::AlertDescription;

/// The reason why an attempt to connect has failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// Nothing responds at the address.
    #[error("the home region does not respond")]
    Unreachable(#[source] BoxError),
    /// The other end has no valid certificate, or TLS failed for another reason.
    #[error("TLS with the home region failed")]
    Tls(#[source] BoxError),
    /// The other end speaks HTTP/1.1 only.
    #[error(
        "the home region, or the proxy in front of it, does not offer HTTP/2 (ALPN protocol h2)"
    )]
    NoHttp2,
    /// A proxy responds in place of a home node.
    #[error("the proxy in front of the home region has responded with status {0}")]
    Proxy(u16),
}

impl ConnectError {
    /// Classifies an error of the handshake of TLS.
    pub(crate) fn of_tls(error: io::Error) -> Self {
        let cause = error.get_ref().and_then(|it| it.downcast_ref());
        match cause {
            Some(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => {
                Self::NoHttp2
            }
            Some(_) => Self::Tls(error.into()),
            // Not an error of TLS, but of the connection.
            None => Self::Unreachable(error.into()),
        }
    }
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(error.into())
    }
}
