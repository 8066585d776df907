//! The names by which clients refer to conversations.

use domain::{Conversation, ConversationId};
use ports::{FirstMessages, RepositoryError};
use tokio::task::JoinSet;
use writes::{BeginOutcome, BeginTurn, CompletedTurn, ConversationTarget, RecordTurnOutcome};

use crate::{
    Store, fixture, log, lookup,
    results::{ResultExt as _, assert_conflict, assert_stale},
    setup,
    snapshot::Snapshot,
};

/// The number of concurrent first uses of a name.
const FIRST_USES: u32 = 32;

async fn find(storage: &Store, like: &Conversation) -> Option<ConversationId> {
    let (tenant, name) = (fixture::tenant(), fixture::name_of(like));
    let found = storage.conversations.find_by_name(&tenant, &name).await;
    found.success()
}

/// A conversation of agent 1 with the key `support`.
fn support(number: u32) -> Conversation {
    fixture::named(
        fixture::conversation(number, fixture::agent_id(1)),
        "support",
    )
}

/// A turn that begins a numbered conversation with the key `support`.
fn first_use(number: u32) -> BeginTurn {
    let target = ConversationTarget::New(support(number));
    fixture::begin_turn(number, &fixture::agent(1), target)
}

fn completed(begin: BeginTurn) -> CompletedTurn {
    CompletedTurn {
        reply: writes::Reply {
            message_id: begin.reply_id,
            ..fixture::reply(0)
        },
        finished_at: begin.stamp.time,
        begin,
    }
}

/// A conversation is found by its name, whichever method created it.
pub async fn a_conversation_is_found_by_its_name(storage: &Store) {
    let (agent, unnamed) = setup::chat(storage).await;
    let named = |number| {
        let conversation = fixture::conversation(number, agent.id);
        fixture::named(conversation, &format!("key-{number}"))
    };
    assert_eq!(find(storage, &named(2)).await, None);
    setup::insert_conversation(storage, named(2)).await;
    let begin =
        |number| fixture::begin_turn(number, &agent, ConversationTarget::New(named(number)));
    setup::start_turn(storage, &begin(3)).await;
    setup::record_turn(storage, completed(begin(4))).await;
    for number in 2..=4 {
        let conversation = named(number);
        assert_eq!(find(storage, &conversation).await, Some(conversation.id));
        let stored = lookup::conversation(storage, conversation.id).await;
        assert_eq!(stored.and_then(|stored| stored.key), conversation.key);
    }
    let stored = lookup::conversation(storage, unnamed.id).await;
    assert_eq!(stored.and_then(|stored| stored.key), None);
}

/// Agent, user and key belong to a name. The name of a conversation without a user is another than
/// those of all users.
pub async fn names_differ_by_agent_user_and_key(storage: &Store) {
    let agents = [
        setup::agent(storage, 1).await,
        setup::agent(storage, 2).await,
    ];
    let mut conversations = Vec::new();
    for agent in &agents {
        for user in [None, Some("ada"), Some("Ada")] {
            for key in ["a", "A", "a.b"] {
                let number = u32::try_from(conversations.len()).expect("few conversations");
                let conversation = Conversation {
                    user_id: user.map(ToOwned::to_owned),
                    ..fixture::conversation(number, agent.id)
                };
                conversations.push(fixture::named(conversation, key));
            }
        }
    }
    for conversation in &conversations {
        assert_eq!(find(storage, conversation).await, None, "{conversation:?}");
        setup::insert_conversation(storage, conversation.clone()).await;
    }
    for conversation in &conversations {
        let found = find(storage, conversation).await;
        assert_eq!(found, Some(conversation.id), "{conversation:?}");
    }
}

/// A second conversation with a used name is `Stale`, and nothing is written.
pub async fn a_used_name_creates_no_second_conversation(storage: &Store) {
    setup::chat(storage).await;
    setup::insert_conversation(storage, support(2)).await;
    let begin = BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..first_use(3)
    };
    let before = Snapshot::take(storage, &begin).await;
    assert_stale(&storage.turns.begin_turn(begin.clone()).await);
    let turn = completed(begin.clone());
    assert_stale(&storage.turns.record_completed_turn(turn).await);
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    let (conversations, entry) = (&storage.conversations, fixture::entry("k"));
    let (second, first) = (support(3), FirstMessages::None);
    let inserted = conversations.insert(&tenant, &second, &first, &stamp, Some(&entry));
    assert_stale(&inserted.await);
    before.assert_no_trace_of(storage, &begin).await;
    assert_eq!(find(storage, &support(3)).await, Some(support(2).id));
}

/// The next version of a conversation, which belongs to another user.
fn moved(conversation: &Conversation, user: Option<&str>) -> Conversation {
    Conversation {
        user_id: user.map(ToOwned::to_owned),
        ..fixture::retitled(conversation, "Orders")
    }
}

/// A conversation that moves to another user is found by the name with that user, and its old name is free.
pub async fn a_move_takes_the_name_along(storage: &Store) {
    setup::chat(storage).await;
    let conversation = setup::insert_conversation(storage, support(2)).await;
    let mut current = conversation.clone();
    for user in [Some("bob"), None, Some("ada"), Some("eve")] {
        let before = current;
        current = setup::update_conversation(storage, &moved(&before, user)).await;
        assert_eq!(find(storage, &current).await, Some(conversation.id));
        assert_eq!(find(storage, &before).await, None, "{user:?}");
    }
    setup::insert_conversation(storage, support(3)).await;
    assert_eq!(find(storage, &support(3)).await, Some(support(3).id));
    assert_eq!(find(storage, &current).await, Some(conversation.id));
}

/// A move to a user with a conversation of the same name MUST be a `Conflict`, and write nothing. Other
/// changes, and moves of conversations without a key, are possible.
pub async fn a_used_name_prevents_a_move(storage: &Store) {
    let (_, unnamed) = setup::chat(storage).await;
    let first = setup::insert_conversation(storage, support(2)).await;
    let of_bob = moved(&support(3), Some("bob"));
    let of_bob = Conversation {
        version: 1,
        ..of_bob
    };
    setup::insert_conversation(storage, of_bob.clone()).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    let head = log::head(storage, &tenant).await;
    let next = moved(&first, Some("bob"));
    // The second attempt decides on facts that are known.
    for _ in 0..2 {
        let conversations = &storage.conversations;
        assert_conflict(&conversations.update(&tenant, &next, &stamp).await);
    }
    assert_eq!(log::head(storage, &tenant).await, head);
    assert_eq!(find(storage, &first).await, Some(first.id));
    assert_eq!(find(storage, &of_bob).await, Some(of_bob.id));
    let retitled = fixture::retitled(&first, "Orders");
    let retitled = setup::update_conversation(storage, &retitled).await;
    setup::update_conversation(storage, &moved(&unnamed, Some("bob"))).await;
    setup::delete_conversation(storage, &of_bob).await;
    let next = moved(&retitled, Some("bob"));
    setup::update_conversation(storage, &next).await;
    assert_eq!(find(storage, &of_bob).await, Some(first.id));
}

/// An update keeps the name. The name of a deleted conversation is free.
pub async fn a_deletion_frees_the_name(storage: &Store) {
    setup::chat(storage).await;
    for number in 2..=4 {
        let conversation = setup::insert_conversation(storage, support(number)).await;
        let next = fixture::retitled(&conversation, "Orders");
        let updated = setup::update_conversation(storage, &next).await;
        assert_eq!(updated.key, conversation.key);
        assert_eq!(find(storage, &conversation).await, Some(conversation.id));
        setup::delete_conversation(storage, &conversation).await;
        assert_eq!(find(storage, &conversation).await, None);
    }
    setup::start_turn(storage, &first_use(5)).await;
    assert_eq!(find(storage, &support(5)).await, Some(support(5).id));
}

/// Of several turns that use a name first at the same time, one creates the conversation. The others
/// are `Stale`, and continue in that conversation.
pub async fn one_of_many_first_uses_of_a_name_creates_the_conversation(storage: &Store) {
    setup::chat(storage).await;
    let mut writers = JoinSet::new();
    for number in 2..2 + FIRST_USES {
        let storage = storage.clone();
        writers.spawn(async move {
            let begin = first_use(number);
            match storage.turns.begin_turn(begin.clone()).await {
                Err(RepositoryError::Stale { .. }) => {}
                outcome => return (begin.target.id(), outcome.success()),
            }
            let found = find(&storage, &support(number)).await;
            let target = ConversationTarget::Existing {
                id: found.expect("another turn has created the conversation"),
                turn_count: 1,
            };
            let begin = BeginTurn { target, ..begin };
            let outcome = storage.turns.begin_turn(begin.clone()).await;
            (begin.target.id(), outcome.success())
        });
    }
    let (mut started, mut queued, mut busy) = (Vec::new(), 0, 0);
    for (conversation, outcome) in writers.join_all().await {
        assert_eq!(Some(conversation), find(storage, &support(2)).await);
        match outcome {
            BeginOutcome::Started { .. } => started.push(conversation),
            BeginOutcome::Queued(_) => queued += 1,
            BeginOutcome::Busy => busy += 1,
            other => panic!("neither started, queued nor busy: {other:?}"),
        }
    }
    assert_eq!((started.len(), queued, busy), (1, 16, 15));
    for number in (2..2 + FIRST_USES).filter(|number| support(*number).id != started[0]) {
        let loser = lookup::conversation(storage, support(number).id).await;
        assert_eq!(loser, None);
    }
}

/// All completed turns that use a name first at the same time are recorded in one conversation.
pub async fn completed_turns_that_use_a_name_first_share_the_conversation(storage: &Store) {
    setup::chat(storage).await;
    let mut writers = JoinSet::new();
    for number in 2..2 + FIRST_USES {
        let storage = storage.clone();
        writers.spawn(async move {
            let mut begin = first_use(number);
            loop {
                let turn = completed(begin.clone());
                match storage.turns.record_completed_turn(turn).await {
                    Ok(RecordTurnOutcome::Recorded { .. }) => return begin.target.id(),
                    Err(RepositoryError::Stale { .. }) => {}
                    other => panic!("neither recorded nor stale: {other:?}"),
                }
                let found = find(&storage, &support(number)).await;
                let id = found.expect("another turn has created the conversation");
                let turn_count = lookup::state(&storage, id).await.turn_count;
                begin.target = ConversationTarget::Existing { id, turn_count };
            }
        });
    }
    let found = find(storage, &support(2)).await;
    let mut conversations = writers.join_all().await;
    conversations.dedup();
    let [conversation] = conversations[..] else {
        panic!("several conversations: {conversations:?}");
    };
    assert!(found.is_none_or(|found| found == conversation));
    let context = lookup::state(storage, conversation).await;
    let uses = i64::from(FIRST_USES);
    assert_eq!(
        (context.turn_count, context.last_message_seq),
        (uses, 2 * uses)
    );
}
