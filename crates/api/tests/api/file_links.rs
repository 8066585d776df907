//! Links to the contents of files.

use domain::ProblemCode;
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    caller::Caller,
    files::{PNG, photo, upload},
    regions::fixture::Regions,
    response::ApiResponse,
    user_tokens::{BACKEND, backend, user},
};

/// The path of a link, with its query.
fn path_of(link: &ApiResponse) -> String {
    assert_eq!(link.header("cache-control"), "no-store");
    let link = link.created();
    let url = link["url"].as_str().expect("a URL");
    let (server, path) = url.split_at(url.find("/api/").expect("a path of the API"));
    assert!(server.starts_with("http://127.0.0.1:"), "{url}");
    assert!(link["expiresAt"].is_string(), "{link}");
    path.to_owned()
}

async fn make_link(caller: &Caller, file: &str) -> ApiResponse {
    let path = format!("/api/files/{file}/link");
    caller.request("POST", &path).send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_opens_the_content_without_a_credential() {
    let api = ApiServer::start().await;
    let (writer, anonymous) = (api.writer(), api.anonymous());
    let file = id_of(&photo(&writer).await);
    let path = path_of(&make_link(&writer, &file).await);
    let content = anonymous.get(&path).await;
    assert_eq!((content.status, &*content.body), (200, PNG));
    assert_eq!(content.header("content-security-policy"), "sandbox");
    let part = anonymous
        .request("GET", &path)
        .header("Range", "bytes=1-3")
        .send()
        .await;
    assert_eq!((part.status, &*part.body), (206, &PNG[1..4]));
    let bare = format!("/api/files/{file}/content");
    let refused = anonymous.get(&bare).await;
    refused.problem(ProblemCode::Unauthenticated);
    for wrong in [
        format!("{bare}?link="),
        format!("{bare}?link=x"),
        format!("{path}A"),
    ] {
        let refused = anonymous.get(&wrong).await;
        refused.problem(ProblemCode::FileNotFound);
    }
    // A credential beside a link is not looked at.
    for (name, value) in [
        ("Authorization", "Bearer expired"),
        ("X-API-Key", "agk_unknown"),
        ("X-API-Key", writer.key()),
    ] {
        let read = async |path: &str| {
            let request = anonymous.request("GET", path).header(name, value);
            request.send().await
        };
        assert_eq!(read(&path).await.body, PNG);
        let refused = read(&format!("{path}A")).await;
        refused.problem(ProblemCode::FileNotFound);
    }
    let elsewhere = anonymous.request("GET", &format!("/api/files/{file}?link=x"));
    let refused = elsewhere.header("X-API-Key", "agk_unknown").send().await;
    refused.problem(ProblemCode::InvalidCredentials);
    let both = anonymous.request("GET", &path);
    let both = both.header("Authorization", "Bearer x");
    let both = both.header("X-API-Key", "x").send().await;
    assert_eq!(both.body, PNG);
    let unknown = anonymous.get(&format!("{path}&size=1")).await;
    assert_eq!(
        unknown.faults(),
        [("size".to_owned(), "unknown_member".to_owned())]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_bound_to_its_file_and_ends_with_it() {
    let api = ApiServer::start().await;
    let (writer, anonymous) = (api.writer(), api.anonymous());
    let (file, other) = (id_of(&photo(&writer).await), id_of(&photo(&writer).await));
    let path = path_of(&make_link(&writer, &file).await);
    let moved = anonymous.get(&path.replace(&file, &other)).await;
    moved.problem(ProblemCode::FileNotFound);
    writer.delete(&format!("/api/files/{file}")).await;
    let gone = anonymous.get(&path).await;
    gone.problem(ProblemCode::FileNotFound);

    let text = upload(&writer, b"Hello", &[("Content-Type", "text/plain")]).await;
    let other = id_of(&text.created());
    let path = path_of(&make_link(&writer, &other).await);
    let agent = api.agent_id().await;
    let reply = api
        .chat(json!({"agentId": agent, "message": "Hi", "files": [other]}))
        .await;
    assert_eq!(anonymous.get(&path).await.status, 200);
    let conversation = reply["conversationId"].as_str().expect("a conversation");
    writer
        .delete(&format!("/api/conversations/{conversation}"))
        .await;
    let gone = anonymous.get(&path).await;
    gone.problem(ProblemCode::FileNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_readers_of_a_file_make_links_to_it() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let (ada, bob) = (
        user(&api, &backend, "ada").await,
        user(&api, &backend, "bob").await,
    );
    let file = id_of(&photo(&ada).await);
    path_of(&make_link(&ada, &file).await);
    for caller in [&bob, &api.other_tenant(), &api.writer()] {
        let refused = make_link(caller, &file).await;
        refused.problem(ProblemCode::FileNotFound);
    }
    let refused = make_link(&api.anonymous(), &file).await;
    refused.problem(ProblemCode::Unauthenticated);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_are_valid_after_a_restart() {
    let api = ApiServer::start().await;
    let file = id_of(&photo(&api.writer()).await);
    let path = path_of(&make_link(&api.writer(), &file).await);
    let api = api.restart(ApiServerBuilder::default()).await;
    assert_eq!(api.anonymous().get(&path).await.status, 200);
    api.stop().await;
}

#[actix_web::test]
async fn links_are_valid_in_every_region() {
    let regions = Regions::start().await;
    let file = id_of(&photo(&regions.home.writer()).await);
    for maker in [&regions.home, &regions.far] {
        let path = path_of(&make_link(&maker.writer(), &file).await);
        for reader in [&regions.home, &regions.far] {
            let content = reader.anonymous().get(&path).await;
            assert_eq!((content.status, &*content.body), (200, PNG));
            let request = reader.anonymous().request("GET", &path);
            let content = request.header("Authorization", "Bearer x").send().await;
            assert_eq!((content.status, &*content.body), (200, PNG));
        }
    }
}
