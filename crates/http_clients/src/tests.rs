use flate2::{
    Compression,
    read::{GzEncoder, ZlibEncoder},
};
use rstest::rstest;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;

const TEXT: &[u8] = b"data: Hello\n\n";

fn read_all(mut source: impl std::io::Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    source.read_to_end(&mut bytes).expect("compressed bytes");
    bytes
}

#[rstest]
#[case::none("identity", TEXT.to_vec())]
#[case::gzip("gzip", read_all(GzEncoder::new(TEXT, Compression::fast())))]
#[case::deflate("deflate", read_all(ZlibEncoder::new(TEXT, Compression::fast())))]
#[tokio::test]
async fn a_compressed_response_is_read_although_none_was_requested(
    #[case] coding: &str,
    #[case] body: Vec<u8>,
) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let client = builder(Duration::from_secs(5)).tls_certs_only([]).build();
    let serve = async {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut head = vec![0; 4096];
        let length = connection.read(&mut head).await.unwrap();
        let head = String::from_utf8_lossy(&head[..length]).to_ascii_lowercase();
        assert!(head.contains("accept-encoding: identity\r\n"), "{head}");
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: {length}\r\n\r\n"
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        connection.write_all(&body).await.unwrap();
    };
    let (response, ()) = tokio::join!(client.unwrap().get(url).send(), serve);
    assert_eq!(response.unwrap().bytes().await.unwrap(), TEXT);
}
