//! `ErasureRepository`, and the commands that begin and end erasures.

use domain::{
    AgentId, Conversation, ErasureId, IdempotencyEntry, PrincipalId, Seq, TenantId, UserDraft,
    erasure::{ERASED_PRINCIPAL, EndedErasure, ErasureCounts},
};
use ports::{FirstMessages, PendingErasure};
use uuid::Uuid;
use writes::{BeginErasure, CompletedTurn, EndErasure, SaveUser, UserChange};

use crate::{
    Store, fixture, log, lookup, purging,
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

/// Stores an erasure of Ada's data.
async fn begin(storage: &Store) -> PendingErasure {
    let erasure = PendingErasure {
        id: ErasureId::new(Uuid::from_u128(1)),
        user_id: "ada".to_owned(),
    };
    let begin = BeginErasure {
        tenant: fixture::tenant(),
        id: erasure.id,
        user_id: erasure.user_id.clone(),
        stamp: fixture::stamp(1),
    };
    storage.writes.write(begin).await.success();
    erasure
}

async fn pending(storage: &Store, tenant: &TenantId) -> Vec<PendingErasure> {
    storage.erasures.pending(tenant).await.success()
}

async fn count(storage: &Store, erasure: &PendingErasure) -> ErasureCounts {
    let counted = storage.erasures.count(&fixture::tenant(), erasure).await;
    counted.success()
}

async fn anonymize(storage: &Store, user_id: &str) {
    let (tenant, tokens_end_at) = (fixture::tenant(), fixture::at(1_000));
    let erasures = &storage.erasures;
    let anonymized = erasures.anonymize(&tenant, user_id, tokens_end_at).await;
    anonymized.success();
}

/// All that a tenant's log stores.
async fn log_of(storage: &Store, tenant: &TenantId) -> String {
    let page = storage.event_page(tenant, &log::query(Seq(0))).await;
    format!("{:?}", page.success())
}

async fn conversation_of(storage: &Store, number: u32, agent: AgentId, user: &str) -> Conversation {
    let conversation = Conversation {
        user_id: Some(user.to_owned()),
        ..fixture::conversation(number, agent)
    };
    setup::insert_conversation(storage, conversation).await
}

/// A turn of a user.
fn turn_of(user: &str, turn: CompletedTurn) -> CompletedTurn {
    let mut turn = turn;
    turn.begin.stamp.actor = PrincipalId::user(user);
    turn
}

/// The beginning of an erasure deletes the user, and the erasure is pending until its end.
pub async fn an_erasure_is_pending_until_it_ends(storage: &Store) {
    let (tenant, other) = (fixture::tenant(), setup::second_tenant(storage).await);
    let save = SaveUser {
        tenant: tenant.clone(),
        user_id: "ada".to_owned(),
        change: UserChange::Replace(UserDraft::default()),
        stamp: fixture::stamp(1),
    };
    let saved = storage.writes.write(save).await.success();
    assert!(saved.is_ok());
    let erasure = begin(storage).await;
    assert_eq!(
        pending(storage, &tenant).await,
        std::slice::from_ref(&erasure)
    );
    assert_eq!(pending(storage, &other).await, []);
    let user = storage.users.find(&tenant, "ada").await.success().value;
    assert!(user.is_none());
    let end = EndErasure {
        tenant: tenant.clone(),
        erasure: EndedErasure {
            erasure_id: erasure.id,
            counts: ErasureCounts::default(),
        },
        stamp: fixture::stamp(2),
    };
    storage.writes.write(end).await.success();
    assert_eq!(pending(storage, &tenant).await, []);
}

/// `count` MUST return the same for an erasure whenever it is called.
pub async fn the_counts_of_an_erasure_stay_the_same(storage: &Store) {
    let (agent, conversation) = setup::chat_with_turns(storage, 2).await;
    let doomed = setup::conversation(storage, 2, &agent).await;
    setup::delete_conversation(storage, &doomed).await;
    conversation_of(storage, 3, agent.id, "bob").await;
    let erasure = begin(storage).await;
    let counted = ErasureCounts {
        conversations: 1,
        messages: 4,
    };
    assert_eq!(count(storage, &erasure).await, counted);
    setup::delete_conversation(storage, &conversation).await;
    assert_eq!(count(storage, &erasure).await, counted);
}

/// `anonymize` removes the id of one user of one tenant from all rows that stay.
pub async fn only_the_erased_user_is_made_anonymous(storage: &Store) {
    let (tenant, other) = (fixture::tenant(), setup::second_tenant(storage).await);
    let elsewhere = setup::insert_agent_in(storage, &other, fixture::agent(9)).await;
    let foreign = fixture::conversation(9, elsewhere.id);
    setup::insert_conversation_in(storage, &other, foreign).await;
    let agent = setup::agent(storage, 1).await;
    for (number, user) in [(1, "ada"), (2, "bob")] {
        let conversation = conversation_of(storage, number, agent.id, user).await;
        // Ada wrote in Bob's conversation before it moved to him.
        for (turn, author) in [(0, "ada"), (1, "bob")] {
            let target = fixture::existing(&conversation, turn);
            let recorded =
                fixture::completed_turn(10 * number + u32::from(turn > 0), &agent, target);
            setup::record_turn(storage, turn_of(author, recorded)).await;
        }
        if user == "ada" {
            setup::delete_conversation(storage, &conversation).await;
        }
    }
    let (before, foreign) = (
        log_of(storage, &tenant).await,
        log_of(storage, &other).await,
    );
    assert!(before.contains("\"ada\"") && before.contains("user:ada"));
    for _ in 0..2 {
        anonymize(storage, "ada").await;
    }
    let after = log_of(storage, &tenant).await;
    assert!(
        !after.contains("\"ada\"") && !after.contains("user:ada"),
        "{after}"
    );
    for kept in ["\"bob\"", "user:bob"] {
        assert_eq!(after.matches(kept).count(), before.matches(kept).count());
    }
    assert_eq!(log_of(storage, &other).await, foreign);
    for (number, principal) in [(20, ERASED_PRINCIPAL), (21, "user:bob")] {
        let turn = lookup::turn_with_owner(storage, fixture::turn_id(number)).await;
        assert_eq!(turn.expect("it is kept").principal.as_str(), principal);
    }
}

/// The id of a user can be like that of another principal, whose rows are kept.
pub async fn a_principal_with_the_id_of_an_erased_user_is_kept(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let entry = fixture::entry("key-1");
    let mut turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    turn.begin.idempotency = Some(entry.clone());
    setup::record_turn(storage, turn).await;
    let (tenant, actor) = (fixture::tenant(), fixture::principal());
    let before = log_of(storage, &tenant).await;
    assert!(before.contains(actor.as_str()));
    anonymize(storage, actor.as_str()).await;
    assert_eq!(log_of(storage, &tenant).await, before);
    assert!(lookup::record(storage, &entry).await.is_some());
}

/// `anonymize` removes the idempotency records of the user, and of no other principal.
pub async fn idempotency_records_of_an_erased_user_are_removed(storage: &Store) {
    let (tenant, agent) = (fixture::tenant(), setup::agent(storage, 1).await);
    let entries = ["ada", "bob"].map(|user| IdempotencyEntry {
        principal: PrincipalId::user(user),
        ..fixture::entry("key-1")
    });
    for (number, entry) in (1..).zip(&entries) {
        let (conversation, stamp) = (fixture::conversation(number, agent.id), fixture::stamp(1));
        let conversations = &storage.conversations;
        let first = FirstMessages::None;
        let made = conversations.insert(&tenant, &conversation, &first, &stamp, Some(entry));
        made.await.applied().expect("the agent exists");
    }
    anonymize(storage, "ada").await;
    assert_eq!(lookup::record(storage, &entries[0]).await, None);
    assert!(lookup::record(storage, &entries[1]).await.is_some());
}

/// The next purge removes what the user deleted earlier, however short ago.
pub async fn conversations_deleted_before_an_erasure_are_purged(storage: &Store) {
    let (agent, conversation) = setup::chat_with_turns(storage, 1).await;
    let of_bob = conversation_of(storage, 2, agent.id, "bob").await;
    for doomed in [&conversation, &of_bob] {
        setup::delete_conversation(storage, doomed).await;
    }
    assert_eq!(purging::purge_all(storage, 10, purging::nothing()).await, 0);
    anonymize(storage, "ada").await;
    assert!(purging::purge_all(storage, 10, purging::nothing()).await > 0);
    let turn = lookup::turn(storage, fixture::turn_id(1)).await;
    assert_eq!(turn, None);
}

/// The tokens of an erased user stay withdrawn, and a later withdrawal raises their generation.
pub async fn the_generation_of_an_erased_users_tokens_is_kept(storage: &Store) {
    let tenant = fixture::tenant();
    let withdraw = || storage.tokens.withdraw_user_tokens(&tenant, "ada");
    let generation = || storage.tokens.user_generation(&tenant, "ada");
    for _ in 0..2 {
        withdraw().await.success();
    }
    for _ in 0..2 {
        anonymize(storage, "ada").await;
        assert_eq!(generation().await.success(), 2);
    }
    withdraw().await.success();
    assert_eq!(generation().await.success(), 3);
}
