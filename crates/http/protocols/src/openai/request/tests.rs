use serde_json::json;

use super::*;

fn read(body: Value) -> Result<CompletionRequest, Vec<String>> {
    let body: CompletionBody = serde_json::from_value(body).unwrap();
    body.read(&Sizes::default()).map_err(|error| {
        let pointers = error.faults.into_iter().filter_map(|fault| fault.pointer);
        pointers.collect()
    })
}

/// A body with further members.
fn body(mut members: Value) -> Value {
    let mut body = json!({
        "model": "Ada", "messages": [{"role": "user", "content": "Hello"}],
    });
    let all = body.as_object_mut().unwrap();
    all.append(members.as_object_mut().unwrap());
    body
}

#[test]
fn a_chat_is_ephemeral_without_a_conversation_key() {
    let members = json!({"metadata": {"any": {"thing": 1}}, "store": false, "user": "u"});
    let read = read(body(members)).unwrap();
    assert!(read.stored.is_none() && !read.stream && !read.include_usage);
}

#[test]
fn a_conversation_key_makes_it_stored() {
    let metadata = json!({"conversation_key": "c-1", "page": "start"});
    let read = read(body(json!({"metadata": metadata, "store": true}))).unwrap();
    let stored = read.stored.unwrap();
    assert_eq!(stored.key.as_str(), "c-1");
    assert_eq!(stored.metadata, [("page".into(), "start".into())].into());
}

#[test]
fn what_would_change_the_reply_is_rejected() {
    for (members, at) in [
        (json!({"store": true}), "/store"),
        (json!({"n": 2}), "/n"),
        (json!({"tool_choice": "required"}), "/tool_choice"),
        (
            json!({"tool_choice": {"type": "function", "function": {"name": "f"}}}),
            "/tool_choice",
        ),
        (json!({"function_call": {"name": "f"}}), "/function_call"),
        (json!({"modalities": ["text", "audio"]}), "/modalities"),
        (
            json!({"response_format": {"type": "json_schema"}}),
            "/response_format/type",
        ),
        (json!({"model": ""}), "/model"),
        (json!({"messages": []}), "/messages"),
        (
            json!({"store": false, "metadata": {"conversation_key": "c"}}),
            "/store",
        ),
        (
            json!({"metadata": {"conversation_key": "a b"}}),
            "/metadata/conversation_key",
        ),
        (
            json!({"metadata": {"conversation_key": 7}}),
            "/metadata/conversation_key",
        ),
        (
            json!({"metadata": {"conversation_key": "c", "a": 1}}),
            "/metadata/a",
        ),
    ] {
        assert_eq!(read(body(members)).unwrap_err(), [at]);
    }
}

/// As `docs/protocols/openai.md` states.
#[test]
fn tools_of_the_client_are_ignored_unless_a_call_is_required() {
    let tool =
        json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}});
    for members in [
        json!({"tools": [tool], "parallel_tool_calls": true}),
        json!({"tools": "f", "functions": 7}),
        json!({"tools": [tool], "tool_choice": "auto"}),
        json!({"tools": [tool], "tool_choice": "none"}),
        json!({"functions": [{"name": "f"}], "function_call": "auto"}),
        json!({"functions": [{"name": "f"}], "function_call": "none"}),
    ] {
        assert!(read(body(members.clone())).is_ok(), "{members}");
    }
    for (member, value) in [
        ("tool_choice", json!("required")),
        ("tool_choice", json!({"type": "allowed_tools"})),
        ("function_call", json!("required")),
        ("function_call", json!({"name": "f"})),
    ] {
        let rejected = read(body(json!({"tools": [tool], member: value})));
        assert_eq!(rejected.unwrap_err(), [format!("/{member}")]);
    }
}

#[test]
fn members_without_an_effect_are_tolerated() {
    let members = json!({
        "n": 1, "tools": [{"type": "function"}], "tool_choice": "auto", "functions": null, "modalities": ["text"], "temperature": 0.2,
        "response_format": {"type": "text"}, "stop": ["x"], "max_tokens": 5, "seed": 1,
        "stream": true, "stream_options": {"include_usage": true, "include_obfuscation": false},
    });
    let read = read(body(members)).unwrap();
    assert!(read.stream && read.include_usage);
}
