use domain::Scopes;

use super::*;

#[derive(Default)]
struct ManualClock(Mutex<Duration>);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_milliseconds(0)
    }

    fn running_for(&self) -> Duration {
        *self.0.lock()
    }
}

fn caller(id: &str) -> Principal {
    Principal {
        tenant: "default".parse().unwrap(),
        id: PrincipalId::new(id),
        scopes: Scopes::all(),
        user_id: None,
        agents: domain::AgentReach::ALL,
        names_user: false,
    }
}

fn content(text: &str) -> IdempotencyKey {
    IdempotencyKey::derived("test", &[text])
}

fn messages() -> (UnnamedMessages, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    let messages = UnnamedMessages::new(Arc::clone(&clock) as Arc<dyn Clock>);
    (messages, clock)
}

fn first(messages: &UnnamedMessages, id: &str, other: &str) -> FirstId {
    messages.first(&caller("key:1"), &content("Yes"), id.into(), other.into())
}

fn again(messages: &UnnamedMessages, id: &str) -> String {
    messages.again(&caller("key:1"), &content("Yes"), (id.into(), false))
}

#[test]
fn a_repeated_message_has_the_id_of_the_newest_first_one_for_two_minutes() {
    let (messages, clock) = messages();
    let find = |caller_id, text| messages.find(&caller(caller_id), &content(text));
    assert_eq!(first(&messages, "a", "b"), FirstId::New("a".to_owned()));
    assert_eq!(first(&messages, "a", "b"), FirstId::New("b".to_owned()));
    assert_eq!(again(&messages, "c"), "b");
    assert_eq!(find("key:1", "Yes").as_deref(), Some("b"));
    assert_eq!(find("key:1", "No"), None);
    assert_eq!(find("key:2", "Yes"), None);
    *clock.0.lock() = REPEATABLE_FOR;
    assert_eq!(find("key:1", "Yes"), None);
    assert_eq!(again(&messages, "c"), "c");
}

#[test]
fn one_first_message_joins_a_repeated_one_for_two_seconds() {
    let (messages, clock) = messages();
    assert_eq!(again(&messages, "a"), "a");
    let overtaken = FirstId::Overtaken("a".to_owned());
    assert_eq!(first(&messages, "b", "c"), overtaken);
    assert_eq!(first(&messages, "b", "c"), FirstId::New("b".to_owned()));
    *clock.0.lock() = REPEATABLE_FOR;
    assert_eq!(again(&messages, "d"), "d");
    *clock.0.lock() = REPEATABLE_FOR + MAX_DELAY;
    assert_eq!(first(&messages, "e", "f"), FirstId::New("e".to_owned()));
}

#[test]
fn messages_are_bounded() {
    let (messages, _) = messages();
    for number in 0..=MAX_MESSAGES {
        let content = content(&number.to_string());
        messages.first(&caller("key:1"), &content, "a".into(), "b".into());
    }
    assert!(messages.entries.lock().len() <= MAX_MESSAGES);
}
