//! Recognises HTTP/2 by the first bytes of a connection.

use std::{io, time::Duration};

use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};

/// The first bytes of every HTTP/2 connection (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The time in which the first bytes must arrive. Later, the connection counts as one of HTTP/1,
/// which has a deadline of its own.
const DEADLINE: Duration = Duration::from_secs(5);
/// The pause before a part of the preface is looked at again: the rest is on its way.
const PAUSE: Duration = Duration::from_millis(5);

/// Returns true if a connection begins like HTTP/2. Reads nothing.
pub(crate) async fn is_http2(stream: &TcpStream) -> io::Result<bool> {
    let first_bytes = async {
        loop {
            let mut bytes = [0; PREFACE.len()];
            let count = stream.peek(&mut bytes).await?;
            if count == 0 || !PREFACE.starts_with(&bytes[..count]) {
                return Ok(false);
            }
            if count == PREFACE.len() {
                return Ok(true);
            }
            sleep(PAUSE).await;
        }
    };
    timeout(DEADLINE, first_bytes).await.unwrap_or(Ok(false))
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncWriteExt as _, net::TcpListener};

    use super::*;

    async fn after(parts: &[&[u8]]) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        client.set_nodelay(true).unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let sending = async {
            for part in parts {
                client.write_all(part).await.unwrap();
                tokio::task::yield_now().await;
            }
            client.shutdown().await.unwrap();
        };
        tokio::join!(is_http2(&server), sending).0.unwrap()
    }

    #[tokio::test]
    async fn only_the_whole_preface_is_http2() {
        assert!(after(&[PREFACE]).await);
        assert!(after(&[&PREFACE[..3], &PREFACE[3..], b"more"]).await);
        assert!(!after(&[b"GET / HTTP/1.1\r\n\r\n"]).await);
        assert!(!after(&[b"P", b"OST / HTTP/1.1\r\n\r\n"]).await);
        assert!(!after(&[]).await);
    }
}
