//! Agents, conversations and credentials that are changed at the same time: each has its own values
//! afterwards.

use domain::{
    Agent, Conversation, Credential, LimitOverrides, Seq, TitleSource,
    credential::{Proof, StoredSecret},
};
use tokio::task::JoinSet;
use writes::ConversationTarget;

use crate::{Store, agent_listing::capability, fixture, log, lookup, pages, setup};

/// The number of rows of each kind.
pub(crate) const ROWS: u32 = 24;

/// Makes a numbered change for each row. They begin at the same time, so that they can share
/// transactions.
pub(crate) async fn at_once<F>(storage: &Store, change: impl Fn(Store, u32) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut writers = JoinSet::new();
    for number in 1..=ROWS {
        writers.spawn(change(storage.clone(), number));
    }
    writers.join_all().await;
}

fn created_agent(number: u32) -> Agent {
    let mut agent = fixture::agent_able_to(number, &["time", &format!("skill-{number}")]);
    agent.personality = format!("Personality {number}");
    agent.config.metadata = Some([("number".to_owned(), number.to_string())].into());
    agent
}

fn updated_agent(number: u32) -> Agent {
    let mut agent = fixture::renamed(&created_agent(number), &format!("Renamed {number}"));
    agent.capabilities = vec![format!("new-skill-{number}"), "time".to_owned()];
    agent.config.metadata = Some([("updated".to_owned(), number.to_string())].into());
    agent
}

async fn assert_agent(storage: &Store, number: u32, expected: Option<Agent>) {
    let found = lookup::agent(storage, fixture::agent_id(number)).await;
    assert_eq!(found, expected);
    for name in [format!("skill-{number}"), format!("new-skill-{number}")] {
        let listed = pages::agents_behind(storage, &capability(&name), None, 10).await;
        let expected = expected.clone();
        let able = expected.filter(|agent| agent.capabilities.contains(&name));
        assert_eq!(listed, Vec::from_iter(able), "{name}");
    }
}

/// Agents are created, then some are deleted and the others are updated.
pub async fn agents_of_a_group_keep_their_own_values(storage: &Store) {
    at_once(storage, |storage, number| async move {
        setup::insert_agent(&storage, created_agent(number)).await;
    })
    .await;
    for number in 1..=ROWS {
        assert_agent(storage, number, Some(created_agent(number))).await;
    }
    at_once(storage, |storage, number| async move {
        if number % 3 == 0 {
            setup::delete_agent(&storage, &created_agent(number)).await;
        } else {
            setup::update_agent(&storage, &updated_agent(number)).await;
        }
    })
    .await;
    for number in 1..=ROWS {
        let expected = (number % 3 != 0).then(|| updated_agent(number));
        assert_agent(storage, number, expected).await;
    }
}

fn created_conversation(number: u32) -> Conversation {
    let agent = fixture::agent_id(1 + number % 3);
    let conversation = Conversation {
        user_id: Some(format!("user-{number}")),
        title: Some(format!("First title {number}")),
        title_source: Some(TitleSource::Person),
        metadata: [("created".to_owned(), number.to_string())].into(),
        ..fixture::conversation(number, agent)
    };
    fixture::named(conversation, &format!("key-{number}"))
}

fn updated_conversation(number: u32) -> Conversation {
    Conversation {
        metadata: [("updated".to_owned(), number.to_string())].into(),
        ..fixture::retitled(&created_conversation(number), &format!("Title {number}"))
    }
}

/// Conversations are created, then some are deleted and the others are updated.
pub async fn conversations_of_a_group_keep_their_own_values(storage: &Store) {
    for number in 1..=3 {
        setup::agent(storage, number).await;
    }
    at_once(storage, |storage, number| async move {
        setup::insert_conversation(&storage, created_conversation(number)).await;
    })
    .await;
    for number in 1..=ROWS {
        let found = lookup::conversation(storage, fixture::conversation_id(number)).await;
        assert_eq!(found, Some(created_conversation(number)));
    }
    at_once(storage, |storage, number| async move {
        if number % 3 == 0 {
            setup::delete_conversation(&storage, &created_conversation(number)).await;
        } else {
            setup::update_conversation(&storage, &updated_conversation(number)).await;
        }
    })
    .await;
    for number in 1..=ROWS {
        let found = lookup::conversation(storage, fixture::conversation_id(number)).await;
        let expected = (number % 3 != 0).then(|| updated_conversation(number));
        assert_eq!(found, expected);
    }
    // Each has one event for its creation and one for its change.
    let head = log::head(storage, &fixture::tenant()).await;
    assert_eq!(head, Seq(3 + 2 * i64::from(ROWS)));
}

fn created_key(number: u32) -> Credential {
    let byte = u8::try_from(number).expect("few rows");
    Credential {
        proof: Proof::Secret(StoredSecret {
            digest: fixture::digest(byte),
            last4: format!("{number:04}"),
            previous: None,
        }),
        allowed_origins: vec![format!("https://{number}.example")],
        limits: LimitOverrides {
            requests_per_minute: Some(number),
            requests_burst: Some(100 + number),
            ..LimitOverrides::default()
        },
        ..fixture::key(number)
    }
}

/// Keys are created, then some are revoked at different times while turns are recorded.
pub async fn credentials_of_a_group_keep_their_own_values(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    at_once(storage, |storage, number| async move {
        setup::credential(&storage, created_key(number)).await;
    })
    .await;
    at_once(storage, |storage, number| {
        let target = ConversationTarget::New(fixture::conversation(number, agent.id));
        let turn = fixture::completed_turn(number, &agent, target);
        async move {
            if number % 3 == 0 {
                setup::record_turn(&storage, turn).await;
            } else {
                let at = fixture::at(i64::from(number + 500));
                setup::revoke(&storage, &created_key(number), at).await;
            }
        }
    })
    .await;
    for number in 1..=ROWS {
        let expected = Credential {
            revoked_at: (number % 3 != 0).then(|| fixture::at(i64::from(number + 500))),
            ..created_key(number)
        };
        let found = lookup::credential(storage, &expected).await;
        assert_eq!(found, Some(expected));
    }
}
