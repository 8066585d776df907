//! Files of messages.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    caller::Caller,
    postgres::Database,
    response::{ApiResponse, Request},
    user_tokens::{BACKEND, backend, user},
};

/// The beginning of a PNG image.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0";

pub(crate) async fn upload(
    caller: &Caller,
    content: &[u8],
    headers: &[(&str, &str)],
) -> ApiResponse {
    let request = caller
        .request("POST", "/api/files")
        .raw_body(content.to_vec());
    let add = |request: Request, (name, value): &(&str, &str)| request.header(name, value);
    headers.iter().fold(request, add).send().await
}

pub(crate) async fn photo(caller: &Caller) -> Value {
    let named = (
        "Content-Disposition",
        "attachment; filename*=UTF-8''a%2Fmy%20photo.png",
    );
    upload(caller, PNG, &[named]).await.created()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uploaded_file_is_read_as_it_was_sent() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let file = photo(&writer).await;
    let facts = (&file["name"], &file["mediaType"], &file["bytes"]);
    let expected = (
        &json!("my photo.png"),
        &json!("image/png"),
        &json!(PNG.len()),
    );
    assert_eq!(facts, expected);
    assert!(file["expiresAt"].is_string(), "{file}");
    let path = format!("/api/files/{}", id_of(&file));
    assert_eq!(writer.get(&path).await.ok(), file);
    let content = writer.get(&format!("{path}/content")).await;
    assert_eq!((content.status, &*content.body), (200, PNG));
    let headers = [
        ("content-type", "image/png"),
        (
            "content-disposition",
            "inline; filename*=UTF-8''my%20photo.png",
        ),
        ("content-security-policy", "sandbox"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "private, no-cache"),
        ("accept-ranges", "bytes"),
    ];
    for (name, value) in headers {
        assert_eq!(content.header(name), value, "{name}");
    }
    assert_eq!(content.header("etag"), format!("{}", file["sha256"]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_of_the_content_is_read() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let file = photo(&writer).await;
    let path = format!("/api/files/{}/content", id_of(&file));
    let size = PNG.len();
    let get = |range: &'static str, tag: String| {
        let request = writer.request("GET", &path).header("Range", range);
        let request = if tag.is_empty() {
            request
        } else {
            request.header("If-Range", &tag)
        };
        request.send()
    };
    for (range, part) in [
        ("bytes=1-3", 1..4),
        ("bytes=20-", 20..size),
        ("bytes=-4", size - 4..size),
        ("bytes=0-99999", 0..size),
    ] {
        let read = get(range, String::new()).await;
        assert_eq!(
            (read.status, &*read.body),
            (206, &PNG[part.clone()]),
            "{range}"
        );
        let expected = format!("bytes {}-{}/{size}", part.start, part.end - 1);
        assert_eq!(read.header("content-range"), expected);
    }
    for ignored in [
        "bytes=1-2,4-5",
        "lines=1-2",
        "bytes=x-",
        "bytes=5-2",
        "bytes=-",
        "bytes=+1-2",
        "bytes=1-+2",
        "bytes=1 -2",
        "bytes=0x1-2",
    ] {
        let read = get(ignored, String::new()).await;
        assert_eq!((read.status, &*read.body), (200, PNG), "{ignored}");
    }
    let etag = file["sha256"].to_string();
    assert_eq!(get("bytes=1-3", etag).await.status, 206);
    assert_eq!(get("bytes=1-3", "\"old\"".to_owned()).await.status, 200);
    let tag = file["sha256"].to_string();
    let known = writer.request("GET", &path).header("If-None-Match", &tag);
    let known = known.send().await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    for after in ["bytes=99999-", "bytes=99999-100000", "bytes=-0"] {
        let read = get(after, String::new()).await;
        read.problem(ProblemCode::RangeNotSatisfiable);
        assert_eq!(
            read.header("content-range"),
            format!("bytes */{size}"),
            "{after}"
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_is_repeated_with_its_key() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let key = [("Idempotency-Key", "k-1")];
    let first = upload(&writer, PNG, &key).await.created();
    let again = upload(&writer, PNG, &key).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.created(), first);
    let other = upload(&writer, b"\x89PNG\r\n\x1a\nother", &key).await;
    other.problem(ProblemCode::IdempotencyKeyReused);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_repeated_after_its_deletion_is_stored_anew() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let key = [("Idempotency-Key", "k-1")];
    let path = |file: &Value| format!("/api/files/{}", id_of(file));
    let mut file = upload(&writer, PNG, &key).await.created();
    for _ in 0..2 {
        assert_eq!(writer.delete(&path(&file)).await.status, 204);
        let other = upload(&writer, b"\x89PNG\r\n\x1a\nother", &key).await;
        other.problem(ProblemCode::IdempotencyKeyReused);
        let again = upload(&writer, PNG, &key).await;
        assert!(!again.has("idempotency-replayed"));
        let again = again.created();
        assert_ne!(again["id"], file["id"]);
        let content = writer.get(&format!("{}/content", path(&again))).await;
        assert_eq!(content.body, PNG);
        let replayed = upload(&writer, PNG, &key).await;
        assert_eq!(replayed.header("idempotency-replayed"), "true");
        assert_eq!(replayed.created(), again);
        file = again;
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_accepted_file_is_refused() {
    let api = ApiServerBuilder::default()
        .setting("LIMITS__SIZES__FILE_BYTES", "1024")
        .start()
        .await;
    let writer = api.writer();
    let html = [("Content-Type", "text/plain")];
    let refused = upload(&writer, b"<html><script>", &html).await;
    refused.problem(ProblemCode::FileTypeNotAccepted);
    let refused = upload(&writer, b"", &html).await;
    refused.problem(ProblemCode::FileTypeNotAccepted);
    let refused = upload(&writer, b"MZ\x90\0\x03", &[("Content-Type", "image/png")]).await;
    refused.problem(ProblemCode::FileTypeNotAccepted);
    let large = vec![b'a'; 1025];
    upload(&writer, &large, &html)
        .await
        .problem(ProblemCode::BodyTooLarge);
    upload(&writer, &large[1..], &html).await.created();
    let limits = writer.get("/api/limits").await.ok();
    assert_eq!(limits["sizes"]["fileBytes"], 1024);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_shows_its_files() {
    let api = ApiServer::start().await;
    let (writer, agent) = (api.writer(), api.agent_id().await);
    let text = upload(&writer, b"Hello", &[("Content-Type", "text/plain")])
        .await
        .created();
    let file = id_of(&text);
    let reply = api
        .chat(json!({"agentId": agent, "files": [file], "userId": "ada"}))
        .await;
    let reference =
        json!([{"id": file, "name": "file.txt", "mediaType": "text/plain", "bytes": 5}]);
    let conversation = reply["conversationId"].as_str().expect("a conversation");
    let path = format!("/api/conversations/{conversation}");
    let messages = api.reader().get(&format!("{path}/messages")).await.ok();
    assert_eq!(messages["data"][0]["files"], reference);
    assert_eq!(messages["data"][1]["files"], json!([]));
    let turn = reply["turnId"].as_str().expect("a turn");
    let turn = api.reader().get(&format!("/api/turns/{turn}")).await.ok();
    assert_eq!(turn["files"], reference);
    let events = writer.get("/api/events?since=0").await.ok();
    let started = events["data"].as_array().expect("events").iter();
    let started = started.filter(|event| event["type"] == "turn.started");
    let shown: Vec<_> = started
        .map(|event| &event["data"]["message"]["files"])
        .collect();
    assert_eq!(shown, [&reference]);
    let stored = writer.get(&format!("/api/files/{file}")).await.ok();
    assert!(stored["expiresAt"].is_null(), "{stored}");
    writer
        .delete(&format!("/api/files/{file}"))
        .await
        .problem(ProblemCode::FileInUse);
    let elsewhere = json!({"agentId": agent, "message": "Hi", "files": [file]});
    writer
        .post("/api/chat", elsewhere)
        .await
        .problem(ProblemCode::FileInUse);
    writer.delete(&path).await;
    let gone = writer.get(&format!("/api/files/{file}/content")).await;
    gone.problem(ProblemCode::FileNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_others_do_not_exist() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let (ada, bob) = (
        user(&api, &backend, "ada").await,
        user(&api, &backend, "bob").await,
    );
    let agent = api.agent_id().await;
    let file = id_of(
        &upload(&ada, b"Hello", &[("Content-Type", "text/plain")])
            .await
            .created(),
    );
    let (path, other) = (format!("/api/files/{file}"), api.other_tenant());
    let chat = |caller: Caller| {
        let body = json!({"agentId": agent, "message": "Hi", "files": [file]});
        async move { caller.post("/api/chat", body).await }
    };
    for caller in [&bob, &other, &api.writer()] {
        caller.get(&path).await.problem(ProblemCode::FileNotFound);
        let content = caller.get(&format!("{path}/content")).await;
        content.problem(ProblemCode::FileNotFound);
        caller
            .delete(&path)
            .await
            .problem(ProblemCode::FileNotFound);
    }
    chat(bob.clone()).await.problem(ProblemCode::FileNotFound);
    chat(ada.clone()).await.ok();
    ada.get(&path).await.ok();
    api.writer().get(&path).await.ok();
    let chat_alone = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    for caller in [&bob, &other, &chat_alone] {
        caller.get(&path).await.problem(ProblemCode::FileNotFound);
    }
    let unrecorded = |user: &str| {
        json!({
            "agentId": agent, "store": false, "message": "Hi", "files": [file], "userId": user,
        })
    };
    for (caller, user) in [(&chat_alone, "ada"), (&api.writer(), "bob")] {
        let refused = caller.post("/api/chat", unrecorded(user)).await;
        refused.problem(ProblemCode::FileNotFound);
    }
    let seen = api.writer().post("/api/chat", unrecorded("ada")).await;
    seen.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_with_malformed_files_is_rejected() {
    let api = ApiServer::start().await;
    let (writer, agent) = (api.writer(), api.agent_id().await);
    let file = id_of(
        &upload(&writer, b"Hello", &[("Content-Type", "text/plain")])
            .await
            .created(),
    );
    let twice = json!({"agentId": agent, "files": [file, file]});
    let nine: Vec<_> = (0..9).map(|number| format!("file-{number}")).collect();
    for (body, code) in [
        (
            json!({"agentId": agent, "files": ["x"]}),
            ProblemCode::FileNotFound,
        ),
        (
            json!({"agentId": agent, "files": []}),
            ProblemCode::ValidationFailed,
        ),
        (
            json!({"agentId": agent, "message": " "}),
            ProblemCode::ValidationFailed,
        ),
        (
            json!({"agentId": agent, "files": nine}),
            ProblemCode::ValidationFailed,
        ),
        (twice, ProblemCode::ValidationFailed),
    ] {
        writer.post("/api/chat", body).await.problem(code);
    }
    // An unrecorded chat uses no file.
    let unrecorded = json!({"agentId": agent, "files": [file], "store": false});
    writer.post("/api/chat", unrecorded).await.ok();
    let unused = writer.get(&format!("/api/files/{file}")).await.ok();
    assert!(unused["expiresAt"].is_string(), "{unused}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_unavailable_without_a_store_of_contents() {
    let database = Database::make().await;
    let builder = ApiServerBuilder::default().setting("DATABASE_URL", &database.url());
    let api = builder.setting("FILES__URL", "").start().await;
    let refused = upload(&api.writer(), PNG, &[]).await;
    refused.problem(ProblemCode::FilesUnavailable);
    let chat = json!({"agentId": api.agent_id().await, "message": "Hi"});
    api.writer().post("/api/chat", chat).await.ok();
    api.stop().await;
}
