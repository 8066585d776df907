//! A proxy that terminates TLS, with the certificate of an authority of its own.

use std::{net::SocketAddr, path::Path, sync::Arc};

use rcgen::{CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// A proxy. Dropping it closes its port and all connections.
pub(crate) struct TlsProxy {
    /// The base URL of the service behind it.
    pub(crate) url: String,
    authority: String,
    _tasks: JoinSet<()>,
}

impl TlsProxy {
    /// Starts a proxy in front of a service, which offers these protocols by ALPN.
    pub(crate) async fn start(service: SocketAddr, protocols: &[&str]) -> Self {
        let (config, authority) = tls(protocols);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                connections.spawn(async move {
                    if let Ok(mut client) = acceptor.accept(client).await
                        && let Ok(mut server) = TcpStream::connect(service).await
                    {
                        let _closed = copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
        });
        Self {
            url: format!("https://localhost:{port}"),
            authority,
            _tasks: tasks,
        }
    }

    /// Writes the certificate of the authority to a file, and returns its path.
    pub(crate) fn authority_in(&self, folder: &Path) -> String {
        let path = folder.join("authority.pem");
        std::fs::write(&path, &self.authority).expect("a writable folder");
        path.to_str().expect("UTF-8").to_owned()
    }
}

/// Returns the settings of a server for `localhost`, and the certificate of its authority as PEM.
fn tls(protocols: &[&str]) -> (ServerConfig, String) {
    let authority_key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::new([]).expect("parameters");
    authority.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = authority.self_signed(&authority_key);
    let authority_pem = certificate.expect("a certificate").pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().expect("a key");
    let server = CertificateParams::new(["localhost".to_owned()]).expect("parameters");
    let server = server.signed_by(&key, &issuer).expect("a certificate");
    let chain: Vec<CertificateDer<'static>> = vec![server.der().clone()];
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a valid key");
    let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
    config.alpn_protocols = protocols.collect();
    (config, authority_pem)
}
