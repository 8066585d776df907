//! Small talk in English, based on the description of the agent.

use domain::Agent;

use crate::topic::Topic;

/// The maximum number of characters of the personality in a reply.
const MAX_PERSONALITY_CHARS: usize = 300;
/// The maximum number of capabilities in a reply.
const MAX_CAPABILITIES: usize = 8;

/// Returns the reply to small talk; `None` if the message is about something else.
pub(crate) fn reply(agent: &Agent, message: &str) -> Option<String> {
    Some(match Topic::from_message(message, &agent.name)? {
        Topic::Abilities => abilities(agent),
        Topic::Introduction => introduction(agent),
        Topic::WellBeing => "I'm doing well, thank you! What can I do for you?".to_owned(),
        Topic::GoodBye => "Good-bye! It was nice talking to you.".to_owned(),
        Topic::Thanks => "You're welcome! Just ask if there is anything else.".to_owned(),
        Topic::Help => help(agent),
        Topic::Greeting => greeting(agent),
        Topic::Agreement => "All right! What else can I do for you?".to_owned(),
    })
}

/// Returns the reply if there is no better one.
pub(crate) fn default_reply(agent: &Agent) -> String {
    let name = &agent.name;
    match join(&agent.capabilities) {
        Some(list) => {
            format!("I'm not sure I understand. I'm {name}, and I can help with {list}.")
        }
        None => format!("I'm not sure I understand. I'm {name}; could you put it another way?"),
    }
}

fn greeting(agent: &Agent) -> String {
    let name = &agent.name;
    match join(&agent.capabilities) {
        Some(list) => format!("Hello! I'm {name}. I can help with {list}. What can I do for you?"),
        None => format!("Hello! I'm {name}. What can I do for you?"),
    }
}

fn introduction(agent: &Agent) -> String {
    let mut text = format!("I'm {}.", agent.name);
    if let Some(personality) = personality(agent) {
        text.push_str(" My personality: ");
        text.push_str(&personality);
    }
    match join(&agent.capabilities) {
        Some(list) => text + " I can help with " + &list + ".",
        None => text + " It's nice to meet you!",
    }
}

fn abilities(agent: &Agent) -> String {
    match join(&agent.capabilities) {
        Some(list) => format!("I can help with {list}."),
        None => "I have no special skills yet, but I'm happy to talk.".to_owned(),
    }
}

fn help(agent: &Agent) -> String {
    match join(&agent.capabilities) {
        Some(list) => format!("Of course! I can help with {list}. What do you need?"),
        None => "Of course! Tell me what you need, and I'll see what I can do.".to_owned(),
    }
}

/// "a", "a and b", "a, b and c", "a, b, … and 3 more".
fn join(capabilities: &[String]) -> Option<String> {
    let mut items: Vec<String> = capabilities
        .iter()
        .take(MAX_CAPABILITIES)
        .cloned()
        .collect();
    let more = capabilities.len() - items.len();
    if more > 0 {
        items.push(format!("{more} more"));
    }
    let last = items.pop()?;
    Some(if items.is_empty() {
        last
    } else {
        format!("{} and {last}", items.join(", "))
    })
}

/// Returns the personality on one line, truncated, with a punctuation mark at its end.
fn personality(agent: &Agent) -> Option<String> {
    let words: Vec<&str> = agent.personality.split_whitespace().collect();
    let mut text = words.join(" ");
    if let Some((end, _)) = text.char_indices().nth(MAX_PERSONALITY_CHARS) {
        text.truncate(end);
        let end = text.rfind(' ').unwrap_or(end);
        text.truncate(end);
        text.push('…');
    }
    let last = text.chars().next_back()?;
    if last.is_alphanumeric() {
        text.push('.');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::fixture::agent;

    #[rstest]
    #[case(
        "hello",
        "Hello! I'm Ada. I can help with time and weather. What can I do for you?"
    )]
    #[case(
        "who are you",
        "I'm Ada. My personality: Cheerful and brief. I can help with time and weather."
    )]
    #[case("what can you do?", "I can help with time and weather.")]
    #[case(
        "help!",
        "Of course! I can help with time and weather. What do you need?"
    )]
    fn replies_describe_the_agent(#[case] message: &str, #[case] expected: &str) {
        assert_eq!(reply(&agent(), message).as_deref(), Some(expected));
    }

    #[rstest]
    #[case("hello", "Hello! I'm Ada. What can I do for you?")]
    #[case("who are you", "I'm Ada. It's nice to meet you!")]
    #[case(
        "what can you do?",
        "I have no special skills yet, but I'm happy to talk."
    )]
    #[case(
        "help!",
        "Of course! Tell me what you need, and I'll see what I can do."
    )]
    fn replies_work_without_personality_and_capabilities(
        #[case] message: &str,
        #[case] expected: &str,
    ) {
        let mut agent = agent();
        agent.personality.clear();
        agent.capabilities.clear();
        assert_eq!(reply(&agent, message).as_deref(), Some(expected));
        let default_reply = default_reply(&agent);
        assert_eq!(
            default_reply,
            "I'm not sure I understand. I'm Ada; could you put it another way?"
        );
    }

    #[test]
    fn long_lists_and_personalities_are_shortened() {
        let mut agent = agent();
        agent.capabilities = (1..=12).map(|number| format!("c{number}")).collect();
        assert_eq!(
            default_reply(&agent),
            "I'm not sure I understand. I'm Ada, and I can help with c1, c2, c3, c4, c5, c6, c7, \
             c8 and 4 more."
        );
        agent.personality = "very patient\n".repeat(600);
        let text = introduction(&agent);
        assert!(text.contains("very patient… I"), "{text}");
        assert!(text.chars().count() < 500);
    }
}
