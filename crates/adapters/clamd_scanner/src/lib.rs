//! Scans contents of files with clamd, the daemon of `ClamAV`.

use std::{io, path::PathBuf, str::FromStr, time::Duration};

use async_trait::async_trait;
use clamav_client::tokio::{Socket, Tcp, scan_stream};
use futures::TryStreamExt as _;
use ports::{BlobStream, BoxError, FileScanner};
use tokio::time::timeout;

/// The time in which a content must be scanned.
const MAX_TIME: Duration = Duration::from_mins(1);

/// The address of clamd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClamdAddress {
    /// A host and a port.
    Tcp(String),
    /// The path of a socket.
    Unix(PathBuf),
}

/// The error for a text that is no address of clamd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be tcp://host:port or unix:/path")]
pub struct MalformedAddress;

impl FromStr for ClamdAddress {
    type Err = MalformedAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(path) = text.strip_prefix("unix:") {
            let is_absolute = path.starts_with('/');
            return is_absolute
                .then(|| Self::Unix(path.into()))
                .ok_or(MalformedAddress);
        }
        let place = text.strip_prefix("tcp://").ok_or(MalformedAddress)?;
        let (host, port) = place.rsplit_once(':').ok_or(MalformedAddress)?;
        let is_valid = !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0);
        is_valid
            .then(|| Self::Tcp(place.to_owned()))
            .ok_or(MalformedAddress)
    }
}

/// clamd, to which contents are streamed. It opens one connection for each.
#[derive(Debug, Clone)]
pub struct ClamdScanner(pub ClamdAddress);

#[async_trait]
impl FileScanner for ClamdScanner {
    async fn is_clean(&self, content: BlobStream) -> Result<bool, BoxError> {
        let content = content.map_err(io::Error::other);
        let response = match &self.0 {
            ClamdAddress::Tcp(place) => {
                let tcp = Tcp {
                    host_address: place.as_str(),
                };
                timeout(MAX_TIME, scan_stream(content, tcp, None)).await
            }
            ClamdAddress::Unix(path) => {
                let socket = Socket { socket_path: path };
                timeout(MAX_TIME, scan_stream(content, socket, None)).await
            }
        };
        verdict(&response??)
    }
}

/// Reads the response, such as `stream: OK` or `stream: Eicar-Signature FOUND`. Every other one is an error.
fn verdict(response: &[u8]) -> Result<bool, BoxError> {
    let text = String::from_utf8_lossy(response);
    let text = text.trim_end_matches(['\0', '\n']);
    if text.ends_with(" FOUND") {
        return Ok(false);
    }
    if text == "stream: OK" {
        return Ok(true);
    }
    Err(format!(
        "clamd responds: {}",
        text.chars().take(200).collect::<String>()
    )
    .into())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("tcp://127.0.0.1:3310", Ok(ClamdAddress::Tcp("127.0.0.1:3310".to_owned())))]
    #[case("tcp://[::1]:3310", Ok(ClamdAddress::Tcp("[::1]:3310".to_owned())))]
    #[case("tcp://clamd:3310", Ok(ClamdAddress::Tcp("clamd:3310".to_owned())))]
    #[case("unix:/run/clamav/clamd.ctl", Ok(ClamdAddress::Unix("/run/clamav/clamd.ctl".into())))]
    #[case("unix:clamd.ctl", Err(MalformedAddress))]
    #[case("tcp://clamd", Err(MalformedAddress))]
    #[case("tcp://:3310", Err(MalformedAddress))]
    #[case("tcp://clamd:0", Err(MalformedAddress))]
    #[case("tcp://clamd:3310/", Err(MalformedAddress))]
    #[case("clamd:3310", Err(MalformedAddress))]
    fn addresses_are_read(
        #[case] text: &str,
        #[case] expected: Result<ClamdAddress, MalformedAddress>,
    ) {
        assert_eq!(text.parse(), expected);
    }

    #[rstest]
    #[case(b"stream: OK\0", Some(true))]
    #[case(b"stream: Eicar-Signature FOUND\0", Some(false))]
    #[case(b"stream: OK FOUND\n", Some(false))]
    #[case(b"INSTREAM size limit exceeded. ERROR\0", None)]
    #[case(b"", None)]
    fn verdicts_are_read(#[case] response: &[u8], #[case] expected: Option<bool>) {
        assert_eq!(verdict(response).ok(), expected);
    }
}
