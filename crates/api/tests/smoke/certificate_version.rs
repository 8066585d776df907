//! A database server whose certificate has version 1, as `openssl x509 -req` made them before its version 3.2.

use std::{
    fs,
    time::{Duration, Instant},
};

use dev_tools::postgres::DurableServer;
use serde_json::json;

use crate::{
    chat_client::key,
    process::{RunningService, folder, refusal, service},
    requests::post,
};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// For `localhost`, signed by itself, until 2126.
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBJDCBywIUdLrvegSgx5mA+qpbC0sb2jTdZawwCgYIKoZIzj0EAwIwFDESMBAG\n\
A1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyODA5MDAyMFoYDzIxMjYxMTA0MDkwMDIw\n\
WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n\
AASUcw+n+ed4Lx0JmiXssROYFo0jacr0cX5AEnrMCDkmLOuG5agxsEXozowkVNkn\n\
vYMwSzjI5IRT46BKIdO97XwuMAoGCCqGSM49BAMCA0gAMEUCIDtJRU9j5xnWcE2d\n\
3xdmwYruLO92APVV2m2h3KyNWMqPAiEAivjaki/J9Kj3Y3Pah2J1w7B1FsWUjgoJ\n\
08gOUUxAusE=\n\
-----END CERTIFICATE-----";
/// Its key, which nothing else uses.
const KEY: &str = "\
-----BEGIN PRIVATE KEY-----\n\
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgdWjbavT4L2KxuF9w\n\
Vfvmj//zxxxHGsAWu+s3/qs1AHGhRANCAASUcw+n+ed4Lx0JmiXssROYFo0jacr0\n\
cX5AEnrMCDkmLOuG5agxsEXozowkVNknvYMwSzjI5IRT46BKIdO97Xwu\n\
-----END PRIVATE KEY-----";

/// A certificate of version 3 for the same key, which a client presents.
const CLIENT_CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBeTCCAR+gAwIBAgIUXPNlaWjnq3s+rwUGRizN7tqzCY8wCgYIKoZIzj0EAwIw\n\
ETEPMA0GA1UEAwwGYWdlbnRzMCAXDTI2MTEyODEwMDI0NVoYDzIxMjYxMTA0MTAw\n\
MjQ1WjARMQ8wDQYDVQQDDAZhZ2VudHMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n\
AASUcw+n+ed4Lx0JmiXssROYFo0jacr0cX5AEnrMCDkmLOuG5agxsEXozowkVNkn\n\
vYMwSzjI5IRT46BKIdO97Xwuo1MwUTAdBgNVHQ4EFgQURZYuOnNuHkA+PG14E4yM\n\
Q7ltXsgwHwYDVR0jBBgwFoAURZYuOnNuHkA+PG14E4yMQ7ltXsgwDwYDVR0TAQH/\n\
BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA6mApaNJpritdvTD9l5+WQQoOjeNd\n\
CKXFtUBpsY2pscACIHyPu38Ly4bJbmaJykq86iYQbcaVU1jIGOLzaFmr2qUp\n\
-----END CERTIFICATE-----";

/// Waits until new connections use TLS.
fn wait_for_tls(server: &DurableServer) {
    let began = Instant::now();
    while server
        .sql("postgres", "show ssl")
        .expect("a response")
        .trim()
        != "on"
    {
        assert!(began.elapsed() < TIMEOUT, "no TLS");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_version_1_is_accepted_unless_certificates_are_verified_or_presented() {
    let folder = folder();
    let (at, key) = (folder.path(), key(folder.path()));
    let server = DurableServer::start().expect("a server");
    server.create("agents").expect("a database");
    server.offer_tls(CERTIFICATE, KEY).expect("TLS");
    wait_for_tls(&server);
    let url = |mode: &str| format!("{}?sslmode={mode}", server.url("agents"));
    let [certificate, key_file] = ["client.crt", "client.key"].map(|name| at.join(name));
    fs::write(&certificate, CLIENT_CERTIFICATE).expect("a file");
    fs::write(&key_file, KEY).expect("a file");
    let with_client_certificate = format!(
        "require&sslcert={}&sslkey={}",
        certificate.display(),
        key_file.display()
    );
    for mode in ["verify-ca", "verify-full", &with_client_certificate] {
        let refused = refusal(at, &["serve"], &[("DATABASE_URL", &url(mode))]);
        assert!(
            refused.contains("has version 1") && refused.contains("without sslcert"),
            "{refused}"
        );
        assert!(!refused.contains("waiting for the database"), "{refused}");
    }
    for mode in ["prefer", "require"] {
        let url = url(mode);
        let settings = [
            ("SERVER__PORT", "0"),
            ("SERVER__DRAIN_SECONDS", "0"),
            ("DATABASE_URL", &*url),
            ("AUTH__BOOTSTRAP_KEY", &*key),
        ];
        let running = RunningService::of(service(at, &["serve"], &settings));
        post(&running.url, &key, "/api/agents", json!({"name": "Ada"})).await;
        let unencrypted = "select count(*) from pg_stat_ssl join pg_stat_activity using (pid) \
                           where application_name = 'agent-service' and not ssl";
        let unencrypted = server.sql("agents", unencrypted).expect("a response");
        assert_eq!(unencrypted.trim(), "0", "{mode}");
        server.stop().expect("it stops");
        running.wait_for_status(503).await;
        server.restart().expect("it starts");
        running.wait_for_status(200).await;
        running.stop();
        let (code, log) = running.wait_for_exit();
        assert_eq!(code, Some(0), "{log}");
        assert!(!log.contains("did not end in time"), "{log}");
    }
}
