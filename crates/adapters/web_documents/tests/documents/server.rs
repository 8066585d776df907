//! A server that sends the bytes of a test.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// Listens on a free port of this machine until the test ends.
pub(crate) struct Server {
    address: SocketAddr,
    /// The heads of the requests so far.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server. `respond` writes to each connection once the head of a request was read. An
    /// error, such as a disconnect, ends the connection.
    pub(crate) fn start(
        respond: impl Fn(&mut TcpStream) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            for mut connection in listener.incoming().flatten() {
                let head = read_head(&connection).unwrap_or_default();
                log.lock().expect("the log").push(head);
                let _ = respond(&mut connection);
            }
        });
        Self { address, requests }
    }

    /// Starts a server that sends these bytes.
    pub(crate) fn responding(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::start(move |connection| connection.write_all(&bytes))
    }

    /// Starts a server that sends this body with its length.
    pub(crate) fn with_body(status: &str, body: &str) -> Self {
        let length = body.len();
        Self::responding(format!(
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}"
        ))
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/keys?all=yes", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("the log").clone()
    }
}

fn read_head(connection: &TcpStream) -> io::Result<String> {
    let mut head = String::new();
    let mut reader = BufReader::new(connection);
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            break;
        }
    }
    Ok(head)
}
