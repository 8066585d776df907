use std::sync::Arc;

use domain::{FileId, HistoryMessage, MediaType, Role};

use super::*;

fn file(number: u32, media_type: MediaType, bytes: u64) -> FileReference {
    FileReference {
        id: FileId::new(uuid::Uuid::from_u128(u128::from(number))),
        name: number.to_string(),
        media_type,
        bytes,
    }
}

/// A request of a turn of a conversation with a file in each of these turns; its number is the position of its
/// message.
fn request(turn: u32, has_file: impl Fn(u32) -> bool, media_type: MediaType) -> ModelRequest {
    let files = |turn: u32| {
        let number = 2 * turn + 1;
        has_file(turn).then(|| file(number, media_type, 10))
    };
    let earlier = (0..turn).map(|turn| HistoryMessage {
        files: files(turn).into_iter().collect(),
        ..HistoryMessage::new(i64::from(2 * turn + 1), Role::User, "a")
    });
    ModelRequest {
        history: Arc::new(earlier.collect()),
        files: files(turn).into_iter().collect(),
        ..contract::reply_engine::request(turn)
    }
}

fn numbers(files: &[SentFile]) -> Vec<u32> {
    let names = files.iter().rev();
    names
        .map(|it| it.reference.name.parse().expect("a number"))
        .collect()
}

const IMAGES: FileKinds = FileKinds {
    image: true,
    pdf: false,
    audio: false,
};

#[test]
fn the_newest_files_are_sent_and_the_oldest_left_out_in_steps() {
    let mut oldest = Vec::new();
    for turn in 0..40 {
        let request = request(turn, |_| true, MediaType::Png);
        let sent = numbers(&chosen(&request, (IMAGES, 1_000)));
        assert_eq!(sent.last(), Some(&(2 * turn + 1)));
        let count = u32::try_from(sent.len()).expect("few");
        assert!((turn + 1).min(6) <= count && count <= 8, "{sent:?}");
        oldest.push(sent[0]);
    }
    oldest.dedup();
    // Each step leaves out two.
    assert_eq!(oldest[..4], [1, 5, 9, 13]);
    assert!(chosen(&request(3, |_| true, MediaType::Pdf), (IMAGES, 1_000)).is_empty());
}

#[test]
fn their_bytes_are_limited_too() {
    for turn in 0..40 {
        let request = request(turn, |_| true, MediaType::Png);
        let sent = chosen(&request, (IMAGES, 40));
        assert!((turn as usize + 1).min(3) <= sent.len() && sent.len() <= 4);
    }
    // The newest file of the history is left out only if it does not fit.
    let request = request(9, |turn| turn > 6, MediaType::Png);
    assert_eq!(numbers(&chosen(&request, (IMAGES, 29))), [17, 19]);
}

#[test]
fn a_file_that_is_used_again_is_sent_once() {
    let mut request = request(3, |_| true, MediaType::Png);
    request.files = vec![file(1, MediaType::Png, 10)];
    assert_eq!(numbers(&chosen(&request, (IMAGES, 1_000))), [3, 5, 1]);
}

#[test]
fn texts_are_cut_for_each_message_and_left_out_together() {
    let request = request(5, |_| true, MediaType::Plain);
    let files = chosen(&request, (IMAGES, 1_000));
    let sent = |characters: usize, limit| {
        let text = "é".repeat(characters);
        let contents = files
            .iter()
            .map(|it| (it.reference.id, text.clone().into()));
        let left = with_texts_within(contents.collect(), &files, limit);
        let mut numbers: Vec<_> = files.iter().rev().collect();
        numbers.retain(|it| left.contains_key(&it.reference.id));
        let text = left[&files[0].reference.id].clone();
        let names = numbers.iter().map(|it| it.reference.name.clone());
        (
            names.collect::<Vec<_>>(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    };
    assert_eq!(sent(10, 60).0, ["1", "3", "5", "7", "9", "11"]);
    assert_eq!(sent(10, 59).0, ["3", "5", "7", "9", "11"]);
    assert_eq!(sent(10, 49).0, ["5", "7", "9", "11"]);
    assert_eq!(
        sent(10, 20).0,
        ["9", "11"],
        "the newest one of the history fits"
    );
    let (names, text) = sent(10, 4);
    assert_eq!(names, ["11"]);
    assert_eq!(text, "éééé\n[The rest of the file is cut off.]");
}
