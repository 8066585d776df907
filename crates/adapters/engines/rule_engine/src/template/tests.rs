use std::{task::Poll, time::Duration};

use cpu_pool::TimeSlice;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::{fixture::agent, pattern::PatternMemory};

/// What a text without a call may contain.
fn known(captures: KnownCaptures<'_>) -> Placeholders<'_> {
    Placeholders {
        captures,
        has_result: false,
    }
}

fn fill(source: &str, captures: KnownCaptures<'_>, found: &Captures, message: &str) -> FilledReply {
    let agent = agent();
    let values = Values {
        agent: &agent,
        message,
        common: PlaceholderValues {
            agent_name: &agent.name,
            user_id: Some("u-1"),
            user_name: Some("Eve"),
        },
        captures: found,
        result: "",
    };
    let template = Template::parse(source, known(captures));
    template.unwrap().fill(&values)
}

#[rstest]
#[case("I am {{agent.name}}.", "I am Ada.")]
#[case("{{ agent.personality }}", "Cheerful and brief.")]
#[case("{{user.id}}: {{message}}", "u-1: say {{agent.name}}")]
#[case(r"{{ user.name }} writes \{{user.name}}", "Eve writes {{user.name}}")]
#[case("{{{message}}}", "{say {{agent.name}}}")]
#[case("open {{ and } shut", "open {{ and } shut")]
#[case("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}")]
#[case("", "")]
fn each_placeholder_is_filled_once(#[case] source: &str, #[case] expected: &str) {
    let reply = fill(source, KnownCaptures::None, &vec![], "say {{agent.name}}");
    assert_eq!(reply.text, expected);
    assert!(!reply.is_truncated);
}

#[rstest]
#[case("{{agent.nmae}}")]
#[case("{{}}")]
#[case("{{Agent.Name}}")]
#[case("{{capture.1}}")]
#[case("{{capture.}}")]
#[case("fine {{message}} then {{ nothing }}")]
fn unknown_placeholders_are_rejected(#[case] source: &str) {
    let error = Template::parse(source, known(KnownCaptures::None)).unwrap_err();
    assert_eq!(error, UnknownPlaceholder);
}

#[test]
fn only_groups_of_the_pattern_are_known() {
    let pattern = Pattern::compile(r"call me (?P<name>[a-z]+)( please)?", true).unwrap();
    let captures = KnownCaptures::Of(&pattern);
    for unknown in [
        "{{capture.3}}",
        "{{capture.nam}}",
        "{{capture.+1}}",
        "{{capture.}}",
    ] {
        assert!(
            Template::parse(unknown, known(captures)).is_err(),
            "{unknown}"
        );
    }
    let message = "Call me Bob!";
    let (mut memory, slice) = (PatternMemory::default(), TimeSlice::new(Duration::MAX));
    let Poll::Ready(Some(found)) = pattern.find(&mut memory, message, slice) else {
        panic!("the pattern matches");
    };
    let source = "{{capture.name}}/{{capture.1}}/{{capture.2}}/{{capture.0}}";
    assert_eq!(
        fill(source, captures, &found, message).text,
        "Bob/Bob//Call me Bob"
    );
}

#[test]
fn a_reply_that_is_too_long_is_cut_between_characters() {
    let message = "ä".repeat(30_000);
    let reply = fill(
        "x{{message}}{{message}}!",
        KnownCaptures::None,
        &vec![],
        &message,
    );
    assert!(reply.is_truncated);
    assert_eq!(reply.text.len(), MAX_REPLY_BYTES - 1);
    assert!(reply.text.ends_with('ä'));
}

proptest! {
    #[test]
    fn any_text_is_parsed_and_kept(source in "[{}a-z. é]{0,40}") {
        if let Ok(template) = Template::parse(&source, known(KnownCaptures::Any)) {
            let values = Values {
                agent: &agent(),
                message: "m",
                common: PlaceholderValues {
                    agent_name: "Ada",
                    user_id: None,
                    user_name: None,
                },
                captures: &vec![],
                result: "",
            };
            let reply = template.fill(&values);
            if !source.contains("{{") {
                prop_assert_eq!(reply.text, source);
            }
        }
    }

    #[test]
    fn inserted_values_are_not_parsed(
        message in "(\\{\\{(message|agent\\.name|user\\.id)\\}\\}|[{}a-z é]){0,12}",
        before in "[a-z }]{0,8}",
        after in "[a-z ]{0,8}",
    ) {
        let source = format!("{before}{{{{message}}}}{after}{{{{message}}}}");
        let reply = fill(&source, KnownCaptures::None, &vec![], &message);
        prop_assert_eq!(reply.text, format!("{before}{message}{after}{message}"));
    }
}
