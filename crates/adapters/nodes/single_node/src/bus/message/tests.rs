use domain::{ConversationId, NodeId, Seq, TurnId};
use ports::ReplyPart;

use super::*;

const MAX_BYTES: usize = 7_900;

fn appended(tenant: &str) -> Signal {
    Signal::LogAppended {
        tenant: tenant.parse().unwrap(),
        head: Seq(i64::MAX),
    }
}

fn text_part(text: &str) -> Signal {
    Signal::ReplyPart {
        tenant: "a".parse().unwrap(),
        conversation_id: ConversationId::new(Uuid::nil()),
        turn_id: TurnId::new(Uuid::nil()),
        node: NodeId::new(Uuid::nil()),
        resumptions: 0,
        part: ReplyPart::Text {
            from: 0,
            text: text.to_owned(),
        },
    }
}

fn read(messages: &[String]) -> Vec<Signal> {
    let mut fragments = Fragments::default();
    let messages = messages.iter().map(|text| Message::read(text).unwrap());
    messages
        .flat_map(|message| fragments.add(message, true))
        .collect()
}

#[test]
fn many_signals_are_split_into_messages_of_the_maximum_length() {
    let signals: Vec<_> = (0..500).map(|i| appended(&format!("tenant-{i}"))).collect();
    let messages = MessageWriter::new(Uuid::max(), MAX_BYTES).write(&signals);
    assert!(messages.len() > 1);
    assert!(messages.iter().all(|message| message.len() <= MAX_BYTES));
    let numbers = messages
        .iter()
        .map(|text| Message::read(text).unwrap().number);
    assert!(numbers.eq((0..).take(messages.len())));
    assert_eq!(read(&messages), signals);
}

#[test]
fn a_signal_that_exceeds_a_message_arrives_in_fragments() {
    let long = "\u{0}\"\\\u{1f469}é".repeat(5_000);
    let signals = [appended("a"), text_part(&long), appended("b")];
    let messages = MessageWriter::new(Uuid::max(), MAX_BYTES).write(&signals);
    assert!(messages.len() > 3);
    assert!(messages.iter().all(|message| message.len() <= MAX_BYTES));
    assert_eq!(read(&messages), signals);
}

/// A message as the first version that exchanged messages reads it.
#[derive(Deserialize)]
struct FirstMessage {
    number: u64,
    signals: Vec<Value>,
}

#[test]
fn the_first_version_can_read_every_message() {
    let signals = [appended("a"), text_part(&"x".repeat(20_000)), appended("b")];
    let messages = MessageWriter::new(Uuid::max(), MAX_BYTES).write(&signals);
    let read = |text: &String| serde_json::from_str::<FirstMessage>(text).unwrap();
    let read: Vec<_> = messages.iter().map(read).collect();
    assert!((0..).zip(&read).all(|(number, it)| it.number == number));
    assert_eq!(read.iter().map(|it| it.signals.len()).sum::<usize>(), 2);
}

#[test]
fn the_length_of_messages_holds_for_every_number() {
    let mut writer = MessageWriter::new(Uuid::max(), MAX_BYTES);
    writer.next = u64::MAX - 10;
    let messages = writer.write(&[text_part(&"x".repeat(20_000))]);
    assert!(messages.iter().all(|message| message.len() <= MAX_BYTES));
}

#[test]
fn a_signal_without_all_of_its_fragments_is_dropped() {
    let signals = [text_part(&"x".repeat(20_000)), appended("b")];
    let mut messages = MessageWriter::new(Uuid::max(), MAX_BYTES).write(&signals);
    messages.remove(1);
    let mut fragments = Fragments::default();
    let arrived: Vec<_> = messages
        .iter()
        .map(|text| Message::read(text).unwrap())
        .flat_map(|message| {
            let is_next = message.number != 2;
            fragments.add(message, is_next)
        })
        .collect();
    assert_eq!(arrived, [appended("b")]);
}

#[test]
fn a_signal_above_the_limit_is_not_sent() {
    let signals = [text_part(&"x".repeat(MAX_SIGNAL_BYTES)), appended("b")];
    let messages = MessageWriter::new(Uuid::max(), MAX_BYTES).write(&signals);
    assert_eq!(read(&messages), [appended("b")]);
}

#[test]
fn no_signals_make_one_message() {
    let messages = MessageWriter::new(Uuid::nil(), MAX_BYTES).write(&[]);
    assert_eq!(messages.len(), 1);
    assert!(read(&messages).is_empty());
}

#[test]
fn signals_and_members_of_later_versions_are_ignored() {
    let text = r#"{"process":"00000000-0000-0000-0000-000000000000","number":1,"new":1,
        "signals":[{"type":"later"},{"type":"logAppended","tenant":"a","head":5,"new":1},7]}"#;
    let tenant = "a".parse().unwrap();
    assert_eq!(
        read(&[text.to_owned()]),
        [Signal::LogAppended {
            tenant,
            head: Seq(5)
        }]
    );
    assert!(Message::read("{}").is_none());
}
