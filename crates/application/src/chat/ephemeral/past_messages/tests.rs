use super::*;

fn said(role: Role, content: &str) -> PastMessage {
    PastMessage::new(role, content)
}

/// A message of the agent with one call.
fn called(content: &str, id: &str, result: Option<&str>) -> PastMessage {
    PastMessage {
        calls: vec![PastCall {
            id: id.to_owned(),
            function: "open cart".to_owned(),
            arguments: r#"{"tab": 2}"#.to_owned(),
            result: result.map(str::to_owned),
        }],
        ..PastMessage::new(Role::Agent, content)
    }
}

/// The author and the text of each message, with the texts, ids and results of its steps.
fn shown(history: &[HistoryMessage]) -> Vec<String> {
    let step = |step: &Arc<ModelStep>| {
        let calls = step.calls.iter();
        let calls = calls.map(|it| format!("{}={}", it.call_id, it.text()));
        format!("[{}|{}]", step.response.text, calls.collect::<String>())
    };
    let messages = history.iter().map(|message| {
        let calls = message.calls.as_deref();
        let steps: String = calls.iter().flat_map(|it| &it.steps).map(step).collect();
        let start = calls.map_or(0, |calls| calls.text_bytes);
        let rest = &message.content[start..];
        format!("{} {:?}{steps} {rest:?}", message.seq, message.role)
    });
    messages.collect()
}

fn conversation() -> Vec<PastMessage> {
    vec![
        said(Role::User, "One?"),
        called("Look. ", "a", Some("1")),
        called("", "b", Some("2")),
        said(Role::Agent, "Three."),
        said(Role::User, "Four?"),
        called("", "c", None),
        said(Role::User, "Five?"),
    ]
}

#[test]
fn calls_belong_to_the_reply_after_them() {
    let history = history(&HistoryLimits::default(), conversation());
    let expected = [
        r#"1 User "One?""#,
        r#"2 Agent[Look. |a=1][|b=2] "\n\nThree.""#,
        r#"3 User "Four?""#,
        r#"4 Agent[|c=not run: the user continued without answering] """#,
        r#"5 User "Five?""#,
    ];
    assert_eq!(shown(&history), expected);
}

#[test]
fn the_limits_of_the_agent_hold() {
    let limited = |limits| shown(&history(&limits, conversation()));
    let without_calls = HistoryLimits {
        tool_results: Some(false),
        ..HistoryLimits::default()
    };
    let expected = [
        r#"1 User "One?""#,
        r#"2 Agent "Look. \n\nThree.""#,
        r#"3 User "Four?""#,
        r#"4 User "Five?""#,
    ];
    assert_eq!(limited(without_calls), expected);
    let two = HistoryLimits {
        max_messages: Some(3),
        ..HistoryLimits::default()
    };
    assert_eq!(limited(two).len(), 3);
    let short = HistoryLimits {
        max_characters: Some(30),
        ..HistoryLimits::default()
    };
    let texts = limited(short);
    assert!(!texts.iter().any(|it| it.contains("a=1")), "{texts:?}");
}

#[test]
fn steps_have_what_models_accept() {
    let PastMessage { calls, .. } = called("", "a", Some("1"));
    let broken = PastCall {
        arguments: "{".to_owned(),
        ..calls[0].clone()
    };
    let message = PastMessage {
        calls: vec![calls[0].clone(), broken],
        ..PastMessage::new(Role::Agent, "Look.")
    };
    let [step] = &steps(vec![message], "llm")[..] else {
        panic!("one step")
    };
    let ModelResponse { engine, text, .. } = &step.response;
    assert_eq!((&**engine, &**text), ("llm", "Look."));
    let sent = step.calls.iter().map(|it| (&*it.function, &*it.arguments));
    let expected = [("open_cart", r#"{"tab": 2}"#), ("open_cart", "{}")];
    assert_eq!(sent.collect::<Vec<_>>(), expected);
}
