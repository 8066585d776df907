//! Files in forms.

use domain::ProblemCode;
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    caller::Caller,
    files::PNG,
    response::ApiResponse,
};

const BOUNDARY: &str = "----form";

/// A part with these headers.
fn part(headers: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("--{BOUNDARY}\r\n{headers}\r\n\r\n");
    [head.as_bytes(), content, b"\r\n"].concat()
}

fn form(parts: &[Vec<u8>]) -> Vec<u8> {
    [parts.concat(), format!("--{BOUNDARY}--\r\n").into_bytes()].concat()
}

async fn send(caller: &Caller, body: Vec<u8>) -> ApiResponse {
    let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
    let request = caller.request("POST", "/api/files").raw_body(body);
    request.header("Content-Type", &media_type).send().await
}

const PHOTO: &str = "Content-Disposition: form-data; name=\"file\"; filename=\"Fürst.png\"\r\n\
    Content-Type: image/png";

#[tokio::test(flavor = "multi_thread")]
async fn a_form_with_one_file_is_an_upload() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let stored = send(&writer, form(&[part(PHOTO, PNG)])).await.created();
    let facts = (&stored["name"], &stored["mediaType"], &stored["bytes"]);
    let expected = (&json!("Fürst.png"), &json!("image/png"), &json!(PNG.len()));
    assert_eq!(facts, expected);
    let raw = writer.request("POST", "/api/files").raw_body(PNG.to_vec());
    let raw = raw.header("Content-Type", "image/png").send().await;
    assert_eq!(raw.created()["sha256"], stored["sha256"]);
    // Longer than one piece of a body, with an end that looks like the beginning of a boundary.
    let text = format!("{}\r\n--{}", "a".repeat(300_000), &BOUNDARY[1..]);
    let headers = "Content-Disposition: form-data; name=\"file\"\r\nContent-Type: text/plain";
    let stored = send(&writer, form(&[part(headers, text.as_bytes())])).await;
    let stored = stored.created();
    assert_eq!(stored["bytes"], text.len());
    let path = format!(
        "/api/files/{}/content",
        stored["id"].as_str().expect("an id")
    );
    assert_eq!(writer.get(&path).await.text(), text);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_other_parts_is_rejected() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let other = part("Content-Disposition: form-data; name=\"size\"", b"1");
    let photo = part(PHOTO, PNG);
    let cut = photo[..photo.len() - 2].to_vec();
    for (body, code) in [
        (form(&[]), "required"),
        (form(std::slice::from_ref(&other)), "unknown_member"),
        (form(&[photo.clone(), other]), "unknown_member"),
        (form(&[photo.clone(), photo]), "unknown_member"),
        (cut, "bad_format"),
        (b"no form".to_vec(), "bad_format"),
        (vec![b'a'; 100_000], "bad_format"),
    ] {
        let refused = send(&writer, body).await;
        refused.problem(ProblemCode::ValidationFailed);
        assert_eq!(refused.faults(), [(String::new(), code.to_owned())]);
    }
    let request = writer.request("POST", "/api/files").raw_body("x");
    let refused = request
        .header("Content-Type", "multipart/form-data")
        .send()
        .await;
    refused.problem(ProblemCode::InvalidHeader);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_content_of_a_form_has_the_limits_of_other_contents() {
    let api = ApiServerBuilder::default()
        .setting("LIMITS__SIZES__FILE_BYTES", "1024")
        .start()
        .await;
    let writer = api.writer();
    let headers = "Content-Disposition: form-data; name=\"file\"\r\nContent-Type: text/plain";
    let text = |length| form(&[part(headers, &vec![b'a'; length])]);
    send(&writer, text(1_024)).await.created();
    for length in [1_025, 100_000] {
        let refused = send(&writer, text(length)).await;
        refused.problem(ProblemCode::BodyTooLarge);
    }
    let refused = send(&writer, form(&[part(headers, b"")])).await;
    refused.problem(ProblemCode::FileTypeNotAccepted);
    api.stop().await;
}
