//! Changes of many rows that share a transaction: each row has its own values afterwards.

use domain::{Agent, Conversation, Credential, TurnStatus};
use ports::{BeginTurn, ConversationTarget, Storage};
use tokio::task::JoinSet;

use crate::{fixture, forks::fork_as, lookup, results::ResultExt as _, setup};

/// The number of rows of each kind.
const ROWS: u32 = 24;

/// Makes a numbered change for each row. They begin at the same time, so that most of them share a
/// transaction.
async fn at_once<F>(storage: &Storage, change: impl Fn(Storage, u32) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut writers = JoinSet::new();
    for number in 1..=ROWS {
        writers.spawn(change(storage.clone(), number));
    }
    writers.join_all().await;
}

/// Agents are created, then some are deleted and the others are updated.
pub async fn agents_of_a_group_keep_their_own_values(storage: &Storage) {
    let created = |number: u32| Agent {
        personality: format!("Personality {number}"),
        ..fixture::agent_able_to(number, &["time", &format!("skill-{number}")])
    };
    let updated = move |number: u32| Agent {
        capabilities: vec![format!("new-skill-{number}"), "time".to_owned()],
        ..fixture::renamed(&created(number), &format!("Renamed {number}"))
    };
    at_once(storage, |storage, number| async move {
        setup::insert_agent(&storage, created(number)).await;
    })
    .await;
    for number in 1..=ROWS {
        let found = lookup::agent(storage, fixture::agent_id(number)).await;
        assert_eq!(found, Some(created(number)));
    }
    at_once(storage, |storage, number| async move {
        if number % 3 == 0 {
            setup::delete_agent(&storage, &created(number)).await;
        } else {
            setup::update_agent(&storage, &updated(number)).await;
        }
    })
    .await;
    for number in 1..=ROWS {
        let found = lookup::agent(storage, fixture::agent_id(number)).await;
        assert_eq!(found, (number % 3 != 0).then(|| updated(number)));
    }
}

/// Conversations are created, then some are deleted and the others are updated.
pub async fn conversations_of_a_group_keep_their_own_values(storage: &Storage) {
    let agent = setup::agent(storage, 1).await.id;
    let created = move |number| Conversation {
        user_id: Some(format!("user-{number}")),
        ..fixture::conversation(number, agent)
    };
    let updated = move |number: u32| Conversation {
        metadata: [("number".to_owned(), number.to_string())].into(),
        ..fixture::retitled(&created(number), &format!("Title {number}"))
    };
    at_once(storage, |storage, number| async move {
        setup::insert_conversation(&storage, created(number)).await;
    })
    .await;
    at_once(storage, |storage, number| async move {
        if number % 3 == 0 {
            setup::delete_conversation(&storage, &created(number)).await;
        } else {
            setup::update_conversation(&storage, &updated(number)).await;
        }
    })
    .await;
    for number in 1..=ROWS {
        let found = lookup::conversation(storage, fixture::conversation_id(number)).await;
        assert_eq!(found, (number % 3 != 0).then(|| updated(number)));
    }
}

/// Turn `number` of conversation `number`, with its key, after `turn_count` other turns.
fn begin(number: u32, agent: &Agent, turn_count: i64) -> BeginTurn {
    let conversation = fixture::conversation(number, agent.id);
    let target = fixture::existing(&conversation, turn_count);
    BeginTurn {
        idempotency: Some(fixture::entry(&format!("key-{number}"))),
        ..fixture::begin_turn(number, agent, target)
    }
}

/// The content of the messages of conversation `number`, oldest first.
async fn contents(storage: &Storage, number: u32) -> Vec<String> {
    let messages = lookup::messages(storage, fixture::conversation_id(number)).await;
    messages
        .into_iter()
        .map(|message| message.content)
        .collect()
}

/// Turns begin, then end with a reply, a failure or a cancellation. Failed ones are repeated.
pub async fn turns_of_a_group_keep_their_own_values(storage: &Storage) {
    setup::node(storage, 1).await;
    let agent = setup::agent(storage, 1).await;
    for number in 1..=ROWS {
        setup::conversation(storage, number, &agent).await;
    }
    at_once(storage, |storage, number| {
        let begin = begin(number, &agent, 0);
        async move {
            setup::start_turn(&storage, &begin).await;
        }
    })
    .await;
    at_once(storage, |storage, number| {
        let begin = begin(number, &agent, 0);
        async move {
            match number % 3 {
                0 => setup::complete_turn(&storage, &begin, number).await,
                1 => setup::fail_turn(&storage, &begin).await,
                _ => drop(setup::cancel_turn(&storage, &begin, None).await),
            }
        }
    })
    .await;
    at_once(storage, |storage, number| {
        let retry = BeginTurn {
            turn_id: fixture::turn_id(number + 100),
            ..begin(number, &agent, 1)
        };
        async move {
            if number % 3 == 1 {
                setup::start_turn(&storage, &retry).await;
            }
        }
    })
    .await;
    for number in 1..=ROWS {
        let (question, reply) = (format!("Question {number}"), format!("Reply {number}"));
        let (status, expected) = match number % 3 {
            0 => (TurnStatus::Completed, vec![question.clone(), reply]),
            1 => (TurnStatus::Failed, vec![question.clone()]),
            _ => (TurnStatus::Cancelled, vec![question.clone()]),
        };
        let found = lookup::turn(storage, fixture::turn_id(number)).await;
        let found = found.expect("the turn exists");
        assert_eq!((found.status, found.input), (status, question));
        assert_eq!(contents(storage, number).await, expected);
        let repeated = lookup::turn(storage, fixture::turn_id(number + 100)).await;
        let retry_of = repeated.map(|turn| turn.retry_of);
        assert_eq!(retry_of, (number % 3 == 1).then_some(Some(found.id)));
    }
}

/// Messages are superseded or copied to a new conversation, each in the conversation of its own.
pub async fn messages_of_a_group_are_superseded_or_copied_where_they_stand(storage: &Storage) {
    setup::node(storage, 1).await;
    let agent = setup::agent(storage, 1).await;
    for number in 1..=ROWS {
        let conversation = setup::conversation(storage, number, &agent).await;
        let target = fixture::existing(&conversation, 0);
        setup::record_turn(storage, fixture::completed_turn(number, &agent, target)).await;
    }
    at_once(storage, |storage, number| {
        let agent = agent.clone();
        async move {
            let original = fixture::conversation(number, agent.id);
            let messages = lookup::messages(&storage, original.id).await;
            if number % 2 == 0 {
                let (_, forked) = fork_as(&storage, number + 100, &original, &messages, 1).await;
                forked.success();
            } else {
                let target = fixture::existing(&original, 1);
                let edit = fixture::begin_turn(number + 100, &agent, target);
                setup::start_turn(&storage, &fixture::superseding(edit, 1, 0)).await;
            }
        }
    })
    .await;
    for number in 1..=ROWS {
        let both = vec![format!("Question {number}"), format!("Reply {number}")];
        if number % 2 == 0 {
            assert_eq!(contents(storage, number).await, both);
            assert_eq!(contents(storage, number + 100).await, both);
        } else {
            let edited = format!("Question {}", number + 100);
            assert_eq!(contents(storage, number).await, [edited]);
        }
    }
}

/// Keys are created, then revoked at times of their own, while turns are recorded.
pub async fn credentials_of_a_group_keep_their_own_values(storage: &Storage) {
    let agent = setup::agent(storage, 1).await;
    let created = |number| Credential {
        allowed_origins: vec![format!("https://{number}.example")],
        ..fixture::key(number)
    };
    at_once(storage, |storage, number| async move {
        setup::credential(&storage, created(number)).await;
    })
    .await;
    at_once(storage, |storage, number| {
        let agent = agent.clone();
        async move {
            if number % 3 == 0 {
                let target = ConversationTarget::New(fixture::conversation(number, agent.id));
                setup::record_turn(&storage, fixture::completed_turn(number, &agent, target)).await;
            } else {
                let at = fixture::at(i64::from(number + 500));
                setup::revoke(&storage, &created(number), at).await;
            }
        }
    })
    .await;
    for number in 1..=ROWS {
        let expected = Credential {
            revoked_at: (number % 3 != 0).then(|| fixture::at(i64::from(number + 500))),
            ..created(number)
        };
        let found = lookup::credential(storage, &expected).await;
        assert_eq!(found, Some(expected));
    }
}
