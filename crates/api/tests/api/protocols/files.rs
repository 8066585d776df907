//! Files in messages of clients of the protocols.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    caller::Caller,
    response::Request,
    script::{Script, scripted},
    user_tokens::{BACKEND, backend, user},
};

/// The beginning of a PNG image.
pub(super) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0";

/// A protocol, with a conversation that is stored, or not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    AiSdk,
    OpenAi,
    OpenAiUnrecorded,
    AgUi,
}

pub(super) const DOORS: [Door; 4] = [
    Door::AiSdk,
    Door::OpenAi,
    Door::OpenAiUnrecorded,
    Door::AgUi,
];

impl Door {
    /// The request that sends a file by its address, and the pointer to this.
    pub(super) fn send(
        self,
        caller: &Caller,
        agent: &str,
        name: &str,
        url: &str,
    ) -> (Request, &'static str) {
        let (path, body, pointer) = match self {
            Self::AiSdk => {
                let file = json!({"type": "file", "mediaType": "image/png", "url": url});
                let parts = json!([{"type": "text", "text": "Look"}, file]);
                let message = json!({"id": name, "role": "user", "parts": parts});
                let body = json!({"id": name, "messages": [{}, message]});
                (
                    format!("/ai-sdk/agents/{agent}/chat"),
                    body,
                    "/messages/1/parts/1",
                )
            }
            Self::OpenAi | Self::OpenAiUnrecorded => {
                let image = json!({"type": "image_url", "image_url": {"url": url}});
                let content = json!([{"type": "text", "text": "Look"}, image]);
                let mut body = json!({
                    "model": agent, "messages": [{"role": "user", "content": content}],
                });
                if self == Self::OpenAi {
                    body["metadata"] = json!({"conversation_key": name});
                }
                let pointer = "messages[0].content[1].image_url.url";
                ("/v1/chat/completions".to_owned(), body, pointer)
            }
            Self::AgUi => {
                let source = json!({"type": "url", "value": url});
                let content = json!([
                    {"type": "text", "text": "Look"}, {"type": "image", "source": source},
                ]);
                let message = json!({"id": "m", "role": "user", "content": content});
                let body = json!({"threadId": name, "runId": name, "messages": [message]});
                let pointer = "/messages/0/content/1/source/value";
                (format!("/ag-ui/agents/{agent}/run"), body, pointer)
            }
        };
        (caller.request("POST", &path).json(&body), pointer)
    }

    pub(super) const fn is_stored(self) -> bool {
        !matches!(self, Self::OpenAiUnrecorded)
    }
}

pub(super) fn data_url(content: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(content))
}

pub(super) async fn service(settings: &[(&str, &str)]) -> (ApiServer, Script, String) {
    let (engine, script) = scripted();
    let mut builder = ApiServerBuilder::default().engine("scripted", engine);
    for (name, value) in settings {
        builder = builder.setting(name, value);
    }
    let api = builder.start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&api.agent(draft).await);
    (api, script, agent)
}

/// Sends a request, and returns the contents of the files that the engine receives.
async fn answered(script: &mut Script, request: Request) -> Vec<Vec<u8>> {
    let (response, contents) = tokio::join!(request.open(), async {
        let call = script.next_call().await;
        let (files, contents) = (&call.request.files, &call.request.file_contents);
        let received = files
            .iter()
            .map(|file| contents[&file.id].to_vec())
            .collect();
        call.answer("A parcel.").await;
        received
    });
    assert_eq!(response.status(), 200);
    let text = response.text().await.expect("a whole body");
    assert!(text.contains("parcel"), "{text}");
    contents
}

/// The status and the code of a refusal, and where its fault is.
async fn refusal(request: Request) -> (u16, String, String) {
    let response = request.open().await;
    let status = response.status().as_u16();
    let text = response.text().await.expect("a whole body");
    let Ok(body) = serde_json::from_str::<Value>(&text) else {
        // The AI SDK shows `Title. /place: detail. (code, request id)`.
        let code = text.rsplit('(').next().and_then(|it| it.split(',').next());
        let place = text.split(' ').find(|it| it.starts_with('/')).unwrap_or("");
        let place = place.trim_end_matches(':').to_owned();
        return (status, code.unwrap_or_default().to_owned(), place);
    };
    let own = body.get("error").filter(|it| it.is_object());
    let error = own.unwrap_or(&body);
    let place = error.get("param").unwrap_or(&error["errors"][0]["pointer"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (status, text(&error["code"]), text(place))
}

async fn conversations(api: &ApiServer) -> Vec<Value> {
    let listed = api.reader().get("/api/conversations").await.ok();
    listed["data"].as_array().expect("a list").clone()
}

/// The number of contents in the store.
fn contents_of(api: &ApiServer) -> usize {
    files_in(&api.database_file().with_file_name("files"))
}

fn files_in(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let count = |entry: std::fs::DirEntry| {
        let path = entry.path();
        if path.is_dir() { files_in(&path) } else { 1 }
    };
    entries.map(count).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_reaches_the_model_and_is_stored_once() {
    let (api, mut script, agent) = service(&[]).await;
    let writer = api.writer();
    let before = contents_of(&api);
    for (index, door) in DOORS.into_iter().enumerate() {
        let name = format!("c{index}");
        let send = || door.send(&writer, &agent, &name, &data_url(PNG)).0;
        assert_eq!(answered(&mut script, send()).await, [PNG], "{door:?}");
        if !door.is_stored() {
            continue;
        }
        if door != Door::OpenAi {
            // The same request again joins its turn.
            assert_eq!(send().open().await.status(), 200);
        }
        let path = format!("/api/conversations?agentId={agent}&key={name}");
        let found = api.reader().get(&path).await.ok();
        let path = format!("/api/conversations/{}/messages", id_of(&found["data"][0]));
        let messages = api.reader().get(&path).await.ok();
        let messages = messages["data"].as_array().expect("a page");
        assert_eq!(messages.len(), 2, "{door:?}");
        let file = &messages[0]["files"][0];
        assert_eq!(
            (&file["mediaType"], &file["bytes"]),
            (&json!("image/png"), &json!(PNG.len()))
        );
        let content = writer
            .get(&format!("/api/files/{}/content", id_of(file)))
            .await;
        assert_eq!((content.status, &*content.body), (200, PNG));
    }
    script.assert_no_more_calls();
    assert_eq!(contents_of(&api), before + 3);
    assert_eq!(conversations(&api).await.len(), 3);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_files_are_named_and_leave_nothing() {
    let (api, mut script, agent) = service(&[("LIMITS__SIZES__FILE_BYTES", "1024")]).await;
    let writer = api.writer();
    let before = contents_of(&api);
    let html = data_url(b"<html>");
    let large = data_url(&[PNG, &[0; 1024]].concat());
    for door in DOORS {
        let invalid = if matches!(door, Door::OpenAi | Door::OpenAiUnrecorded) {
            400
        } else {
            422
        };
        for (url, code) in [
            (&*html, "file_type_not_accepted"),
            ("data:image/png;base64,", "file_type_not_accepted"),
            (
                "data:application/pdf;base64,JVBERi0xLjc=",
                "file_type_not_accepted",
            ),
            ("data:image/png;base64,a b!", "validation_failed"),
            ("data:image/png,abc", "validation_failed"),
            ("ftp://host/photo.png", "validation_failed"),
            (&*large, "validation_failed"),
        ] {
            let (request, pointer) = door.send(&writer, &agent, "refused", url);
            let expected = (invalid, code.to_owned(), pointer.to_owned());
            assert_eq!(refusal(request).await, expected, "{door:?} {url}");
        }
    }
    script.assert_no_more_calls();
    assert_eq!(contents_of(&api), before);
    assert!(conversations(&api).await.is_empty());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_the_service_name_its_files() {
    let (api, mut script, agent) =
        service(&[("SERVER__PUBLIC_URL", "https://agents.example/of")]).await;
    let writer = api.writer();
    let upload = || async {
        let upload = writer.request("POST", "/api/files").raw_body(PNG.to_vec());
        id_of(&upload.send().await.created())
    };
    let url = |id: &str| format!("https://agents.example/of/api/files/{id}/content?link=expired");
    let before = contents_of(&api);
    for (index, door) in DOORS.into_iter().enumerate() {
        let id = upload().await;
        let name = format!("c{index}");
        let (request, _) = door.send(&writer, &agent, &name, &url(&id));
        assert_eq!(answered(&mut script, request).await, [PNG], "{door:?}");
        let file = writer.get(&format!("/api/files/{id}")).await.ok();
        assert_eq!(file["expiresAt"].is_null(), door.is_stored(), "{door:?}");
        let (request, _) = door.send(&api.other_tenant(), &agent, &name, &url(&id));
        let (status, code, _) = refusal(request).await;
        assert_eq!((status, &*code), (404, "agent_not_found"));
        let (request, _) = door.send(
            &writer,
            &agent,
            "other",
            &url("01a1f84a-95c1-7000-8000-000000000001"),
        );
        let (status, code, _) = refusal(request).await;
        assert_eq!((status, &*code), (404, "file_not_found"), "{door:?}");
    }
    assert_eq!(contents_of(&api), before + 4);
    api.stop().await;
}

/// A server that returns an image at `/photo.png`, and a redirect to it elsewhere.
fn web_server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut head = [0; 2048];
            let read = connection.read(&mut head).unwrap_or(0);
            let response = if head[..read].starts_with(b"GET /photo.png ") {
                let length = PNG.len();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
                [head.as_bytes(), PNG].concat()
            } else {
                b"HTTP/1.1 302 Found\r\nlocation: /photo.png\r\ncontent-length: 0\r\n\r\n".to_vec()
            };
            let _ = connection.write_all(&response);
        }
    });
    (port, count)
}

#[tokio::test(flavor = "multi_thread")]
async fn files_on_the_web_are_fetched_once_and_only_from_allowed_addresses() {
    let (port, count) = web_server();
    let allowed = format!("127.0.0.1:{port}");
    let (api, mut script, agent) = service(&[("OUTBOUND__ALLOWED_HOSTS", &allowed)]).await;
    let writer = api.writer();
    for (index, door) in DOORS.into_iter().enumerate() {
        let (name, url) = (format!("c{index}"), format!("http://{allowed}/photo.png"));
        let (request, _) = door.send(&writer, &agent, &name, &url);
        assert_eq!(answered(&mut script, request).await, [PNG], "{door:?}");
        assert_eq!(count.swap(0, Ordering::SeqCst), 1);
        if matches!(door, Door::AiSdk | Door::AgUi) {
            let (again, _) = door.send(&writer, &agent, &name, &url);
            assert_eq!(again.open().await.status(), 200);
            assert_eq!(count.load(Ordering::SeqCst), 0, "{door:?}");
        }
        for (url, requests) in [
            (format!("http://{allowed}/moved.png"), 1),
            (format!("http://localhost:{port}/photo.png"), 0),
            (format!("https://localhost:{port}/photo.png"), 0),
            ("https://10.0.0.1/photo.png".to_owned(), 0),
            ("http://agents.example/photo.png".to_owned(), 0),
        ] {
            let (request, pointer) = door.send(&writer, &agent, "refused", &url);
            let (status, code, place) = refusal(request).await;
            assert!(matches!(status, 400 | 422), "{url}");
            assert_eq!((&*code, &*place), ("validation_failed", pointer), "{url}");
            assert_eq!(count.swap(0, Ordering::SeqCst), requests, "{url}");
        }
    }
    script.assert_no_more_calls();
    api.stop().await;
}

/// The request of a user that sends these images with one message to the AI SDK.
fn with_images(caller: &Caller, agent: &str, name: &str, urls: &[&str]) -> Request {
    let image = |url: &&str| json!({"type": "file", "mediaType": "image/png", "url": url});
    let parts: Vec<_> = urls.iter().map(image).collect();
    let message = json!({"id": name, "role": "user", "parts": parts});
    let path = format!("/ai-sdk/agents/{agent}/chat");
    let body = json!({"id": name, "messages": [message]});
    caller.request("POST", &path).json(&body)
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_message_are_stored_together_and_once() {
    let (port, count) = web_server();
    let allowed = format!("127.0.0.1:{port}");
    let (api, mut script, agent) = service(&[
        ("LIMITS__FILES__PER_DAY", "2"),
        ("OUTBOUND__ALLOWED_HOSTS", &allowed),
    ])
    .await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let before = contents_of(&api);
    let image = data_url(PNG);
    let (page, image) = (format!("http://{allowed}/photo.png"), &*image);
    let send = |name: &str, urls: &[&str]| with_images(&ada, &agent, name, urls);
    let over_quota = send("a", &[image, image, &page]);
    assert_eq!(over_quota.open().await.status(), 429);
    let refused = send("a", &[image, &data_url(b"<html>")]);
    assert_eq!(refused.open().await.status(), 422);
    assert_eq!(contents_of(&api), before);
    assert_eq!(count.load(Ordering::SeqCst), 0, "nothing is fetched");

    // The quota has room for the message once.
    let repeated = (0..6).map(|_| send("b", &[image, &page]).open());
    let (responses, ()) = tokio::join!(futures::future::join_all(repeated), async {
        let call = script.next_call().await;
        assert_eq!(call.request.files.len(), 2);
        call.answer("Parcels.").await;
    });
    for response in responses {
        assert_eq!(response.status(), 200);
    }
    script.assert_no_more_calls();
    assert_eq!(contents_of(&api), before + 2);
    count.store(0, Ordering::SeqCst);
    assert_eq!(send("c", &[&page]).open().await.status(), 429);
    assert_eq!(count.load(Ordering::SeqCst), 0, "nothing is fetched");
    api.stop().await;
}
