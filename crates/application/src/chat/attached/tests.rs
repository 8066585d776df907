use domain::Fingerprint;
use serde_json::json;

use super::*;

const ID: &str = "01a1f84a-95c1-7000-8000-000000000001";

fn data(base64: &str) -> FilePart {
    FilePart::Data {
        media_type: Some("image/png".to_owned()),
        name: Some("../a.png".to_owned()),
        base64: base64.to_owned(),
    }
}

async fn read(parts: Vec<FilePart>) -> Result<Vec<AttachedFile>, Vec<(String, FaultCode)>> {
    let read = AttachedFile::read(parts, 8, None).await;
    read.map_err(|error| match error {
        ChatError::Invalid(faults) => faults.into_iter().map(|it| (it.pointer, it.code)).collect(),
        other => panic!("{other:?}"),
    })
}

#[tokio::test]
async fn contents_are_decoded_and_are_a_part_of_the_fingerprint() {
    let stored = FilePart::Stored(ID.parse().unwrap());
    let files = read(vec![stored, data("aGVs\r\nbG8=")]).await.unwrap();
    let AttachedFile::Sent(sent) = &files[1] else {
        panic!("{files:?}");
    };
    assert_eq!(&*sent.file.content, b"hello");
    let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let expected = json!([ID, {"name": "a.png", "mediaType": "image/png", "sha256": hello}]);
    assert_eq!(serde_json::to_value(&files).unwrap(), expected);
    let other = read(vec![data("aGVsbG8")]).await.unwrap();
    assert_eq!(Fingerprint::of(&files[1]), Fingerprint::of(&other[0]));
    assert_eq!(other[0].identity(), hello);
    assert!(!format!("{files:?}").contains("hello"));
}

#[tokio::test]
async fn faults_name_their_parts() {
    let faults = read(vec![
        data("aGVsbG8="),
        data("a b!"),
        data("aGVsbG8gaGVsbG8="),
    ])
    .await;
    let expected = [
        ("/files/1".to_owned(), FaultCode::BadFormat),
        ("/files/2".to_owned(), FaultCode::TooLarge),
    ];
    assert_eq!(faults.unwrap_err(), expected);
    let many = (0..=MAX_FILES).map(|_| data("aGVsbG8=")).collect();
    let expected = [("/files/8".to_owned(), FaultCode::TooMany)];
    assert_eq!(read(many).await.unwrap_err(), expected);
}

#[tokio::test]
async fn memory_is_held_until_all_contents_are_forgotten() {
    let memory: HeldMemory = Arc::new(());
    let parts = vec![data("aGVsbG8="), data("aGVsbG8=")];
    let read = AttachedFile::read(parts, 8, Some(Arc::clone(&memory))).await;
    let mut files = read.unwrap();
    assert_eq!(Arc::strong_count(&memory), 3);
    for file in &mut files {
        file.forget_content();
    }
    assert_eq!(Arc::strong_count(&memory), 1);
}
