//! Requests of an operator.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use domain::{CredentialKind, CredentialSecret};
use serde_json::Value;

/// The generated key and the example command in the output of a first start.
pub(crate) fn shown_at_first_start(text: &str) -> (String, String) {
    let lines = || text.lines().map(str::trim);
    let key = lines().find(|line| CredentialSecret::parse(CredentialKind::Key, line).is_ok());
    let curl = lines().find(|line| line.starts_with("curl "));
    let key = key.unwrap_or_else(|| panic!("no key in {text}"));
    let curl = curl.unwrap_or_else(|| panic!("no curl line in {text}"));
    (key.to_owned(), curl.to_owned())
}

/// The words of a command line with single quotes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), line);
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').expect("a closing quote"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// Sends the request that a curl line describes.
pub(crate) async fn send_as_curl(line: &str) -> Value {
    let words = words(line);
    let behind = |flag: &'static str| {
        let pairs = words.windows(2).filter(move |pair| pair[0] == flag);
        pairs.map(|pair| pair[1].as_str()).collect::<Vec<_>>()
    };
    let method = behind("-X")[0].parse().expect("a method");
    let url = words
        .iter()
        .find(|word| word.starts_with("http"))
        .expect("a URL");
    let mut request = reqwest::Client::new().request(method, url);
    for header in behind("-H") {
        let (name, value) = header.split_once(": ").expect("a header");
        request = request.header(name, value);
    }
    let request = request.body(behind("-d")[0].to_owned());
    let response = request.send().await.expect("an answer");
    assert_eq!(response.status(), 201);
    response.json().await.expect("JSON")
}

pub(crate) async fn post(url: &str, key: &str, path: &str, body: Value) -> Value {
    let request = reqwest::Client::new().post(format!("{url}{path}"));
    let response = request.header("X-API-Key", key).json(&body).send().await;
    let response = response.expect("an answer");
    assert!(
        response.status().is_success(),
        "{path}: {}",
        response.status()
    );
    response.json().await.expect("JSON")
}

pub(crate) async fn status(url: &str, key: &str, path: &str) -> u16 {
    let request = reqwest::Client::new().get(format!("{url}{path}"));
    let response = request.header("X-API-Key", key).send().await;
    response.expect("an answer").status().as_u16()
}

/// A keep-alive connection that was used once.
pub(crate) fn kept_alive(url: &str) -> TcpStream {
    let address = url.trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).expect("a connection");
    let request = format!("GET /livez HTTP/1.1\r\nHost: {address}\r\n\r\n");
    connection
        .write_all(request.as_bytes())
        .expect("it is sent");
    let mut response = Vec::new();
    while !response.ends_with(b"}") {
        let mut byte = [0];
        connection.read_exact(&mut byte).expect("an answer");
        response.push(byte[0]);
    }
    connection
}
