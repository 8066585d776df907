//! Contents that were changed or lost on disk.

use std::{fs, path::PathBuf};

use domain::ProblemCode;

use crate::{
    api_server::{ApiServer, id_of},
    files::{PNG, photo, upload},
};

fn folder(api: &ApiServer) -> PathBuf {
    api.database_file().with_file_name("files")
}

/// The only content.
fn blob(api: &ApiServer) -> PathBuf {
    let mut entries = fs::read_dir(folder(api).join("blobs")).expect("a folder");
    entries.next().expect("a content").expect("an entry").path()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_of_another_size_is_not_sent_as_if_it_were_whole() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let path = format!("/api/files/{}/content", id_of(&photo(&writer).await));
    let blob = blob(&api);
    let longer = [PNG, b"\n"].concat();
    for content in [&PNG[..PNG.len() - 1], &longer] {
        fs::write(&blob, content).expect("a content");
        let refused = writer.get(&path).await;
        refused.problem(ProblemCode::FilesUnavailable);
        let part = writer.request("GET", &path).header("Range", "bytes=0-3");
        part.send().await.problem(ProblemCode::FilesUnavailable);
    }
    let beyond = format!("bytes={}-", PNG.len() - 2);
    fs::write(&blob, &PNG[..4]).expect("a content");
    let part = writer.request("GET", &path).header("Range", &beyond);
    part.send().await.problem(ProblemCode::FilesUnavailable);
    fs::write(&blob, b"").expect("a content");
    let refused = writer.get(&path).await;
    refused.problem(ProblemCode::FilesUnavailable);
    fs::remove_file(&blob).expect("a content");
    let refused = writer.get(&path).await;
    refused.problem(ProblemCode::FilesUnavailable);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_vanishes_takes_no_uploads_until_it_is_back() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let path = format!("/api/files/{}/content", id_of(&photo(&writer).await));
    let (folder, elsewhere) = (
        folder(&api),
        api.database_file().with_file_name("elsewhere"),
    );
    fs::rename(&folder, &elsewhere).expect("a folder");
    for _ in 0..2 {
        let refused = upload(&writer, PNG, &[]).await;
        refused.problem(ProblemCode::FilesUnavailable);
        let refused = writer.get(&path).await;
        refused.problem(ProblemCode::FilesUnavailable);
        assert!(!folder.exists());
    }
    fs::rename(&elsewhere, &folder).expect("a folder");
    upload(&writer, PNG, &[]).await.created();
    assert_eq!(writer.get(&path).await.body, PNG);
    api.stop().await;
}
