use domain::LlmSettings;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::openai::Messages;

fn roles_and_texts(request: ModelRequest) -> Vec<(String, String)> {
    let prompt = Messages {
        prompt: &Prompt::new(request, FileKinds::default()),
        requires_text: false,
    };
    let prompt = serde_json::to_value(prompt).expect("JSON");
    let member = |message: &Value, name: &str| message[name].as_str().expect("text").to_owned();
    let messages = prompt.as_array().expect("messages").iter();
    messages
        .map(|message| (member(message, "role"), member(message, "content")))
        .collect()
}

fn request_after(history: &[(Role, String)]) -> ModelRequest {
    let messages = (1..)
        .zip(history)
        .map(|(seq, (role, content))| HistoryMessage::new(seq, *role, content.as_str()));
    ModelRequest {
        history: Arc::new(messages.collect()),
        message: "the new message".into(),
        ..contract::reply_engine::request(0)
    }
}

fn messages() -> impl Strategy<Value = Vec<(Role, String)>> {
    let role = prop_oneof![Just(Role::User), Just(Role::Agent)];
    prop::collection::vec((role, "|[ \n]{1,2}|[a-z]{1,4}"), 0..12)
}

proptest! {
    #[test]
    fn every_history_becomes_one_system_message_and_roles_in_turn(
        history in messages(),
        has_system_role: bool,
        greets: bool,
    ) {
        let mut request = request_after(&history);
        let config = &mut Arc::make_mut(&mut request.agent).config;
        config.greeting = history.first().map(|(_, text)| text.clone()).filter(|_| greets);
        config.llm = Some(LlmSettings {
            system_role: Some(has_system_role),
            ..LlmSettings::default()
        });
        let mut sent = roles_and_texts(request);
        if has_system_role {
            prop_assert_eq!(sent.remove(0).0, "system");
        }
        for (position, (role, content)) in sent.iter().enumerate() {
            let expected = if position % 2 == 0 { "user" } else { "assistant" };
            prop_assert_eq!(role, expected);
            prop_assert!(!content.trim().is_empty());
        }
        let (last_role, last) = sent.last().expect("the new message");
        prop_assert_eq!(last_role, "user");
        prop_assert!(last.ends_with("the new message"));
        // Nothing that the user wrote is lost.
        let all: String = sent.into_iter().map(|(_, content)| content).collect();
        for (_, text) in history.iter().filter(|(role, _)| *role == Role::User) {
            prop_assert!(all.contains(text.trim()));
        }
    }
}

#[test]
fn a_longer_history_keeps_what_was_sent_before() {
    let own = |role, text: &str| (role, text.to_owned());
    let mut history = vec![own(Role::User, "without a reply"), own(Role::Agent, "")];
    let before = roles_and_texts(request_after(&history));
    history.extend([own(Role::User, "the new message"), own(Role::Agent, "Yes.")]);
    let after = roles_and_texts(request_after(&history));
    assert_eq!(after[..before.len()], before);
}

#[test]
fn without_a_system_role_its_text_begins_the_first_message() {
    let mut request = request_after(&[(Role::Agent, "Welcome!".to_owned())]);
    let agent = Arc::make_mut(&mut request.agent);
    agent.name = "Ada".to_owned();
    agent.personality = String::new();
    agent.capabilities = Vec::new();
    agent.config.greeting = Some("Welcome!".to_owned());
    agent.config.llm = Some(LlmSettings {
        system_role: Some(false),
        ..LlmSettings::default()
    });
    let text = "You are Ada.\n\n# Greeting\nYou began the conversation with this message:\nWelcome!\n\nthe new message";
    let expected = [("user".to_owned(), text.to_owned())];
    assert_eq!(roles_and_texts(request), expected);
}

#[test]
fn placeholders_are_filled_and_the_context_precedes_what_depends_on_the_history() {
    let mut request = request_after(&[(Role::Agent, "Hi Eve".to_owned())]);
    let config = &mut Arc::make_mut(&mut request.agent).config;
    config.instructions =
        Some(r"Address {{user.name}} ({{user.id}}), not \{{user.name}}.".to_owned());
    config.greeting = Some("Hi {{user.name}}".to_owned());
    let (without, _) = system(&request);
    assert!(without.ends_with("\nHi Eve"), "{without}");
    let user = domain::UserDraft {
        name: Some("Eve".to_owned()),
        context: "On plan Pro. {{user.id}}".to_owned(),
        ..domain::UserDraft::default()
    };
    let user = user.into_user("ada".to_owned(), domain::Timestamp::from_milliseconds(0));
    request.user = Some(Arc::new(user));
    request.context = Some("Order A-77.".into());
    let (text, shared_bytes) = system(&request);
    assert!(
        text.contains("Address Eve (ada), not {{user.name}}."),
        "{text}"
    );
    let greeting = format!("\n\n# Greeting\n{GREETING_NOTE}\nHi Eve");
    let context =
        format!("\n\n# Context\n{CONTEXT_NOTE}\nOn plan Pro. {{{{user.id}}}}\n\nOrder A-77.");
    assert!(text.ends_with(&format!("{context}{greeting}")), "{text}");
    // The text before the context does not depend on it.
    let name = request.user.as_ref().and_then(|user| user.name.clone());
    let nothing = domain::UserDraft {
        name,
        ..domain::UserDraft::default()
    };
    let nothing = nothing.into_user("ada".to_owned(), domain::Timestamp::from_milliseconds(0));
    request.user = Some(Arc::new(nothing));
    request.context = None;
    let before = text.replace(&context, "");
    assert_eq!(before, system(&request).0);
    assert!(text.starts_with(before.strip_suffix(&greeting).unwrap_or_default()));
    assert!(text[shared_bytes..].starts_with(&context));
}

#[test]
fn what_staff_has_written_is_the_side_of_the_agent() {
    let mut request = request_after(&[]);
    Arc::make_mut(&mut request.agent).config.greeting = Some("Welcome!".to_owned());
    let reply = || HistoryMessage::new(4, Role::Agent, "We ship.");
    request.history = Arc::new(vec![
        HistoryMessage::new(1, Role::Agent, "Welcome!"),
        HistoryMessage::of_staff(2, "Grace", "Call me."),
        HistoryMessage::new(3, Role::User, "When?"),
        reply(),
        HistoryMessage::of_staff(5, "Grace", "On Monday."),
    ]);
    let texts = roles_and_texts(request.clone());
    let system = &texts[0].1;
    assert!(system.contains("# Greeting\nYou began the conversation with this message:\nWelcome!"));
    assert!(
        system.ends_with("# Said before\nGrace: Call me."),
        "{system}"
    );
    assert_eq!(
        texts[1..3],
        [
            ("user".to_owned(), "When?".to_owned()),
            (
                "assistant".to_owned(),
                "We ship.\n\nGrace: On Monday.".to_owned()
            ),
        ]
    );
    // Files are named, also those of a message without text.
    let file = |number| FileReference {
        id: format!("01a1f84a-95c1-7000-8000-00000000000{number}")
            .parse()
            .expect("an id"),
        name: format!("Plan {number}.pdf"),
        media_type: domain::MediaType::Pdf,
        bytes: 3,
    };
    let with_file = |seq, content, number| HistoryMessage {
        files: vec![file(number)],
        ..HistoryMessage::of_staff(seq, "Grace", content)
    };
    let name = |number| {
        let id = file(number).id;
        format!("[file: Plan {number}.pdf, id {id}, application/pdf]")
    };
    request.history = Arc::new(vec![
        with_file(1, "", 1),
        HistoryMessage::new(2, Role::User, "When?"),
        with_file(3, "On Monday.", 2),
    ]);
    let texts = roles_and_texts(request.clone());
    let before = format!("# Said before\nGrace:\n\n{}", name(1));
    assert!(texts[0].1.ends_with(&before), "{}", texts[0].1);
    let named = format!("Grace: On Monday.\n\n{}", name(2));
    assert_eq!(texts[2], ("assistant".to_owned(), named));
    // Without a message of staff, replies whose questions are cut off are left out.
    request.history = Arc::new(vec![reply()]);
    let texts = roles_and_texts(request);
    assert!(!texts[0].1.contains("Said before"), "{}", texts[0].1);
}
