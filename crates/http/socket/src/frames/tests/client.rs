use domain::ProblemCode;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::{super::*, SCHEMAS};

const AGENT: &str = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";

fn command(frame: &Value) -> Command {
    let read = read(&frame.to_string(), &SCHEMAS);
    let frame = read.unwrap_or_else(|error| panic!("{frame}: {error:?}"));
    assert_eq!(frame.id, 7);
    frame.command
}

/// The id, the problem code, and the faults as pairs of pointer and code.
fn error_of(text: &str) -> (Option<u64>, ProblemCode, Vec<(String, Value)>) {
    let error = read(text, &SCHEMAS).expect_err(text);
    let faults = error.error.faults.iter().map(|fault| {
        let code = serde_json::to_value(fault.code).unwrap();
        (fault.pointer.clone().unwrap(), code)
    });
    (error.id, error.error.code, faults.collect())
}

fn invalid(frame: &Value, expected: &[(&str, &str)]) {
    let (_, code, faults) = error_of(&frame.to_string());
    assert_eq!(code, ProblemCode::ValidationFailed, "{frame}");
    let faults: Vec<_> = faults
        .iter()
        .map(|(pointer, code)| (pointer.as_str(), code.as_str().unwrap()))
        .collect();
    assert_eq!(faults, expected, "{frame}");
}

#[test]
fn reads_every_command() {
    let connect = json!({"id": 7, "type": "connect", "channels": ["tenant", format!("agent:{AGENT}")], "token": "secret", "since": 3});
    let Command::Connect(connect) = command(&connect) else {
        panic!("no connect");
    };
    assert_eq!(connect.channels, ["tenant", &format!("agent:{AGENT}")]);
    assert_eq!(connect.since, Some(3));
    assert_eq!(connect.token.unwrap().expose_secret(), "secret");

    let subscribe = json!({"id": 7, "type": "subscribe", "channel": "tenant"});
    assert!(matches!(
        command(&subscribe),
        Command::Subscribe(SubscribeFrame { channel, since: None }) if channel == "tenant"
    ));
    let unsubscribe = json!({"id": 7, "type": "unsubscribe", "channel": "tenant"});
    assert!(matches!(
        command(&unsubscribe),
        Command::Unsubscribe(UnsubscribeFrame { channel }) if channel == "tenant"
    ));
    let refresh = json!({"id": 7, "type": "refresh", "token": "new"});
    let Command::Refresh(refresh) = command(&refresh) else {
        panic!("no refresh");
    };
    assert_eq!(refresh.token.expose_secret(), "new");
    let cancel = json!({"id": 7, "type": "cancel", "turnId": "x"});
    assert!(matches!(command(&cancel), Command::Cancel(CancelFrame { turn_id }) if turn_id == "x"));
    let typing = json!({"id": 7, "type": "typing", "conversationId": "x", "typing": true});
    assert!(matches!(
        command(&typing),
        Command::Typing(TypingFrame { conversation_id, typing: true }) if conversation_id == "x"
    ));
    let ping = json!({"id": 7, "type": "ping"});
    assert!(matches!(command(&ping), Command::Ping));
}

#[test]
fn a_chat_has_the_members_of_the_request_body() {
    let frame = json!({
        "id": 7, "type": "chat", "agentId": AGENT, "message": "Hello",
        "userId": "ada", "metadata": {"a": "b"}, "onBusy": "reject", "idempotencyKey": "key-1",
    });
    let Command::Chat(chat) = command(&frame) else {
        panic!("no chat");
    };
    assert_eq!(chat.idempotency_key.unwrap().as_str(), "key-1");
    let command = chat.request.into_command(None).unwrap();
    assert_eq!(command.agent_id.unwrap().to_string(), AGENT);
    assert_eq!(command.message.as_deref(), Some("Hello"));
    assert_eq!(command.user_id.as_deref(), Some("ada"));
    assert_eq!(command.metadata["a"], "b");
    assert_eq!(command.on_busy, application::chat::OnBusy::Reject);
}

#[test]
fn all_errors_of_a_chat_are_reported_at_once_with_pointers() {
    invalid(
        &json!({"id": 7, "type": "chat", "message": "\u{0}", "metadata": {"a": 1}, "stream": true, "idempotencyKey": "a b"}),
        &[
            ("/idempotencyKey", "bad_character"),
            ("/message", "bad_character"),
            ("/metadata/a", "wrong_type"),
            ("/stream", "unknown_member"),
        ],
    );
}

#[test]
fn every_command_needs_an_id_that_a_reply_can_name() {
    for (command, _) in COMMANDS {
        let frame = json!({"type": command});
        let (id, code, faults) = error_of(&frame.to_string());
        assert_eq!((id, code), (None, ProblemCode::ValidationFailed));
        assert!(
            faults.contains(&("/id".to_owned(), "required".into())),
            "{command}"
        );
    }
    let ping = |id: Value| json!({"id": id, "type": "ping"});
    invalid(&ping(json!("1")), &[("/id", "wrong_type")]);
    invalid(&ping(json!(null)), &[("/id", "wrong_type")]);
    invalid(&ping(json!(1.5)), &[("/id", "wrong_type")]);
    invalid(&ping(json!(-1)), &[("/id", "too_small")]);
    let above = 9_007_199_254_740_992_u64;
    invalid(&ping(json!(above)), &[("/id", "too_large")]);
    assert!(read(&ping(json!(above - 1)).to_string(), &SCHEMAS).is_ok());
}

#[test]
fn whole_numbers_are_accepted_in_every_notation() {
    for (written, whole) in [("7.0", 7), ("7e0", 7), ("-0", 0), ("-0.0", 0), ("0", 0)] {
        let ping = format!(r#"{{"id": {written}, "type": "ping"}}"#);
        assert_eq!(read(&ping, &SCHEMAS).unwrap().id, whole, "{written}");
        assert_eq!(read_id(&ping), Some(whole), "{written}");
        let subscribe =
            format!(r#"{{"id": 1, "type": "subscribe", "channel": "tenant", "since": {written}}}"#);
        let subscribe = read(&subscribe, &SCHEMAS).unwrap().command;
        let since = i64::try_from(whole).unwrap();
        assert!(matches!(subscribe, Command::Subscribe(it) if it.since == Some(since)));
    }
}

#[test]
fn the_id_can_be_read_alone() {
    assert_eq!(
        read_id(r#"{"type": "dance", "id": 7, "more": [[]]}"#),
        Some(7)
    );
    for text in [
        "{",
        "[]",
        "{}",
        r#"{"id": "7"}"#,
        r#"{"id": -1}"#,
        r#"{"id": 1.5}"#,
        r#"{"id": 1, "id": 2}"#,
        r#"{"id": 9007199254740992}"#,
    ] {
        assert_eq!(read_id(text), None, "{text}");
    }
}

#[test]
fn an_error_has_the_id_if_it_could_be_read() {
    let (id, code, _) = error_of(r#"{"id": 7, "type": "subscribe"}"#);
    assert_eq!((id, code), (Some(7), ProblemCode::ValidationFailed));
    let (id, code, faults) = error_of(r#"{"id": 7, "type": "dance"}"#);
    assert_eq!((id, code), (Some(7), ProblemCode::UnknownCommand));
    assert_eq!(faults, []);
}

#[test]
fn invalid_frames_are_rejected() {
    for text in ["", "{", "nonsense", r#"{"id": 1, "type": "ping"} {}"#] {
        let (id, code, _) = error_of(text);
        assert_eq!((id, code), (None, ProblemCode::MalformedJson), "{text}");
    }
    invalid(&json!([]), &[("", "wrong_type")]);
    invalid(&json!("ping"), &[("", "wrong_type")]);
    invalid(&json!({}), &[("/id", "required"), ("/type", "required")]);
    invalid(&json!({"id": 1, "type": 1}), &[("/type", "wrong_type")]);
    let (_, _, faults) = error_of(r#"{"id": 1, "id": 2, "type": "ping"}"#);
    assert_eq!(faults, [("/id".to_owned(), json!("duplicate_member"))]);
}

#[test]
fn channels_have_three_kinds_and_at_most_128_are_accepted() {
    let connect = |channels: Value| json!({"id": 7, "type": "connect", "channels": channels});
    let nothing = command(&connect(json!([])));
    assert!(matches!(nothing, Command::Connect(frame) if frame.channels.is_empty()));
    invalid(
        &connect(json!(["tenant", "user:1", "agent:", 5])),
        &[
            ("/channels/1", "bad_format"),
            ("/channels/2", "bad_format"),
            ("/channels/3", "wrong_type"),
        ],
    );
    invalid(
        &connect(json!(["tenant", "tenant"])),
        &[("/channels/1", "duplicate_item")],
    );
    let many = |count| {
        (0..count)
            .map(|it| format!("agent:{it}"))
            .collect::<Vec<_>>()
    };
    assert!(matches!(
        command(&connect(json!(many(128)))),
        Command::Connect(_)
    ));
    invalid(&connect(json!(many(129))), &[("/channels", "too_many")]);
}

#[test]
fn debug_output_contains_no_secret() {
    let connect = command(&json!({"id": 7, "type": "connect", "channels": [], "token": "agk_it"}));
    assert!(!format!("{connect:?}").contains("agk_it"));
    let refresh = command(&json!({"id": 7, "type": "refresh", "token": "agk_it"}));
    assert!(!format!("{refresh:?}").contains("agk_it"));
}
