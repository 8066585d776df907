use serde_json::json;

use super::*;

fn read(
    messages: Value,
    reading: impl Fn(&[ClientMessage], &mut Reader<'_>) -> Texts,
) -> (Texts, Vec<String>) {
    let messages: Vec<ClientMessage> = serde_json::from_value(messages).unwrap();
    let mut faults = Vec::new();
    let texts = reading(&messages, &mut Reader::new(&Sizes::default(), &mut faults));
    let pointers = faults.into_iter().map(|fault| fault.pointer);
    (texts, pointers.collect())
}

fn said((role, text): (Role, &str)) -> PastMessage {
    PastMessage::new(role, text)
}

/// A message of the agent with a call.
fn asking(id: &str, function: &str) -> Value {
    let function = json!({"name": function, "arguments": "{}"});
    let call = json!({"id": id, "type": "function", "function": function});
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}

/// A message with the result of a call.
fn result(id: &str, content: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

fn whole(messages: Value) -> (Texts, Vec<String>) {
    read(messages, Texts::whole)
}

#[test]
fn the_texts_of_the_operator_become_texts_of_the_user() {
    let (texts, faults) = whole(json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "Two.", "refusal": null},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": [
            {"type": "text", "text": "Three"}, {"type": "text", "text": "Four"},
        ]},
    ]));
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(texts.message, "Three\nFour");
    let history = [
        (Role::User, "Be brief."),
        (Role::User, "One?"),
        (Role::Agent, "Two."),
        (Role::User, "Be kind."),
    ];
    assert_eq!(texts.history, history.map(said));
}

#[test]
fn instructions_after_the_newest_user_message_do_not_replace_it() {
    let (texts, faults) = whole(json!([
        {"role": "user", "content": "Hello"}, {"role": "system", "content": "Be brief."},
    ]));
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(texts.message, "Hello");
    assert_eq!(texts.history, [said((Role::User, "Be brief."))]);
    let (texts, _) = whole(json!([{"role": "system", "content": "Write a title."}]));
    assert_eq!(texts.message, "Write a title.");
}

#[test]
fn what_cannot_be_read_is_a_fault_at_its_place() {
    for (messages, at) in [
        (
            json!([{"role": "assistant", "content": "Hello"}]),
            "/messages",
        ),
        (
            json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]),
            "/messages",
        ),
        (
            json!([{"role": "user", "content": ""}]),
            "/messages/0/content",
        ),
        (json!([{"role": "user"}]), "/messages/0/content"),
        (
            json!([{"role": "user", "content": 5}]),
            "/messages/0/content",
        ),
        (
            json!([{"role": "user", "content": "x".repeat(32_001)}]),
            "/messages/0/content",
        ),
        (
            json!([{"role": "user", "content": [
                {"type": "text", "text": "a"}, {"type": "refusal", "refusal": "u"},
            ]}]),
            "/messages/0/content/1",
        ),
        (
            json!([{"role": "user", "content": "a"}, {"role": "tool", "content": "4"}]),
            "/messages/1/tool_call_id",
        ),
        (
            json!([{"role": "user", "content": "a"}, {"role": "function", "content": "4"}]),
            "/messages/1/role",
        ),
    ] {
        assert_eq!(whole(messages).1, [at]);
    }
}

#[test]
fn files_are_taken_with_their_places() {
    let take = |parts: Value| {
        let message = json!({"role": "user", "content": parts});
        let mut message: ClientMessage = serde_json::from_value(message).unwrap();
        let mut faults = Vec::new();
        let files = message.take_files(2, "https://chat.example", &mut faults);
        let pointers: Vec<_> = faults.into_iter().map(|fault| fault.pointer).collect();
        (format!("{files:?}"), pointers)
    };
    let id = "01a1f84a-95c1-7000-8000-000000000001";
    for (part, below, kind) in [
        (
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}),
            "image_url/url",
            "image/png",
        ),
        (
            json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}),
            "input_audio/data",
            "audio/mpeg",
        ),
        (
            json!({"type": "file", "file": {"file_data": "AAAA", "filename": "a.pdf"}}),
            "file/file_data",
            "a.pdf",
        ),
        (
            json!({"type": "file", "file": {"file_id": id}}),
            "file/file_id",
            id,
        ),
    ] {
        let (files, faults) = take(json!([{"type": "text", "text": "a"}, part]));
        assert_eq!(faults, [""; 0]);
        let place = format!("/messages/2/content/1/{below}");
        assert!(files.contains(&place) && files.contains(kind), "{files}");
    }
    for (part, below) in [
        (json!({"type": "image_url"}), "image_url/url"),
        (
            json!({"type": "image_url", "image_url": {"url": "u"}}),
            "image_url/url",
        ),
        (
            json!({"type": "input_audio", "input_audio": "x"}),
            "input_audio/data",
        ),
        (json!({"type": "file", "file": {}}), "file/file_data"),
        (
            json!({"type": "file", "file": {"file_id": "file-7"}}),
            "file/file_id",
        ),
    ] {
        let expected = [format!("/messages/2/content/0/{below}")];
        assert_eq!(take(json!([part])).1, expected);
    }
}

#[test]
fn calls_without_results_and_results_without_calls_are_faults() {
    for (messages, at) in [
        (
            json!([{"role": "user", "content": "a"}, asking("c", "f")]),
            "/messages",
        ),
        (
            json!([
                {"role": "user", "content": "a"}, asking("c", "f"), result("c", "4"),
                {"role": "assistant", "content": "b"},
            ]),
            "/messages",
        ),
        (
            json!([
                {"role": "user", "content": "a"}, asking("c", "f"), result("c", "4"),
                asking("d", "f"), result("c", "4"),
            ]),
            "/messages/4/tool_call_id",
        ),
        (
            json!([
                {"role": "user", "content": "a"}, asking("c", "f"),
                result("c", &"x".repeat(64 * 1024 + 1)),
            ]),
            "/messages/2/content",
        ),
        (
            json!([{"role": "user", "content": "a", "tool_calls": [{"id": "c"}]}]),
            "/messages/0/tool_calls",
        ),
    ] {
        assert_eq!(whole(messages).1, [at]);
    }
}

#[test]
fn only_the_newest_user_message_is_read_for_a_stored_conversation() {
    let messages = json!([
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
        {"role": "assistant", "content": "A tree."},
        {"role": "user", "content": "Thanks"},
    ]);
    let (texts, faults) = read(messages, Texts::newest);
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!((&*texts.message, texts.history.len()), ("Thanks", 0));
}

#[test]
fn what_cannot_be_used_of_old_messages_is_omitted() {
    let image = json!({"type": "image_url", "image_url": {"url": "u"}});
    let long = "x".repeat(32_001);
    let (texts, faults) = whole(json!([
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, image]},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]},
        {"role": "tool", "tool_call_id": "c", "content": "4"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "assistant", "content": "It is 4.", "tool_calls": {}},
        {"role": 7, "content": {"text": "?"}},
        {"role": "user", "content": 5},
        {"role": "user", "content": [image]},
        {"role": "assistant", "content": long},
        {"role": "user", "content": "Thanks"},
    ]));
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(texts.message, "Thanks");
    let history = [
        (Role::User, "Look:"),
        (Role::Agent, "It is 4."),
        (Role::Agent, &long),
    ];
    assert_eq!(texts.history, history.map(said));
}

#[test]
fn calls_of_tools_are_read_with_their_results() {
    let (texts, faults) = whole(json!([
        {"role": "user", "content": "One?"},
        asking("call_0", "clock"), result("call_0", "noon"), result("call_9", "?"),
        {"role": "assistant", "content": "Noon."},
        {"role": "user", "content": "Two?"},
        asking("call_0", "cart"), result("call_0", "opened"),
        asking("call_1", "clock"), result("call_1", "one"),
    ]));
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(texts.message, "Two?");
    let called = |id: &str, function: &str, result: &str| PastMessage {
        calls: vec![PastCall {
            id: id.to_owned(),
            function: function.to_owned(),
            arguments: "{}".to_owned(),
            result: Some(result.to_owned()),
        }],
        ..PastMessage::new(Role::Agent, "")
    };
    let history = [
        said((Role::User, "One?")),
        called("call_0", "clock", "noon"),
        said((Role::Agent, "Noon.")),
    ];
    assert_eq!(texts.history, history);
    let steps = [
        called("call_0", "cart", "opened"),
        called("call_1", "clock", "one"),
    ];
    assert_eq!(texts.steps, steps);
}
