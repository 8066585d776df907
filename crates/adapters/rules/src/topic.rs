//! What a message of small talk is about, told by its words; English.

use crate::keywords::FoldedText;

/// Longest message, in bytes, that can be small talk.
const MESSAGE_BYTES: usize = 400;
/// Most words of a message that can be small talk; more are about something else.
const MESSAGE_WORDS: usize = 12;

/// What people say to someone they do not know yet.
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

/// Phrases that tell the topic wherever they stand. Of two topics the first counts.
const PHRASES: [(Topic, &[&str]); 4] = [
    (
        Topic::Abilities,
        &[
            "what can you do",
            "what else can you do",
            "what do you do",
            "what do you know",
            "what do you offer",
            "what are you able to do",
            "what are you good at",
            "what are you for",
            "what can i ask",
            "what can you help",
            "how can you help",
            "how do you help",
            "your capabilities",
            "your abilities",
            "your skills",
            "your features",
        ],
    ),
    (
        Topic::Introduction,
        &[
            "who are you",
            "who r u",
            "who is this",
            "who's this",
            "who am i talking to",
            "who am i speaking to",
            "who am i speaking with",
            "what's your name",
            "what is your name",
            "your name please",
            "tell me your name",
            "about yourself",
            "introduce yourself",
            "describe yourself",
            "are you a bot",
            "are you a robot",
            "are you a machine",
            "are you a person",
            "are you human",
            "are you a human",
            "are you an ai",
            "are you real",
        ],
    ),
    (
        Topic::WellBeing,
        &[
            "how are you",
            "how r u",
            "how are things",
            "how is it going",
            "how's it going",
            "hows it going",
            "how do you do",
            "how have you been",
            "what's up",
            "whats up",
        ],
    ),
    (
        Topic::GoodBye,
        &[
            "good bye",
            "good night",
            "see you",
            "see ya",
            "take care",
            "have a nice day",
            "have a good day",
            "have a good one",
            "talk to you later",
            "until next time",
        ],
    ),
];

const GREETINGS: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "hiya",
    "heya",
    "hullo",
    "howdy",
    "yo",
    "sup",
    "greetings",
    "welcome",
    "morning",
    "afternoon",
    "evening",
    "day",
];
const FAREWELLS: &[&str] = &[
    "bye",
    "goodbye",
    "byebye",
    "cya",
    "farewell",
    "goodnight",
    "ciao",
];
const THANKS: &[&str] = &[
    "thanks",
    "thank",
    "thankyou",
    "thx",
    "thanx",
    "ty",
    "tysm",
    "cheers",
    "grateful",
    "appreciate",
    "appreciated",
];
const HELP: &[&str] = &["help", "assist", "assistance"];
const AGREEMENT: &[&str] = &[
    "ok",
    "okay",
    "alright",
    "great",
    "cool",
    "nice",
    "perfect",
    "awesome",
    "super",
    "yes",
    "yep",
    "yeah",
    "sure",
    "understood",
];
/// Words that change nothing about the topic of a message.
const FILLERS: &[&str] = &[
    "a",
    "again",
    "all",
    "am",
    "and",
    "are",
    "back",
    "bot",
    "bunch",
    "dear",
    "everybody",
    "everyone",
    "everything",
    "folks",
    "for",
    "friend",
    "good",
    "guys",
    "i",
    "i'm",
    "it",
    "its",
    "it's",
    "later",
    "lot",
    "lots",
    "lovely",
    "many",
    "me",
    "much",
    "my",
    "now",
    "of",
    "oh",
    "really",
    "right",
    "so",
    "that",
    "that's",
    "the",
    "then",
    "there",
    "this",
    "to",
    "today",
    "u",
    "very",
    "was",
    "well",
    "wonderful",
    "you",
    "your",
];

impl Topic {
    /// The topic of a message to someone of this name; `None` when it is no small talk.
    pub(crate) fn of(message: &str, name: &str) -> Option<Self> {
        if message.len() > MESSAGE_BYTES {
            return None;
        }
        let message = FoldedText::new(message);
        let name = FoldedText::new(name);
        topic_of(&message.words(), &name.words())
    }
}

fn topic_of(words: &[&str], name: &[&str]) -> Option<Topic> {
    if words.is_empty() || words.len() > MESSAGE_WORDS {
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

/// Small words tell the topic only when the message says nothing else: "hi, where is my order"
/// is no greeting.
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
    fn recognises_small_talk(#[case] message: &str, #[case] expected: Topic) {
        assert_eq!(Topic::of(message, "Ada"), Some(expected));
    }

    #[rstest]
    #[case("")]
    #[case("?!")]
    #[case("hi, where is my order")]
    #[case("the highest building")]
    #[case("say goodbye to high prices with our new tariff")]
    #[case("what is the time in Paris")]
    #[case("you")]
    fn leaves_everything_else(#[case] message: &str) {
        assert_eq!(Topic::of(message, "Ada"), None);
    }
}
