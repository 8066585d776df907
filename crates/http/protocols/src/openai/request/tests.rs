use serde_json::json;

use super::*;

fn read(body: Value) -> Result<CompletionRequest, Vec<String>> {
    let body: CompletionBody = serde_json::from_value(body).unwrap();
    body.read(&Sizes::default(), &|_| None).map_err(|error| {
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
        (json!({"tool_choice": "any"}), "/tool_choice"),
        (json!({"tool_choice": {"type": "function"}}), "/tool_choice"),
        (
            json!({"tool_choice": {"type": "allowed_tools"}}),
            "/tool_choice",
        ),
        (json!({"function_call": {"name": "f"}}), "/function_call"),
        (json!({"modalities": ["text", "audio"]}), "/modalities"),
        (
            json!({"response_format": {"type": "grammar"}}),
            "/response_format/type",
        ),
        (
            json!({"response_format": {"type": "json_schema"}}),
            "/response_format/json_schema/schema",
        ),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"schema": 1}}}),
            "/response_format/json_schema/schema",
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
fn tools_of_the_client_are_read_with_what_is_demanded_of_them() {
    let tool =
        json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}});
    let named = json!({"type": "function", "function": {"name": "f"}});
    let function = || ToolChoice::Function("f".to_owned());
    for key in [json!(null), json!("c-1")] {
        for (members, choice, parallel, is_offered) in [
            (json!({}), ToolChoice::Auto, None, true),
            (json!({"tool_choice": null}), ToolChoice::Auto, None, true),
            (
                json!({"tool_choice": "auto", "parallel_tool_calls": true}),
                ToolChoice::Auto,
                Some(true),
                true,
            ),
            (
                json!({"tool_choice": "required", "parallel_tool_calls": false}),
                ToolChoice::Required,
                Some(false),
                true,
            ),
            (
                json!({"tool_choice": named, "parallel_tool_calls": null}),
                function(),
                None,
                true,
            ),
            (
                json!({"tool_choice": "none", "parallel_tool_calls": false}),
                ToolChoice::Auto,
                None,
                false,
            ),
        ] {
            let mut members = body(members);
            members["tools"] = json!([tool]);
            members["metadata"] = json!({"conversation_key": key});
            let read = read(members.clone()).unwrap();
            assert_eq!(read.tool_use, ToolUse { choice, parallel }, "{members}");
            let offered: Vec<_> = read.tools.iter().map(|tool| &*tool.name).collect();
            assert_eq!(offered, ["f"].repeat(usize::from(is_offered)), "{members}");
        }
    }
}

#[test]
fn malformed_tools_are_reported_with_their_place() {
    for key in [json!(null), json!("c-1")] {
        for (malformed, at) in [
            (
                json!({"type": "function", "function": {"name": "f g"}}),
                "/tools",
            ),
            (json!({"type": "function"}), "/tools/0"),
            (
                json!({"type": "custom", "custom": {"name": "f"}}),
                "/tools/0",
            ),
            (
                json!({"type": "function", "function": {"name": "f", "parameters": 1}}),
                "/tools/0",
            ),
            (json!("f"), "/tools/0"),
        ] {
            let mut members = body(json!({"tools": [malformed]}));
            members["metadata"] = json!({"conversation_key": key});
            assert_eq!(read(members).unwrap_err(), [at]);
        }
    }
}

/// As `docs/protocols/openai.md` states.
#[test]
fn functions_in_the_old_form_are_ignored_unless_a_call_is_required() {
    for members in [
        json!({"tools": null, "functions": 7}),
        json!({"functions": [{"name": "f"}], "function_call": "auto"}),
        json!({"functions": [{"name": "f"}], "function_call": "none"}),
    ] {
        let read = read(body(members.clone()));
        assert!(read.is_ok_and(|read| read.tools.is_empty()), "{members}");
    }
    for value in [json!("required"), json!({"name": "f"})] {
        let rejected = read(body(json!({"function_call": value})));
        assert_eq!(rejected.unwrap_err(), ["/function_call"]);
    }
}

#[test]
fn members_without_an_effect_are_tolerated() {
    let members = json!({
        "n": 1, "tools": [], "tool_choice": "auto", "functions": null, "modalities": ["text"], "temperature": 0.2,
        "response_format": {"type": "text"}, "stop": ["x"], "max_tokens": 5, "seed": 1,
        "stream": true, "stream_options": {"include_usage": true, "include_obfuscation": false},
    });
    let read = read(body(members)).unwrap();
    assert!(read.stream && read.include_usage);
}
