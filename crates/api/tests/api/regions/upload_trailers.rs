//! The trailers of files that a far region sends to home.

use api::wiring;
use domain::{
    ForwardedRequest, ProblemCode, RegionKey,
    region::{StreamedDigest, body_digest},
};

use super::{
    fixture::{KEY, Regions},
    uploads::assert_stored,
};
use crate::{files::PNG, response::ApiResponse};

const PATH: &str = "/api/files";

/// A signed head for a body with a trailer.
fn head(body_digest: &str, path: &str) -> String {
    let (clock, ids) = wiring::system();
    let head = ForwardedRequest {
        region: "eu".parse().expect("a name"),
        sent_at: clock.now(),
        id: ids.next_id(),
        client_address: None,
        caller: None,
        body_digest: body_digest.to_owned(),
    };
    head.sign(&RegionKey::parse(KEY).expect("a key"), "POST", path)
}

fn trailer(head: &str, key: &str, body: &[u8]) -> Vec<u8> {
    let mut digest = StreamedDigest::default();
    digest.push(body);
    let key = RegionKey::parse(key).expect("a key");
    digest.trailer(head, &key).to_vec()
}

async fn send(regions: &Regions, head: &str, media_type: &str, body: Vec<u8>) -> ApiResponse {
    let request = regions.home.writer().request("POST", PATH);
    let request = request.header("X-Region-Request", head);
    let request = request.header("Content-Type", media_type);
    request.raw_body(body).send().await
}

/// Returns the trailer, or something in its place, of a body whose request has this head.
type End = fn(&str, &[u8]) -> Vec<u8>;

#[tokio::test(flavor = "multi_thread")]
async fn a_content_without_its_trailer_is_discarded() {
    let regions = Regions::start().await;
    let form = [
        b"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n",
        PNG,
        b"\r\n--b--\r\n",
    ];
    let bodies = [
        ("image/png", PNG.to_vec()),
        ("multipart/form-data; boundary=b", form.concat()),
    ];
    let cases: [End; 7] = [
        |_, _| Vec::new(),
        |_, _| vec![0; 32],
        |head, body| trailer(head, KEY, body)[..31].to_vec(),
        |head, body| trailer(head, KEY, &body[1..]),
        |_, body| trailer(&upload_head(), KEY, body),
        |head, body| trailer(head, &KEY.replace("the", "The"), body),
        |head, body| [trailer(head, KEY, body), b"\n".to_vec()].concat(),
    ];
    for (number, (media_type, body)) in bodies.into_iter().enumerate() {
        for (case, end) in cases.iter().enumerate() {
            let head = upload_head();
            let sent = [body.clone(), end(&head, &body)].concat();
            let refused = send(&regions, &head, media_type, sent).await;
            assert_eq!(refused.status, 503, "{case}");
            refused.problem(ProblemCode::HomeUnavailable);
        }
        assert_stored(&regions, number).await;
        let head = upload_head();
        let sent = [body.clone(), trailer(&head, KEY, &body)].concat();
        let file = send(&regions, &head, media_type, sent).await.created();
        assert_eq!(file["bytes"], PNG.len());
    }
}

/// A head for an upload with a trailer.
fn upload_head() -> String {
    head(ForwardedRequest::STREAMED, PATH)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_files_have_trailers_and_clients_have_none() {
    let regions = Regions::start().await;
    let path = "/api/agents";
    let head_of_agent = head(ForwardedRequest::STREAMED, path);
    let body = br#"{"name": "Ada"}"#;
    let sent = [&body[..], &trailer(&head_of_agent, KEY, body)].concat();
    let request = regions.home.writer().request("POST", path);
    let request = request.header("X-Region-Request", &head_of_agent);
    let refused = request.body(sent).send().await;
    refused.problem(ProblemCode::InvalidCredentials);
    // A far node of the version before sends the digest in the head.
    let whole = head(&body_digest(PNG), PATH);
    let file = send(&regions, &whole, "image/png", PNG.to_vec()).await;
    assert_eq!(file.created()["bytes"], PNG.len());
    // The header of a client does not pass through a far region.
    let request = regions.far.writer().request("POST", PATH);
    let request = request.header("X-Region-Request", &upload_head());
    let file = request.raw_body(PNG.to_vec()).send().await.created();
    assert_eq!(file["bytes"], PNG.len());
}
