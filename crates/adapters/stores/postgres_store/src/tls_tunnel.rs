//! TLS with servers whose certificate has version 1.
//!
//! `sqlx` reads the certificate also where it checks nothing, and cannot read this version, nor use
//! the TLS of another library. So it connects without TLS to a port of this process, from which a
//! tunnel leads to the server.

use std::{
    io::{self, ErrorKind},
    net::Ipv4Addr,
    sync::Arc,
    time::Duration,
};

use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{connections::CALL_TIMEOUT, error::is_temporary_io};

/// The request to continue with TLS, which the server accepts with one byte.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const ACCEPTED: u8 = b'S';
/// The pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The server at the end of a tunnel.
#[derive(Clone)]
struct Server {
    host: String,
    port: u16,
    name: ServerName<'static>,
    tls: TlsConnector,
}

/// A port of this process that leads to a server. Dropping it closes the port and its connections.
pub(crate) struct Tunnel(CancellationToken);

impl Tunnel {
    /// Opens a tunnel to the server of `options`, and returns the options that lead through it.
    pub(crate) async fn open(
        options: &PgConnectOptions,
        tasks: &TaskTracker,
    ) -> io::Result<(PgConnectOptions, Self)> {
        let host = options.get_host().to_owned();
        let invalid = |error| io::Error::new(ErrorKind::InvalidInput, error);
        let server = Server {
            name: ServerName::try_from(host.clone()).map_err(invalid)?,
            host,
            port: options.get_port(),
            tls: TlsConnector::from(Arc::new(unchecked_tls()?)),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let accept = accept(listener, server, tasks.clone(), stop.clone());
        tasks.spawn(stop.clone().run_until_cancelled_owned(accept));
        let options = options
            .clone()
            .host(&address.ip().to_string())
            .port(address.port())
            .ssl_mode(PgSslMode::Disable);
        Ok((options, Self(stop)))
    }

    /// Closes the port and its connections.
    pub(crate) fn close(&self) {
        self.0.cancel();
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.close();
    }
}

async fn accept(
    listener: TcpListener,
    server: Server,
    tasks: TaskTracker,
    stop: CancellationToken,
) {
    loop {
        if let Ok((client, _)) = listener.accept().await {
            let forwarded = forward(client, server.clone());
            tasks.spawn(stop.clone().run_until_cancelled_owned(forwarded));
        } else {
            // The process has too many open files.
            sleep(ACCEPT_PAUSE).await;
        }
    }
}

/// Forwards a connection until one of its ends closes it.
async fn forward(mut client: TcpStream, server: Server) {
    let connected = timeout(CALL_TIMEOUT, connect(&client, &server)).await;
    let connected = connected.unwrap_or_else(|elapsed| Err(elapsed.into()));
    match connected {
        Ok(mut stream) => drop(copy_bidirectional(&mut client, &mut stream).await),
        Err(error) => drop(report(&mut client, &error).await),
    }
}

async fn connect(client: &TcpStream, server: &Server) -> io::Result<TlsStream<TcpStream>> {
    client.set_nodelay(true)?;
    let mut stream = TcpStream::connect((server.host.as_str(), server.port)).await?;
    stream.set_nodelay(true)?;
    stream.write_all(&TLS_REQUEST).await?;
    if stream.read_u8().await? != ACCEPTED {
        let reason = "the server no longer offers TLS";
        return Err(io::Error::new(ErrorKind::InvalidData, reason));
    }
    server.tls.connect(server.name.clone(), stream).await
}

/// Rejects a connection as a server does, with the code of a failed connection, or of one that is not
/// worth another attempt.
async fn report(client: &mut TcpStream, error: &io::Error) -> io::Result<()> {
    // A connection that is closed with unread data loses the message.
    let mut request = [0; 1024];
    let _length = client.read(&mut request).await?;
    let code = if is_temporary_io(error) {
        "08006"
    } else {
        "08004"
    };
    let fields = format!("SFATAL\0VFATAL\0C{code}\0M{error}\0\0");
    let length = u32::try_from(fields.len() + size_of::<u32>()).map_err(io::Error::other)?;
    client.write_u8(b'E').await?;
    client.write_u32(length).await?;
    client.write_all(fields.as_bytes()).await?;
    client.shutdown().await
}

fn unchecked_tls() -> io::Result<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = AnyCertificate(Arc::clone(&provider));
    let versions = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let unchecked = versions
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    Ok(unchecked.with_no_client_auth())
}

/// Accepts every certificate, as the `sslmode` `prefer` and `require` do. Without knowing whose key it
/// is, a signature proves nothing.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.0.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{ConnectOptions as _, error::DatabaseError};

    use super::*;

    /// Returns the code of a connection through a tunnel to a server that responds with `response` to
    /// the request for TLS.
    async fn code_after(response: &'static [u8]) -> String {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let tasks = TaskTracker::new();
        tasks.spawn(async move {
            let (mut client, _) = listener.accept().await.expect("a connection");
            let mut request = TLS_REQUEST;
            client.read_exact(&mut request).await.expect("a request");
            client
                .write_all(response)
                .await
                .expect("an open connection");
        });
        let options = PgConnectOptions::new().host("127.0.0.1").port(port);
        let (options, _tunnel) = Tunnel::open(&options, &tasks).await.expect("a tunnel");
        let error = options.connect().await.expect_err("no connection");
        let code = error.as_database_error().and_then(DatabaseError::code);
        code.expect("a code").into_owned()
    }

    #[tokio::test]
    async fn a_connection_is_worth_another_attempt_only_while_the_server_offers_tls() {
        assert_eq!(code_after(b"").await, "08006");
        assert_eq!(code_after(b"N").await, "08004");
    }
}
