//! The topic of small talk, recognised by its English words.

mod words;

use self::words::{AGREEMENT, FAREWELLS, FILLERS, GREETINGS, HELP, PHRASES, THANKS};
use crate::keywords::FoldedText;

/// The maximum length of small talk in bytes.
const MAX_MESSAGE_BYTES: usize = 400;
/// The maximum number of words of small talk; longer messages are about something else.
const MAX_MESSAGE_WORDS: usize = 12;

/// Topics of people who do not know each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Abilities,
    Introduction,
    WellBeing,
    GoodBye,
    Thanks,
    Help,
    Greeting,
    Agreement,
}

impl Topic {
    /// Returns the topic of a message to an agent of this name; `None` if it is not small talk.
    pub(crate) fn from_message(message: &str, name: &str) -> Option<Self> {
        if message.len() > MAX_MESSAGE_BYTES {
            return None;
        }
        let message = FoldedText::new(message);
        let name = FoldedText::new(name);
        find_topic(&message.words(), &name.words())
    }
}

fn find_topic(words: &[&str], name: &[&str]) -> Option<Topic> {
    if words.is_empty() || words.len() > MAX_MESSAGE_WORDS {
        return None;
    }
    let by_phrase = PHRASES.iter().find(|(_, phrases)| {
        let mut phrases = phrases.iter();
        phrases.any(|phrase| contains(words, phrase))
    });
    if let Some(&(topic, _)) = by_phrase {
        return Some(topic);
    }
    if words.ends_with(&["what", "are", "you"]) {
        return Some(Topic::Introduction);
    }
    by_words(words, name)
}

/// Single words decide the topic only if the message contains nothing else: "hi, where is my order"
/// is not a greeting.
fn by_words(words: &[&str], name: &[&str]) -> Option<Topic> {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let is_small = |word: &&str| {
        let lists = [GREETINGS, FAREWELLS, THANKS, HELP, AGREEMENT, FILLERS, name];
        lists.iter().any(|list| list.contains(word))
    };
    let only_small = words.iter().all(is_small);
    let topics = [
        (only_small && has(FAREWELLS), Topic::GoodBye),
        (only_small && has(THANKS), Topic::Thanks),
        (has(HELP), Topic::Help),
        (THANKS.contains(&words[0]), Topic::Thanks),
        (only_small && has(GREETINGS), Topic::Greeting),
        (only_small && has(AGREEMENT), Topic::Agreement),
    ];
    topics
        .into_iter()
        .find_map(|(applies, topic)| applies.then_some(topic))
}

fn contains(words: &[&str], phrase: &str) -> bool {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    words.windows(phrase.len()).any(|window| window == phrase)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("hi", Topic::Greeting)]
    #[case("Hello!", Topic::Greeting)]
    #[case("HEY THERE, ADA", Topic::Greeting)]
    #[case("good morning everyone", Topic::Greeting)]
    #[case("who are you?", Topic::Introduction)]
    #[case("Hi, what's your name?", Topic::Introduction)]
    #[case("what\u{2019}s your name", Topic::Introduction)]
    #[case("and what are you?", Topic::Introduction)]
    #[case("Tell me about yourself.", Topic::Introduction)]
    #[case("Are you a robot?", Topic::Introduction)]
    #[case("what can you do", Topic::Abilities)]
    #[case("Hello, so how can you help me?", Topic::Abilities)]
    #[case("hi, how are you?", Topic::WellBeing)]
    #[case("thanks a lot", Topic::Thanks)]
    #[case("Thank you very much for your help!", Topic::Thanks)]
    #[case("thanks, that solved my problem", Topic::Thanks)]
    #[case("bye", Topic::GoodBye)]
    #[case("ok thanks, bye!", Topic::GoodBye)]
    #[case("See you tomorrow", Topic::GoodBye)]
    #[case("help", Topic::Help)]
    #[case("can you help me with an invoice?", Topic::Help)]
    #[case("ok, great", Topic::Agreement)]
    fn small_talk_is_recognised(#[case] message: &str, #[case] expected: Topic) {
        assert_eq!(Topic::from_message(message, "Ada"), Some(expected));
    }

    #[rstest]
    #[case("")]
    #[case("?!")]
    #[case("hi, where is my order")]
    #[case("the highest building")]
    #[case("say goodbye to high prices with our new tariff")]
    #[case("what is the time in Paris")]
    #[case("you")]
    fn other_messages_have_no_topic(#[case] message: &str) {
        assert_eq!(Topic::from_message(message, "Ada"), None);
    }
}
