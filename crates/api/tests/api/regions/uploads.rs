//! Files that pass through a far region.

use std::{path::PathBuf, time::Duration};

use bytes::Bytes;
use domain::ProblemCode;
use futures::{FutureExt as _, StreamExt as _, future::join_all, stream};
use serde_json::{Value, json};
use tokio::{
    sync::oneshot::{self, Sender},
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::fixture::{Regions, connection};
use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    bad_input::head,
    caller::Caller,
    files::PNG,
    raw::Connection,
    response::ApiResponse,
    user_tokens::{BACKEND, backend, user},
};

const MIB: usize = 1024 * 1024;
const TEXT: &str = "Content-Type: text/plain\r\n";

/// An image of this size.
fn photo(bytes: usize) -> Vec<u8> {
    let mut content = PNG.to_vec();
    content.extend((PNG.len()..bytes).map(|place| (place / 7).to_le_bytes()[0] % 251));
    content
}

/// A body without a declared length, in pieces of this size.
fn chunked(content: &[u8], piece: usize) -> reqwest::Body {
    let pieces: Vec<_> = content
        .chunks(piece)
        .map(|piece| Ok::<_, std::io::Error>(Bytes::copy_from_slice(piece)))
        .collect();
    reqwest::Body::wrap_stream(stream::iter(pieces))
}

async fn upload(far: &ApiServer, body: impl Into<reqwest::Body>) -> ApiResponse {
    let request = far.writer().request("POST", "/api/files");
    let request = request.header("Content-Type", "text/plain");
    request.raw_body(body).send().await
}

/// The contents at home, and those that are being written there.
fn stored(home: &ApiServer) -> Vec<PathBuf> {
    let folder = home.database_file().with_file_name("files").join("blobs");
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// Waits until so many contents are there, and checks that as many files are.
pub(super) async fn assert_stored(regions: &Regions, number: usize) {
    let start = Instant::now();
    while stored(&regions.home).len() != number {
        let stored = stored(&regions.home);
        assert!(start.elapsed() < Duration::from_secs(20), "{stored:?}");
        sleep(Duration::from_millis(20)).await;
    }
    let files: i64 = sqlx::query_scalar("select count(*) from files")
        .fetch_one(&mut connection(&regions.database).await)
        .await
        .expect("a number");
    assert_eq!(usize::try_from(files), Ok(number));
}

/// Sends the beginning of a body to the far region, and waits until home receives it.
async fn begin(regions: &Regions, length: &str) -> Connection {
    let mut client = Connection::open(regions.far.address).await;
    let headers = format!("{TEXT}{length}");
    client
        .send(head(&regions.far, "POST /api/files", &headers))
        .await;
    if length.starts_with("Transfer") {
        client.send(format!("{:x}\r\n", 2 * MIB)).await;
    }
    client.send("a".repeat(MIB)).await;
    let start = Instant::now();
    while stored(&regions.home).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "nothing arrives");
        sleep(Duration::from_millis(20)).await;
    }
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_file_passes_through_a_far_region() {
    let regions = Regions::start().await;
    let content = photo(20 * MIB);
    let at_home = upload(&regions.home, content.clone()).await.created();
    let body = chunked(&content, 100_000);
    for body in [content.clone().into(), body] {
        let response = upload(&regions.far, body).await;
        assert_eq!(response.header("x-served-by"), "home");
        let file = response.created();
        assert_eq!(file["sha256"], at_home["sha256"]);
        let path = format!("/api/files/{}/content", id_of(&file));
        let writer = regions.far.writer();
        let whole = writer.get(&path).await;
        assert_eq!((whole.status, whole.body == content), (200, true));
        let range = writer.request("GET", &path);
        let range = range.header("Range", "bytes=10000000-10999999");
        let range = range.send().await;
        assert_eq!(range.status, 206);
        assert!(range.body == content[10_000_000..11_000_000]);
    }
    assert_stored(&regions, 3).await;
}

/// The most memory that this process has used, in bytes.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    kib.and_then(|kib| kib.parse::<usize>().ok())
        .expect("a size")
        * 1024
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn uploads_and_downloads_through_a_far_region_are_not_in_memory() {
    const NUMBER: usize = 5;
    let regions = Regions::start().await;
    let piece = Bytes::from(vec![b'a'; 64 * 1024]);
    let small = upload(&regions.far, reqwest::Body::from(piece.clone()));
    small.await.created();
    let before = peak_memory();
    let files = join_all((0..NUMBER).map(async |_| {
        let pieces = stream::repeat(piece.clone()).take(20 * MIB / piece.len());
        let body = reqwest::Body::wrap_stream(pieces.map(Ok::<_, std::io::Error>));
        upload(&regions.far, body).await.created()
    }));
    let files = files.await;
    join_all(files.iter().map(async |file| {
        assert_eq!(file["bytes"], 20 * MIB);
        let path = format!("/api/files/{}/content", id_of(file));
        let response = regions.far.writer().request("GET", &path).open().await;
        let sizes = response
            .bytes_stream()
            .map(|piece| piece.expect("a piece").len());
        let size = sizes.fold(0, async |sum, size| sum + size).await;
        assert_eq!(size, 20 * MIB);
    }))
    .await;
    let more = peak_memory() - before;
    assert!(more < NUMBER * 20 * MIB / 2, "{} MiB", more / MIB);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stored_of_an_upload_whose_client_leaves() {
    let regions = Regions::start().await;
    for length in [
        "Content-Length: 2097152\r\n",
        "Transfer-Encoding: chunked\r\n",
    ] {
        let client = begin(&regions, length).await;
        drop(client);
        assert_stored(&regions, 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stored_of_an_upload_whose_far_region_is_lost() {
    let (regions, link) = Regions::start_distant(Duration::ZERO).await;
    let _client = begin(&regions, "Content-Length: 2097152\r\n").await;
    // Its connections are closed, as those of a process that is killed.
    drop(link);
    assert_stored(&regions, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stored_of_an_upload_whose_far_region_falls_silent() {
    let home = |home: ApiServerBuilder| home.setting("LIMITS__BODY_SECONDS", "1");
    let (regions, link) = Regions::start_distant_with(Duration::ZERO, home).await;
    let mut client = begin(&regions, "Content-Length: 2097152\r\n").await;
    link.cut();
    assert_stored(&regions, 0).await;
    let lost = client.answer_to("POST", "/api/files").await;
    lost.problem(ProblemCode::StoreUnavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_size_is_judged_in_the_far_region() {
    let limit = |api: ApiServerBuilder| api.setting("LIMITS__SIZES__FILE_BYTES", "100000");
    let regions = Regions::start_both(limit, limit).await;
    let largest = photo(100_000);
    upload(&regions.far, largest.clone()).await.created();
    upload(&regions.far, chunked(&largest, 999)).await.created();
    let larger = photo(100_001);
    for body in [larger.clone().into(), chunked(&larger, 999)] {
        upload(&regions.far, body)
            .await
            .problem(ProblemCode::BodyTooLarge);
    }
    assert_stored(&regions, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_home_holds_too() {
    let limit = |home: ApiServerBuilder| home.setting("LIMITS__SIZES__FILE_BYTES", "100000");
    let regions = Regions::start_both(limit, |far| far).await;
    upload(&regions.far, photo(100_000)).await.created();
    // Much of it is on its way when home responds.
    for size in [100_001, 20 * MIB] {
        let refused = upload(&regions.far, photo(size)).await;
        refused.problem(ProblemCode::BodyTooLarge);
    }
    assert_stored(&regions, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_that_is_allowed_is_not_cut_off_at_home() {
    let seconds = |api: ApiServerBuilder| api.setting("LIMITS__BODY_SECONDS", "2");
    let regions = Regions::start_both(seconds, seconds).await;
    let mut slow = Connection::open(regions.far.address).await;
    let headers = format!("{TEXT}Content-Length: 327680\r\n");
    slow.send(head(&regions.far, "POST /api/files", &headers))
        .await;
    for _ in 0..5 {
        sleep(Duration::from_millis(1_700)).await;
        slow.send("a".repeat(64 * 1024)).await;
    }
    slow.answer_to("POST", "/api/files").await.created();
    let mut late = Connection::open(regions.far.address).await;
    late.send(head(&regions.far, "POST /api/files", &headers))
        .await;
    late.send("a").await;
    let refused = late.answer_to("POST", "/api/files").await;
    refused.problem(ProblemCode::RequestTimeout);
    assert_stored(&regions, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_has_the_quota_and_the_keys_of_home() {
    let quota = |home: ApiServerBuilder| home.setting("LIMITS__FILES__PER_DAY", "1");
    let regions = Regions::start_both(quota, |far| far).await;
    let (_, backend) = backend(&regions.home, BACKEND).await;
    let ada = user(&regions.home, &backend, "ada").await;
    let ada = regions.far.caller(Some(ada.key()));
    let sent = async |content: Vec<u8>, key: &str| {
        let request = ada.request("POST", "/api/files").raw_body(content);
        request.header("Idempotency-Key", key).send().await
    };
    let first = sent(photo(MIB), "k-1").await.created();
    let again = sent(photo(MIB), "k-1").await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.created(), first);
    let other = sent(photo(MIB + 1), "k-1").await;
    other.problem(ProblemCode::IdempotencyKeyReused);
    let refused = sent(photo(MIB), "k-2").await;
    refused.problem(ProblemCode::RateLimited);
    assert_stored(&regions, 1).await;
}

/// Begins an upload, which ends when the returned sender is dropped.
fn begin_slowly(caller: &Caller) -> (Sender<()>, JoinHandle<ApiResponse>) {
    let (sender, end) = oneshot::channel();
    let piece = || Ok::<_, std::io::Error>(Bytes::from(vec![b'a'; 64 * 1024]));
    let rest = end.map(move |_dropped| piece()).into_stream();
    let body = stream::iter([piece()]).chain(rest);
    let request = caller.request("POST", "/api/files");
    let request = request.header("Content-Type", "text/plain");
    let body = reqwest::Body::wrap_stream(body);
    (sender, request.raw_body(body).begin())
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_uploads_do_not_occupy_the_connection_to_home() {
    let patient = |api: ApiServerBuilder| api.setting("LIMITS__BODY_SECONDS", "60");
    let regions = Regions::start_both(patient, patient).await;
    let (_, backend) = backend(&regions.home, BACKEND).await;
    let far = async |name: &str| {
        let user = user(&regions.home, &backend, name).await;
        regions.far.caller(Some(user.key()))
    };
    let (ada, eve, bob) = (far("ada").await, far("eve").await, far("bob").await);
    // A caller has half of them.
    let mut slow: Vec<_> = [&ada, &eve]
        .iter()
        .flat_map(|caller| (0..8).map(|_| begin_slowly(caller)))
        .collect();
    let start = Instant::now();
    while stored(&regions.home).len() < 16 {
        assert!(start.elapsed() < Duration::from_secs(20), "nothing arrives");
        sleep(Duration::from_millis(20)).await;
    }
    let upload = |caller: &Caller| {
        let request = caller.request("POST", "/api/files");
        request.raw_body(photo(MIB)).begin()
    };
    let refused = upload(&bob).await.expect("a response");
    refused.problem(ProblemCode::HomeUnavailable);
    // Other requests to home do not wait.
    regions.far.agent(json!({"name": "Ada"})).await;
    let of_ada = upload(&ada);

    let (end, first) = slow.swap_remove(0);
    drop(end);
    first.await.expect("a response").created();
    of_ada.await.expect("a response").created();
    upload(&bob).await.expect("a response").created();
    for (end, other) in slow {
        drop(end);
        other.await.expect("a response").created();
    }
    assert_stored(&regions, 18).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_passes_through_a_far_region() {
    let regions = Regions::start().await;
    let head = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n";
    let content = photo(MIB);
    let form = [head.as_bytes(), &content, b"\r\n--b--\r\n"].concat();
    let sent = async |form: &[u8]| {
        let request = regions.far.writer().request("POST", "/api/files");
        let request = request.header("Content-Type", "multipart/form-data; boundary=b");
        request.raw_body(chunked(form, 10_000)).send().await
    };
    let file: Value = sent(&form).await.created();
    assert_eq!(
        (&file["name"], &file["bytes"]),
        (&"a.png".into(), &MIB.into())
    );
    let cut = sent(&form[..form.len() - 6]).await;
    cut.problem(ProblemCode::ValidationFailed);
    assert_stored(&regions, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_of_chats_count_in_the_memory_of_the_far_region() {
    let regions = Regions::start().await;
    let (_, backend) = backend(&regions.home, BACKEND).await;
    let ada = user(&regions.home, &backend, "ada").await;
    let path = "/v1/chat/completions";
    let begin = async |length: usize, sent: usize| {
        let mut client = Connection::open(regions.far.address).await;
        let key = ada.key();
        client
            .send(format!(
                "POST {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\
                 Authorization: Bearer {key}\r\nContent-Type: application/json\r\n\
                 Content-Length: {length}\r\n\r\n"
            ))
            .await;
        client.send("a".repeat(sent)).await;
        client
    };
    let first = begin(32 * MIB, 31 * MIB).await;
    let start = Instant::now();
    loop {
        let mut second = begin(32 * MIB, 0).await;
        let answer = second.receive_for(Duration::from_millis(500)).await;
        if answer.starts_with(b"HTTP/1.1 503 ") {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{answer:?}");
    }
    drop(first);
}
