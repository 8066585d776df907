//! All cases, one after the other.

use futures::{StreamExt as _, stream};

use super::{closes, framing, message_sizes, text};
use crate::api_server::ApiServer;

/// The number of concurrent sockets.
const AT_ONCE: usize = 8;

/// A cheap command of exactly this size.
pub(super) fn command(id: u64, size: usize) -> Vec<u8> {
    let mut text = format!(r#"{{"id":{id},"type":"ping"}}"#).into_bytes();
    assert!(text.len() <= size, "{size} is too small for a command");
    text.resize(size, b' ');
    text
}

/// `cargo xtask websocket-cases` runs this one with its output.
#[tokio::test]
async fn every_case_ends_as_the_protocol_requires() {
    let api = ApiServer::start().await;
    let (address, reader) = (api.address, api.reader());
    let sections = [
        framing::cases(),
        text::cases(),
        closes::cases(),
        message_sizes::cases(),
    ];
    let cases: Vec<_> = sections.into_iter().flatten().collect();
    let mut found = stream::iter(&cases)
        .map(|case| async {
            (
                case.number.as_str(),
                case.fault(address, reader.key()).await,
            )
        })
        .buffered(AT_ONCE);
    let mut failed = Vec::new();
    while let Some((number, fault)) = found.next().await {
        let shown = fault.as_deref().unwrap_or("as it should be");
        println!("{number:<20} {shown}");
        failed.extend(fault.map(|fault| format!("{number}: {fault}")));
    }
    println!("{} cases, {} failed", cases.len(), failed.len());
    assert_eq!(failed, Vec::<String>::new());
    assert!(cases.len() >= 284, "{} cases", cases.len());
    drop(found);
    api.stop().await;
}
