//! Scans by a real clamd.

use bytes::Bytes;
use clamd_scanner::{ClamdAddress, ClamdScanner};
use dev_tools::clamd_server::{ClamdProcess, MARKER};
use futures::{StreamExt as _, stream};
use ports::{BlobError, BlobStream, FileScanner as _};

const MAX_BYTES: usize = 1024 * 1024;

fn clamd() -> (ClamdProcess, ClamdScanner) {
    let process = ClamdProcess::start(MAX_BYTES).expect("clamd");
    let scanner = ClamdScanner(ClamdAddress::Tcp(process.place()));
    (process, scanner)
}

fn pieces<const N: usize>(pieces: [&str; N]) -> BlobStream {
    let pieces = pieces.map(|it| Ok(Bytes::copy_from_slice(it.as_bytes())));
    stream::iter(pieces).boxed()
}

#[tokio::test]
async fn contents_are_scanned_as_a_whole() {
    let (_process, clamd) = clamd();
    for (content, expected) in [
        (pieces(["a pho", "", "to"]), true),
        (pieces([]), true),
        (pieces([MARKER]), false),
        (
            pieces(["before ", &MARKER[..9], &MARKER[9..], " after"]),
            false,
        ),
    ] {
        assert_eq!(clamd.is_clean(content).await.expect("clamd"), expected);
    }
}

#[tokio::test]
async fn a_content_that_is_not_scanned_is_not_clean() {
    let (process, clamd) = clamd();
    let broken = [Ok(Bytes::from_static(b"a")), Err(BlobError::NotFound)];
    let scanned = clamd.is_clean(stream::iter(broken).boxed()).await;
    assert!(scanned.is_err());
    let large = "a".repeat(MAX_BYTES + 1);
    assert!(clamd.is_clean(pieces([&large])).await.is_err());
    drop(process);
    assert!(clamd.is_clean(pieces(["a"])).await.is_err());
}
